"""Logits of a decay, right at every position: a reference for each block of queries and keys.

    logit(i, j) = sum_k e^(a_k (i - j)) q_k.k_k,  j <= i,   q and k turned before, a_k <= 0.

For a block of queries and a block of keys, with every key before every query, any r between them
makes both factors e^(a (i - r)) and e^(a (r - j)) at most 1: one matrix product, and whatever
underflows is truly 0. Where a block lies on the diagonal, r in its middle keeps factors within
e^(|a| span / 2), which float32 holds unless positions are far apart. For those, and where positions
can not be seen, pairs are summed one after the other with e^(a_k (i - j)) itself: exact as well,
and as many exponentials as there are products. Blocks whose keys are all later are masked unseen.

Cost: O(n m d) in matrix products. Accuracy: a few ulps of sum_k |q_k| |k_k| e^(a_k (i-j)), as of a
plain matrix product. The naive form with one reference overflows: [sun2022 sec. 3.2].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.additive.taking import seen
from gnomon.encodings.border import lags_between
from gnomon.encodings.rotary.factors import since

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

BLOCK = 256
"""Queries, and keys, of one block."""
SPAN = 20.0
"""Largest |a| times span for which one reference serves a block on the diagonal: exponents up to 10
err by 1e-6 where they are float32."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """Turned vectors of one side (..., n, d), where they stand, and where that was seen to be."""

    vectors: Array
    coordinates: Coordinates
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


Apart = Callable[[Side, Side, float], Any]
"""(queries, keys, reference) -> logits, for keys <= reference <= queries."""
Near = Callable[[Side, Side], Any]
"""(queries, keys) -> logits, -inf on later keys."""


def causal_scores(queries: Side, keys: Side, rates: Array, *, layout: str, xp: Namespace) -> Array:
    """Return the logits (..., n, m) of turned queries and keys, -inf on keys after their query."""
    known = seen(rates)
    if known is None:
        return direct(queries, keys, rates, layout=layout, xp=xp)
    steepest = float(np.max(np.abs(known)))

    def apart(q: Side, k: Side, reference: float) -> Array:
        return referred(q, k, rates, reference, layout=layout, xp=xp)

    def near(q: Side, k: Side) -> Array:
        low, high = ends(q, k)
        if steepest * (high - low) <= SPAN:
            logits = referred(q, k, rates, 0.5 * (low + high), layout=layout, xp=xp)
            return masked(logits, q, k, xp=xp)
        return direct(q, k, rates, layout=layout, xp=xp)

    if queries.places is None or keys.places is None:
        return direct(queries, keys, rates, layout=layout, xp=xp)
    return by_blocks(queries, keys, apart=apart, near=near, xp=xp)


def by_blocks(queries: Side, keys: Side, *, apart: Apart, near: Near, xp: Namespace) -> Array:
    """Return logits (..., n, m) block by block, -inf on keys after their query.

    `apart` makes those of keys that are all before a reference with queries that are all after it;
    `near` those of any others, masked; it also makes all of them where positions can not be seen.
    """
    if queries.places is None or keys.places is None:
        return near(queries, keys)
    rows, columns = [], keys.blocks()
    for q in queries.blocks():
        made = [_block(q, k, apart=apart, near=near, xp=xp) for k in columns]
        rows.append(made[0] if len(made) == 1 else xp.concat(made, axis=-1))
    return rows[0] if len(rows) == 1 else xp.concat(rows, axis=-2)


def _block(q: Side, k: Side, *, apart: Apart, near: Near, xp: Namespace) -> Array:
    """Return the logits of one block by the cheapest way that is right for it."""
    (first, final), (start, last) = ends(q), ends(k)
    if start > final:
        return _nothing(q, k, xp=xp)
    return apart(q, k, last) if last <= first else near(q, k)


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


def referred(
    q: Side, k: Side, rates: Array, reference: float, *, layout: str, xp: Namespace
) -> Array:
    """Return q.k with the decay split between both sides at a reference."""
    per_coordinate = spread(rates, layout=layout, xp=xp)
    sides = []
    for side, sign in ((q, 1.0), (k, -1.0)):
        steps = sign * since(side.coordinates, reference, xp=xp)
        factor = xp.exp(steps * per_coordinate)
        sides.append(side.vectors * xp.astype(factor, side.vectors.dtype))
    return xp.matmul(sides[0], xp.matrix_transpose(sides[1]))


def direct(q: Side, k: Side, rates: Array, *, layout: str, xp: Namespace) -> Array:
    """Return the sum over pairs of e^(a_k (i - j)) q_k.k_k, pair after pair."""
    lags = lags_between(q.coordinates, k.coordinates, xp=xp)[..., 0]
    ages = xp.where(lags > 0, lags, xp.zeros_like(lags))
    total: Any = 0.0
    pairs = rates.shape[-1]
    for pair in range(pairs):
        places = (2 * pair, 2 * pair + 1) if layout == "interleaved" else (pair, pair + pairs)
        product = sum(
            q.vectors[..., :, None, place] * k.vectors[..., None, :, place] for place in places
        )
        rate = rates[..., pair] if rates.ndim == 1 else rates[:, pair][:, None, None]
        total = total + xp.astype(xp.exp(rate * ages), product.dtype) * product
    return masked(total, q, k, xp=xp)


def masked(logits: Array, q: Side, k: Side, *, xp: Namespace) -> Array:
    """Return logits with -inf on keys after their query."""
    later = lags_between(q.coordinates, k.coordinates, xp=xp)[..., 0] < 0
    return xp.where(later, -xp.inf, logits)


def spread(rates: Array, *, layout: str, xp: Namespace) -> Array:
    """Return the rate of every coordinate, (d,) or (heads, 1, d), from those of pairs."""
    if layout == "half":
        both = xp.concat([rates, rates], axis=-1)
    else:
        both = xp.reshape(xp.stack([rates, rates], axis=-1), (*rates.shape[:-1], -1))
    return both if rates.ndim == 1 else both[:, None, :]
