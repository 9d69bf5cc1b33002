r"""How exponentials of blocks act on vectors: every formula once, over the array standard.

turn      exp(t w J) (a, b) = (a cos wt - b sin wt, a sin wt + b cos wt),  J = [[0, -1], [1, 0]]
fade      exp(t a) x = e^(at) x
jordan    exp(t (aI + gN)) = e^(at) sum_(r < m) (g t)^r / r! N^r,  N v = (v_2, ..., v_m, 0):
          the weight of N^r is made as (g t e^(at/r))^r / r!, so that e^(at) meets the power before
          it can overflow
boost     exp(t [[-a, b], [b, -a]]) is e^((b-a)t) and e^(-(b+a)t) on the sum and the difference of
          both coordinates: the light cone
planes    exp(t w (u v^T - v u^T)) = I - (1 - cos wt) (u u^T + v v^T) + sin wt (u v^T - v u^T) for
          orthonormal u and v: O(d) for a vector

`Block.exp` and the encodings of the catalogue are made of these. A *run* is a stretch of equal
blocks, its coordinates side by side as (blocks, order, width), width 2 where they turn, else 1.
Real Jordan form [horn2013 thm. 3.4.1.5]; a plane as the rank-2 case of [zhang2025 sec. 2]; boosts
as in [dai2025].
"""

from __future__ import annotations

import math
from typing import Any

Array = Any
Namespace = Any
ROOT_HALF = math.sqrt(0.5)


def turned_pairs(
    first: Array, second: Array, cosine: Array, sine: Array, *, dtype: Any, xp: Namespace
) -> tuple[Array, Array]:
    """Return (a cos - b sin, a sin + b cos) in a type, cast before they are joined.

    Compilers then write the result in one pass; cast after, it would be written twice.
    """
    return (
        xp.astype(first * cosine - second * sine, dtype),
        xp.astype(first * sine + second * cosine, dtype),
    )


def faded(steps: Array, rates: Array, *, xp: Namespace) -> Array:
    """Return e^(at); both broadcast."""
    return xp.exp(steps * rates)


def jordan_weights(
    steps: Array, rates: Array, gains: Array, order: int, *, xp: Namespace
) -> list[Array]:
    """Return e^(at) (g t)^r / r! for r = 0 ... order - 1; all arguments broadcast."""
    weights = [faded(steps, rates, xp=xp)]
    for power in range(1, order):
        root = gains * steps * faded(steps, rates / power, xp=xp)
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


def run_turned(
    x: Array, cosine: Array, sine: Array, *, order: int, back: bool = False, xp: Namespace
) -> Array:
    """Return a run of width 2 (..., d) with the pairs of block k turned by w_k t, or back."""
    split = _split(x, order, 2, xp=xp)
    cosine, sine = (xp.astype(part, x.dtype)[..., None] for part in (cosine, sine))
    sine = -sine if back else sine
    both = turned_pairs(split[..., 0], split[..., 1], cosine, sine, dtype=x.dtype, xp=xp)
    made = xp.stack(both, axis=-1)
    return xp.reshape(made, (*made.shape[:-3], x.shape[-1]))


def run_carried(
    x: Array, weights: list[Array], *, width: int, transposed: bool, xp: Namespace
) -> Array:
    """Return sum_r w_r N^r of every block of a run (..., d), for weights (..., blocks)."""
    order = len(weights)
    split = _split(x, order, width, xp=xp)
    made = [xp.astype(weight, x.dtype)[..., None] for weight in weights]
    parts = [split[..., place, :] for place in range(order)]
    moved = xp.stack(jordan_carried(parts, made, transposed=transposed), axis=-2)
    return xp.reshape(moved, (*moved.shape[:-3], x.shape[-1]))


def _split(x: Array, order: int, width: int, *, xp: Namespace) -> Array:
    """Return vectors (..., d) as (..., blocks, order, width)."""
    return xp.reshape(x, (*x.shape[:-1], x.shape[-1] // (order * width), order, width))


def block_weighed(q: Array, k: Array, weights: list[Array], *, width: int, xp: Namespace) -> Array:
    """Return q^T (sum_r w_r N^r) k of one block for all pairs: q (..., n, d), weights (..., n, m).

    No power of the lag is split between both sides, so nothing cancels.
    """
    total: Any = 0.0
    size = width * len(weights)
    for power, weight in enumerate(weights):
        left, right = q[..., : size - width * power], k[..., width * power :]
        products = xp.matmul(left, xp.matrix_transpose(right))
        total = total + xp.astype(weight, products.dtype) * products
    return total


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
