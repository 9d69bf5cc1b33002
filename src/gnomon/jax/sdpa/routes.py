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

from gnomon.encodings import (
    Arrangement,
    arranged,
    check_order,
    check_rising,
    plainly,
    read_tokens,
    reads_neighbours,
    refuse_unfit,
)
from gnomon.encodings import logits_in_order as score_in_order
from gnomon.jax.sdpa.prepare import (
    added_by,
    all_pairs,
    bias_of,
    encode_queries_keys,
    may_attend,
    own_heads,
    positions_of,
)

if TYPE_CHECKING:
    from gnomon.jax.sdpa.prepare import AttentionCall
    from gnomon.numeric.arrays import Array, Coordinates


def run_plain(call: AttentionCall) -> Array:
    """Return attention by JAX's own function, with a bias where there is one."""
    q, k, v = encode_queries_keys(call)
    pairs, wanted = all_pairs(call), v.shape[-1]
    keep, bias = may_attend(call, pairs), bias_of(call, pairs)
    width = max(wanted, q.shape[-1])
    q, k, v = (_padded(jnp.swapaxes(x, 1, 2), width) for x in (q, k, v))
    simple = keep is not None and call.by_order and q.shape[1] == k.shape[1]
    simple = simple and call.mask is None and call.segments_q is None
    out = jax.nn.dot_product_attention(
        q, k, v, bias, None if simple else keep, scale=call.scale, is_causal=bool(simple)
    )
    out = jnp.swapaxes(out[..., :wanted], 1, 2)
    return out if simple else _without_keys(out, keep)


def run_dense(call: AttentionCall) -> Array:
    """Return attention by the logits of the encoding itself."""
    made = call.encoding
    logits = logits_in_order(call) if made.in_order else _logits(call)
    keep = may_attend(call, all_pairs(call), made=logits)
    added = added_by(call.mask, call)
    logits = logits if added is None else logits + added
    if keep is not None:
        logits = jnp.where(keep, logits, jnp.finfo(call.wide).min)
    weights = jax.nn.softmax(logits, axis=-1)
    v = own_heads(call.v, call.groups).astype(call.wide)
    if made.in_order and keep is not None:  # room to spare in a buffer may hold anything
        v = jnp.where(keep.any(axis=-2)[..., None], v, 0.0)
    out = jnp.matmul(weights, v)
    extra = made.value_terms(weights, call.at_q, call.at_k, call.numbers, xp=jnp)
    out = out if extra is None else out + extra
    return _without_keys(out, keep).astype(call.q.dtype)


def run_empty(call: AttentionCall) -> Array:
    """Return attention where there is no query, or no key: nothing, or zeros without a slope."""
    k, v = own_heads(call.k, call.groups), own_heads(call.v, call.groups)
    return jnp.matmul(jnp.matmul(call.q, jnp.swapaxes(k, -1, -2)), v)


def _logits(call: AttentionCall) -> Array:
    q, k = call.q.astype(call.wide), own_heads(call.k, call.groups).astype(call.wide)
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


def _padded(x: Array, width: int) -> Array:
    """Return vectors with zeros added up to a width."""
    missing = width - x.shape[-1]
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)]) if missing else x


def logits_in_order(call: AttentionCall) -> Array:
    """Return the logits (batch, heads, n, m), -inf on keys that are later than their query."""
    q, k = call.q.astype(call.wide), own_heads(call.k, call.groups).astype(call.wide)
    check_order(call.encoding, q, k)
    tokens = None if call.tokens is None else call.tokens.astype(call.wide)
    at_q, at_k = (at if at.ndim == 4 else at[None, None] for at in (call.at_q, call.at_k))
    segments = None if call.segments_k is None else call.segments_k[:, None]
    return score_in_order(
        call.encoding,
        q,
        k,
        read_tokens(tokens, k, xp=jnp),
        at_k,
        call.numbers,
        _arranged(call, at_q, at_k),
        scale=call.scale,
        segments=segments,
        xp=jnp,
    )


def _arranged(call: AttentionCall, at_q: Coordinates, at_k: Coordinates) -> Arrangement | None:
    """Return the order of queries and keys, or None where it is seen to be the given one."""
    name, counted, packed = call.encoding.name, call.counted, call.segments_q is not None
    if call.mask is None and not packed:
        if counted:
            return None
        if plainly(at_q, at_k):
            check_rising(at_k, name)
            return None
    hidden = _hidden(call)
    made = arranged(
        at_q,
        at_k,
        hidden,
        counted=counted,
        packed=packed,
        neighbours=reads_neighbours(call.encoding),
        xp=jnp,
    )
    refuse_unfit(made.fits, name, counted=counted)
    return made


def _hidden(call: AttentionCall) -> Array | None:
    """Return which keys (batch or 1, heads or 1, m) are of no query's segment, or out of sight."""
    if call.segments_q is not None and call.segments_k is not None:
        apart = call.segments_q[:, :, None] != call.segments_k[:, None, :]
        return apart.all(axis=1)[:, None]
    if call.mask is None:
        return None
    mask = call.mask
    sees = mask if mask.dtype == jnp.bool_ else mask > jnp.finfo(mask.dtype).min
    found = ~sees.any(axis=-2)
    return jnp.broadcast_to(found, (*found.shape[:-1], call.k.shape[-2]))
