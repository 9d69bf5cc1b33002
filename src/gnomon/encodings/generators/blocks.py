r"""Exponentials of single blocks in closed form, one function each.

jordan    exp(t (aI + gN)) = e^(at) sum_(r < m) (g t)^r / r! N^r,  N v = (v_2, ..., v_m, 0):
          the weight of N^r is made as (g t e^(at/r))^r / r!, so that e^(at) meets the power before
          it can overflow
boost     exp(t [[-a, b], [b, -a]]) = e^(-at) [[cosh bt, sinh bt], [sinh bt, cosh bt]]:
          on the sum and the difference of both coordinates it is e^((b-a)t) and e^(-(b+a)t)
planes    exp(t w (u v^T - v u^T)) = I - (1 - cos wt) (u u^T + v v^T) + sin wt (u v^T - v u^T) for
          orthonormal u and v: O(d) for a vector
cayley    (I - S)(I + S)^(-1), orthogonal for skew S

Real Jordan form, and a plane as the rank-2 case of [zhang2025 sec. 2]; Cayley's transform as in
[schenck2025 sec. 3]; boosts as in [dai2025].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gnomon.numeric.exponential import identity

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Namespace

ROOT_HALF = math.sqrt(0.5)


def jordan_weights(
    steps: Array, rates: Array, gains: Array, order: int, *, xp: Namespace
) -> list[Array]:
    """Return e^(at) (g t)^r / r! for r = 0 ... order - 1; all arguments broadcast."""
    weights = [xp.exp(rates * steps)]
    for power in range(1, order):
        root = gains * steps * xp.exp(rates * steps / power)
        weights.append(root**power / math.factorial(power))
    return weights


def jordan_carried(parts: list[Array], weights: list[Array], *, transposed: bool) -> list[Array]:
    """Return sum_r w_r N^r, or its transpose, of a vector in m parts."""
    order = len(parts)
    made = []
    for row in range(order):
        columns = range(row + 1) if transposed else range(row, order)
        made.append(sum(weights[abs(row - column)] * parts[column] for column in columns))
    return made


def light_cone(x: Array, *, xp: Namespace) -> Array:
    """Return (a + b, a - b) / sqrt 2 of the pairs (2k, 2k + 1): its own inverse."""
    first, second = x[..., 0::2], x[..., 1::2]
    both = xp.stack([ROOT_HALF * (first + second), ROOT_HALF * (first - second)], axis=-1)
    return xp.reshape(both, x.shape)


def planes_turned(
    x: Array, first: Array, second: Array, cosine: Array, sine: Array, *, xp: Namespace
) -> Array:
    """Return vectors (..., n, d) turned in planes of orthonormal u and v, each (..., planes, d).

    All u and v are orthogonal to one another, so the planes turn at once: O(d) for each plane and
    vector. Cosines and sines of the phases have shape (..., n, planes).
    """
    along = xp.matmul(x, xp.matrix_transpose(first))
    across = xp.matmul(x, xp.matrix_transpose(second))
    fall = 1.0 - cosine
    moved = xp.matmul(sine * across - fall * along, first)
    return x + moved - xp.matmul(sine * along + fall * across, second)


def orthonormal(vectors: Array, *, xp: Namespace) -> Array:
    """Return vectors (..., k, d) made orthonormal one after the other, each twice for rounding.

    >>> import numpy as np
    >>> orthonormal(np.array([[2.0, 0.0], [1.0, 3.0]]), xp=np).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    made: Any = None
    for place in range(vectors.shape[-2]):
        one = vectors[..., place : place + 1, :]
        for _ in range(0 if made is None else 2):
            one = one - xp.matmul(xp.matmul(one, xp.matrix_transpose(made)), made)
        one = one / xp.sqrt(xp.sum(one * one, axis=-1, keepdims=True))
        made = one if made is None else xp.concat([made, one], axis=-2)
    return made


def cayley(skew: Array, *, xp: Namespace) -> Array:
    """Return (I - S)(I + S)^(-1) of skew matrices (..., d, d)."""
    one = identity(skew.shape[-1], skew, xp=xp)
    return xp.linalg.solve(one + skew, xp.broadcast_to(one, skew.shape) - skew)


def skew_of(raw: Array, *, xp: Namespace) -> Array:
    """Return the skew matrix of the numbers above the diagonal: U - U^T."""
    upper: Any = xp.triu(raw, k=1)
    return upper - xp.matrix_transpose(upper)
