r"""A group from the lags of a corpus: periods and half-lives, with intervals, or nothing.

The kernel of equal tokens (`gnomon.groups.lags`) is read in two steps. Sharp periods, that last
over all lags, come first, each with all its harmonics (`gnomon.groups.combs`). The rest is realised
as k(tau) = c + sum_m c_m e^(a_m tau) cos(b_m tau + p_m) [ho1966]: its Hankel matrix has a rank
above the noise, or none, and the step gives decays a and frequencies b. Noise is what folds of
documents do: a fold's deviation in a jackknife [efron1982], times sqrt(folds - 1), has the
covariance of the kernel's own error, so the largest singular value that any of them has, times
`EDGE`, is the edge.

Nothing may grow: |e^a| above 1 is put on the unit circle. A constant is left out: it is what a
finite document's own dependence adds to its shuffles. Such modes are read only where the kernel is
told from nothing at some lag (`gnomon.groups.detection`).

A mode is named as the harmonic of a slower one where its frequency is a whole multiple of the
other's within both errors, these errors leave little room for that by chance, and it lasts about as
long as the other does: what falls within few tokens is wide, and meets some multiple of anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from gnomon.errors import GroupError
from gnomon.groups.blocks import Block, Floats
from gnomon.groups.combs import Comb, combs
from gnomon.groups.detection import told_from_nothing
from gnomon.groups.generator import Generator
from gnomon.groups.hankel import hankel, step_of
from gnomon.groups.lags import LagKernel
from gnomon.results import Result

FEWEST = 16
"""Lags below which nothing is read from a kernel."""
MOST = 48
"""Rank of what is left without sharp periods, at most."""
ENOUGH = 4
"""Lags are searched for sharp periods where there are this part of the pairs at lag 1."""
EDGE = 1.2
"""Of 17 exchangeable values one is the largest in 6 % of all cases; with this, in less than 1 %."""
DISTANT = 0.1
"""A mode that moves by more than this between folds is not the same mode, and has no interval."""
SAME = 0.02
"""Periods that differ by less than this part, after harmonics are taken out, are the same."""
CHANCE = 0.2
"""Share of all frequencies that are a multiple of another within errors, at most."""
VAGUE = 4.0
"""Ends of a period's interval, at most: beyond, no period is known."""
LASTING = 0.5
"""Half-life of a harmonic, as a part of its fundamental's, at least."""
EVERY_OTHER = 0.5 - 1e-6
"""Turns a token of what alternates."""
STRAIGHT = 1e-3
"""Frequencies below this, in turns over all lags, are none."""
Complex = NDArray[np.complex128]
Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class Mode(Result):
    """One oscillation or decay: its period and half-life in tokens, infinite where it has none."""

    period: float
    period_interval: Interval | None
    half_life: float
    half_life_interval: Interval | None
    amplitude: float
    harmonic: int = 1
    """1, or of which multiple of a slower mode's frequency it is."""

    @property
    def fundamental(self) -> float:
        """Return the period of the mode it is a harmonic of, its own where it is none."""
        return self.period * self.harmonic

    @property
    def oscillates(self) -> bool:
        """Say whether half of it is left after half a period: otherwise no period is seen."""
        return bool(np.isfinite(self.period) and 2.0 * self.half_life >= self.period)

    @property
    def block(self) -> Block:
        """Return the block of a generator."""
        decay = -np.log(2.0) / self.half_life if np.isfinite(self.half_life) else 0.0
        return Block(decay=decay, frequency=2.0 * np.pi / self.period)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dependence(Result):
    """What was found in a kernel: its modes, the strongest first."""

    modes: tuple[Mode, ...]
    rank: int
    """Of the kernel above its noise, a constant among it."""
    lags: int
    largest_error: float
    """Of the modes, over all lags, beside the kernel itself."""

    @property
    def families(self) -> tuple[tuple[Mode, ...], ...]:
        """Return modes that are harmonics of one period together, the slowest of each first."""
        made: list[list[Mode]] = []
        for mode in self.modes:
            home = next((one for one in made if _related(one[0], mode, self.lags)), None)
            made.append([mode]) if home is None else home.append(mode)
        return tuple(tuple(sorted(family, key=lambda one: one.harmonic)) for family in made)

    @property
    def periods(self) -> tuple[float, ...]:
        """Return the periods that are seen, each once for all harmonics, the strongest first."""
        seen = (family[0] for family in self.families if any(one.oscillates for one in family))
        return tuple(first.fundamental for first in seen)

    def generator(self) -> Generator:
        """Return all modes as a stable generator."""
        if not self.modes:
            raise GroupError("Nothing depends on the lag here, so there is no generator.")
        return Generator([mode.block for mode in self.modes])


