r"""Logits of a group that fades, right at every position: a reference for each block of pairs.

    logit(t, s) = q^T exp((t - s) X) k = [exp((t - r) X)^T q] . [exp((r - s) X) k],   s <= t

For a block of queries and a block of keys, with every key before every query, any r between them
keeps both factors bounded: one matrix product, and whatever underflows is truly 0. Where a block
lies on the diagonal, r in its middle serves a group that only scales coordinates, as long as the
factors stay within e^(|a| span / 2), which float32 holds unless positions are far apart; powers of
the lag would cancel there. For those, and where positions can not be seen, pairs are weighed with
exp((t - s) X) itself: exact as well, and as many exponentials as there are products. Blocks whose
keys are all later are masked unseen.

Cost: O(n m d) in matrix products. Accuracy: a few ulps of what is summed, as of a plain matrix
product. The naive form with one reference overflows: [sun2022 sec. 3.2].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.numeric.arrays import between, since

Array = Any
Namespace = Any
BLOCK = 256
"""Queries, and keys, of one block."""
SPAN = 20.0
"""Largest |a| times span for which one reference serves a block on the diagonal: exponents up to 10
err by 1e-6 where they are float32."""


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


Carry = Callable[[Array, Array, str], Any]
"""(vectors, steps t, side) -> exp(tX)^T x for side "q", exp(-tX) x for side "k"."""
Weigh = Callable[[Array, Array, Array], Any]
"""(q, k, ages t >= 0) -> q^T exp(tX) k for every pair."""


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
            return _nothing(q, k, xp=xp)
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


def _nothing(q: Side, k: Side, *, xp: Namespace) -> Array:
    """Return -inf for a block whose keys are all later than its queries."""
    one = q.vectors[..., :1, :1] * xp.matrix_transpose(k.vectors[..., :1, :1])
    size = (*one.shape[:-2], q.vectors.shape[-2], k.vectors.shape[-2])
    return xp.broadcast_to(xp.full_like(one, -xp.inf), size)
