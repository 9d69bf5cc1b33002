"""Attention without a bias, in one call of the kernel, and attention from logits in full.

*plain*: the encoding acts on queries and keys and logits are scale q~.k~, so nothing is left to
add; a triangle is the kernel's own mask, any other is booleans (n, m).

*dense*: the scores of the encoding itself, softmax, values:

    out = softmax(scores + mask) v  (+ what weights add to values, where the encoding says so)

It serves every encoding, rules on content among them, and is what every other route is compared
with. Memory: logits and weights, (batch, heads, n, m) each, in float32 or better also for vectors
in half precision. Rules that read tokens in order meet buffers longer than the text, and packed
documents: `gnomon.encodings.content.ordering` says what is done about both. A query that may attend
to no key gives zeros, and has no gradient.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

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
from gnomon.torch.coordinates import XP
from gnomon.torch.sdpa.prepare import (
    AttentionCall,
    Layout,
    attend,
    encode_queries_keys,
    is_triangle,
    own_heads,
    places,
    weights_of,
    whole_mask,
)


def run_plain(call: AttentionCall, layout: Layout) -> Tensor:
    """Return attention of turned queries and keys."""
    _, _, n, m = call.sizes
    q, k, v = encode_queries_keys(call)
    given: dict[str, Any] = {"scale": call.scale, "dropout": call.dropout}
    if is_triangle(call, layout):
        return attend(q, k, v, causal=True, **given)
    return attend(q, k, v, mask=whole_mask(call, layout, (0, n), m), **given)


def run_empty(call: AttentionCall, layout: Layout) -> Tensor:
    """Return attention where there is no query, or no key: nothing, or zeros without a slope."""
    del layout
    k, v = own_heads(call.k, call.groups), own_heads(call.v, call.groups)
    return torch.matmul(torch.matmul(call.q, k.mT), v)


def run_dense(call: AttentionCall, layout: Layout) -> Tensor:
    """Return attention from the logits of the encoding."""
    _, _, n, m = call.sizes
    ordered = call.encoding.in_order
    logits = logits_in_order(call) if ordered else _logits(call)
    if ordered:  # -inf stands on later keys already
        call = dataclasses.replace(call, causal=False)
    mask = whole_mask(call, layout, (0, n), m)
    if mask is not None and mask.dtype == torch.bool:
        logits = torch.where(mask, logits, -torch.inf)
    elif mask is not None:
        logits = logits + mask
    weights = functional.dropout(weights_of(logits), call.dropout)
    v = own_heads(call.v.to(call.wide), call.groups)
    if ordered:  # room to spare in a buffer may hold anything
        v = torch.where((logits == -torch.inf).all(dim=-2)[..., None], 0.0, v)
    out = torch.matmul(weights, v)
    more = _value_terms(call, weights)
    return (out if more is None else out + more).to(call.q.dtype)


def _logits(call: AttentionCall) -> Tensor:
    q = call.q.to(call.wide)
    k = own_heads(call.k.to(call.wide), call.groups)
    tokens = call.tokens if call.tokens is None else call.tokens.to(call.wide)
    given: dict[str, Any] = {"scale": call.scale, "tokens": tokens, "numbers": call.numbers}
    at_q, at_k = places(call.at_q), places(call.at_k)
    made: Tensor = call.encoding.scores(q, k, at_q, at_k, **given)
    return made


def _value_terms(call: AttentionCall, weights: Tensor) -> Tensor | None:
    """Return what the encoding adds to values, or None."""
    if not call.encoding.on_values:
        return None
    at_q, at_k = call.at_q, call.at_k
    found: Tensor | None = call.encoding.value_terms(weights, at_q, at_k, call.numbers, xp=XP)
    return found


def logits_in_order(call: AttentionCall) -> Tensor:
    """Return the logits (batch, heads, n, m), -inf on keys that are later than their query."""
    q, k = call.q.to(call.wide), own_heads(call.k.to(call.wide), call.groups)
    check_order(call.encoding, q, k)
    tokens = None if call.tokens is None else call.tokens.to(call.wide)
    at_q, at_k = (at if at.ndim == 4 else at[None, None] for at in (call.at_q, call.at_k))
    segments = None if call.segments_k is None else call.segments_k[:, None]
    made: Tensor = score_in_order(
        call.encoding,
        q,
        k,
        read_tokens(tokens, k, xp=XP),
        at_k,
        call.numbers,
        _arranged(call, at_q, at_k),
        scale=call.scale,
        segments=segments,
        xp=XP,
    )
    return made


def _arranged(call: AttentionCall, at_q: Tensor, at_k: Tensor) -> Arrangement | None:
    """Return the order of queries and keys, or None where it is seen to be the given one."""
    name, counted = call.encoding.name, call.counted
    if not call.masked:
        if counted:
            return None
        if plainly(at_q, at_k):
            check_rising(at_k, name)
            return None
    hidden, packed = _hidden(call), call.segments_q is not None
    made = arranged(
        at_q,
        at_k,
        hidden,
        counted=counted,
        packed=packed,
        neighbours=reads_neighbours(call.encoding),
        xp=XP,
    )
    refuse_unfit(made.fits, name, counted=counted)
    return made


def _hidden(call: AttentionCall) -> Tensor | None:
    """Return which keys (batch or 1, heads or 1, m) are of no query's segment, or out of sight."""
    if call.segments_q is not None and call.segments_k is not None:
        apart = call.segments_q[:, :, None] != call.segments_k[:, None, :]
        return apart.all(dim=1)[:, None]
    if call.mask is None:
        return None
    mask = call.mask
    sees = mask if not mask.is_floating_point() else mask > torch.finfo(mask.dtype).min
    found = ~sees.any(dim=-2)
    return found.expand(*found.shape[:-1], call.k.shape[-2])
