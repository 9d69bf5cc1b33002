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


def checked(x: ArrayLike, what: str = "the generator") -> Floats:
    """Return X as float64, or say in one sentence why it is no generator."""
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise GroupError(f"{what} has rows of different lengths; pass a square matrix.") from error
    if array.dtype.kind not in "biuf":
        kind = "complex" if array.dtype.kind == "c" else str(array.dtype)
        raise GroupError(f"{what} holds {kind} values; pass a matrix of real numbers.")
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise GroupError(f"{what} has shape {array.shape}; pass a square matrix.")
    if array.size == 0:
        raise GroupError(f"{what} is empty; pass a square matrix with at least one row.")
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


def checked_tolerance(tolerance: float | None, size: int) -> float:
    """Return the tolerance, or refuse one that rounding alone exceeds."""
    if tolerance is None:
        return TOLERANCE
    least = size * float(np.finfo(np.float64).eps)
    if not isinstance(tolerance, (int, float, np.number)) or not np.isfinite(tolerance):
        raise GroupError(f"tolerance is {tolerance!r}; pass a number such as {TOLERANCE:g}.")
    if tolerance < least:
        raise GroupError(
            f"tolerance {tolerance:g} is below rounding, which is {least:.1e} for {size} rows; "
            "pass a larger one."
        )
    if tolerance > 0.1:
        raise GroupError(
            f"tolerance {tolerance:g} is relative to the norm of the matrix, and everything is "
            "alike beyond 0.1; pass a smaller one."
        )
    return float(tolerance)
