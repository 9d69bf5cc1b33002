"""Positions at the border: any array or list in, coordinates of one namespace out.

A position has one or several *axes*. With one axis positions have shape (...,); with several, the
last axis of the array runs over them: (..., axes). Formulas see coordinates of shape (..., axes),
in float64 where the library and the device have it, else in two limbs (`gnomon.numeric.limbs`);
they never resolve a namespace themselves [array-api].

Positions and vectors meet by their number of axes, never by a guess from sizes: against vectors x
of shape (..., heads, n, d), positions of shape (n,) serve all; with one axis less than x, (..., n)
has a place for each; with two less, (..., n) leaves the heads out and serves every head.
"""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

from gnomon.errors import EncodingError
from gnomon.numeric.arrays import device_beside, hidden, reading
from gnomon.numeric.checks import refuse_masked, serves
from gnomon.numeric.limbs import Limbs, limbs_of, split

Array = Any
"""An array of any library that keeps the array API standard."""
Namespace = Any
"""The module whose functions act on such arrays."""
Coordinates = Any
"""A float64 array (..., axes), or `Limbs` where there is no float64."""
_OF_NUMPY = (np.ndarray, np.generic)  # a tuple, which compilers of PyTorch follow


def namespace_of(value: Array) -> Namespace:
    """Return the namespace of an array; lists and numbers belong to NumPy.

    NumPy keeps the standard by itself; the compatible copy of it would cost a tenth of a second.
    """
    value = value.whole if isinstance(value, Limbs) else value
    if isinstance(value, _OF_NUMPY):
        return np
    if array_api_compat.is_array_api_obj(value):
        return array_api_compat.array_namespace(value)
    return np


def has_float64(xp: Namespace, device: Any = None) -> bool:
    """Say whether a library has float64 on a device: JAX without x64 and Apple's GPU have none."""
    if array_api_compat.is_jax_namespace(xp):
        return bool(xp.zeros(()).dtype == xp.float64)
    return getattr(device, "type", None) != "mps"


def as_coordinates(positions: Array, axes: int, *, like: Array | None = None) -> Coordinates:
    """Return positions as coordinates (..., axes), on the library and device of `like`."""
    partner = positions if like is None else like
    partner = partner.whole if isinstance(partner, Limbs) else partner
    xp = namespace_of(partner)
    if isinstance(positions, Limbs):
        return _given_limbs(positions, axes, partner, xp=xp)
    if array_api_compat.is_array_api_obj(positions) and namespace_of(positions) is xp:
        device = array_api_compat.device(partner) if like is not None and xp is not np else None
        return _own_coordinates(positions, axes, device, xp=xp)
    values = _as_numpy(positions)
    check_visible(values, xp=np)
    if xp is np:
        return with_axes(values.astype(np.float64), axes)
    return foreign_coordinates(with_axes(values, axes), device_beside(partner, xp=xp), xp=xp)


def _own_coordinates(values: Array, axes: int, device: Any, *, xp: Namespace) -> Coordinates:
    """Return coordinates of positions that already belong to the library."""
    if not xp.isdtype(values.dtype, ("integral", "real floating")):
        raise EncodingError(
            f"The positions have type {values.dtype}; pass whole numbers or real numbers."
        )
    check_visible(values, xp=xp)
    if device is not None and array_api_compat.is_torch_namespace(xp):
        values = array_api_compat.to_device(values, device)
    values = with_axes(values, axes)
    if has_float64(xp, array_api_compat.device(values)):
        return xp.astype(values, xp.float64)
    if not hidden(values):
        _check_range(np.asarray(values))
    return limbs_of(values, xp=xp)


def foreign_coordinates(values: Any, device: Any, *, xp: Namespace) -> Coordinates:
    """Return coordinates of another library made of NumPy's, without losing what float64 holds."""
    if has_float64(xp, device):
        return xp.asarray(values.astype(np.float64), device=device)
    _check_range(values)
    whole, fraction = (xp.asarray(part, device=device) for part in split(values))
    return Limbs(whole=whole, fraction=fraction)


def _given_limbs(limbs: Limbs, axes: int, partner: Array, *, xp: Namespace) -> Coordinates:
    """Return coordinates that were split before, joined again where the library has float64."""
    if limbs.shape[-1] != axes:
        raise EncodingError(
            f"The positions were split on {limbs.shape[-1]} axes, but this encoding has {axes}; "
            f"split them with axes={axes}."
        )
    known = array_api_compat.is_array_api_obj(partner)
    if known and not has_float64(xp, array_api_compat.device(partner)):
        return limbs
    return xp.astype(limbs.whole, xp.float64) + xp.astype(limbs.fraction, xp.float64)


