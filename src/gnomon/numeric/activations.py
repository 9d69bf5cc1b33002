"""Smooth gates that the array standard lacks, without overflow at either end.

    softplus(x) = ln(1 + e^x) = max(x, 0) + ln(1 + e^(-|x|)),   ln sigmoid(x) = -softplus(-x)
    sigmoid(x) = 1 / (1 + e^(-x)) = (1 + tanh(x/2)) / 2,        silu(x) = x sigmoid(x)

max(x, 0) is written (x + |x|) / 2, which is exact and whose slope at 0 is 1/2 in every library, as
that of softplus must be. In floating point softplus errs by a few ulps of itself, sigmoid by an ulp
of 1 [array-api for the functions used].
"""

from __future__ import annotations

from typing import Any

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
