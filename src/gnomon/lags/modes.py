r"""A group from the lags of a corpus: periods and half-lives, with intervals, or nothing.

The kernel of equal tokens (`gnomon.lags.kernel`) is read in two steps. Sharp periods, that last
over all lags, come first, each with all its harmonics (`gnomon.lags.combs`). The rest is read as
k(tau) = c + sum_m c_m e^(a_m tau) cos(b_m tau + p_m), mode by mode, each of which has to stand
above the noise and above what all modes leave unexplained (`gnomon.lags.waves`). Noise is what
folds of documents do: a fold's deviation in a jackknife [efron1982], times sqrt(folds - 1), has the
covariance of the kernel's own error.

The model is then asked for its fit: with r what it leaves at each lag and s the error there,
chi^2 = sum (r / s)^2 over its degrees of freedom, about 1 where it fits; its chance, from the same
deviations with random signs; and the share of what varies with the lag, beyond noise, that it
explains. Where it does not fit, waves of less than `CLEAR` times the largest error are withheld,
and sharp periods that bring the modes no nearer to the kernel, or that are not found again one
period on and in both halves of the documents (`gnomon.lags.combs`). All intervals are then
wider by the root of chi^2 over its degrees of freedom: what noise does is not all that moves them.

A half-life is known where the upper end of its interval is less than `REACH` times the lags it is
read from; beyond, what falls so slowly is not told from what lasts, and that end is open.

Nothing may grow. A constant is left out: it is what a
finite document's own dependence adds to its shuffles. Such modes are read only where the kernel is
told from nothing at some lag (`gnomon.lags.kernel`).

A mode is named as the harmonic of a slower one where its frequency is a whole multiple of the
other's within both errors, these errors leave little room for that by chance, and it lasts about as
long as the other does: what falls within few tokens is wide, and meets some multiple of anything.

*Positions.* Documents that begin in phase, as coding sequences in frame and pieces that begin with
a bar do, have a law for each position, and that law has a period. It is no dependence between
tokens beyond position, and `gnomon.lags.kernel` takes it off; only sharp periods are read from it,
and only clear ones: with a line of a ratio of `POSITION_RATIO`, that explain a share
`POSITION_SHARE` of how it varies with the lag beyond noise. A law that has no period, be it drawn
anew for each position, has a rough spectrum that more documents do not make smooth, and its highest
line is no period.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from gnomon.errors import GroupError
from gnomon.groups import Block, Floats, Generator
from gnomon.lags.combs import Comb, Unconfirmed, comb_at, combs, doubt
from gnomon.lags.kernel import LagKernel, is_significant, jackknife_errors
from gnomon.lags.spectrum import spectrum_of
from gnomon.lags.waves import (
    FASTEST,
    LONGEST,
    Waves,
    chi_square,
    noise_chance,
    parameters_of,
    steady_errors,
    waves_of,
)
from gnomon.results import Result

FEWEST = 16
"""Lags below which nothing is read from a kernel."""
ENOUGH = 4
"""Lags are searched for sharp periods where there are this part of the pairs at lag 1."""
POOR, RARE = 2.0, 0.01
"""chi^2 over its degrees of freedom above which, with less than such a chance, modes do not fit."""
MOST = 0.9
"""Share of what varies beyond noise that modes explain, at least, where chi^2 is above `POOR`."""
OPPOSED = (0.1, 0.5)
"""A wave that opposes a comb which falls, and one that lasts, as a part of it, at least."""
AS_GOOD = 2.0
"""Standard deviations of chi^2 by which a simpler model may fit worse."""
CLEAR = 2.0
"""Size of a mode beside the largest error, at least, where the modes do not fit."""
BESIDE = 3.0
"""Cells (1 over the lags) from a sharp period's harmonic within which a wave belongs to it."""
SLOW = 0.125
"""Half-life, as a part of all lags, from which a wave has a line beside a harmonic."""
SNAP = 0.25
"""Tokens from a whole number to either end of a period's interval, at most, to be taken as it."""
REACH = 2.0
"""Upper end of a half-life's interval beside the lags it is read from, at most."""
DISTANT = 0.1
"""A mode that moves by more than this between folds is not the same mode, and has no interval."""
SAME = 0.02
"""Periods that differ by less than this part, after harmonics are taken out, are the same."""
CHANCE = 0.2
"""Share of all frequencies that are a multiple of another within errors, at most."""
VAGUE = 4.0
"""Ends of a period's interval, at most: beyond, no period is known."""
SEVERAL = 2.0
"""Half-lives of a mode and its harmonic in periods, at least: else lines are wider than that."""
ONE = 1.0
"""The same, where the two half-lives are equal within their intervals."""
LASTING = 0.5
"""Half-life of a harmonic, as a part of its fundamental's, at least."""
EVERY_OTHER = 0.5 - 1e-6
"""Turns a token of what alternates."""
TURNS = 2.0
"""Turns over all lags, at least: slower ones are not told from what falls."""
Complex = NDArray[np.complex128]
Interval = tuple[float, float]
_Fitted = tuple["Waves | None", "Fit"]
POSITION_RATIO = 150.0
"""Ratio of a line in the law of positions, at least."""
POSITION_TURNS = 5.0
"""Times that a line repeats over the far lags, at least: a law that drifts has slow ones."""
POSITION_SHARE = 0.7
"""Share of the kernel's variance at far lags beyond noise, at least."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Mode(Result):
    """One oscillation or decay: its period and half-life in tokens, infinite where it has none."""

    period: float
    period_interval: Interval | None
    half_life: float
    half_life_interval: Interval | None
    amplitude: float
    phase: float = 0.0
    """p in amplitude e^(-a (tau - 1)) cos(b tau + p), in radians; pi where it is below 0."""
    harmonic: int = 1
    """1, or of which multiple of a slower mode's frequency it is."""
    product: tuple[float, ...] = ()
    """The periods it belongs to: it is at a sum of two frequencies, or beside one of them."""

    slow: bool = False
    """Whether it turns fewer than twice over the lags: a change without a period to speak of."""

    @property
    def fundamental(self) -> float:
        """Return the period of the mode it is a harmonic of, its own where it is none."""
        return self.period * self.harmonic

    @property
    def oscillates(self) -> bool:
        """Say whether half of it is left after half a period: otherwise no period is seen."""
        seen = np.isfinite(self.period) and 2.0 * self.half_life >= self.period
        return bool(seen and not self.slow)

    @property
    def weight(self) -> float:
        """Return the part that is even in the lag: below 0 where near tokens are less alike."""
        return float(self.amplitude * np.cos(self.phase))

    def at(self, lags: Floats) -> Floats:
        """Return what it adds to the kernel at lags."""
        turns = 2.0 * np.pi * lags / self.period + self.phase
        return np.asarray(self.amplitude * 0.5 ** ((lags - 1.0) / self.half_life) * np.cos(turns))

    @property
    def block(self) -> Block:
        """Return the block of a generator."""
        decay = -np.log(2.0) / self.half_life if np.isfinite(self.half_life) else 0.0
        return Block(decay=decay, frequency=2.0 * np.pi / self.period)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit(Result):
    """How well modes fit the kernel they were read from."""

    chi2_per_dof: float
    """Squares of what is left over its errors, over degrees of freedom: about 1 where they fit."""
    p_value: float
    """That noise alone leaves as much."""
    explained: float | None
    """Share of what varies with the lag, beyond noise; None where nothing does."""
    largest_error: float
    """Of what is left, over all lags, the constant apart."""
    largest_at: int
    """The lag of it."""
    withheld: int = 0
    """Modes that were found and are not kept, since they do not stand above what is left."""

    @property
    def poor(self) -> bool:
        """Say whether the modes do not fit: noise leaves less, or they explain too little."""
        little = self.explained is not None and self.explained < MOST
        return self.chi2_per_dof > POOR and (self.p_value < RARE or little)