def _check_range(values: np.ndarray[Any, Any]) -> None:
    """Refuse positions that the whole numbers of limbs do not hold."""
    if values.size and (values.min() < -(2**31) or values.max() >= 2**31):
        farthest = max(values.min(), values.max(), key=abs)
        raise EncodingError(
            f"The positions reach {farthest:g}, and without float64 they must lie within "
            "-2^31 to 2^31 - 1; subtract an origin first."
        )


def with_axes(values: Array, axes: int) -> Array:
    """Return positions with their axes last."""
    if axes == 1:
        return values[..., None]
    if values.ndim == 0 or values.shape[-1] != axes:
        raise EncodingError(
            f"The positions have shape {tuple(values.shape)}, but this encoding has {axes} axes; "
            f"pass positions of shape (..., {axes})."
        )
    return values


def beside_heads(coordinates: Coordinates, x: Array) -> Coordinates:
    """Return coordinates (..., n, axes) that broadcast to vectors x (..., n, d).

    Positions of shape (n,) serve all of x; shape x.shape[:-1] serves each; with the axis of heads
    left out, (..., n) against x (..., heads, n, d), every head is served alike. One position serves
    all vectors.
    """
    missing = x.ndim - coordinates.ndim
    beside = coordinates[..., None, :, :] if missing == 1 and coordinates.ndim > 2 else coordinates
    if beside.ndim in (x.ndim, 1, 2):
        check_serves(beside, x)
        return beside
    raise _unfit(coordinates, x)


def check_serves(beside: Coordinates, x: Array) -> None:
    """Refuse places (..., n, axes) that do not broadcast to vectors x (..., n, d).

    Sizes that a compiler does not know yet are trusted.
    """
    vectors = x.shape[:-1] if x.ndim > 1 else beside.shape[:-1]  # one vector goes everywhere
    places = beside.shape[:-1]
    if len(places) > len(vectors):
        raise _unfit(beside, x)
    for place, vector in zip(places[::-1], vectors[::-1], strict=False):
        known = isinstance(place, int) and isinstance(vector, int)
        if known and not serves(place, vector):
            raise _unfit(beside, x)


def _unfit(coordinates: Coordinates, x: Array) -> EncodingError:
    return EncodingError(
        f"The positions have shape {tuple(coordinates.shape[:-1])} and the vectors "
        f"{tuple(x.shape)}; pass positions of shape (n,), (..., n) with a place for each vector, "
        "or (..., n) without the axis of heads."
    )


def _as_numpy(positions: Array) -> np.ndarray[Any, Any]:
    refuse_masked(positions, "The positions hold", kind=EncodingError)
    try:
        return np.asarray(positions)
    except (ValueError, TypeError, RuntimeError) as error:
        if array_api_compat.is_array_api_obj(positions):
            raise EncodingError(
                f"The positions are a {type(positions).__module__} array that NumPy can not read "
                f"({error}); pass positions of the library and device of q."
            ) from error
        raise EncodingError(
            "The positions are a ragged list; pass numbers in one array of shape (...,)."
        ) from error


def check_visible(values: Array, *, xp: Namespace) -> None:
    """Refuse positions that are no places, where values can be seen: not while code is compiled."""
    if isinstance(values, np.ndarray):
        refuse_masked(values, "The positions hold", kind=EncodingError)
        check_numbers(values)
        if values.dtype.kind == "f":
            check_steps(values, float(np.finfo(values.dtype).eps), str(values.dtype))
    elif xp.isdtype(values.dtype, "real floating") and not hidden(values):
        with reading():
            seen = np.asarray(xp.astype(values, xp.float32))
        check_numbers(seen)
        check_steps(seen, float(xp.finfo(values.dtype).eps), str(values.dtype))


def check_numbers(values: np.ndarray[Any, Any]) -> None:
    """Refuse positions that are no finite real numbers."""
    if values.dtype.kind not in "iuf":
        raise EncodingError(
            f"The positions have type {values.dtype}; pass whole numbers or real numbers."
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        at = np.argwhere(~np.isfinite(values))[0].tolist()
        raise EncodingError(
            f"The position at index {at} is {values[tuple(at)]}; pass finite positions."
        )


def check_steps(values: np.ndarray[Any, Any], epsilon: float, kind: str) -> None:
    """Refuse positions in a type that does not tell neighbours of them apart: they are rounded."""
    farthest = float(np.max(np.abs(values), initial=0.0))
    if farthest > 2.0 / epsilon:
        raise EncodingError(
            f"The positions reach {farthest:.6g} as {kind}, which tells whole numbers apart up to "
            f"{2.0 / epsilon:.0f}; pass them as float64 or as whole numbers, or subtract an origin."
        )
