"""Monotonicity: do distances grow with the lag?

Over ordered triples (i, j, k) of distinct positions with |i - j| < |i - k|:

    violations = share with D_ij > D_ik,   ties = share with D_ij = D_ik

[cirrincione2026 sec. 6.6]. Monotone distances have 0 violations, random ones about 1/2; ties are
stated beside them, since a constant encoding has no violations either. Lags may be any numbers: on
a grid they are Euclidean, and two equal lags make no triple.

An isometry repeats the ties of its corpus only up to rounding, which a strict comparison counts as
violations. With `grain` = g, distances are first rounded to whole multiples of g max D, so that
those which differ by far less than that are tied (but for the rare pair on the border of two).

Per i, the others are put in order of lag (equal lags by D), and violations are the inversions of
that sequence, counted by merging [knight1966]: O(n^2 log n) in all, exact. Without numba they are
counted bottom-up: at each level every block of width w is sorted, and for each entry of a
right-hand block a binary search finds how many of the left-hand block exceed it. Adding (block
number) x (number of ranks) to the ranks makes all the searches one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics.pairs import square
from gnomon.errors import InputError
from gnomon.numeric.checks import reals
from gnomon.numeric.parallel import over_rows, use_numba
from gnomon.results import Result

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
GRAIN = 1e-7
"""For distances that have been through a square root of float64 squares: sqrt(eps), and some."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Monotonicity(Result):
    """Shares of triples; None when no two lags differ."""

    violations: float | None
    ties: float | None
    triples: int
    reason: str | None = None


def violations(
    distances: Any, lags: Any = None, *, positions: Any = None, grain: float = 0.0
) -> Monotonicity:
    """Return the shares of violated and tied triples.

    Lags are those of positions 0, 1, ... unless `lags` (a square array) or `positions`, of shape
    (n,) or (n, axes), are given.

    >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> violations(line).violations
    0.0
    """
    values = _round_to_grain(square(distances, "The distances"), grain)
    lag_rows = _lag_rows(values, lags, positions)
    count = _count_rows
    if use_numba():
        from gnomon.diagnostics.kernels import count_rows as count

    def work(start: int, stop: int) -> tuple[int, int, int]:
        # a fresh copy without the sign of -0.0: its bits, read as whole numbers, keep the order
        keys = np.abs(values[start:stop]).view(np.int64)
        above, equal, triples = count(keys, lag_rows(start, stop), start)
        return int(above), int(equal), int(triples)

    above, equal, triples = np.sum(over_rows(work, len(values), block=32), axis=0).tolist()
    if triples == 0:
        reason = "no position has two others at different lags"
        return Monotonicity(violations=None, ties=None, triples=0, reason=reason)
    return Monotonicity(violations=above / triples, ties=equal / triples, triples=triples)


def _round_to_grain(distances: Floats, grain: float) -> Floats:
    """Return distances as multiples of `grain` of the largest, or as they are when it is 0."""
    step = grain * float(distances.max())
    return np.rint(distances / step) if step > 0.0 else distances


def _lag_rows(values: Floats, lags: Any, positions: Any) -> Any:
    """Return the function from a stretch of rows to its lags (rows, n)."""
    size = len(values)
    if lags is not None:
        given = square(lags, "The lags")
        _check_length(len(given), size)
        return lambda start, stop: np.array(given[start:stop])
    places: Any = np.arange(size)[:, None] if positions is None else positions
    points = np.atleast_1d(reals(places, "positions"))
    points = points.reshape(len(points), -1 if points.size else 1)
    _check_length(len(points), size)

    def rows(start: int, stop: int) -> Floats:
        steps = points[start:stop, None, :] - points[None, :, :]
        if points.shape[1] == 1:
            return np.abs(steps[..., 0])
        # squares of whole steps are exact, so equal lags are equal: no root is taken
        return np.asarray(np.einsum("rna,rna->rn", steps, steps))

    return rows


def _check_length(found: int, size: int) -> None:
    if found != size:
        raise InputError(
            f"There are {found} positions for {size} rows of distances; pass one per row."
        )


def _count_rows(keys: Whole, lags: Floats, start: int) -> tuple[int, int, int]:
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
