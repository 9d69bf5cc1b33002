r"""Ways to write the values of a bias as few modes, each from the fewest modes to the most.

A way yields sums with their largest error over all lags; who asks takes the first that is good
enough. In order: a polynomial of degree up to 3; the modes that the Hankel matrix shows, when it
shows them clearly; decays with a constant, or with a constant and a straight line; decays with
damped turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import GroupError
from gnomon.groups.exponentials import Sum, fitted, weighted
from gnomon.groups.hankel import Hankel, choose_rank, hankel, least_error, step_of

Floats = NDArray[np.float64]
GROWN = 1.0
"""Growth of a mode over the length, in logarithm, that is more than a poorly determined turn."""
_SINGLE = float(np.finfo(np.float32).eps)
MOST_DECAYS = 24
"""Modes beyond which decays gain nothing: their fits are at the rounding of float64 before."""
MOST_DAMPED = 16
"""Modes beyond which the search among damped turns would take long, and seldom finds."""
NEARLY = 6.0
"""A fit in squares this many times above the tolerance is worth turning to the largest error."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be compiled, in how many modes, how well."""

    values: Floats
    modes: int
    tolerance: float

    @cached_property
    def largest(self) -> float:
        """Return the largest absolute value."""
        return float(np.abs(self.values).max())

    @cached_property
    def hankel(self) -> Hankel:
        """Return the decomposed Hankel matrix of all lags."""
        return hankel(self.values[:, None, None])

    @cached_property
    def bound(self) -> float:
        """Return an error that no modes of any kind can be below."""
        return least_error(self.values, self.modes)

    def error(self, made: Sum) -> float:
        """Return the largest error over all lags."""
        lags = np.arange(self.values.size, dtype=np.float64)
        return float(np.abs(made.at(lags) - self.values).max())

    def fits_float32(self, made: Sum) -> bool:
        """Say whether large weights that cancel leave float32 enough digits."""
        weights = (made.polynomial, made.cosines, made.sines)
        rounding = _SINGLE * sum(float(np.abs(w).sum()) for w in weights)
        return rounding <= max(self.tolerance, 8.0 * _SINGLE * self.largest)


Found = Iterator[tuple[Sum, float]]


def ways(task: Task) -> dict[str, Callable[[], Found]]:
    """Return the ways by name, in the order in which they are to be tried."""
    return {
        "polynomial": lambda: _polynomial(task),
        "realised": lambda: _realised(task),
        "decays": lambda: _decays(task),
        "damped": lambda: _damped(task),
    }


def _polynomial(task: Task) -> Found:
    """Yield the polynomial of least degree that is the bias but for rounding."""
    none = np.empty(0)
    for powers in range(1, min(task.modes, 4) + 1):
        made = weighted(task.values, none, none, powers)
        if (error := task.error(made)) <= 1e-12 * task.largest:
            yield made, error


def _realised(task: Task) -> Found:
    """Yield the modes of the Hankel matrix, where it shows at most as many as asked, clearly.

    Eigenvalues within 1e-6 of 1 are tried as powers of the lag: a multiple root at 1 that rounding
    has split.
    """
    choice = choose_rank(task.hankel)
    if not choice.clear or choice.rank > task.modes:
        return
    exponents = _exponents(task.hankel, choice.rank)
    _check_growth(exponents, task.values.size)
    near = np.abs(exponents) <= 1e-6
    for powers, kept in ((int(near.sum()), exponents[~near]), (0, exponents)):
        made = weighted(task.values, *_upper(kept, task.values.size), powers)
        yield made, task.error(made)


def _exponents(decomposed: Hankel, rank: int) -> NDArray[np.complex128]:
    """Return the logarithms of the eigenvalues of the step; of 0, a decay that leaves nothing."""
    eigenvalues = np.linalg.eigvals(step_of(decomposed, rank)).astype(np.complex128)
    return np.asarray(np.log(eigenvalues + 1e-300))


