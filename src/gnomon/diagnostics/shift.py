"""Shift equivariance: how much of the variation of distances is a matter of the lag alone.

    toeplitz  = share of the variance of h over pairs i < j explained by the lag
                (R^2 of the means of h over pairs of equal lag),
    circulant = the same with the cyclic lag, in which the last position is next to the first.

Both are 1 for distances that depend on nothing else (and for constant ones), and near 0 when the
lag says nothing. On a grid the lag is a vector, taken up to sign; the cyclic lag wraps every axis,
one step behind its last position, a step being what all distances between positions are made of.
The cyclic lag is a function of the lag, so its classes are unions of classes of equal lag and one
pass over the distances serves both.

Sums lag by lag are all that an encoding which sees only lags can know of a target: for positions 0
... n-1 and lag l = 1 ... n-1 with its n - l pairs: the mean of h(i, i+l) and the spread sum (h -
mean)^2. One pass over half of h. Sums are taken of h(i, i+l) - h(0, l), so that a target which
depends on the lag alone has spread 0 exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics.pairs import target_of
from gnomon.errors import InputError
from gnomon.numeric.checks import reals
from gnomon.numeric.parallel import over_rows, use_numba
from gnomon.results import Result

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
_ROUNDING = 1e-28
"""Relative variance below which distances are constant but for rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ShiftEquivariance(Result):
    """Shares in [0, 1] of the variance of distances that lag and cyclic lag explain."""

    toeplitz: float
    circulant: float


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of pairs: how many pairs, their mean, and their spread around it."""

    pairs: Floats
    means: Floats
    spreads: Floats

    def merged(self, keys: Whole) -> Classes:
        """Return the classes that arise when all classes with one key become one."""
        pairs = _totals(keys, self.pairs)
        used = pairs > 0
        means = _totals(keys, self.pairs * self.means)
        means[used] /= pairs[used]
        apart = self.spreads + self.pairs * np.square(self.means - means[keys])
        spreads = _totals(keys, apart)
        return Classes(pairs[used], means[used], spreads[used])

    def explained(self) -> float:
        """Return the share of all variance that lies between classes."""
        centre = self.pairs @ self.means / self.pairs.sum()
        between = float(self.pairs @ np.square(self.means - centre))
        total = between + float(self.spreads.sum())
        return 1.0 if total <= _ROUNDING * float(self.pairs.sum()) * centre**2 else between / total


def _totals(keys: Whole, weights: Floats) -> Floats:
    return np.bincount(keys, weights=weights).astype(np.float64)


def shift_equivariance(distances: Any, coordinates: Any = None) -> ShiftEquivariance:
    """Return both shares; O(n^2). Positions are 0, 1, ... unless a geometry or coordinates say so.

    >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> shift_equivariance(line).toeplitz
    1.0
    """
    target = target_of(distances, coordinates)
    points = np.rint(reals(target.coordinates, "coordinates")).astype(np.int64)
    if not np.array_equal(points, target.coordinates):
        raise InputError(
            "Some coordinates are not whole numbers; shift equivariance compares pairs of equal "
            "lag, so pass whole positions."
        )
    step = np.gcd.reduce(points - points.min(axis=0), axis=0)
    spans = np.ptp(points, axis=0) + np.maximum(step, 1)
    classes, lags = _line(target.distances) if _is_line(points) else _any(target.distances, points)
    cyclic = _keys(lags % spans, spans)
    opposite = _keys(-lags % spans, spans)
    return ShiftEquivariance(
        toeplitz=classes.explained(),
        circulant=classes.merged(np.minimum(cyclic, opposite)).explained(),
    )


def _is_line(points: Whole) -> bool:
    return points.shape[1] == 1 and bool(np.all(np.diff(points[:, 0]) == 1))


def _line(values: Floats) -> tuple[Classes, Whole]:
    sums = lag_sums(values)
    lags = np.arange(1, len(values), dtype=np.int64)[:, None]
    return Classes(sums.pairs, sums.means, sums.spreads), lags


def _any(values: Floats, points: Whole) -> tuple[Classes, Whole]:
    """Return the classes of equal lag up to sign, and a lag of each."""
    reach = np.ptp(points, axis=0)
    sizes = 2 * reach + 1
    count = int(np.prod(sizes))
    middle = (count - 1) // 2  # the key of lag 0; a lag and its negative lie symmetrically about it
    reference, sums = np.full(count, np.nan), np.zeros((3, count))
    for row in range(len(points) - 1):
        keys = _keys(points[row + 1 :] - points[row] + reach, sizes)
        keys = middle + np.abs(keys - middle)
        _add_row(values[row, row + 1 :], keys, reference, sums)
    used = np.flatnonzero(sums[0])
    pairs, first, second = sums[:, used]
    spreads = np.maximum(second - first * first / pairs, 0.0)
    lags = np.stack(np.unravel_index(used, tuple(sizes)), axis=-1) - reach
    return Classes(pairs, reference[used] + first / pairs, spreads), lags


def _add_row(entries: Floats, keys: Whole, reference: Floats, sums: Floats) -> None:
    """Add entries minus the first member seen of their class, so that equal ones spread by 0."""
    unseen = np.isnan(reference[keys])
    reference[keys[unseen]] = entries[unseen]
    shifted = entries - reference[keys]
    sums[0] += np.bincount(keys, minlength=len(reference))
    sums[1] += np.bincount(keys, weights=shifted, minlength=len(reference))
    sums[2] += np.bincount(keys, weights=shifted * shifted, minlength=len(reference))


def _keys(lags: Whole, sizes: Whole) -> Whole:
    """Return one number per lag vector with entries in 0 ... size-1, in row-major order."""
    return np.ravel_multi_index(tuple(lags.T), tuple(sizes.tolist())).astype(np.int64)


@dataclass(frozen=True, eq=False)
class LagSums:
    """Per lag 1 ... n-1: how many pairs, their mean, and their spread around it."""

    pairs: Floats
    means: Floats
    spreads: Floats


def lag_sums(distances: Floats) -> LagSums:
    """Return mean and spread of every diagonal above the main one; O(n^2).

    >>> lag_sums(np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 3.0], [5.0, 3.0, 0.0]])).means
    array([2., 5.])
    """
    size = len(distances)
    accumulate = _accumulate
    if use_numba():
        from gnomon.diagnostics.kernels import accumulate

    def work(start: int, stop: int) -> Floats:
        sums = np.zeros((2, size))
        accumulate(distances, start, stop, sums)
        return sums

    first, second = np.sum(over_rows(work, size), axis=0)[:, 1:]
    pairs = np.arange(size - 1, 0, -1, dtype=np.float64)
    means = distances[0, 1:] + first / pairs
    return LagSums(pairs, means, np.maximum(second - first * first / pairs, 0.0))


def _accumulate(distances: Floats, start: int, stop: int, sums: Floats) -> None:
    """Add the shifted entries of rows start ... stop-1, and their squares, lag by lag."""
    size = len(distances)
    for row in range(start, stop):
        shifted = distances[row, row + 1 :] - distances[0, 1 : size - row]
        sums[0, 1 : size - row] += shifted
        sums[1, 1 : size - row] += shifted * shifted
