"""Violations and ties by rows, in NumPy: what the compiled kernel must equal.

Inversions of a sequence of ranks are counted bottom-up: at each level every block of width w is
sorted, and for each entry of a right-hand block a binary search finds how many of the left-hand
block exceed it. Adding (block number) x (number of ranks) to the ranks makes all the searches one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def count_rows(keys: Whole, lags: Floats, start: int) -> tuple[int, int, int]:
    """Return how many triples of rows start, start + 1, ... are violated, how many tied, and all.

    Row r of `keys` and `lags` belongs to position start + r.
    """
    above = equal = triples = 0
    for row in range(len(keys)):
        others = np.arange(keys.shape[1]) != start + row
        own_lags, own_values = lags[row][others], keys[row][others]
        order = np.lexsort((own_values, own_lags))
        own_lags, own_values = own_lags[order], own_values[order]
        same_lag = own_lags[1:] == own_lags[:-1]
        same_both = same_lag & (own_values[1:] == own_values[:-1])
        above += inversions(np.unique(own_values, return_inverse=True)[1])
        ordered = np.sort(own_values)
        equal += _pairs_in_runs(ordered[1:] == ordered[:-1]) - _pairs_in_runs(same_both)
        triples += len(order) * (len(order) - 1) // 2 - _pairs_in_runs(same_lag)
    return above, equal, triples


def _pairs_in_runs(same: NDArray[np.bool_]) -> int:
    """Return how many pairs lie within runs, given which neighbours are the same."""
    edges = np.concatenate([[0], np.flatnonzero(~same) + 1, [len(same) + 1]])
    runs = np.diff(edges)
    return int(np.sum(runs * (runs - 1) // 2))


def inversions(ranks: Whole) -> int:
    """Return how many pairs stand in the wrong order: earlier and strictly greater.

    >>> inversions(np.array([2, 0, 1, 1]))
    3
    """
    size = 1 << max(0, int(len(ranks) - 1).bit_length())
    top = len(ranks) + 1
    padded = np.full(size, top - 1, dtype=np.int64)  # padding is last and largest: no inversion
    padded[: len(ranks)] = ranks
    count, width = 0, 1
    while width < size:
        blocks = padded.reshape(-1, 2, width)
        offsets = (np.arange(len(blocks)) * top)[:, None]
        left = (blocks[:, 0] + offsets).ravel()
        right = blocks[:, 1] + offsets
        not_above = np.searchsorted(left, right, side="right")
        ends = (np.arange(len(blocks)) + 1)[:, None] * width
        count += int(np.sum(ends - not_above))
        padded = np.sort(blocks.reshape(-1, 2 * width), axis=1)
        width *= 2
    return count
