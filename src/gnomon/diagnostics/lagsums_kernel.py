"""The pass of `lagsums`, compiled: same additions in the same order."""

from __future__ import annotations

from typing import Any

import numba


@numba.njit(nogil=True, cache=True)
def accumulate(distances: Any, start: int, stop: int, sums: Any) -> None:
    """Add the shifted entries of rows start ... stop-1, and their squares, lag by lag."""
    size = distances.shape[0]
    for row in range(start, stop):
        for lag in range(1, size - row):
            shifted = distances[row, row + lag] - distances[0, lag]
            sums[0, lag] += shifted
            sums[1, lag] += shifted * shifted
