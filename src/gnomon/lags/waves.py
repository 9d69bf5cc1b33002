r"""Damped waves and decays in a kernel, each kept only where it stands above the noise by itself.

    k(tau) = c + sum_m e^(-a_m (tau - 1)) (u_m cos(b_m tau) + v_m sin(b_m tau)),    a_m >= 0

Modes are added one at a time. Errors at different lags depend on each other, since all come from
the same documents, so a mode is judged by folds of documents: with z its two sums over lags, beside
all that the present modes and small changes of them could explain, and S their covariance over F
folds, T^2 = z' S^-1 z has Hotelling's law [hotelling1931]. The mode of least chance, of a grid of
decays and frequencies, is added and all modes are refined together, by weighted least squares.

* A mode of over `LOUD` times all of the kernel is refused: it is large only since another one, or
  the constant, cancels it.
* A mode as near to another one as the lags, or their own widths, tell apart is refused: two such
  modes would be one, or cancel.
* In the end every mode is asked again, beside all others, with the noise grown by what the modes
  leave unexplained (chi^2 over its degrees of freedom where that is above 1), and the least
  is taken out until all stand. So a model that does not fit has few modes, or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import f as f_law

from gnomon.lags.kernel import LagKernel, jackknife_errors
from gnomon.lags.token_line import Floats

CHANCE = 1e-3
"""Of a false mode, over all of the grid."""
TRIED = 4
"""Modes of the grid that have little to do with each other, for each lag."""
MOST = 8
"""Modes, at most."""
FASTEST = 3.0
"""Decay per token beyond which a mode is gone at once."""
LIVES = 12
"""Half-lives in the grid, from one token to `LONGEST` times the lags, and none."""
LONGEST = 4.0
STEPS = 100
"""Evaluations of a search, at most."""
STILL = 0.1
"""Noise of a sum beside that of lags that had nothing to do with each other, at least."""
SLIGHTEST = 12.0
"""Squares in units of the errors that a mode takes off, at least."""
LEAST_ERROR = 1e-4
"""Of an error beside the largest rate: sums of many harmonics are fitted no better than that."""
SIGNS = 2048
"""Random signs of the folds."""
NEEDED = 24.0
"""The same that the turn of a wave takes off which falls faster than it turns, at least."""
NEAR = 0.75
"""Cells (1 over the lags) between two waves, at least."""
SLIGHT = 0.25
"""Cells that a wave is from half a turn a token, at least."""
LEAST = 0.5
"""Turns of a wave over all lags, at least."""
LOUD = 2.0
"""Size of a mode at any lag beside the largest value of the kernel, at most; amplitudes twice."""
ALIKE = 2.0
"""Ratio of two half-lives, at least."""
Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Waves:
    """Modes a + ib with a <= 0, their parts u and v, and how they move without each fold."""

    steps: Complex
    cosines: Floats
    sines: Floats
    constant: float
    moved: Complex
    """The steps without each fold in turn, (folds, modes)."""
    values: Floats
    """The sum of all, at the kernel's lags."""
    withheld: int
    """Modes that were found and do not stand above what is left unexplained."""

    @property
    def amplitudes(self) -> Floats:
        """Return the sizes of all modes at lag 1."""
        return np.hypot(self.cosines, self.sines)

    def only(self, kernel: LagKernel, kept: NDArray[np.bool_]) -> Waves:
        """Return some of the modes, with weights that fit best; the others are withheld."""
        modes = np.stack([-self.steps.real, self.steps.imag], axis=1)[kept]
        return replace(
            self,
            **_with_weights(_problem(kernel), modes),
            moved=self.moved[:, kept],
            withheld=self.withheld + int((~kept).sum()),
        )


@dataclass(frozen=True, eq=False)
class _Problem:
    """A kernel in units of its errors; `noise` has the covariance of its error, a row per fold."""

    lags: Floats
    values: Floats
    errors: Floats
    noise: Floats

    @property
    def cell(self) -> float:
        """Return the radians per token of one turn over all lags."""
        return 2.0 * np.pi / len(self.lags)