@dataclass(frozen=True, kw_only=True, eq=False)
class Dependence(Result):
    """What was found in a kernel: its modes, the strongest first."""

    modes: tuple[Mode, ...]
    rank: int
    """Of the kernel above its noise, a constant among it."""
    lags: int
    largest_error: float
    """Of the modes, over all lags, beside the kernel itself."""
    fit: Fit | None = None
    """How well the modes fit; None where nothing was fitted."""
    constant: float = 0.0
    """What the fit has at every lag, below 0: shuffles hold so much of what was found."""
    unconfirmed: tuple[Unconfirmed, ...] = ()
    """Sharp periods that were found where modes do not fit, and not found again."""

    def at(self, lags: Floats) -> Floats:
        """Return the sum of all modes at lags, without the constant."""
        return np.asarray(sum((mode.at(lags) for mode in self.modes), np.zeros(len(lags))))

    @property
    def families(self) -> tuple[tuple[Mode, ...], ...]:
        """Return modes that are harmonics of one period together, the strongest family first."""
        made: list[list[Mode]] = []
        for mode in self.modes:
            home = next((one for one in made if _same_family(one[0], mode, self.lags)), None)
            made.append([mode]) if home is None else home.append(mode)
        made.sort(key=lambda family: -sum(mode.amplitude**2 for mode in family))
        return tuple(tuple(sorted(family, key=lambda one: one.harmonic)) for family in made)

    @property
    def periods(self) -> tuple[float, ...]:
        """Return the periods that are seen, each once for all harmonics, the strongest first."""
        seen = (
            family[0]
            for family in self.families
            if any(one.oscillates for one in family) and not family[0].product
        )
        return tuple(first.fundamental for first in seen)

    def generator(self) -> Generator:
        """Return all modes as a stable generator."""
        if not self.modes:
            raise GroupError("Nothing depends on the lag here, so there is no generator.")
        return Generator([mode.block for mode in self.modes])


