"""The formula of every rotary encoding: pairs of coordinates turned by cosines and sines.

    (a, b) -> (a cos p - b sin p, a sin p + b cos p)

Coordinates outside of the rotated part pass unchanged [su2021 sec. 3.4.2]. Vectors of half
precision are turned in float32 and cast last: tables in half precision err by far more than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.encodings.frequencies import phases
from gnomon.groups import turned_pairs

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Coordinates, Namespace


def tables(
    coordinates: Coordinates, frequencies: Array, *, factor: float = 1.0, xp: Namespace
) -> tuple[Array, Array]:
    """Return the cosine and sine of every phase, times `factor`: shapes (..., n, pairs)."""
    angles = phases(coordinates, frequencies, xp=xp)
    cosine, sine = xp.cos(angles), xp.sin(angles)
    return (cosine, sine) if factor == 1.0 else (cosine * factor, sine * factor)


def turn_interleaved(x: Array, cosine: Array, sine: Array, *, dtype: Any, xp: Namespace) -> Array:
    """Turn the pairs (2k, 2k+1) of x (..., 2 pairs) by angles with these cosines and sines."""
    first, second = x[..., 0::2], x[..., 1::2]
    turned = xp.stack(turned_pairs(first, second, cosine, sine, dtype=dtype, xp=xp), axis=-1)
    return xp.reshape(turned, (*turned.shape[:-2], x.shape[-1]))


def turn_half(x: Array, cosine: Array, sine: Array, *, dtype: Any, xp: Namespace) -> Array:
    """Turn the pairs (k, k + pairs) of x (..., 2 pairs) by angles with these cosines and sines."""
    pairs = x.shape[-1] // 2
    first, second = x[..., :pairs], x[..., pairs:]
    return xp.concat(turned_pairs(first, second, cosine, sine, dtype=dtype, xp=xp), axis=-1)


TURN = {"interleaved": turn_interleaved, "half": turn_half}


def turn(
    x: Array, cosine: Array, sine: Array, *, layout: str, first: int = 0, xp: Namespace
) -> Array:
    """Return x (..., n, d) with the coordinates from `first` on turned, two for each cosine."""
    last = first + 2 * cosine.shape[-1]
    wide = xp.result_type(x.dtype, xp.float32)
    part = x[..., first:last]
    cosine, sine = xp.astype(cosine, wide), xp.astype(sine, wide)
    turned = TURN[layout](xp.astype(part, wide), cosine, sine, dtype=x.dtype, xp=xp)
    if first == 0 and last == x.shape[-1]:
        return turned
    return xp.concat([x[..., :first], turned, x[..., last:]], axis=-1)
