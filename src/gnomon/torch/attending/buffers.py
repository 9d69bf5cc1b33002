"""Logits of rules that read tokens in order, whatever the order of the keys.

Buffers may be longer than the text, and packed documents may share one; what is done about both is
said in `gnomon.encodings.content.ordering`.
"""

from __future__ import annotations

import torch
from torch import Tensor

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
from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.turned import own_heads
from gnomon.torch.base import XP


def logits_in_order(asked: Asked) -> Tensor:
    """Return the logits (batch, heads, n, m), -inf on keys that are later than their query."""
    q, k = asked.q.to(asked.wide), own_heads(asked.k.to(asked.wide), asked.groups)
    check_order(asked.encoding, q, k)
    tokens = None if asked.tokens is None else asked.tokens.to(asked.wide)
    at_q, at_k = (at if at.ndim == 4 else at[None, None] for at in (asked.at_q, asked.at_k))
    segments = None if asked.segments_k is None else asked.segments_k[:, None]
    made: Tensor = score_in_order(
        asked.encoding,
        q,
        k,
        read_tokens(tokens, k, xp=XP),
        at_k,
        asked.numbers,
        _arranged(asked, at_q, at_k),
        scale=asked.scale,
        segments=segments,
        xp=XP,
    )
    return made


def _arranged(asked: Asked, at_q: Tensor, at_k: Tensor) -> Arrangement | None:
    """Return the order of queries and keys, or None where it is seen to be the given one."""
    name, counted = asked.encoding.name, asked.counted
    if not asked.masked:
        if counted:
            return None
        if plainly(at_q, at_k):
            check_rising(at_k, name)
            return None
    hidden, packed = _hidden(asked), asked.segments_q is not None
    made = arranged(
        at_q,
        at_k,
        hidden,
        counted=counted,
        packed=packed,
        neighbours=reads_neighbours(asked.encoding),
        xp=XP,
    )
    refuse_unfit(made.fits, name, counted=counted)
    return made


def _hidden(asked: Asked) -> Tensor | None:
    """Return which keys (batch or 1, heads or 1, m) are of no query's segment, or out of sight."""
    if asked.segments_q is not None and asked.segments_k is not None:
        apart = asked.segments_q[:, :, None] != asked.segments_k[:, None, :]
        return apart.all(dim=1)[:, None]
    if asked.mask is None:
        return None
    mask = asked.mask
    sees = mask if not mask.is_floating_point() else mask > torch.finfo(mask.dtype).min
    found = ~sees.any(dim=-2)
    return found.expand(*found.shape[:-1], asked.k.shape[-2])
