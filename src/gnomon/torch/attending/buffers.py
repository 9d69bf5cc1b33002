"""A call whose queries are the last of its keys, for rules that read tokens in order.

Buffers may be longer than the text, and packed documents may share one; what is done about both is
said in `gnomon.encodings.content.ordering` and in `gnomon.torch.attending.documents`.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor

from gnomon.encodings.content import ordering
from gnomon.numeric.visible import seen
from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.documents import by_document
from gnomon.torch.attending.turned import own_heads
from gnomon.torch.base import XP


def in_order(asked: Asked) -> tuple[Asked, Tensor | None]:
    """Return the call with its keys in order, and where (batch, heads, 1) its queries fit."""
    if not asked.encoding.in_order:
        return asked, None
    fits = None
    if not _plainly(asked):
        asked, fits = _arranged(asked)
    elif not asked.counted and not asked.masked:
        ordering.check_rising(asked.at_k, asked.encoding.name)
    at_q, at_k = by_document(asked.encoding, asked.at_q, asked.at_k, asked.segments_k)
    return dataclasses.replace(asked, at_q=at_q, at_k=at_k), fits


def _plainly(asked: Asked) -> bool:
    """Whether queries are seen to be the last of the keys, none of which is hidden."""
    if asked.masked or asked.counted:
        return not asked.masked
    queries, keys = seen(asked.at_q), seen(asked.at_k)
    if queries is None or keys is None:
        return False
    return bool(np.all(queries == keys[..., keys.shape[-2] - queries.shape[-2] :, :]))


def _arranged(asked: Asked) -> tuple[Asked, Tensor]:
    at_q, at_k = (at if at.ndim == 4 else at[None, None] for at in (asked.at_q, asked.at_k))
    hidden, counted = _hidden(asked), asked.counted
    made = ordering.arranged(at_q, at_k, hidden, counted=counted, xp=XP)
    ordering.refuse_unfit(made.fits, asked.encoding.name, counted=counted)
    k, v = (own_heads(x, asked.groups) for x in (asked.k, asked.v))
    k, v = (ordering.reordered(x, made, clear=True, xp=XP) for x in (k, v))
    tokens, segments = asked.tokens, asked.segments_k
    if tokens is not None:
        beside = tokens if tokens.ndim == 4 else tokens[:, None]
        tokens = ordering.reordered(beside, made, clear=True, xp=XP)
    if segments is not None:
        segments = torch.take_along_dim(segments, made.order[:, 0], dim=-1)
    changed = {"k": k, "v": v, "tokens": tokens, "segments_k": segments, "at_q": at_q}
    changed["at_k"] = ordering.reordered_coordinates(at_k, made, xp=XP)
    return dataclasses.replace(asked, mask=_mask(asked, made), **changed), made.fits


def _hidden(asked: Asked) -> Tensor | None:
    """Return which keys (batch or 1, heads or 1, m) a mask or segments hide from every query."""
    found, m = None, asked.k.shape[-2]
    if asked.mask is not None:
        found = ~_visible(asked.mask).any(dim=-2)
        found = found.expand(*found.shape[:-1], m)
    if asked.segments_q is not None and asked.segments_k is not None:
        apart = (asked.segments_q[:, :, None] != asked.segments_k[:, None, :]).all(dim=1)
        found = apart[:, None] if found is None else found | apart[:, None]
    return found


def _visible(mask: Tensor) -> Tensor:
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min


def _mask(asked: Asked, made: ordering.Arrangement) -> Tensor:
    """Return the mask with its keys in order, and keys that are no tokens hidden."""
    absent = made.absent[..., None, :]
    if asked.mask is None:
        return ~absent
    mask = asked.mask
    if mask.shape[-1] > 1:
        mask = torch.take_along_dim(mask, made.order[..., None, :], dim=-1)
    return mask & ~absent if mask.dtype == torch.bool else torch.where(absent, -torch.inf, mask)