def _same_family(one: Mode, other: Mode, lags: int) -> bool:
    """Say whether two modes are harmonics of one period, and last alike."""
    if not (np.isfinite(one.period) and np.isfinite(other.period)):
        return False
    if one.product != other.product or one.slow or other.slow:
        return False
    alike = _lasts(one, other, lags) and _lasts(other, one, lags)
    return alike and bool(abs(one.fundamental / other.fundamental - 1.0) < SAME)


def _lasts(mode: Mode, base: Mode, lags: int) -> bool:
    """Say whether a mode lasts about as long as another, both as far as lags show it."""
    return min(mode.half_life, lags) >= LASTING * min(base.half_life, lags)


def lag_limit(kernel: LagKernel) -> int:
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
    wide = kernel.first(max(lag_limit(kernel), near))
    sharp, rest = combs(wide)
    whole, rest = kernel.first(near), rest.first(near)
    told = bool(whole.values.any()) and (known or bool(sharp) or is_significant(whole))
    waves, fit = _with_waves(whole, rest, _numbers(sharp)) if told else (None, None)
    if waves is not None and (opposed := _find_opposed(sharp, waves, near)):
        sharp, rest = _make_lasting(sharp, rest, opposed)
        waves, fit = _with_waves(whole, rest, _numbers(sharp))
        kept = ~np.any([_cancels(comb, waves, near) for comb in sharp], axis=0)
        waves = waves if kept.all() else waves.only(rest, kept)
        fit = _fit(whole, rest, waves, _numbers(sharp))
    if waves is not None and fit is not None:
        sharp, rest, waves, fit = _prefer_falling(whole, sharp, rest, waves, fit)
    doubted: tuple[Unconfirmed, ...] = ()
    if fit is not None and fit.poor:
        sharp, doubted, rest, fit = _confirm(wide, whole, sharp, rest, (waves, fit))
    lasting = list(harmonics(sharp))
    others = [] if waves is None else [_beside(one, lasting, near) for one in _modes(waves, near)]
    modes = sorted(
        [*lasting, *_name_harmonics(lasting, others, near)], key=lambda one: -one.amplitude
    )
    if fit is not None and fit.poor:
        modes = [_widen(mode, float(np.sqrt(fit.chi2_per_dof))) for mode in modes]
    lines = sum(len(comb.harmonics) for comb in sharp)
    rank = 0 if waves is None else parameters_of(waves.steps.imag) // 2
    return Dependence(
        modes=tuple(modes),
        rank=rank + 2 * lines,
        lags=near,
        largest_error=_variation(whole) if fit is None else fit.largest_error,
        fit=fit,
        constant=0.0 if waves is None else waves.constant,
        unconfirmed=doubted,
    )


