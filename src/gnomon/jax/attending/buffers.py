"""Logits of rules that read tokens in order, whatever the order of the keys.

Buffers may be longer than the text, and packed documents may share one; what is done about both is
said in `gnomon.encodings.content.ordering`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from gnomon.jax.attending.turned import own_heads

if TYPE_CHECKING:
    from gnomon.encodings import Array, Coordinates
    from gnomon.jax.attending.asked import Asked


def logits_in_order(asked: Asked) -> Array:
    """Return the logits (batch, heads, n, m), -inf on keys that are later than their query."""
    q, k = asked.q.astype(asked.wide), own_heads(asked.k, asked.groups).astype(asked.wide)
    check_order(asked.encoding, q, k)
    tokens = None if asked.tokens is None else asked.tokens.astype(asked.wide)
    at_q, at_k = (at if at.ndim == 4 else at[None, None] for at in (asked.at_q, asked.at_k))
    segments = None if asked.segments_k is None else asked.segments_k[:, None]
    return score_in_order(
        asked.encoding,
        q,
        k,
        read_tokens(tokens, k, xp=jnp),
        at_k,
        asked.numbers,
        _arranged(asked, at_q, at_k),
        scale=asked.scale,
        segments=segments,
        xp=jnp,
    )


def _arranged(asked: Asked, at_q: Coordinates, at_k: Coordinates) -> Arrangement | None:
    """Return the order of queries and keys, or None where it is seen to be the given one."""
    name, counted, packed = asked.encoding.name, asked.counted, asked.segments_q is not None
    if asked.mask is None and not packed:
        if counted:
            return None
        if plainly(at_q, at_k):
            check_rising(at_k, name)
            return None
    hidden = _hidden(asked)
    made = arranged(
        at_q,
        at_k,
        hidden,
        counted=counted,
        packed=packed,
        neighbours=reads_neighbours(asked.encoding),
        xp=jnp,
    )
    refuse_unfit(made.fits, name, counted=counted)
    return made


def _hidden(asked: Asked) -> Array | None:
    """Return which keys (batch or 1, heads or 1, m) are of no query's segment, or out of sight."""
    if asked.segments_q is not None and asked.segments_k is not None:
        apart = asked.segments_q[:, :, None] != asked.segments_k[:, None, :]
        return apart.all(axis=1)[:, None]
    if asked.mask is None:
        return None
    mask = asked.mask
    sees = mask if mask.dtype == jnp.bool_ else mask > jnp.finfo(mask.dtype).min
    found = ~sees.any(axis=-2)
    return jnp.broadcast_to(found, (*found.shape[:-1], asked.k.shape[-2]))
