"""Positions at the border: any array or list in, coordinates of one namespace out.

A position has one or several *axes*. With one axis positions have shape (...,); with several, the
last axis of the array runs over them: (..., axes). Formulas see coordinates of shape (..., axes)
in the widest float of their namespace [array-api]; they never resolve a namespace themselves.
"""

from __future__ import annotations

from typing import Any

import array_api_compat
import array_api_compat.numpy as array_numpy
import numpy as np

from gnomon.errors import EncodingError

Array = Any
"""An array of any library that keeps the array API standard."""
Namespace = Any
"""The module whose functions act on such arrays."""


def namespace_of(value: Array) -> Namespace:
    """Return the namespace of an array; lists and numbers belong to NumPy."""
    if array_api_compat.is_array_api_obj(value):
        return array_api_compat.array_namespace(value)
    return array_numpy


def as_coordinates(positions: Array, axes: int, *, like: Array | None = None) -> Array:
    """Return positions as float coordinates (..., axes), on the library and device of `like`."""
    partner = positions if like is None else like
    xp = namespace_of(partner)
    values = _as_array(positions, xp, partner)
    _check_numbers(values)
    values = xp.astype(values, xp.float64)
    if axes == 1:
        return values[..., None]
    if values.ndim == 0 or values.shape[-1] != axes:
        raise EncodingError(
            f"The positions have shape {tuple(values.shape)}, but this encoding has {axes} axes; "
            f"pass positions of shape (..., {axes})."
        )
    return values


def _as_array(positions: Array, xp: Namespace, partner: Array) -> Array:
    if array_api_compat.is_array_api_obj(positions) and namespace_of(positions) is xp:
        return positions
    try:
        values = np.asarray(positions)
    except ValueError as error:
        raise EncodingError(
            "The positions are a ragged list; pass numbers in one array of shape (...,)."
        ) from error
    if xp is array_numpy:
        return values
    return xp.asarray(values, device=array_api_compat.device(partner))


def _check_numbers(values: Array) -> None:
    if not isinstance(values, np.ndarray):
        return  # compiled code must not branch on values
    if values.dtype.kind not in "iuf":
        raise EncodingError(
            f"The positions have type {values.dtype}; pass whole numbers or real numbers."
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        at = np.argwhere(~np.isfinite(values))[0].tolist()
        raise EncodingError(
            f"The position at index {at} is {values[tuple(at)]}; pass finite positions."
        )


def whole_coordinates(positions: Array, axes: int, *, what: str) -> np.ndarray[Any, Any]:
    """Return positions as int64 coordinates (..., axes); fractions are refused."""
    values = np.asarray(as_coordinates(positions, axes))
    rounded = np.rint(values)
    if not np.array_equal(values, rounded):
        wrong = values[values != rounded].flat[0]
        raise EncodingError(
            f"Position {wrong:g} is not a whole number, and {what} knows whole positions only; "
            "round the positions, or use an encoding with a formula in the position."
        )
    return rounded.astype(np.int64)
