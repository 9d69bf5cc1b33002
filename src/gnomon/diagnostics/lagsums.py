"""Sums of distances lag by lag: all that an encoding which sees only lags can know of a target.

For positions 0 ... n-1 and lag l = 1 ... n-1 with its n - l pairs: the mean of h(i, i+l) and the
spread sum (h - mean)^2. One pass over half of h. Sums are taken of h(i, i+l) - h(0, l), so that a
target which depends on the lag alone has spread 0 exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.numeric.parallel import over_rows, use_numba

Floats = NDArray[np.float64]


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
        from gnomon.diagnostics.lagsums_kernel import accumulate

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