def _variation(kernel: LagKernel) -> float:
    """Return how far a kernel is from its mean at most."""
    return float(np.abs(kernel.values - kernel.values.mean()).max())


def _numbers(sharp: Iterable[Comb]) -> int:
    """Return how many numbers combs have: a period, a decay, and a size for each harmonic."""
    return sum(2 + len(comb.harmonics) for comb in sharp)


def _with_waves(whole: LagKernel, rest: LagKernel, taken: int) -> tuple[Waves, Fit]:
    """Return the waves in what combs leave, and the fit of all; weak ones are not kept in a bad."""
    waves = waves_of(rest, taken=taken)
    fit = _fit(whole, rest, waves, taken)
    while fit.poor and len(waves.steps):
        kept = waves.amplitudes >= CLEAR * fit.largest_error
        if kept.all():
            break
        waves = waves.only(rest, kept)
        fit = _fit(whole, rest, waves, taken)
    return waves, fit


def _cancels(comb: Comb, waves: Waves, lags: int) -> NDArray[np.bool_]:
    """Say which waves are beside a line of a comb, below 0, and of a size with it.

    What falls as no exponential, as two periods do that are nearer than lags tell, would be one
    that falls and another that takes a part of it away.
    """
    turns = comb.frequency * np.array(comb.harmonics, dtype=np.float64)
    seen = 2.0 * np.pi * np.abs(turns - np.rint(turns))
    apart = np.abs(waves.steps.imag[:, None] - seen)
    nearest = np.argmin(apart, axis=1)
    part = OPPOSED[0] if comb.rate else OPPOSED[1]
    opposed = waves.cosines < -part * np.asarray(comb.amplitudes)[nearest]
    close = apart.min(axis=1) * lags < 2.0 * np.pi * OPPOSED[1]
    return np.asarray(opposed & close & (waves.steps.imag > 0.0))


def _find_opposed(sharp: Iterable[Comb], waves: Waves, lags: int) -> list[Comb]:
    """Return the combs that a wave takes a part away from."""
    return [comb for comb in sharp if _cancels(comb, waves, lags).any()]


def _make_lasting(
    sharp: tuple[Comb, ...], rest: LagKernel, opposed: list[Comb]
) -> tuple[tuple[Comb, ...], LagKernel]:
    """Return combs, some of which last with the sizes that fit best, and what all leave."""
    made = []
    for comb in sharp:
        if comb not in opposed:
            made.append(comb)
            continue
        turns = comb.frequency * np.array(comb.harmonics, dtype=np.float64)
        lags = rest.lags.astype(np.float64)
        columns = np.cos(2.0 * np.pi * lags[:, None] * turns)
        values = rest.values + _comb_on(comb, rest)
        both = np.concatenate([columns, np.ones((len(lags), 1))], axis=1)
        sizes = np.linalg.lstsq(both, values, rcond=None)[0][:-1]
        lasts = replace(comb, rate=0.0, amplitudes=sizes)
        change = _comb_on(comb, rest) - _comb_on(lasts, rest)
        rest = replace(rest, values=rest.values + change, replicates=rest.replicates + change)
        made.append(lasts)
    return tuple(made), rest


