r"""Blocks of queries and keys, merged by their log-sum-exp: memory of one block, any length.

    top' = max(top, max_j s_ij),   total' = total e^(top - top') + sum_j e^(s_ij - top'),
    out' = out e^(top - top') + sum_j e^(s_ij - top') v_j,   and at the end out / total

[milakov2018, dao2022 sec. 3.1]. Blocks whose keys are all later than their queries, or of other
segments, are passed over. Gradients make each block anew instead of keeping it.

A decay needs a reference for each block: for keys that all stand before their queries, one between
them, so that both factors are at most 1, found while the code runs. Blocks on the diagonal, and
positions in no order, are left to the encoding's own `scores`, which are right everywhere. A single
reference for all would overflow [sun2022 sec. 3.2]. A decay knows lags alone, so both sides are
moved to the reference together, as whole numbers where there is no float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from gnomon.jax.sdpa.prepare import (
    Pairs,
    bias_of,
    may_attend,
    positions_of,
)
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from gnomon.jax.sdpa.prepare import JaxCall
    from gnomon.numeric.arrays import Array, Coordinates

BLOCK = 256
"""Queries, and keys, of one block."""
NEAR = 128
"""The same of a decay, whose blocks on the diagonal cost an exponential for each coordinate."""


def decays(encoding: Any) -> bool:
    """Whether an encoding must be seen from references: its factors leave any type of numbers."""
    return bool(encoding.fades)


def block_of(encoding: Any) -> int:
    """Return how many queries, and keys, a block has."""
    return NEAR if decays(encoding) else BLOCK


def run_blocks(call: JaxCall) -> Array:
    """Return attention block by block."""
    turned = (call.q, call.k, call.v) if decays(call.encoding) else call.encode()
    return _by_blocks(call, *turned)


@jax.jit
def _by_blocks(call: JaxCall, q: Array, k: Array, v: Array) -> Array:
    _, _, n, m = call.sizes
    size = block_of(call.encoding)
    high, wide = min(size, max(n, 1)), min(size, m)
    queries = {
        "rows": jnp.arange(n),
        "q": q,
        "at_q": call.at_q,
        "segments_q": call.segments_q,
        "mask": call.mask,
    }
    keys = {
        "columns": jnp.arange(m),
        "k": k,
        "v": v,
        "at_k": call.at_k,
        "segments_k": call.segments_k,
    }
    axes = {"rows": 0, "columns": 0, "segments_q": 1, "segments_k": 1}
    rows = {name: _cut(x, axes.get(name, -2), n, high) for name, x in queries.items()}
    columns = {name: _cut(x, axes.get(name, -2), m, wide) for name, x in keys.items()}

    def of_rows(block: dict[str, Any]) -> Array:
        masks = _cut(block["mask"], -1, m, wide)
        starts = jnp.arange(0, m, wide)
        return _attend(call, block, {**columns, "mask": masks, "start": starts})

    made = jax.lax.map(jax.checkpoint(of_rows), rows)
    joined = jnp.moveaxis(made, 0, 2)
    joined = joined.reshape(*joined.shape[:2], -1, joined.shape[-1])
    return joined[:, :, :n].astype(call.q.dtype)


def _cut(x: Any, axis: int, count: int, size: int) -> Any:
    """Return blocks on a new first axis; the last entry fills the last block, one entry all."""
    steps = -(-max(count, 1) // size)

    def blocked(values: Array) -> Array:
        if values.shape[axis] == 1 and count != 1:
            return jnp.broadcast_to(values, (steps, *values.shape))
        filled = jnp.take(values, jnp.minimum(jnp.arange(steps * size), count - 1), axis=axis)
        at = axis % values.ndim
        shape = (*values.shape[:at], steps, size, *values.shape[at + 1 :])
        return jnp.moveaxis(filled.reshape(shape), at, 0)

    return jax.tree.map(blocked, x)


def _attend(call: JaxCall, block: dict[str, Any], columns: dict[str, Any]) -> Array:
    """Return the output of one block of queries, from all blocks of keys."""
    shape, dtype = block["q"].shape[:-1], call.wide
    width = columns["v"].shape[-1]
    start = (
        jnp.full((*shape, 1), -jnp.inf, dtype),
        jnp.zeros((*shape, 1), dtype),
        jnp.zeros((*shape, width), dtype),
    )
    start = _vary(start, (block, columns, call.numbers))

    def step(carry: Any, keys: dict[str, Any]) -> tuple[Any, None]:
        pairs = _pairs(block, keys)

        def seen(held: Any) -> Any:
            return _merge(call, pairs, block["q"], keys, held)

        return jax.lax.cond(_is_passed_over(call, pairs), lambda held: held, seen, carry), None

    (_, total, out), _ = jax.lax.scan(jax.checkpoint(step), start, columns)
    return out / jnp.where(total == 0.0, 1.0, total)


def _vary(start: Any, beside: Any) -> Any:
    """Return what a scan starts from, as if it depended on all that is beside it.

    Inside of `shard_map` constants are the same on all devices, and a scan keeps one type.
    """
    never = jnp.asarray(False)
    for x in jax.tree.leaves(beside):
        if x.size:
            one = jax.lax.stop_gradient(x.reshape(-1)[0])
            start = jax.tree.map(
                lambda held, one=one: jnp.where(never, one.astype(held.dtype), held), start
            )
    return start


def _pairs(block: dict[str, Any], keys: dict[str, Any]) -> Pairs:
    return Pairs(
        rows=block["rows"],
        columns=keys["columns"],
        at_q=block["at_q"],
        at_k=keys["at_k"],
        mask=keys["mask"],
        segments_q=block["segments_q"],
        segments_k=keys["segments_k"],
    )


def _is_passed_over(call: JaxCall, pairs: Pairs) -> Array:
    """Return whether no query of a block may attend to any key of another."""
    none = jnp.asarray(False)
    if call.causal and call.by_order:
        _, _, n, m = call.sizes
        none = none | (pairs.columns[0] > pairs.rows[-1] + (m - n))
    elif call.causal:
        none = none | (_least(pairs.at_k) > _most(pairs.at_q))
    if pairs.segments_q is not None and pairs.segments_k is not None:
        of_q, of_k = pairs.segments_q, pairs.segments_k
        none = none | (of_q.max() < of_k.min()) | (of_k.max() < of_q.min())
    return none


def _merge(call: JaxCall, pairs: Pairs, q: Array, keys: dict[str, Any], held: Any) -> Any:
    """Return the running maximum, sum and output with one more block of keys."""
    top, total, out = held
    k, v = call.own_heads(keys["k"]), call.own_heads(keys["v"])
    logits = _logits(call, pairs, q.astype(call.wide), k.astype(call.wide))
    bias, keep = bias_of(call, pairs), may_attend(call, pairs)
    logits = logits if bias is None else logits + bias
    fresh = jnp.arange(len(pairs.columns)) + keys["start"] == pairs.columns  # no filled ones
    keep = fresh if keep is None else keep & fresh
    logits = jnp.where(keep, logits, -jnp.inf)
    higher = jax.lax.stop_gradient(jnp.maximum(top, logits.max(axis=-1, keepdims=True)))
    safe = jnp.where(higher == -jnp.inf, 0.0, higher)
    weights, kept = jnp.exp(logits - safe), jnp.exp(top - safe)
    out = out * kept + jnp.matmul(weights, v.astype(call.wide))
    return higher, total * kept + weights.sum(axis=-1, keepdims=True), out


def _logits(call: JaxCall, pairs: Pairs, q: Array, k: Array) -> Array:
    """Return scale q.k of one block, of a decay by the way that is right for it."""
    if not decays(call.encoding):
        return call.scale * jnp.matmul(q, jnp.swapaxes(k, -1, -2))
    reference = _integer_below(pairs.at_q)

    def apart() -> Array:
        left = _from_reference(call, q, _after(_move(pairs.at_q, reference), 1), "q")
        right = _from_reference(call, k, _after(_move(pairs.at_k, reference), -1), "k")
        return call.scale * jnp.matmul(left, jnp.swapaxes(right, -1, -2))

    def near() -> Array:
        at_q, at_k = positions_of(pairs.at_q), positions_of(pairs.at_k)
        made = call.encoding.scores(q, k, at_q, at_k, scale=call.scale, numbers=call.numbers)
        return jnp.where(made == -jnp.inf, 0.0, made)  # later keys are masked by the caller

    return jax.lax.cond(_before(pairs.at_k, reference), apart, near)


def _from_reference(call: JaxCall, x: Array, at: Coordinates, side: str) -> Array:
    return call.encoding.see_from(x, at, call.numbers, side=side, reference=0.0, xp=jnp)


def _integer_below(at: Coordinates) -> Array:
    """Return the first position of a block, down to a whole number."""
    if isinstance(at, Limbs):
        least = at.whole.min()
        return least - jnp.where((at.fraction < 0).any(), 1, 0)
    return jnp.floor(at.min())


def _move(at: Coordinates, reference: Array) -> Coordinates:
    """Return coordinates counted from a whole reference."""
    if isinstance(at, Limbs):
        return Limbs(whole=at.whole - reference, fraction=at.fraction)
    return at - reference


def _before(at: Coordinates, reference: Array) -> Array:
    """Return whether all positions are up to a reference, and not too far from it for int32."""
    none_later = _most(_move(at, reference)) <= 0
    if not isinstance(at, Limbs):
        return none_later
    return none_later & (at.whole.min().astype(jnp.float32) - reference > -(2.0**31))


def _after(at: Coordinates, sign: int) -> Coordinates:
    """Return coordinates on one side of the reference; others, which are not used, become 0."""
    if isinstance(at, Limbs):
        there = sign * (at.whole.astype(jnp.float32) + at.fraction) >= 0
        return jax.tree.map(lambda x: jnp.where(there, x, jnp.zeros_like(x)), at)
    return jnp.where(sign * at >= 0, at, 0.0)


def _least(at: Coordinates) -> Array:
    return _value(at).min()


def _most(at: Coordinates) -> Array:
    return _value(at).max()


def _value(at: Coordinates) -> Array:
    """Return positions as floats, good enough to tell blocks apart."""
    return at.whole.astype(jnp.float32) + at.fraction if isinstance(at, Limbs) else at