def _related(one: Mode, other: Mode, lags: int) -> bool:
    """Say whether two modes are harmonics of one period, and last alike."""
    if not (np.isfinite(one.period) and np.isfinite(other.period)):
        return False
    alike = _lasts(one, other, lags) and _lasts(other, one, lags)
    return alike and bool(abs(one.fundamental / other.fundamental - 1.0) < SAME)


def _lasts(mode: Mode, base: Mode, lags: int) -> bool:
    """Say whether a mode lasts about as long as another, both as far as lags show it."""
    return min(mode.half_life, lags) >= LASTING * min(base.half_life, lags)


def counted(kernel: LagKernel) -> int:
    """Return how many lags have pairs enough for sharp periods to be searched for."""
    return int((kernel.pairs * ENOUGH >= kernel.pairs[0]).sum())


def dependence(kernel: LagKernel, *, lags: int | None = None, known: bool = False) -> Dependence:
    """Return the modes of a kernel that stand above its noise.

    Sharp periods are searched for at all lags that have pairs enough, all else up to `lags`, and
    only where the kernel is told from nothing, or dependence is `known` from elsewhere.
    """
    if len(kernel.lags) < FEWEST:
        raise GroupError(
            f"The kernel has {len(kernel.lags)} lags, and modes are read from {FEWEST} or more; "
            "pass longer documents or more lags."
        )
    near = min(len(kernel.lags) if lags is None else max(lags, FEWEST), len(kernel.lags))
    sharp, rest = combs(kernel.first(max(counted(kernel), near)))
    rest = rest.first(near)
    told = known or bool(sharp) or told_from_nothing(kernel.first(near))
    others, rank, error = _modes(rest, most=MOST if told else 0)
    modes = sorted([*teeth(sharp), *others], key=lambda mode: -mode.amplitude)
    lines = sum(len(comb.harmonics) for comb in sharp)
    return Dependence(
        modes=_harmonics(modes, near), rank=rank + 2 * lines, lags=near, largest_error=error
    )


def teeth(sharp: Iterable[Comb]) -> Iterator[Mode]:
    """Yield the modes of combs: their harmonics, with the intervals of the fundamental.

    No more than half a turn a token is seen: a period of 2 is the end of all periods, and where
    the interval holds it, tokens alternate.
    """
    for comb in sharp:
        low, high = _inverted(comb.frequency, comb.frequencies, 1.0, least=comb.least)
        alternates = comb.frequency >= EVERY_OTHER or low <= 2.0
        lasting = _inverted(comb.decay, comb.decays, float(np.log(2.0)))
        for harmonic, size in zip(comb.harmonics, comb.amplitudes, strict=True):
            yield Mode(
                period=2.0 if alternates else 1.0 / (comb.frequency * harmonic),
                period_interval=None if alternates else (low / harmonic, high / harmonic),
                half_life=float(np.log(2.0) / comb.rate) if comb.rate else float("inf"),
                half_life_interval=lasting,
                amplitude=float(size),
                harmonic=harmonic,
            )


def _modes(kernel: LagKernel, *, most: int) -> tuple[list[Mode], int, float]:
    """Return the modes of a kernel by its Hankel matrix, their rank, and their largest error."""
    values = np.asarray(kernel.values)
    rank = min(_rank(kernel), most) if most else 0
    if rank == 0:
        return [], 0, float(np.abs(values - values.mean()).max())
    steps = _steps(values, rank)
    replicates = [_steps(one, rank) for one in kernel.replicates]
    weights, error = _weights(values, steps)
    modes = [
        _mode(one, size, [_nearest(others, one) for others in replicates], len(values))
        for one, size in zip(steps, weights, strict=True)
    ]
    return [mode for mode in modes if not _constant(mode, len(values))], rank, error


def _constant(mode: Mode, lags: int) -> bool:
    """Say whether a mode neither turns nor falls over these lags by more than its error."""
    if np.isfinite(mode.period) or mode.half_life <= lags:
        return False
    return mode.half_life_interval is None or not np.isfinite(mode.half_life_interval[1])


def _rank(kernel: LagKernel) -> int:
    """Return how many singular values exceed all that noise of the same folds has.

    A fold's deviation times sqrt(folds - 1) has the covariance of the kernel's own error.
    """
    folds = len(kernel.replicates)
    noise = np.sqrt(folds - 1) * (kernel.replicates - kernel.replicates.mean(axis=0))
    edge = EDGE * max(hankel(one[:, None, None]).singular_values[0] for one in noise)
    return int((hankel(kernel.values[:, None, None]).singular_values > edge).sum())