def _prefer_falling(
    whole: LagKernel, sharp: tuple[Comb, ...], rest: LagKernel, waves: Waves, fit: Fit
) -> tuple[tuple[Comb, ...], LagKernel, Waves, Fit]:
    """Return combs and waves, with waves in a comb's stead where these fit about as well.

    A turn that falls leaves a line at far lags, too, which is taken for one that lasts, and what it
    is more at near lags for a part that falls: two modes of one frequency where there is one.
    """
    for comb in sharp:
        if not _has_falling_part(comb, waves, len(whole.lags)):
            continue
        others = tuple(one for one in sharp if one is not comb)
        values = rest.values + _comb_on(comb, rest)
        back = replace(rest, values=values, replicates=values + (whole.replicates - whole.values))
        tried, fitted = _with_waves(whole, back, _numbers(others))
        slack = 1.0 + AS_GOOD * np.sqrt(2.0 / len(whole.lags))
        good = fitted.chi2_per_dof <= slack * max(fit.chi2_per_dof, 1.0) and not fitted.poor
        if good and _turns_with(comb, tried, len(whole.lags)).any():
            sharp, rest, waves, fit = others, back, tried, fitted
    return sharp, rest, waves, fit


def _turns_with(comb: Comb, waves: Waves, lags: int) -> NDArray[np.bool_]:
    """Say which waves fall within the lags and turn with a comb, or one of its harmonics."""
    turns = comb.frequency * np.array(comb.harmonics, dtype=np.float64)
    seen = 2.0 * np.pi * np.abs(turns - np.rint(turns))
    apart = np.abs(waves.steps.imag[:, None] - seen).min(axis=1)
    falls = -waves.steps.real * lags > np.log(2.0)
    return np.asarray(falls & (apart * lags < 2.0 * np.pi) & (waves.steps.imag > 0.0))


def _has_falling_part(comb: Comb, waves: Waves, lags: int) -> bool:
    """Say whether a wave that falls turns with a comb, and has some part of its size."""
    with_it = _turns_with(comb, waves, lags) & (waves.cosines > 0.0)
    size = float(np.abs(comb.amplitudes).max())
    return bool((waves.amplitudes[with_it] >= OPPOSED[1] * size).any())


def _confirm(
    wide: LagKernel, whole: LagKernel, sharp: tuple[Comb, ...], rest: LagKernel, fitted: _Fitted
) -> tuple[tuple[Comb, ...], tuple[Unconfirmed, ...], LagKernel, Fit]:
    """Return the combs that are confirmed where modes do not fit, those that are not, and the fit.

    With them comes the kernel that holds again what is not confirmed.
    """
    waves, fit = fitted
    scale = float(np.sqrt(fit.chi2_per_dof))
    doubts: dict[Comb, str] = {}
    for comb in sharp:
        others = [one for one in sharp if one is not comb]
        reason = doubt(comb, wide, others, reach=scale * _reach_of(comb))
        if reason is not None:
            doubts[comb] = reason
    rest = _put_back(rest, doubts)
    kept = tuple(comb for comb in sharp if comb not in doubts)
    fit = replace(_fit(whole, rest, waves, _numbers(kept)), withheld=fit.withheld + len(doubts))
    return kept, tuple(_describe(comb, doubts[comb], scale) for comb in doubts), rest, fit


def _describe(comb: Comb, reason: str, scale: float) -> Unconfirmed:
    """Return what is said of a comb that is not confirmed."""
    reach = scale * _reach_of(comb)
    low, high = 1.0 / (comb.frequency + reach), 1.0 / max(comb.frequency - reach, 1e-300)
    return Unconfirmed(
        period=1.0 / comb.frequency,
        period_interval=(low, high),
        amplitude=float(np.sum(comb.amplitudes)),
        reason=reason,
    )


