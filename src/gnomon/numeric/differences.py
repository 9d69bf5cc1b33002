"""Differences of positions: exact for small ones between large ones, without float64, too.

Limbs are subtracted as whole numbers first (`gnomon.numeric.limbs`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnomon.numeric.limbs import Limbs, whole_difference
from gnomon.numeric.visible import seen

Array = Any
Namespace = Any
FAR = 2.0**20
"""Positions up to which products are left as they are."""


def since(coordinates: Array | Limbs, reference: float, *, xp: Namespace) -> Array:
    """Return x - r, for coordinates (..., n, axes)."""
    if not isinstance(coordinates, Limbs):
        return coordinates - reference
    whole = math.floor(reference)
    steps = whole_difference(coordinates.whole, whole, xp=xp)
    return steps + (coordinates.fraction - (reference - whole))


def centred(queries: Array | Limbs, keys: Array | Limbs) -> tuple[Array, Array] | None:
    """Return coordinates counted from the middle of both, where they are seen to lie far away.

    A product x w errs by an ulp of it: at 1.7e9 seconds and a period of two, 5e-7 radians. What
    depends on lags alone may be counted from anywhere, and from a whole number near both nothing is
    lost. Limbs have exact products anyway. None: they are near, or can not be seen.
    """
    if isinstance(queries, Limbs) or isinstance(keys, Limbs):
        return None
    known = [seen(at) for at in (queries, keys)]
    ends = [float(at.flat[0]) for at in known if at is not None and at.size]
    if len(ends) < 2 or max(map(abs, ends)) <= FAR:  # one look is enough for what is near
        return None
    both = np.concatenate([at.reshape(-1) for at in known if at is not None])
    origin = math.floor(0.5 * (both.min() + both.max()))
    return queries - origin, keys - origin


def between(queries: Array | Limbs, keys: Array | Limbs, *, xp: Namespace) -> Array:
    """Return i - j for coordinates (..., n, axes) and (..., m, axes): (..., n, m, axes)."""
    if not isinstance(queries, Limbs):
        return queries[..., :, None, :] - keys[..., None, :, :]
    first, second = queries[..., :, None, :], keys[..., None, :, :]
    whole = whole_difference(first.whole, second.whole, xp=xp)
    return whole + (first.fraction - second.fraction)
