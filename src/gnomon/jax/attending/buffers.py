"""A call whose queries are the last of its keys, for rules that read tokens in order.

Buffers may be longer than the text, and packed documents may share one: what is done about the
first is said in `gnomon.encodings.content.ordering`; taps of a convolution end with a document.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from gnomon.encodings.content import ordering
from gnomon.encodings.content.short import reads_neighbours
from gnomon.jax.attending.asked import by_document
from gnomon.jax.attending.turned import own_heads
from gnomon.numeric.visible import seen

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array
    from gnomon.jax.attending.asked import Asked


def in_order(asked: Asked) -> tuple[Asked, Array | None]:
    """Return the call with its keys in order, and where (batch, heads, 1) its queries fit."""
    if not asked.encoding.in_order:
        return asked, None
    fits, masked = None, asked.mask is not None or asked.segments_q is not None
    if masked or not _aligned(asked):
        asked, fits = _arranged(asked)
    elif not asked.counted:
        ordering.check_rising(asked.at_k, asked.encoding.name)
    if asked.segments_k is not None and reads_neighbours(asked.encoding):
        at_k = by_document(asked.at_k, asked.segments_k, like=asked.q)
        _, _, n, m = asked.sizes
        asked = dataclasses.replace(asked, at_k=at_k, at_q=at_k[..., m - n :, :])
    return asked, fits


def _aligned(asked: Asked) -> bool:
    """Whether queries are seen to be the last of the keys."""
    if asked.counted:
        return True
    queries, keys = seen(asked.at_q), seen(asked.at_k)
    if queries is None or keys is None:
        return False
    return bool(np.all(queries == keys[..., keys.shape[-2] - queries.shape[-2] :, :]))


def _arranged(asked: Asked) -> tuple[Asked, Array]:
    at_q, at_k = (at if at.ndim == 4 else at[None, None] for at in (asked.at_q, asked.at_k))
    hidden, counted = _hidden(asked), asked.counted
    made = ordering.arranged(at_q, at_k, hidden, counted=counted, xp=jnp)
    ordering.refuse_unfit(made.fits, asked.encoding.name, counted=counted)
    k, v = (own_heads(x, asked.groups) for x in (asked.k, asked.v))
    k, v = (ordering.reordered(x, made, clear=True, xp=jnp) for x in (k, v))
    tokens, segments = asked.tokens, asked.segments_k
    if tokens is not None:
        beside = tokens if tokens.ndim == 4 else tokens[:, None]
        tokens = ordering.reordered(beside, made, clear=True, xp=jnp)
    if segments is not None:
        segments = jnp.take_along_axis(segments, made.order[:, 0], axis=-1)
    changed = {"k": k, "v": v, "tokens": tokens, "segments_k": segments, "at_q": at_q}
    changed["at_k"] = ordering.reordered_coordinates(at_k, made, xp=jnp)
    return dataclasses.replace(asked, mask=_mask(asked, made), **changed), made.fits


def _hidden(asked: Asked) -> Array | None:
    """Return which keys (batch or 1, heads or 1, m) a mask or segments hide from every query."""
    found, m = None, asked.k.shape[-2]
    if asked.mask is not None:
        mask = asked.mask
        sees = mask if mask.dtype == jnp.bool_ else mask > jnp.finfo(mask.dtype).min
        found = ~sees.any(axis=-2)
        found = jnp.broadcast_to(found, (*found.shape[:-1], m))
    if asked.segments_q is not None and asked.segments_k is not None:
        apart = (asked.segments_q[:, :, None] != asked.segments_k[:, None, :]).all(axis=1)
        found = apart[:, None] if found is None else found | apart[:, None]
    return found


def _mask(asked: Asked, made: ordering.Arrangement) -> Array:
    """Return the mask with its keys in order, and keys that are no tokens hidden."""
    absent, mask = made.absent[..., None, :], asked.mask
    if mask is None:
        return ~absent
    if mask.shape[-1] > 1:
        mask = jnp.take_along_axis(mask, made.order[..., None, :], axis=-1)
    return mask & ~absent if mask.dtype == jnp.bool_ else jnp.where(absent, -jnp.inf, mask)