def _reach_of(comb: Comb) -> float:
    """Return how far a fundamental may be off, at 95 %."""
    folds = len(comb.frequencies)
    spread = float(jackknife_errors(comb.frequencies[:, None])[0])
    return max(float(student.ppf(0.975, folds - 1)) * spread, comb.least)


def _widen(mode: Mode, scale: float) -> Mode:
    """Return a mode whose intervals hold what modes do not explain; a whole number is its period.

    Only a sharp period that lasts is taken for a whole number.
    """
    made = replace(mode, half_life_interval=_scale(mode.half_life, mode.half_life_interval, scale))
    between = _scale(mode.period, mode.period_interval, scale)
    if between is None:
        return made
    low, high = (mode.harmonic * end for end in between)
    whole = _whole(mode.fundamental, (low, high), lasts=np.isinf(mode.half_life))
    return replace(made, period=whole / mode.harmonic, period_interval=between)


def _scale(value: float, interval: Interval | None, scale: float) -> Interval | None:
    """Return an interval whose ends are so many times as far from 1 / value, as rates."""
    if interval is None:
        return None
    (low, high), rate = interval, 1.0 / value
    fastest = rate + scale * (1.0 / low - rate) if low > 0.0 else np.inf
    slowest = rate - scale * (rate - 1.0 / high)
    upper = float(1.0 / slowest) if slowest > 0.0 else float("inf")
    return (float(1.0 / fastest) if fastest > 0.0 else float("inf")), upper


def _put_back(rest: LagKernel, dropped: Iterable[Comb]) -> LagKernel:
    """Return what combs left, with some of them in it again."""
    values = sum((_comb_on(comb, rest) for comb in dropped), np.array(rest.values))
    return replace(rest, values=values)


def _comb_on(comb: Comb, kernel: LagKernel) -> Floats:
    """Return what a comb adds to a kernel at its lags."""
    return comb_at(comb, kernel.lags.astype(np.float64))


def _whole(period: float, interval: Interval, *, lasts: bool) -> float:
    """Return the period: where its interval is narrow and holds a whole number, and it lasts, that.

    Tokens are counted in whole numbers, and most that lasts repeats after one.
    """
    (low, high), nearest = interval, float(round(period))
    near = low <= nearest <= high and max(nearest - low, high - nearest) <= SNAP
    return nearest if near and lasts and nearest > 1.0 else period


def _fit(whole: LagKernel, rest: LagKernel, waves: Waves | None, taken: int) -> Fit:
    """Return how well sharp periods, which were taken off, and waves fit a kernel."""
    left = rest.values - rest.values.mean() if waves is None else rest.values - waves.values
    used = 1 + taken + (0 if waves is None else parameters_of(waves.steps.imag))
    freedom = max(len(left) - used, 1)
    square = chi_square(rest, left)
    noise = float((steady_errors(whole) ** 2).sum())
    varies = float(((whole.values - whole.values.mean()) ** 2).sum()) - noise
    unexplained = max(float((left**2).sum()) - noise * freedom / len(left), 0.0)
    worst = int(np.argmax(np.abs(left)))
    return Fit(
        chi2_per_dof=square / freedom,
        p_value=noise_chance(rest, square / freedom),
        explained=1.0 - min(unexplained / varies, 1.0) if varies > 0.0 else None,
        largest_error=float(np.abs(left[worst])),
        largest_at=int(whole.lags[worst]),
        withheld=0 if waves is None else waves.withheld,
    )


