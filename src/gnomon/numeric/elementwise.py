"""Smooth gates and bounded maps, number by number, without overflow at either end.

    softplus(x) = ln(1 + e^x) = max(x, 0) + ln(1 + e^(-|x|)),   ln sigmoid(x) = -softplus(-x)
    sigmoid(x) = 1 / (1 + e^(-x)) = (1 + tanh(x/2)) / 2,        silu(x) = x sigmoid(x)
    inside(x, b) = b tanh(x / b) in (-b, b)

max(x, 0) is written (x + |x|) / 2, which is exact and whose slope at 0 is 1/2 in every library, as
that of softplus must be. In floating point softplus errs by a few ulps of itself, sigmoid by an ulp
of 1 [array-api for the functions used].

A learned number that must stay above 0 or within a bound is mapped there, so training may move it
anywhere; the inverses, in NumPy, say where it starts for a wanted value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.numeric.checks import reals

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array = Any

Namespace = Any


def softplus(x: Array, *, xp: Namespace) -> Array:
    """Return ln(1 + e^x).

    >>> import numpy as np
    >>> softplus(np.array([-1000.0, 0.0, 1000.0]), xp=np).round(4).tolist()
    [0.0, 0.6931, 1000.0]
    """
    size = xp.abs(x)
    return 0.5 * (x + size) + xp.log1p(xp.exp(-size))


def log_sigmoid(x: Array, *, xp: Namespace) -> Array:
    """Return ln(1 / (1 + e^(-x))), at most 0."""
    return -softplus(-x, xp=xp)


def sigmoid(x: Array, *, xp: Namespace) -> Array:
    """Return 1 / (1 + e^(-x)).

    >>> import numpy as np
    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0]), xp=np)
    array([0. , 0.5, 1. ])
    """
    return 0.5 + 0.5 * xp.tanh(0.5 * x)


def silu(x: Array, *, xp: Namespace) -> Array:
    """Return x sigmoid(x)."""
    return x * sigmoid(x, xp=xp)


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
