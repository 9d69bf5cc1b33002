"""Positions from declared lengths: one truth for packed, padded and continued sequences.

    packed   lengths 3, 2           -> 0 1 2 0 1
    padded   lengths 3, 2, right    -> 0 1 2 / 0 1 0      left -> 0 1 2 / 0 0 1
    continued after 5, 2 more       -> 5 6

Padding gets position 0: it is masked, and 0 is in every table. Two tokens may see each other only
within one document (`documents`), never across padding (`real`). The functions take arrays of any
library that keeps the array standard [array-api]; widths are given as plain numbers, so that
compiled code knows its shapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings.arrays import Array, Namespace, namespace_of
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import device_beside, hidden

SIDES = ("right", "left")


def packed_positions(lengths: Array, *, total: int | None = None) -> Array:
    """Return the position of every token in its own document, shape (total,).

    >>> packed_positions([3, 2])
    array([0, 1, 2, 0, 1])
    """
    values, xp, device = _lengths(lengths)
    width = _total(values, total)
    ends = xp.cumulative_sum(values)
    owner = documents(values, total=width)
    starts = xp.take(xp.concat([ends - values, ends[-1:]]), owner)
    return xp.arange(width, dtype=values.dtype, device=device) - starts


def documents(lengths: Array, *, total: int | None = None) -> Array:
    """Return the number of the document that every token of a packed sequence belongs to.

    >>> documents([3, 2])
    array([0, 0, 0, 1, 1])
    """
    values, xp, device = _lengths(lengths)
    width = _total(values, total)
    ends = xp.cumulative_sum(values)
    places = xp.arange(width, dtype=ends.dtype, device=device)
    return xp.searchsorted(ends, places, side="right")


def padded_positions(lengths: Array, *, width: int, side: str = "right") -> Array:
    """Return the position of every token in a padded batch, shape (batch, width); padding gets 0.

    >>> padded_positions([3, 2], width=3, side="left")
    array([[0, 1, 2],
           [0, 0, 1]])
    """
    values, xp, _ = _lengths(lengths)
    places = _places(values, width, side, xp=xp)
    return xp.where(real(values, width=width, side=side), places, xp.zeros_like(places))


def real(lengths: Array, *, width: int, side: str = "right") -> Array:
    """Return where a padded batch holds tokens and no padding, shape (batch, width).

    >>> real([3, 2], width=3, side="left")
    array([[ True,  True,  True],
           [False,  True,  True]])
    """
    values, xp, _ = _lengths(lengths)
    places = _places(values, width, side, xp=xp)
    return (places >= 0) & (places < values[:, None])


def continued_positions(start: int, count: int) -> Any:
    """Return the positions of `count` tokens that follow `start` cached ones.

    >>> continued_positions(5, 2)
    array([5, 6])
    """
    checks.whole("start", start, least=0)
    checks.whole("count", count, least=0)
    return np.arange(start, start + count)


def _places(values: Array, width: int, side: str, *, xp: Namespace) -> Array:
    checks.whole("width", width, least=1)
    checks.one_of("side", side, SIDES)
    seen = _seen(values)
    if seen is not None and seen.max() > width:
        raise EncodingError(
            f"A length is {seen.max()} and width is {width}; pass a width that holds all."
        )
    places = xp.arange(width, dtype=values.dtype, device=device_beside(values, xp=xp))
    first = width - values if side == "left" else xp.zeros_like(values)
    return places - first[:, None]


def _lengths(lengths: Array) -> tuple[Array, Namespace, Any]:
    xp = namespace_of(lengths)
    values = np.asarray(lengths) if xp is np else lengths
    if values.ndim != 1 or values.shape[0] == 0:
        raise EncodingError(
            f"The lengths have shape {tuple(values.shape)}; pass one list of lengths."
        )
    if not xp.isdtype(values.dtype, "integral"):
        raise EncodingError(f"The lengths have type {values.dtype}; pass whole numbers.")
    seen = _seen(values)
    if seen is not None and seen.min() < 0:
        raise EncodingError(f"A length is {seen.min()}; pass lengths from 0 on.")
    if xp.iinfo(values.dtype).bits < 32 or xp.isdtype(values.dtype, "unsigned integer"):
        values = xp.astype(values, xp.arange(1).dtype)  # sums and differences need the room
    return values, xp, device_beside(values, xp=xp)


def _seen(values: Array) -> NDArray[np.int64] | None:
    """Return lengths as NumPy's where they can be looked at: not while code is compiled."""
    if not isinstance(values, np.ndarray) and hidden(values):
        return None
    return np.asarray(values)


def _total(values: Array, total: int | None) -> int:
    if total is None:
        return int(values.sum())
    checks.whole("total", total, least=0)
    seen = _seen(values)
    if seen is not None and seen.sum() > total:
        raise EncodingError(
            f"The lengths sum to {seen.sum()} and total is {total}; pass a total that holds all."
        )
    return total
