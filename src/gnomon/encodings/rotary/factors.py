"""The factors of a decay: e^(a (x - r)), and when a type of numbers holds them.

A factor fits a type when it and its inverse are normal numbers, with room for vectors whose entries
reach 16: |a (x - r)| <= min(ln(largest / 16), -ln(smallest normal)): 85.9 in float32 and bfloat16,
8.3 in float16, 706.6 in float64. Where positions can not be seen nothing is checked, and what
leaves the type is infinite, which the loss shows at once. Notation as in [sun2022 sec. 3.2].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.additive.taking import seen
from gnomon.errors import EncodingError
from gnomon.numeric.limbs import Limbs, whole_difference

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Coordinates, Namespace

_ROOM = 16.0


def since(coordinates: Coordinates, reference: float, *, xp: Namespace) -> Array:
    """Return x - r (..., n, 1); limbs are subtracted as whole numbers first."""
    if not isinstance(coordinates, Limbs):
        return coordinates - reference
    whole = math.floor(reference)
    steps = whole_difference(coordinates.whole, whole, xp=xp)
    return steps + (coordinates.fraction - (reference - whole))


def exponents(steps: Array, rates: Array) -> Array:
    """Return a_k (x - r) for steps (..., n, 1): shape (..., n, pairs), or with heads before n."""
    return steps * (rates if rates.ndim == 1 else rates[:, None, :])


def limit(dtype: Any, *, xp: Namespace) -> float:
    """Return the largest exponent whose factor, and its inverse, a type holds."""
    about = xp.finfo(dtype)
    return min(math.log(float(about.max) / _ROOM), -math.log(float(about.smallest_normal)))


def check_factors(steps: Array, rates: Array, x: Array, *, name: str, xp: Namespace) -> None:
    """Refuse factors that the type of x does not hold, where they can be seen."""
    values, steepest = seen(steps), seen(rates)
    if values is None or steepest is None or values.size == 0:
        return
    reached = float(np.max(np.abs(values)) * np.max(np.abs(steepest)))
    most = limit(x.dtype, xp=xp)
    if reached > most:
        raise EncodingError(
            f"The factors of {name!r} reach e^{reached:.4g} at these positions, and {x.dtype} "
            f"holds e^{most:.3g}; pass a reference near the positions, or use scores, which "
            "chooses one for each block."
        )
