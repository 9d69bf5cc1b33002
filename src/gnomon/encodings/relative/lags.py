"""Logits by lag without a vector for every pair: products with a table first, rows picked after.

    S = x T^T  (n, rows),   logits[i, j] = S[i, row(i - j)]  (n, m),

since x_i . T[row] depends on (i, j) through the row alone: O(n rows d + n m) operations and
O(n rows + n m) memory, where vectors for all pairs would take O(n m d) of both. What attention
weights add to values goes the other way: weights are summed by row, then multiplied by the table
[shaw2018 sec. 3.3 needs a vector for each pair of one sequence; this does not].

A lag that is no whole number has the row of the whole lag next to it towards 0, as T5's buckets do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.encodings.border import along, lags_between, within
from gnomon.numeric.arrays import concrete_or_none, hidden

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Coordinates, Namespace


def signed_lags(queries: Coordinates, keys: Coordinates, *, xp: Namespace) -> Array:
    """Return the lags i - j of one axis, shape (..., n, m)."""
    return lags_between(queries, keys, xp=xp)[..., 0]


def clipped(lags: Array, least: int, most: int, *, xp: Namespace) -> Array:
    """Return whole lags from `least` to `most`, counted from 0: others have the nearest of them."""
    kind = xp.int64 if lags.dtype == xp.float64 else xp.int32
    return xp.astype(within(xp.trunc(lags), least, most, xp=xp), kind) - least


def whole_span(queries: Coordinates, keys: Coordinates) -> tuple[int, int] | None:
    """Return the least and the largest lag where positions are seen to be whole and close by.

    Close by: there are at most four lags for each position, so that a table of lags pays.
    """
    first, second = concrete_or_none(queries), concrete_or_none(keys)
    if first is None or second is None or not first.size or not second.size:
        return None
    if not all(np.array_equal(places, np.rint(places)) for places in (first, second)):
        return None
    least, most = int(first.min() - second.max()), int(first.max() - second.min())
    near = most - least < 4 * (first.shape[-2] + second.shape[-2])
    return (least, most) if near else None


def picked(scores: Array, rows: Array, *, xp: Namespace) -> Array:
    """Return scores[..., i, rows[..., i, j]] for scores (..., n, rows) and rows (..., n, m)."""
    axes = max(scores.ndim, rows.ndim)
    return along(_raised(scores, axes), _raised(rows, axes), axis=-1, xp=xp)


def _raised(x: Array, axes: int) -> Array:
    """Return an array with leading axes of one entry, so that it has so many."""
    for _ in range(axes - x.ndim):
        x = x[None, ...]
    return x


def or_nan_lags(logits: Array, lags: Array, *, xp: Namespace) -> Array:
    """Return logits, NaN where a lag is NaN: in compiled code nothing refuses such positions."""
    if isinstance(lags, np.ndarray) or not hidden(lags):
        return logits
    return xp.where(lags == lags, logits, xp.nan)  # noqa: PLR0124 - false for NaN alone
