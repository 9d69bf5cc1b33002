"""All logits at once: by `jax.nn.dot_product_attention`, or by the encoding itself (*dense*).

    out = softmax(scale q~ k~^T + bias) v

JAX's function serves two routes, *plain* and, where something is added to logits, *bias*. It takes
(batch, n, heads, d), values as wide as keys, groups of query heads, a bias that is added after the
scale, and a boolean mask. Three of its ways are worked around here: its own causal mask counts both
sides from 0, which is wrong beside a cache, so a mask is passed instead; its softmax is float32
whatever the type, so float64 takes the dense route; and a query that may attend to no key gets the
mean of all values, which is set to zero.

The dense route asks the encoding for its `scores`, so it serves every kind. Memory of both:
batch x heads x n x m logits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from gnomon.jax.attending.asked import positions_of
from gnomon.jax.attending.buffers import logits_in_order
from gnomon.jax.attending.masks import added_by, bias_of, may_attend, whole
from gnomon.jax.attending.turned import own_heads, turned_pair

if TYPE_CHECKING:
    from gnomon.encodings import Array
    from gnomon.jax.attending.asked import Asked


def plain(asked: Asked) -> Array:
    """Return attention by JAX's own function, with a bias where there is one."""
    q, k, v = turned_pair(asked)
    part, wanted = whole(asked), v.shape[-1]
    keep, bias = may_attend(asked, part), bias_of(asked, part)
    width = max(wanted, q.shape[-1])
    q, k, v = (_padded(jnp.swapaxes(x, 1, 2), width) for x in (q, k, v))
    simple = keep is not None and asked.by_order and q.shape[1] == k.shape[1]
    simple = simple and asked.mask is None and asked.segments_q is None
    out = jax.nn.dot_product_attention(
        q, k, v, bias, None if simple else keep, scale=asked.scale, is_causal=bool(simple)
    )
    out = jnp.swapaxes(out[..., :wanted], 1, 2)
    return out if simple else without_keys(out, keep)


def dense(asked: Asked) -> Array:
    """Return attention by the logits of the encoding itself."""
    made = asked.encoding
    logits = logits_in_order(asked) if made.in_order else _logits(asked)
    keep = may_attend(asked, whole(asked), made=logits)
    added = added_by(asked.mask, asked)
    logits = logits if added is None else logits + added
    if keep is not None:
        logits = jnp.where(keep, logits, jnp.finfo(asked.wide).min)
    weights = jax.nn.softmax(logits, axis=-1)
    v = own_heads(asked.v, asked.groups).astype(asked.wide)
    if made.in_order and keep is not None:  # room to spare in a buffer may hold anything
        v = jnp.where(keep.any(axis=-2)[..., None], v, 0.0)
    out = jnp.matmul(weights, v)
    extra = made.value_terms(weights, asked.at_q, asked.at_k, asked.numbers, xp=jnp)
    out = out if extra is None else out + extra
    return without_keys(out, keep).astype(asked.q.dtype)


def empty(asked: Asked) -> Array:
    """Return attention where there is no query, or no key: nothing, or zeros without a slope."""
    k, v = own_heads(asked.k, asked.groups), own_heads(asked.v, asked.groups)
    return jnp.matmul(jnp.matmul(asked.q, jnp.swapaxes(k, -1, -2)), v)


def _logits(asked: Asked) -> Array:
    q, k = asked.q.astype(asked.wide), own_heads(asked.k, asked.groups).astype(asked.wide)
    return asked.encoding.scores(
        q,
        k,
        positions_of(asked.at_q),
        positions_of(asked.at_k),
        scale=asked.scale,
        tokens=asked.tokens,
        numbers=asked.numbers,
    )


def without_keys(out: Array, keep: Array | None) -> Array:
    """Return zeros for queries that may attend to no key."""
    return out if keep is None else jnp.where(keep.any(axis=-1, keepdims=True), out, 0.0)


def _padded(x: Array, width: int) -> Array:
    """Return vectors with zeros added up to a width."""
    missing = width - x.shape[-1]
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)]) if missing else x
