r"""How exponentials of blocks act on vectors, and logits of groups that decay.

Every formula stands once, over the array standard.

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

Logits of a group that fades, right at every position: a reference for each block of pairs.

    logit(t, s) = q^T exp((t - s) X) k = [exp((t - r) X)^T q] . [exp((r - s) X) k],   s <= t

For a block of queries and a block of keys, with every key before every query, any r between them
keeps both factors bounded: one matrix product, and whatever underflows is truly 0. Where a block
lies on the diagonal, r in its middle serves a group that only scales coordinates, as long as the
factors stay within e^(|a| span / 2), which float32 holds unless positions are far apart; powers of
the lag would cancel there. For those, and where positions cannot be seen, pairs are weighed with
exp((t - s) X) itself: exact as well, and as many exponentials as there are products. Blocks whose
keys are all later are masked unseen.

Cost: O(n m d) in matrix products. Accuracy: a few ulps of what is summed, as of a plain matrix
product. The naive form with one reference overflows: [sun2022 sec. 3.2].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.numeric.arrays import between, since

Array = Any
Namespace = Any
ROOT_HALF = math.sqrt(0.5)
BLOCK = 256
"""Queries, and keys, of one block."""
SPAN = 20.0
"""Largest |a| times span for which one reference serves a block on the diagonal: exponents up to 10
err by 1e-6 where they are float32."""
Carry = Callable[[Array, Array, str], Any]
"""(vectors, steps t, side) -> exp(tX)^T x for side "q", exp(-tX) x for side "k"."""
Weigh = Callable[[Array, Array, Array], Any]
"""(q, k, ages t >= 0) -> q^T exp(tX) k for every pair."""


def rotate_pairs(
    first: Array, second: Array, cosine: Array, sine: Array, *, dtype: Any, xp: Namespace
) -> tuple[Array, Array]:
    """Return (a cos - b sin, a sin + b cos) in a type, cast before they are joined.

    Compilers then write the result in one pass; cast after, it would be written twice.
    """
    return (
        xp.astype(first * cosine - second * sine, dtype),
        xp.astype(first * sine + second * cosine, dtype),
    )


def decay_factors(steps: Array, rates: Array, *, xp: Namespace) -> Array:
    """Return e^(at); both broadcast."""
    return xp.exp(steps * rates)


def jordan_weights(
    steps: Array, rates: Array, gains: Array, order: int, *, xp: Namespace
) -> list[Array]:
    """Return e^(at) (g t)^r / r! for r = 0 ... order - 1; all arguments broadcast."""
    weights = [decay_factors(steps, rates, xp=xp)]
    for power in range(1, order):
        root = gains * steps * decay_factors(steps, rates / power, xp=xp)
        weights.append(root**power / math.factorial(power))
    return weights


def _apply_jordan(parts: list[Array], weights: list[Array], *, transposed: bool) -> list[Array]:
    """Return sum_r w_r N^r, or its transpose, of a vector in m parts."""
    order = len(parts)
    made = []
    for row in range(order):
        columns = range(row + 1) if transposed else range(row, order)
        made.append(sum(weights[abs(row - column)] * parts[column] for column in columns))
    return made


def rotate_run(
    x: Array, cosine: Array, sine: Array, *, order: int, back: bool = False, xp: Namespace
) -> Array:
    """Return a run of width 2 (..., d) with the pairs of block k turned by w_k t, or back."""
    split = _split(x, order, 2, xp=xp)
    cosine, sine = (xp.astype(part, x.dtype)[..., None] for part in (cosine, sine))
    sine = -sine if back else sine
    both = rotate_pairs(split[..., 0], split[..., 1], cosine, sine, dtype=x.dtype, xp=xp)
    made = xp.stack(both, axis=-1)
    return xp.reshape(made, (*made.shape[:-3], x.shape[-1]))


def shear_run(
    x: Array, weights: list[Array], *, width: int, transposed: bool, xp: Namespace
) -> Array:
    """Return sum_r w_r N^r of every block of a run (..., d), for weights (..., blocks)."""
    order = len(weights)
    split = _split(x, order, width, xp=xp)
    made = [xp.astype(weight, x.dtype)[..., None] for weight in weights]
    parts = [split[..., place, :] for place in range(order)]
    moved = xp.stack(_apply_jordan(parts, made, transposed=transposed), axis=-2)
    return xp.reshape(moved, (*moved.shape[:-3], x.shape[-1]))


def _split(x: Array, order: int, width: int, *, xp: Namespace) -> Array:
    """Return vectors (..., d) as (..., blocks, order, width)."""
    return xp.reshape(x, (*x.shape[:-1], x.shape[-1] // (order * width), order, width))


def block_logits(q: Array, k: Array, weights: list[Array], *, width: int, xp: Namespace) -> Array:
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


def rotate_planes(
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


@dataclass(frozen=True, kw_only=True)
class Side:
    """Vectors of one side (..., n, d), where they stand, and where that was seen to be."""

    vectors: Array
    coordinates: Array
    places: NDArray[np.float64] | None

    def blocks(self) -> list[Side]:
        """Return the side in pieces of BLOCK positions."""
        count = self.vectors.shape[-2]
        return [self._part(start, start + BLOCK) for start in range(0, max(count, 1), BLOCK)]

    def _part(self, start: int, stop: int) -> Side:
        vectors = self.vectors[..., start:stop, :]
        if self.coordinates.ndim < 2 or self.coordinates.shape[-2] == 1:  # one place serves all
            return Side(vectors=vectors, coordinates=self.coordinates, places=self.places)
        where = self.places
        return Side(
            vectors=vectors,
            coordinates=self.coordinates[..., start:stop, :],
            places=None if where is None else where[..., start:stop, :],
        )


def causal_logits(
    queries: Side, keys: Side, *, carry: Carry, weigh: Weigh, steepness: float, xp: Namespace
) -> Array:
    """Return all logits (..., n, m), -inf on keys after their query.

    `steepness` is the largest decay of a group that only scales coordinates, infinite for others.
    """

    def apart(q: Side, k: Side, reference: float) -> Array:
        made = [
            carry(side.vectors, since(side.coordinates, reference, xp=xp), name)
            for side, name in ((q, "q"), (k, "k"))
        ]
        return xp.matmul(made[0], xp.matrix_transpose(made[1]))

    def near(q: Side, k: Side) -> Array:
        lags = between(q.coordinates, k.coordinates, xp=xp)[..., 0]
        low, high = ends(q, k)
        if q.places is not None and k.places is not None and steepness * (high - low) <= SPAN:
            return xp.where(lags < 0, -xp.inf, apart(q, k, 0.5 * (low + high)))
        ages = xp.where(lags > 0, lags, xp.zeros_like(lags))
        return xp.where(lags < 0, -xp.inf, weigh(q.vectors, k.vectors, ages))

    def block(q: Side, k: Side) -> Array:
        (first, final), (start, last) = ends(q), ends(k)
        if start > final:
            return _mask_all(q, k, xp=xp)
        return apart(q, k, last) if last <= first else near(q, k)

    if queries.places is None or keys.places is None:
        return near(queries, keys)
    rows, columns = [], keys.blocks()
    for q in queries.blocks():
        made = [block(q, k) for k in columns]
        rows.append(made[0] if len(made) == 1 else xp.concat(made, axis=-1))
    return rows[0] if len(rows) == 1 else xp.concat(rows, axis=-2)


def ends(*sides: Side) -> tuple[float, float]:
    """Return the first and the last place of one or several sides."""
    known = [side.places for side in sides if side.places is not None and side.places.size]
    if not known:
        return 0.0, 0.0
    return min(float(at.min()) for at in known), max(float(at.max()) for at in known)


def _mask_all(q: Side, k: Side, *, xp: Namespace) -> Array:
    """Return -inf for a block whose keys are all later than its queries."""
    one = q.vectors[..., :1, :1] * xp.matrix_transpose(k.vectors[..., :1, :1])
    size = (*one.shape[:-2], q.vectors.shape[-2], k.vectors.shape[-2])
    return xp.broadcast_to(xp.full_like(one, -xp.inf), size)