def harmonics(sharp: Iterable[Comb]) -> Iterator[Mode]:
    """Yield the modes of combs: their harmonics, with the intervals of the fundamental.

    No more than half a turn a token is seen: a period of 2 is the end of all periods, and where
    the interval holds it, tokens alternate.
    """
    for comb in sharp:
        low, high = _invert(comb.frequency, comb.frequencies, 1.0, least=comb.least)
        first = 1.0 / _whole(1.0 / comb.frequency, (low, high), lasts=comb.rate == 0.0)
        alternates = comb.frequency >= EVERY_OTHER or low <= 2.0
        lasting = _invert(comb.decay, comb.decays, float(np.log(2.0)))
        lasting = lasting if comb.rate else (lasting[0], float("inf"))
        for harmonic, size in zip(comb.harmonics, comb.amplitudes, strict=True):
            yield Mode(
                period=2.0 if alternates else 1.0 / (first * harmonic),
                period_interval=None if alternates else (low / harmonic, high / harmonic),
                half_life=float(np.log(2.0) / comb.rate) if comb.rate else float("inf"),
                half_life_interval=lasting,
                amplitude=float(size),
                harmonic=harmonic,
                product=comb.product,
            )


def _modes(waves: Waves, lags: int) -> list[Mode]:
    """Return the modes of waves, but for what neither turns nor falls."""
    parts = zip(waves.steps, waves.cosines, waves.sines, waves.moved.T, strict=True)
    modes = [_mode(step, complex(u, -v), moved, lags) for step, u, v, moved in parts]
    return [mode for mode in modes if not _constant(mode, lags)]


def _beside(mode: Mode, lasting: Iterable[Mode], lags: int) -> Mode:
    """Return a wave; beside a harmonic of a sharp period it is that one, swelling and falling."""
    if not np.isfinite(mode.period) or mode.slow:
        return mode
    reach = BESIDE if mode.half_life >= SLOW * lags else 0.5
    line = 1.0 / mode.period
    for base in dict.fromkeys(one.fundamental for one in lasting if not one.product):
        turns = np.arange(1.0, np.ceil(base) + 1.0) / base
        away = float(np.abs(np.abs(turns - np.rint(turns)) - line).min())
        if away * lags < reach and lags > 2.0 * BESIDE * base:
            other = (1.0 / away,) if 2.0 * away * lags > 1.0 else ()
            return replace(mode, product=(base, *other))
    return mode


def _constant(mode: Mode, lags: int) -> bool:
    """Say whether a mode neither turns nor falls over these lags by more than its error."""
    if np.isfinite(mode.period) or mode.half_life <= lags:
        return False
    return mode.half_life_interval is None or not np.isfinite(mode.half_life_interval[1])


def _mode(step: complex, weight: complex, near: Complex, lags: int) -> Mode:
    """Return a mode with intervals from how it moves when folds are left out."""
    steady = bool(np.abs(near - step).max() <= DISTANT)
    decay, turn = -step.real, step.imag
    slow = decay * lags < 1e-3  # over all lags it does not fall by a thousandth
    alternates = turn >= 2.0 * np.pi * EVERY_OTHER
    known = steady and turn and not alternates
    between = _invert(turn, near.imag, 2.0 * np.pi) if known else None
    # A turn that is longer than half of all lags, or hardly more than its error, is no period.
    turns = turn * lags >= TURNS * 2.0 * np.pi
    turns = turns and (between is None or between[1] <= VAGUE * between[0])
    period = float(2.0 * np.pi / turn) if turn else float("inf")
    return Mode(
        slow=bool(turn and not turns),
        period=_whole(period, between, lasts=slow) if turns and between else period,
        period_interval=between if turns else None,
        half_life=float("inf") if slow else float(np.log(2.0) / decay),
        half_life_interval=_life(decay, near, lags) if steady else None,
        amplitude=float(abs(weight)),
        phase=float(np.angle(weight)),
    )


