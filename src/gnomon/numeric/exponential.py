r"""Exponentials of matrices over the array standard, and of one matrix at many whole steps.

`expm`: scaling and squaring [moler2003]. A matrix is halved s times, until its norm (largest sum of
a row) is at most 1; a Taylor polynomial of degree 19 is then right to 1e-17, and is squared s
times. s is counted for each matrix and enters by selection, so that no code branches on values and
slopes are right at 0, too. Where values cannot be seen (compiled code), s is at most 20: a matrix
of norm above 2^20 gives NaN there, not a wrong number.

`doubled`: exp(t X) v for whole t >= 0 at once. t is a sum of powers of two, so b matrices
exp(2^k X), each the square of the one before, carry n vectors in b products of (n, d) by (d, d):
n d^2 log t instead of n d^3 operations, and no (n, d, d) matrices.

Accuracy. Both err by about u |t X| of the vector's length, u the rounding of the type: what a
rounding of X itself does. At t = 10^6 and |X| = 1 that is 1e-10 in float64, and 0.1 in float32.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnomon.numeric.arrays import device_beside

Array = Any
Namespace = Any
MOST = 20
"""Squarings where values cannot be seen."""
_TERMS = 20
"""Terms of the polynomial, five groups of four: 1 / 20! is 4e-19."""


def expm(matrices: Array, *, squarings: int | None = None, xp: Namespace) -> Array:
    """Return exp of matrices (..., b, b); `squarings` bounds how often they are halved.

    >>> expm(np.array([[0.0, np.pi], [-np.pi, 0.0]]), xp=np).round(12) + 0.0
    array([[-1.,  0.],
           [ 0., -1.]])
    """
    most = MOST if squarings is None else squarings
    norms = xp.max(xp.sum(xp.abs(matrices), axis=-1), axis=-1)[..., None, None]
    scaled = matrices
    for step in range(most):
        scaled = xp.where(norms > 2.0**step, 0.5 * scaled, scaled)
    made = _polynomial(scaled, xp=xp)
    for step in range(most):
        made = xp.where(norms > 2.0**step, xp.matmul(made, made), made)
    return xp.where(norms > 2.0**most, xp.nan, made)


def squarings_for(norm: float) -> int:
    """Return how often a matrix of a norm is halved before it is at most 1.

    >>> [squarings_for(norm) for norm in (0.0, 1.0, 1.5, 1000.0)]
    [0, 0, 1, 10]
    """
    return max(0, math.ceil(math.log2(norm))) if norm > 1.0 else 0


def _polynomial(x: Array, *, xp: Namespace) -> Array:
    """Return sum_(j < 20) x^j / j!, in groups of four powers."""
    one = xp.broadcast_to(identity(x.shape[-1], x, xp=xp), x.shape)
    square = xp.matmul(x, x)
    powers = [one, x, square, xp.matmul(square, x)]
    fourth = xp.matmul(square, square)
    made: Any = None
    for first in range(_TERMS - 4, -1, -4):
        group = sum(
            power * (1.0 / math.factorial(first + place)) for place, power in enumerate(powers)
        )
        made = group if made is None else xp.matmul(made, fourth) + group
    return made


def identity(size: int, like: Array, *, xp: Namespace) -> Array:
    """Return the identity (size, size) in the type and on the device of an array."""
    return xp.asarray(np.eye(size), dtype=like.dtype, device=device_beside(like, xp=xp))


def doubled(generator: Array, steps: Array, x: Array, *, bits: int, xp: Namespace) -> Array:
    """Return exp(t X) x for whole 0 <= t < 2^bits.

    The generator has shape (..., b, b), vectors (..., n, b), steps (..., n); leading axes of the
    generator stand before n.
    """
    carry = xp.matrix_transpose(expm(generator, squarings=None, xp=xp))
    left = steps[..., None]
    for _ in range(bits):
        half = xp.floor(left * 0.5)
        odd = left - 2.0 * half > 0.5
        x = xp.where(odd, xp.matmul(x, carry), x)
        carry, left = xp.matmul(carry, carry), half
    return x