def waves_of(kernel: LagKernel, *, taken: int = 0) -> Waves:
    """Return the modes of a kernel that stand above its noise, and how they move."""
    problem = _problem(kernel)
    modes, withheld = _prune(problem, _search(problem), taken)
    changes = (kernel.replicates - kernel.values) / problem.errors
    moved = _shifts(problem, modes, changes)
    return Waves(**_with_weights(problem, modes), moved=moved, withheld=withheld)


def _problem(kernel: LagKernel) -> _Problem:
    errors = steady_errors(kernel)
    folds = len(kernel.replicates)
    deviations = kernel.replicates - kernel.replicates.mean(axis=0)
    return _Problem(
        kernel.lags.astype(np.float64),
        np.asarray(kernel.values) / errors,
        errors,
        np.sqrt(folds - 1.0) * deviations / errors,
    )


def _with_weights(problem: _Problem, modes: Floats) -> dict[str, Any]:
    """Return the modes with the weights that fit best, and their sum."""
    sizes = _solve(problem, modes)
    cosines, sines = _parts(modes, sizes)
    return {
        "steps": -modes[:, 0] + 1j * modes[:, 1],
        "cosines": cosines,
        "sines": sines,
        "constant": float(sizes[0]),
        "values": _columns(problem.lags, modes) @ sizes,
    }