def _steps(values: Floats, rank: int) -> Complex:
    """Return the logarithms a + ib of the modes, b >= 0 and a <= 0."""
    found = np.linalg.eigvals(step_of(hankel(values[:, None, None]), rank)).astype(np.complex128)
    logs = np.log(np.where(np.abs(found) < 1e-12, 1e-12, found))
    kept = logs[logs.imag >= -1e-12]
    straight = np.abs(kept.imag) * len(values) < 2.0 * np.pi * STRAIGHT
    return np.minimum(kept.real, 0.0) + 1j * np.where(straight, 0.0, np.abs(kept.imag))


def _weights(values: Floats, steps: Complex) -> tuple[Floats, float]:
    """Return the amplitude of each mode at lag 1, and the largest error of their sum."""
    lags = np.arange(len(values))[:, None]
    waves = np.exp(lags * steps)
    columns = np.concatenate([waves.real, waves.imag], axis=1)
    fitted = np.linalg.lstsq(columns, values, rcond=None)[0]
    sizes = np.hypot(fitted[: len(steps)], fitted[len(steps) :])
    return np.asarray(sizes), float(np.abs(columns @ fitted - values).max())


def _nearest(others: Complex, one: complex) -> complex:
    return complex(others[np.argmin(np.abs(others - one))])


def _mode(step: complex, amplitude: float, moved: list[complex], lags: int) -> Mode:
    """Return a mode with intervals from how it moves when folds are left out."""
    near = np.array([other for other in moved if abs(other - step) <= DISTANT])
    steady = len(near) == len(moved)
    decay, turn = -step.real, step.imag
    slow = decay * lags < 1e-3  # over all lags it does not fall by a thousandth
    alternates = turn >= 2.0 * np.pi * EVERY_OTHER
    known = steady and turn and not alternates
    between = _inverted(turn, near.imag, 2.0 * np.pi) if known else None
    # A turn that is longer than all lags, or hardly more than its error, is none.
    turns = turn * lags >= 2.0 * np.pi and (between is None or between[1] <= VAGUE * between[0])
    return Mode(
        period=float(2.0 * np.pi / turn) if turns else float("inf"),
        period_interval=between if turns else None,
        half_life=float("inf") if slow else float(np.log(2.0) / decay),
        half_life_interval=_inverted(decay, -near.real, np.log(2.0)) if steady else None,
        amplitude=float(amplitude),
    )


def _inverted(rate: float, moved: Floats, unit: float, *, least: float = 0.0) -> Interval:
    """Return the 95 % interval of unit / rate, from a jackknife of the rate."""
    folds = len(moved)
    spread = float(np.sqrt((folds - 1) / folds * ((moved - moved.mean()) ** 2).sum()))
    reach = max(float(student.ppf(0.975, folds - 1)) * spread, least)
    slowest, fastest = rate - reach, rate + reach
    upper = float(unit / slowest) if slowest > 0.0 else float("inf")
    return (float(unit / fastest) if fastest > 0.0 else float("inf")), upper


def _harmonics(modes: list[Mode], lags: int) -> tuple[Mode, ...]:
    """Name multiples of a slower frequency; of one comb the slowest mode is the period."""
    slow = sorted((m for m in modes if np.isfinite(m.period)), key=lambda mode: -mode.period)
    names: dict[int, int] = {}
    for place, mode in enumerate(slow):
        bases = (base for base in slow[:place] if names.get(id(base), base.harmonic) == 1)
        for base in bases if mode.harmonic == 1 else ():
            whole = _multiple(mode, base, lags)
            if whole > 1:
                names[id(mode)] = whole
                break
    return tuple(replace(mode, harmonic=names.get(id(mode), mode.harmonic)) for mode in modes)


def _multiple(mode: Mode, base: Mode, lags: int) -> int:
    """Return of which multiple of a slower mode's frequency a mode is, 1 where that is not told."""
    whole = round(base.period / mode.period)
    error = _error(mode) + whole * _error(base)
    apart = abs(1.0 / mode.period - whole / base.period)
    likely = 2.0 * error * base.period > CHANCE
    if whole < 2 or likely or apart > error or not _lasts(mode, base, lags):
        return 1
    return whole


def _error(mode: Mode) -> float:
    """Return the reach of a frequency's interval; of what alternates it is not known, and small."""
    if mode.period_interval is None:
        return 1e-3 if mode.period == 2.0 else float("inf")
    low, high = mode.period_interval
    return 0.5 * (1.0 / low - 1.0 / high)