def _upper(exponents: NDArray[np.complex128], length: int) -> tuple[Floats, Floats]:
    """Return decays and frequencies of the exponents a + ib with b >= 0, without rounding.

    A real part that changes nothing over the length is 0, and so is such an imaginary part; one of
    pi alternates in sign.
    """
    upper = exponents[exponents.imag >= 0.0]
    decays = np.where(np.abs(upper.real) * length <= 1e-6, 0.0, np.minimum(upper.real, 0.0))
    frequencies = np.where(upper.imag * length <= 1e-9, 0.0, upper.imag)
    frequencies = np.where(np.pi - upper.imag <= 1e-9, np.pi, frequencies)
    return decays.astype(np.float64), frequencies.astype(np.float64)


def _check_growth(exponents: NDArray[np.complex128], length: int) -> None:
    worst = exponents[np.argmax(exponents.real)]
    if worst.real * length > GROWN:
        raise GroupError(
            f"The bias grows as e^({worst.real:.6g} n), by the eigenvalue {np.exp(worst):.6g} of "
            "its Hankel matrix, and a mode must not grow with the lag; call "
            "realise(values).projected(values) for the nearest that does not, with its error."
        )


def _decays(task: Task) -> Found:
    """Yield decays beside a constant, or a constant and a line, from few modes to many."""
    for count in range(1, min(task.modes, MOST_DECAYS) + 1):
        for powers in range(1, min(count, 2) + 1):
            yield from _searched(task, _spread(task, count - powers), powers)


def _spread(task: Task, count: int) -> tuple[Floats, Floats]:
    return -np.geomspace(2.0 / task.values.size, 2.0, count), np.zeros(count)


def _searched(task: Task, start: tuple[Floats, Floats], powers: int) -> Found:
    """Yield a fit in squares, and where that comes near, one turned towards the largest error."""
    made, error = fitted(task.values, *start, powers, rounds=1)
    yield made, error
    if task.tolerance < error <= NEARLY * task.tolerance:
        yield turned(task, made)


def turned(task: Task, made: Sum) -> tuple[Sum, float]:
    """Return the sum turned towards its smallest largest error; one that does not fall is kept."""
    if not np.all(made.decays < 0.0):
        return made, task.error(made)
    return fitted(task.values, made.decays, made.frequencies, made.polynomial.size)


def _damped(task: Task) -> Found:
    """Yield decays with damped turns, which begin as those of what decays alone leave over."""
    lags = np.arange(task.values.size, dtype=np.float64)

    @cache
    def left_over(count: int) -> tuple[Sum, Floats]:
        alone, _ = fitted(task.values, *_spread(task, count), 1, rounds=1)
        return alone, task.values - alone.at(lags)

    most = min(task.modes, MOST_DAMPED)
    # Where the bound says that no modes will do, only what can be reached is still of interest.
    fewest = most if task.bound > task.tolerance else most % 2 + 2
    for count in range(fewest, most + 1, 2):
        yield from _searched(task, _upper_start(task.values, task, count - 1), 1)
        for pairs in range(1, min((count - 1) // 2, 3) + 1):
            alone, left = left_over(count - 1 - 2 * pairs)
            decays, frequencies = _upper_start(left, task, 2 * pairs)
            start = np.append(alone.decays, decays), np.append(alone.frequencies, frequencies)
            yield from _searched(task, start, 1)


def _upper_start(values: Floats, task: Task, count: int) -> tuple[Floats, Floats]:
    """Return the modes of a Hankel matrix of few columns, where a search can begin."""
    if values.size < 2 * count + 2:
        return _spread(task, count)
    exponents = _exponents(hankel(values[:, None, None], 64), count)
    decays, frequencies = _upper(exponents, values.size)
    return np.minimum(decays, -1.0 / values.size), frequencies


def modes_shown(task: Task) -> int:
    """Return the clear rank of the Hankel matrix; 0 without one, and for a table that ends."""
    choice = choose_rank(task.hankel)
    if not choice.clear or choice.rank > task.values.size // 4:
        return 0
    sizes = np.linalg.svd(step_of(task.hankel, choice.rank), compute_uv=False)
    return choice.rank if sizes[-1] > 1e-10 * sizes[0] else 0