def steady_errors(kernel: LagKernel) -> Floats:
    """Return the errors, each drawn half way to the mean of its neighbours: they come from folds.

    An error that is 0 by rounding becomes a thousandth of the largest. Documents that are all alike
    have none at all; what is off by less than `LEAST_ERROR` of the largest rate is no misfit.
    """
    own = jackknife_errors(np.asarray(kernel.replicates)) ** 2
    width = min(9, len(own) | 1)
    padded = (
        np.pad(own, width // 2, mode="reflect")
        if len(own) > width
        else np.pad(own, width // 2, mode="edge")
    )
    near = np.convolve(padded, np.full(width, 1.0 / width), mode="valid")
    made = np.sqrt(0.5 * (own + near))
    least = 1e-3 * float(made.max(initial=0.0)) + np.finfo(np.float64).tiny
    rates = (np.abs(part).max(initial=0.0) for part in (kernel.values, kernel.shuffled))
    return np.maximum(made, max(least, LEAST_ERROR * float(max(rates))))


def chi_square(kernel: LagKernel, left: Floats) -> float:
    """Return the sum of squares of what is left over its errors, which are known from folds."""
    freedom = len(kernel.replicates) - 1.0
    known = (freedom - 2.0) / freedom if freedom > 2.0 else 1.0
    return float(((left / steady_errors(kernel)) ** 2).sum()) * known


def noise_chance(kernel: LagKernel, square: float) -> float:
    """Return how often noise of the folds has such a sum of squares for each degree of freedom."""
    folds = len(kernel.replicates)
    noise = kernel.replicates - kernel.replicates.mean(axis=0)
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(SIGNS, folds))
    drawn = signs @ (noise * np.sqrt((folds - 1.0) / folds)) / steady_errors(kernel)
    made = (drawn**2).mean(axis=1)
    return float((1.0 + (made >= square).sum()) / (1.0 + SIGNS))


def parameters_of(frequencies: Floats) -> int:
    """Return how many numbers modes have: a decay, and a wave two more."""
    turning = (frequencies > 0.0) & (frequencies < np.pi)
    return 2 * len(frequencies) + 2 * int(turning.sum())


def _wave(lags: Floats, decay: Floats, turn: Floats) -> tuple[Floats, Floats]:
    falls = np.exp(-decay * (lags[:, None] - 1.0))
    angles = lags[:, None] * turn
    return falls * np.cos(angles), falls * np.sin(angles)


def _turns(modes: Floats) -> NDArray[np.bool_]:
    return np.asarray((modes[:, 1] > 0.0) & (modes[:, 1] < np.pi))


def _columns(lags: Floats, modes: Floats) -> Floats:
    """Return the columns: a constant, all cosines, then the sines of what turns."""
    cosine, sine = _wave(lags, modes[:, 0], modes[:, 1])
    return np.concatenate([np.ones((len(lags), 1)), cosine, sine[:, _turns(modes)]], axis=1)


def _solve(problem: _Problem, modes: Floats) -> Floats:
    """Return the weights of all columns, in the kernel's units."""
    matrix = _columns(problem.lags, modes) / problem.errors[:, None]
    return np.asarray(np.linalg.lstsq(matrix, problem.values, rcond=None)[0])


def _parts(modes: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Return u and v of every mode."""
    sines = np.zeros(len(modes))
    sines[_turns(modes)] = sizes[1 + len(modes) :]
    return sizes[1 : 1 + len(modes)], sines


def _slopes(problem: _Problem, modes: Floats) -> Floats:
    """Return what small changes of decays do, then of frequencies, as columns."""
    cosines, sines = _parts(modes, _solve(problem, modes))
    cosine, sine = _wave(problem.lags, modes[:, 0], modes[:, 1])
    lags = problem.lags[:, None]
    by_decay = -(lags - 1.0) * (cosine * cosines + sine * sines)
    by_turn = lags * (cosine * sines - sine * cosines)
    return np.concatenate([by_decay, by_turn[:, _turns(modes)]], axis=1)


def _basis(problem: _Problem, modes: Floats) -> Floats:
    """Return orthonormal columns of all that modes and small changes of them explain."""
    both = np.concatenate([_columns(problem.lags, modes), _slopes(problem, modes)], axis=1)
    both = both / problem.errors[:, None]
    both = both / np.maximum(np.linalg.norm(both, axis=0), 1e-300)
    left, sizes, _ = np.linalg.svd(both, full_matrices=False)
    return np.asarray(left[:, sizes > 1e-7 * sizes[0]])


def _grid(problem: _Problem) -> Floats:
    """Return decays and frequencies that are tried, (tried, 2)."""
    count = len(problem.lags)
    lives = np.geomspace(0.7, LONGEST * count, LIVES)
    decays = np.append(np.log(2.0) / lives, 0.0)
    turns = np.linspace(0.0, np.pi, 2 * count + 1)
    pairs = np.stack(np.meshgrid(decays, turns, indexing="ij"), axis=-1).reshape(-1, 2)
    constant = (pairs[:, 0] == 0.0) & (pairs[:, 1] < problem.cell)
    return np.asarray(pairs[~constant])


def _chances(problem: _Problem, modes: Floats, tried: Floats) -> tuple[Floats, Floats]:
    """Return the logarithm of each chance that a mode is nothing, and the squares it takes off."""
    basis = _basis(problem, modes)
    pair = np.stack(_wave(problem.lags, tried[:, 0], tried[:, 1])) / problem.errors[:, None]
    pair = pair - np.einsum("lr,prt->plt", basis, np.einsum("lr,plt->prt", basis, pair))
    left = problem.values - basis @ (basis.T @ problem.values)
    sums = np.einsum("l,plt->tp", left, pair)
    parts = np.einsum("fl,plt->tfp", problem.noise, pair)
    flat = np.isclose(np.sin(tried[:, 1]), 0.0, atol=1e-9)
    own = np.einsum("plt,qlt->tpq", pair, pair)
    own += (1e-6 * np.trace(own, axis1=1, axis2=2)[:, None, None] + 1e-300) * np.eye(2)
    spread = np.einsum("tfp,tfq->tpq", parts, parts) / len(problem.noise) + STILL * own
    chances = np.where(
        flat,
        _chance(problem, sums[:, 0] ** 2 / spread[:, 0, 0], 1),
        _chance(problem, _square(sums, spread), 2),
    )
    taken = _square(sums, own)
    return np.where(taken < SLIGHTEST, 0.0, chances), taken


def _square(sums: Floats, spread: Floats) -> Floats:
    """Return sums' (spread)^-1 sums, for each that is tried."""
    return np.asarray(np.einsum("tp,tp->t", sums, np.linalg.solve(spread, sums[..., None])[..., 0]))


def _chance(problem: _Problem, square: Floats, numbers: int) -> Floats:
    """Return the logarithm of Hotelling's chance of so large a square."""
    folds = len(problem.noise)
    freedom = folds - numbers
    return np.asarray(f_law.logsf(square * freedom / (numbers * (folds - 1)), numbers, freedom))


def _search(problem: _Problem) -> Floats:
    """Return modes that were added one at a time, each refined with all others."""
    modes = np.empty((0, 2))
    grid = _grid(problem)
    level = np.log(CHANCE / (TRIED * len(problem.lags)))
    while len(modes) < MOST:
        chances, taken = _chances(problem, modes, grid)
        for place in np.argsort(np.where(chances <= level, -taken, np.inf))[:3]:
            if chances[place] > level:
                return modes
            more = _refine(problem, np.concatenate([modes, grid[place : place + 1]]))
            if _apart(problem, more) and not _loud(problem, more).any():
                modes = more
                break
        else:
            return modes
    return modes


def _refine(problem: _Problem, modes: Floats) -> Floats:
    """Return modes at the nearest minimum of the squares left by their best weights.

    Variable projection [golub1973] with Kaufman's Jacobian [kaufman1975].
    """
    turning = _turns(modes)
    count, waves = len(modes), int(turning.sum())

    def made(numbers: Floats) -> Floats:
        turns = modes[:, 1].copy()
        turns[turning] = numbers[count:]
        return np.stack([numbers[:count], turns], axis=1)

    def basis(numbers: Floats) -> Floats:
        return np.linalg.qr(_columns(problem.lags, made(numbers)) / problem.errors[:, None])[0]

    def left(numbers: Floats) -> Floats:
        own = basis(numbers)
        return np.asarray(problem.values - own @ (own.T @ problem.values))

    def slopes(numbers: Floats) -> Floats:
        own, moves = basis(numbers), _slopes(problem, made(numbers)) / problem.errors[:, None]
        return np.asarray(own @ (own.T @ moves) - moves)

    # What neither falls nor turns is the constant.
    slowest = np.where(turning, 0.0, np.log(2.0) / (LONGEST * len(problem.lags)))
    low = np.concatenate([slowest, np.full(waves, 1e-6)])
    high = np.concatenate([np.full(count, FASTEST), np.full(waves, np.pi - 1e-6)])
    start = np.clip(np.concatenate([modes[:, 0], modes[turning, 1]]), low + 1e-9, high - 1e-9)
    scale = np.concatenate(
        [np.maximum(start[:count], 0.1 * problem.cell), np.full(waves, problem.cell)]
    )
    found = least_squares(
        left, start, jac=slopes, bounds=(low, high), x_scale=scale, max_nfev=STEPS
    )
    reached = made(np.asarray(found.x))
    settled = _settle(problem, reached)
    if not np.array_equal(settled, reached):
        return _refine(problem, settled)
    # Of what falls faster than it turns 4 % is left after half a turn: a turn has to be needed.
    turns = np.where(reached[:, 1] < reached[:, 0], 0.0, reached[:, 1])
    turns = np.where(np.pi - turns < reached[:, 0], np.pi, turns)
    if np.array_equal(turns, reached[:, 1]):
        return reached
    simpler = _refine(problem, np.stack([reached[:, 0], turns], axis=1))
    return simpler if _left(problem, simpler) <= _left(problem, reached) + NEEDED else reached


def _left(problem: _Problem, modes: Floats) -> float:
    """Return the sum of squares that modes leave with the weights that fit best."""
    basis = np.linalg.qr(_columns(problem.lags, modes) / problem.errors[:, None])[0]
    return float(np.sum((problem.values - basis @ (basis.T @ problem.values)) ** 2))


def _settle(problem: _Problem, modes: Floats) -> Floats:
    """Return modes of which none turns too slowly to matter, or nearly by half a turn a token."""
    decays, turns = modes.T
    turns = np.where(turns < LEAST * problem.cell, 0.0, turns)
    turns = np.where(np.pi - turns < SLIGHT * problem.cell, np.pi, turns)
    return np.stack([decays, turns], axis=1)


def _apart(problem: _Problem, modes: Floats) -> bool:
    """Say whether any two modes are told apart, by their turns or by their half-lives."""
    for place, (decay, turn) in enumerate(modes):
        for other, also in modes[:place]:
            width = max(NEAR * problem.cell, 0.5 * min(decay, other))
            alike = min(decay, other) * ALIKE > max(decay, other) - 0.1 * problem.cell
            if abs(turn - also) < width and (alike or turn > 0.0):
                return False
    return True


def _loud(problem: _Problem, modes: Floats) -> NDArray[np.bool_]:
    """Say which modes are larger than all of the kernel, at a lag or by their amplitude."""
    largest = float(np.abs(problem.values * problem.errors).max(initial=0.0))
    cosines, sines = _parts(modes, _solve(problem, modes))
    cosine, sine = _wave(problem.lags, modes[:, 0], modes[:, 1])
    reached = np.abs(cosine * cosines + sine * sines).max(axis=0, initial=0.0)
    loud = np.hypot(cosines, sines) > LOUD**2 * largest
    return np.asarray(loud | (reached > LOUD * largest))


def _prune(problem: _Problem, modes: Floats, taken: int) -> tuple[Floats, int]:
    """Return the modes that stand above what all leave unexplained, and how many do not."""
    level, withheld = np.log(CHANCE), 0
    while len(modes):
        matrix = _columns(problem.lags, modes) / problem.errors[:, None]
        basis, _ = np.linalg.qr(matrix)
        left = problem.values - basis @ (basis.T @ problem.values)
        freedom = max(len(problem.lags) - 1 - parameters_of(modes[:, 1]) - taken, 1)
        growth = max(float(left @ left) / freedom, 1.0)
        chances = np.array(list(_conditional(problem, modes, growth)))
        chances[_loud(problem, modes)] = np.inf
        if chances.max() <= level:
            break
        worst = int(np.argmax(chances))
        modes = np.delete(modes, worst, axis=0)
        modes = _refine(problem, modes) if len(modes) else modes
        withheld += 1
    return modes, withheld


def _conditional(problem: _Problem, modes: Floats, growth: float) -> Iterator[float]:
    """Yield the logarithm of each mode's chance beside all others, noise grown by a factor."""
    grown = _Problem(problem.lags, problem.values, problem.errors, problem.noise * np.sqrt(growth))
    for place in range(len(modes)):
        others = np.delete(modes, place, axis=0)
        # Weights of the others are those they have without this mode; their slopes may be small.
        yield float(_chances(grown, others, modes[place : place + 1])[0][0])


def _shifts(problem: _Problem, modes: Floats, changes: Floats) -> Complex:
    """Return the steps without each fold: one step of Gauss and Newton from those of all."""
    turning = _turns(modes)
    columns, slopes = _columns(problem.lags, modes), _slopes(problem, modes)
    both = np.concatenate([columns, slopes], axis=1) / problem.errors[:, None]
    scale = np.maximum(np.linalg.norm(both, axis=0), 1e-300)
    steps = np.linalg.lstsq(both / scale, changes.T, rcond=1e-8)[0] / scale[:, None]
    steps = steps[columns.shape[1] :]
    decays = modes[:, :1] + steps[: len(modes)]
    turns = np.repeat(modes[:, 1:], changes.shape[0], axis=1)
    turns[turning] += steps[len(modes) :]
    return np.asarray((-decays + 1j * turns).T)
