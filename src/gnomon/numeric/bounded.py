"""Where a learned number starts, that a bounded function maps to where it must stay.

    softplus(x) = ln(1 + e^x) > 0,     inside(x, b) = b tanh(x / b) in (-b, b)

Training may move x anywhere. The inverses, in NumPy, give the x of a wanted value [array-api for
the functions used].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.numeric.reals import reals

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array = Any
Namespace = Any


def softplus_inverse(y: Any) -> NDArray[np.float64]:
    """Return x with ln(1 + e^x) = y > 0.

    >>> float(softplus_inverse(np.log(2.0)).round(12)) + 0.0
    0.0
    """
    values = reals(y, "y")
    return np.asarray(values + np.log(-np.expm1(-values)))


def inside(x: Array, bound: float, *, xp: Namespace) -> Array:
    """Return b tanh(x / b): x itself near 0, and never past the bound."""
    return bound * xp.tanh(x / bound)


def inside_inverse(y: Any, bound: float) -> NDArray[np.float64]:
    """Return x with b tanh(x / b) = y, |y| < b.

    >>> float(inside(inside_inverse(0.75, 1.0), 1.0, xp=np))
    0.75
    """
    return np.asarray(bound * np.arctanh(reals(y, "y") / bound))
