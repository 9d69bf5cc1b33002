"""Positions in two parts that cross the border of compiled code without loss.

    x = whole + fraction,  whole = x cut towards zero

Without x64 every argument of a compiled function becomes float32, in which timestamps near 1.7e9
are 128 apart. Split before, whole numbers travel as int32 and fractions as float32, 2^-25 of a unit
from what float64 held. Every method of a layer takes the result in place of positions.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnomon.encodings import check_numbers, foreign_coordinates, has_float64, with_axes
from gnomon.errors import EncodingError
from gnomon.numeric.limbs import Limbs


def split(positions: Any, *, axes: int = 1) -> Limbs:
    """Return positions as whole and fractional parts, each of shape (..., axes).

    Needed without x64 for large positions with a fraction, such as timestamps, that are arguments
    of a compiled function: there, and in `jnp.asarray`, they become float32 before a layer sees
    them. Call it on NumPy's float64, outside of `jit`.
    """
    if isinstance(positions, jax.core.Tracer):
        raise EncodingError(
            "split was called on positions that JAX traces, which are float32 by then; split them "
            "outside of jit, vmap and grad."
        )
    values = np.asarray(positions)
    check_numbers(values)
    values = with_axes(values, axes)
    if not has_float64(jnp):
        narrow: Limbs = foreign_coordinates(values, None, xp=jnp)
        return narrow
    whole = np.trunc(values)
    return Limbs(whole=jnp.asarray(whole.astype(np.int64)), fraction=jnp.asarray(values - whole))
