"""What a matrix and a tolerance must be, each refusal one sentence, before anything is computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gnomon.errors import GroupError

Floats = NDArray[np.float64]
TOLERANCE = 1e-10
"""What is taken for X with 1e-12 of noise or rounding, with room for a basis that magnifies it."""
LARGEST = 256
"""Rows at most: the search costs up to n Schur forms."""
EPSILON = float(np.finfo(np.float64).eps)
ROUNDINGS = 4.0
"""A narrow type is taken to be known to so many of its roundings."""


def checked(x: ArrayLike, what: str = "the generator") -> Floats:
    """Return X as float64, or say in one sentence why it is no generator."""
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise GroupError(f"{what} has rows of different lengths; pass a square matrix.") from error
    except (RuntimeError, TypeError) as error:  # as tensors say that they are no arrays
        raise GroupError(f"{what} is no array ({error}); pass a matrix of real numbers.") from error
    if array.dtype.kind not in "biuf":
        kind = "complex" if array.dtype.kind == "c" else str(array.dtype)
        raise GroupError(f"{what} holds {kind} values; pass a matrix of real numbers.")
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise GroupError(f"{what} has shape {array.shape}; pass a square matrix.")
    if array.size == 0:
        raise GroupError(f"{what} is empty; pass a square matrix with at least one row.")
    if np.ma.is_masked(x):
        raise GroupError(f"{what} has masked entries; pass a matrix of real numbers.")
    made: NDArray[np.float64] = array.astype(np.float64)
    if not np.isfinite(made).all():
        row, column = (int(k) for k in np.argwhere(~np.isfinite(made))[0])
        raise GroupError(
            f"{what} holds {made[row, column]} at row {row}, column {column}; pass finite numbers."
        )
    return made


def check_size(x: Floats, what: str = "the generator") -> None:
    """Refuse a matrix that a search through its structures would take too long for."""
    if len(x) > LARGEST:
        raise GroupError(
            f"{what} has {len(x)} rows, and at most {LARGEST} are classified; pass the generator "
            "of one head."
        )


def rounding_of(x: ArrayLike) -> float:
    """Return the relative rounding of the type that X came in; whole numbers are exact."""
    dtype = np.asarray(x).dtype
    return max(EPSILON, float(np.finfo(dtype).eps)) if dtype.kind == "f" else EPSILON


def checked_tolerance(tolerance: float | None, size: int, rounding: float = EPSILON) -> float:
    """Return the tolerance, or refuse one that rounding alone exceeds."""
    narrow = rounding > EPSILON
    if tolerance is None:
        return ROUNDINGS * rounding if narrow else TOLERANCE
    if (
        isinstance(tolerance, bool)
        or not isinstance(tolerance, (int, float, np.integer, np.floating))
        or not np.isfinite(tolerance)
    ):
        raise GroupError(f"tolerance is {tolerance!r}; pass a number such as {TOLERANCE:g}.")
    least = rounding if narrow else size * EPSILON
    if tolerance < least:
        where = "in the type of the matrix" if narrow else f"for {size} rows"
        way = ", or the matrix as float64 if its numbers are exact" if narrow else ""
        raise GroupError(
            f"tolerance {tolerance:g} is below rounding, which is {least:.1e} {where}; pass a "
            f"larger one{way}."
        )
    if tolerance > 0.1:
        raise GroupError(
            f"tolerance {tolerance:g} is relative to the norm of the matrix, and everything is "
            "alike beyond 0.1; pass a smaller one."
        )
    return float(tolerance)