def _life(decay: float, near: Complex, lags: int) -> Interval:
    """Return the interval of a half-life; at an end of what is searched it is open there.

    What falls by so little is longer than these lags, and no more of it is known.
    """
    if decay >= 0.99 * FASTEST:
        return 0.0, float(np.log(2.0) / decay)
    if decay * LONGEST * lags <= 1.01 * np.log(2.0):
        return float(lags), float("inf")
    low, high = _invert(decay, -near.real, float(np.log(2.0)))
    return low, high if high <= REACH * lags else float("inf")


def _invert(rate: float, moved: Floats, unit: float, *, least: float = 0.0) -> Interval:
    """Return the 95 % interval of unit / rate, from a jackknife of the rate."""
    folds = len(moved)
    spread = float(np.sqrt((folds - 1) / folds * ((moved - moved.mean()) ** 2).sum()))
    reach = max(float(student.ppf(0.975, folds - 1)) * spread, least)
    slowest, fastest = rate - reach, rate + reach
    upper = float(unit / slowest) if slowest > 0.0 else float("inf")
    return (float(unit / fastest) if fastest > 0.0 else float("inf")), upper


def _name_harmonics(lasting: list[Mode], waves: list[Mode], lags: int) -> list[Mode]:
    """Name waves at multiples of a slower frequency; of several the slowest is the period."""
    named: list[Mode] = []
    bases = [mode for mode in lasting if mode.harmonic == 1 and not mode.product]
    for mode in sorted(waves, key=lambda one: -one.period):
        if np.isfinite(mode.period) and not mode.product and not mode.slow:
            found = (_multiple(mode, base, lags) for base in bases)
            whole = next((one for one in found if one > 1), 1)
            bases += [mode] if whole == 1 else []
            named.append(replace(mode, harmonic=whole))
        else:
            named.append(mode)
    return named


def _multiple(mode: Mode, base: Mode, lags: int) -> int:
    """Return of which multiple of a slower mode's frequency a mode is, 1 where that is not told."""
    whole = round(base.period / mode.period)
    error = _error(mode) + whole * _error(base)
    apart = abs(1.0 / mode.period - whole / base.period)
    likely = 2.0 * error * base.period > CHANCE
    alike = _lasts(mode, base, lags) and _lasts(base, mode, lags)
    same = alike and _overlap(mode.half_life_interval, base.half_life_interval)
    wide = min(mode.half_life, base.half_life) < (ONE if same else SEVERAL) * base.period
    if whole < 2 or likely or apart > error or wide or not alike:
        return 1
    return whole


def _overlap(one: Interval | None, other: Interval | None) -> bool:
    """Say whether two intervals hold a common value."""
    if one is None or other is None:
        return False
    return max(one[0], other[0]) <= min(one[1], other[1])


def _error(mode: Mode) -> float:
    """Return the reach of a frequency's interval; of what alternates it is not known, and small."""
    if mode.period_interval is None:
        return 1e-3 if mode.period == 2.0 else float("inf")
    low, high = mode.period_interval
    return 0.5 * (1.0 / low - 1.0 / high)


def position_periods(kernel: LagKernel) -> Dependence:
    """Return the periods of a law of positions, none where it has none."""
    near = kernel.first(lag_limit(kernel))
    sharp, rest = combs(near, least=POSITION_RATIO, slowest=POSITION_TURNS)
    if not sharp or _beyond_noise(rest) > (1.0 - POSITION_SHARE) * _beyond_noise(near):
        sharp, rest = (), near
    modes = sorted(harmonics(sharp), key=lambda mode: -mode.amplitude)
    return Dependence(
        modes=tuple(modes),
        rank=2 * len(modes),
        lags=len(near.lags),
        largest_error=float(np.abs(rest.values - rest.values.mean()).max()),
    )


def _beyond_noise(kernel: LagKernel) -> float:
    """Return how much a kernel varies with the lag, less what its folds do, at far lags."""
    far = spectrum_of(kernel)
    noise = jackknife_errors(far.replicates) ** 2
    return max(float((far.values**2 - noise).sum()), 0.0)
