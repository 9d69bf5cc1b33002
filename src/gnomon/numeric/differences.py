"""Differences of positions: exact for small ones between large ones, without float64, too.

Limbs are subtracted as whole numbers first (`gnomon.numeric.limbs`).
"""

from __future__ import annotations

import math
from typing import Any

from gnomon.numeric.limbs import Limbs, whole_difference

Array = Any
Namespace = Any


def since(coordinates: Array | Limbs, reference: float, *, xp: Namespace) -> Array:
    """Return x - r, for coordinates (..., n, axes)."""
    if not isinstance(coordinates, Limbs):
        return coordinates - reference
    whole = math.floor(reference)
    steps = whole_difference(coordinates.whole, whole, xp=xp)
    return steps + (coordinates.fraction - (reference - whole))


def between(queries: Array | Limbs, keys: Array | Limbs, *, xp: Namespace) -> Array:
    """Return i - j for coordinates (..., n, axes) and (..., m, axes): (..., n, m, axes)."""
    if not isinstance(queries, Limbs):
        return queries[..., :, None, :] - keys[..., None, :, :]
    first, second = queries[..., :, None, :], keys[..., None, :, :]
    whole = whole_difference(first.whole, second.whole, xp=xp)
    return whole + (first.fraction - second.fraction)
