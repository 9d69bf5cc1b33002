"""Attention from logits in full: the scores of the encoding itself, softmax, values.

    out = softmax(scores + mask) v  (+ what weights add to values, where the encoding says so)

It serves every encoding, rules on content among them, and is what every other route is compared
with. Memory: logits and weights, (batch, heads, n, m) each. Logits are float32 or better, also for
vectors in half precision. A query that may attend to no key gives zeros, and has no gradient.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gnomon.torch.attending.asked import Asked
from gnomon.torch.attending.buffers import logits_in_order
from gnomon.torch.attending.kernel import weights_of
from gnomon.torch.attending.layout import Layout
from gnomon.torch.attending.masks import whole_mask
from gnomon.torch.attending.turned import own_heads, places
from gnomon.torch.base import XP


def run(asked: Asked, layout: Layout) -> Tensor:
    """Return attention from the logits of the encoding."""
    _, _, n, m = asked.sizes
    ordered = asked.encoding.in_order
    logits = logits_in_order(asked) if ordered else _logits(asked)
    if ordered:  # -inf stands on later keys already
        asked = dataclasses.replace(asked, causal=False)
    mask = whole_mask(asked, layout, (0, n), m)
    if mask is not None and mask.dtype == torch.bool:
        logits = torch.where(mask, logits, -torch.inf)
    elif mask is not None:
        logits = logits + mask
    weights = functional.dropout(weights_of(logits), asked.dropout)
    v = own_heads(asked.v.to(asked.wide), asked.groups)
    if ordered:  # room to spare in a buffer may hold anything
        v = torch.where((logits == -torch.inf).all(dim=-2)[..., None], 0.0, v)
    out = torch.matmul(weights, v)
    more = _value_terms(asked, weights)
    return (out if more is None else out + more).to(asked.q.dtype)


def _logits(asked: Asked) -> Tensor:
    q = asked.q.to(asked.wide)
    k = own_heads(asked.k.to(asked.wide), asked.groups)
    tokens = asked.tokens if asked.tokens is None else asked.tokens.to(asked.wide)
    given: dict[str, Any] = {"scale": asked.scale, "tokens": tokens, "numbers": asked.numbers}
    at_q, at_k = places(asked.at_q), places(asked.at_k)
    made: Tensor = asked.encoding.scores(q, k, at_q, at_k, **given)
    return made


def _value_terms(asked: Asked, weights: Tensor) -> Tensor | None:
    """Return what the encoding adds to values, or None."""
    if not asked.encoding.on_values:
        return None
    at_q, at_k = asked.at_q, asked.at_k
    found: Tensor | None = asked.encoding.value_terms(weights, at_q, at_k, asked.numbers, xp=XP)
    return found
