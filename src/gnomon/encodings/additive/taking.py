"""Rows of a table at whole positions, in any library.

The position (c_1, ..., c_k) on axes of sizes (n_1, ..., n_k) has row (...(c_1 n_2 + c_2) n_3 + ...)
+ c_k. Where positions can be seen, the encodings themselves refuse those without a row, in words.
Where they can not, in code that is being compiled, such a position gives a vector of NaN: a plain
gather would count a negative position from the end, or clamp it, and nothing would say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import EncodingError
from gnomon.numeric.arrays import concrete_or_none
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace


def seen_whole(coordinates: Coordinates, *, what: str) -> NDArray[np.int64] | None:
    """Return whole coordinates as NumPy's where they can be seen; a fraction is refused."""
    values = concrete_or_none(coordinates)
    if values is None:
        return None
    rounded = np.rint(values)
    if not np.array_equal(values, rounded):
        first = float(values[values != rounded].flat[0])
        raise EncodingError(
            f"Position {first} is not a whole number, and {what} knows whole positions only; round "
            "the positions, or use an encoding with a formula in the position."
        )
    return rounded.astype(np.int64)


def whole_parts(coordinates: Coordinates, *, xp: Namespace) -> tuple[Array, Array]:
    """Return coordinates as integers, and where nothing was left over."""
    if isinstance(coordinates, Limbs):
        return coordinates.whole, coordinates.fraction == 0
    rounded = xp.round(coordinates)
    return xp.astype(rounded, xp.int64), rounded == coordinates


def row_numbers(
    coordinates: Coordinates, shape: tuple[int, ...], *, clamp: bool = False, xp: Namespace
) -> tuple[Array, Array]:
    """Return the row of every position, and whether there is one; others get a row that exists.

    With `clamp`, positions past the end of an axis have its last row.
    """
    whole, fits = whole_parts(coordinates, xp=xp)
    rows, there = 0, xp.all(fits, axis=-1)  # no `True & ...`: torch.jit.trace has no such product
    for axis, size in enumerate(shape):
        here = whole[..., axis]
        there = there & (here >= 0)
        there = there if clamp else there & (here < size)
        rows = rows * size + xp.clip(here, 0, size - 1)
    return rows, there


def take(values: Array, rows: Array, *, xp: Namespace) -> Array:
    """Return the rows (..., dimension) of values for row numbers of any shape."""
    flat = xp.take(values, xp.reshape(rows, (-1,)), axis=0)
    return xp.reshape(flat, (*rows.shape, *values.shape[1:]))


def or_nan(vectors: Array, there: Any, *, xp: Namespace) -> Array:
    """Return vectors (..., dimension) with NaN where there is none."""
    return xp.where(there[..., None], vectors, xp.nan)
