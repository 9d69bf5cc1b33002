"""All logits at once: by `jax.nn.dot_product_attention`, or by the encoding itself (*dense*).

    out = softmax(scale q~ k~^T + bias) v

JAX's function serves two routes, *plain* and, where something is added to logits, *bias*. It takes
(batch, n, heads, d), values as wide as keys, groups of query heads, a bias that is added after the
scale, and a boolean mask. Three of its ways are worked around here: its own causal mask counts both
sides from 0, which is wrong beside a cache, so a mask is passed instead; its softmax is float32
whatever the type, so float64 takes the dense route; and a query that may attend to no key gets the
mean of all values, which is set to zero.

The dense route asks the encoding for its `scores`, so it serves every kind. Rules that read tokens
in order meet buffers longer than the text, and packed documents:
`gnomon.encodings.content.ordering` says what is done about both. Memory of all routes here:
batch x heads x n x m logits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from gnomon.jax.sdpa.prepare import added_by, all_pairs, bias_of, may_attend, positions_of

if TYPE_CHECKING:
    from gnomon.jax.sdpa.prepare import JaxCall
    from gnomon.numeric.arrays import Array


def run_plain(call: JaxCall) -> Array:
    """Return attention by JAX's own function, with a bias where there is one."""
    q, k, v = call.encode()
    pairs, wanted = all_pairs(call), v.shape[-1]
    keep, bias = may_attend(call, pairs), bias_of(call, pairs)
    width = max(wanted, q.shape[-1])
    q, k, v = (_pad(jnp.swapaxes(x, 1, 2), width) for x in (q, k, v))
    simple = keep is not None and call.by_order and q.shape[1] == k.shape[1]
    simple = simple and call.mask is None and call.segments_q is None
    out = jax.nn.dot_product_attention(
        q, k, v, bias, None if simple else keep, scale=call.scale, is_causal=bool(simple)
    )
    out = jnp.swapaxes(out[..., :wanted], 1, 2)
    return out if simple else _without_keys(out, keep)


def run_dense(call: JaxCall) -> Array:
    """Return attention by the logits of the encoding itself."""
    made = call.encoding
    logits = call.logits_in_order() if made.in_order else _logits(call)
    keep = may_attend(call, all_pairs(call), made=logits)
    added = added_by(call.mask, call)
    logits = logits if added is None else logits + added
    if keep is not None:
        logits = jnp.where(keep, logits, jnp.finfo(call.wide).min)
    weights = jax.nn.softmax(logits, axis=-1)
    v = call.own_heads(call.v).astype(call.wide)
    if made.in_order and keep is not None:  # room to spare in a buffer may hold anything
        v = jnp.where(keep.any(axis=-2)[..., None], v, 0.0)
    out = jnp.matmul(weights, v)
    extra = made.value_terms(weights, call.at_q, call.at_k, call.numbers, xp=jnp)
    out = out if extra is None else out + extra
    return _without_keys(out, keep).astype(call.q.dtype)


def run_empty(call: JaxCall) -> Array:
    """Return attention where there is no query, or no key: nothing, or zeros without a slope."""
    k, v = call.own_heads(call.k), call.own_heads(call.v)
    return jnp.matmul(jnp.matmul(call.q, jnp.swapaxes(k, -1, -2)), v)


def _logits(call: JaxCall) -> Array:
    q, k = call.q.astype(call.wide), call.own_heads(call.k).astype(call.wide)
    return call.encoding.scores(
        q,
        k,
        positions_of(call.at_q),
        positions_of(call.at_k),
        scale=call.scale,
        tokens=call.tokens,
        numbers=call.numbers,
    )


def _without_keys(out: Array, keep: Array | None) -> Array:
    """Return zeros for queries that may attend to no key."""
    return out if keep is None else jnp.where(keep.any(axis=-1, keepdims=True), out, 0.0)


def _pad(x: Array, width: int) -> Array:
    """Return vectors with zeros added up to a width."""
    missing = width - x.shape[-1]
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)]) if missing else x
