r"""Decays block by block: every block of queries sees the keys from a reference of its own.

    logit(i, j) = scale q^T e^((i - j) X) k = scale (e^((i - r) X)^T q).(e^((r - j) X) k)

With one r for all positions a factor leaves float32 (xPos of dimension 8: from position 35,000 on).
Here r is the first query of the block. Keys before the block then have factors at most 1, queries
as well, and what underflows is truly 0; keys inside the block have factors up to e^(|a| span),
their queries' e^(-|a| span), which cancel without loss as long as float32 holds them: a block is so
short that |a| span <= 20. Positions are shifted by r for each sequence, so that sequences may stand
anywhere. Keys later than the block are cut off, or, where they are masked, seen from its end.

Where even a few queries span more (steep decays, timestamps far apart), or where powers of the lag
grow beside the decay (Jordan blocks) and would cancel inside of a block, only keys before the block
are seen from its first query; logits of keys inside of it come from `Encoding.scores`, which is
right at every position, and the parts are merged by the log-sum-exp of their logits [milakov2018]:

    out = (e^(L1 - L) out1 + e^(L2 - L) out2),   L = ln(e^L1 + e^L2).

Memory: one copy of keys, and a mask (256, m), at a time; merged, logits (64, 4096). Cost: the
products of plain attention, and where parts are merged the softmax of logits in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from gnomon.numeric.arrays import concrete_or_none
from gnomon.torch.coordinates import XP
from gnomon.torch.sdpa.bias_routes import TILE, spans
from gnomon.torch.sdpa.kernel import attend
from gnomon.torch.sdpa.prepare import Layout, Span, TorchCall, keys_for, places, whole_mask

_SPAN = 20.0
"""Largest decay exponent within one block: e^20 is far inside float32."""
LEAST_BLOCK = 16
"""Queries of a block below which logits are merged by their log-sum-exp instead."""
MERGED_BLOCK = 64
"""Queries of a block whose parts are merged: pairs inside of it are summed one by one."""
KEYS = 4096
"""Keys of one part that is merged."""


def run_blocks(call: TorchCall, layout: Layout) -> Tensor:
    """Return causal attention under a decay, in float32 or better inside."""
    wide = [x.to(call.wide) for x in (call.q, call.k, call.v)]
    q, k, v = wide[0], call.own_heads(wide[1]), call.own_heads(wide[2])
    tile = block_length(call)
    made = []
    for rows in spans(call, tile if tile >= LEAST_BLOCK else MERGED_BLOCK):
        end = keys_for(call, layout, rows)
        part = (q[:, :, slice(*rows)], k[:, :, :end], v[:, :, :end])
        block = _one_reference if tile >= LEAST_BLOCK else _merge
        made.append(block(call, layout, part, rows))
    return torch.cat(made, dim=-2).to(call.q.dtype)


def block_length(call: TorchCall) -> int:
    """Return the longest block, up to TILE queries, in which one reference serves every decay.

    It is 0 where powers of the lag grow beside the decay: seen from inside of a block they cancel.
    """
    if not call.encoding.is_one_of("xpos", "retnet"):
        return 0
    at = concrete_or_none(call.at_q)
    if at is None or at.size == 0:
        return TILE
    steepest = float(call.numbers["rates"].detach().abs().max())
    length = TILE
    while length > 1 and steepest * _widest(at[..., 0], length) > _SPAN:
        length //= 2
    return length


def _widest(at: Any, length: int) -> float:
    """Return the largest span of positions within blocks of a length."""
    blocks = [at[..., first : first + length] for first in range(0, at.shape[-1], length)]
    return max(float(np.max(block.max(-1) - block.min(-1))) for block in blocks)


def _one_reference(
    call: TorchCall, layout: Layout, vectors: tuple[Tensor, Tensor, Tensor], rows: Span
) -> Tensor:
    """Return a block of queries with all its keys, seen from the block's first query."""
    q, k, v = vectors
    end = k.shape[-2]
    left, right = _seen_from_first(call, q, k, rows, slice(0, end))
    mask = whole_mask(call, layout, rows, end)
    return attend(left, right, v, mask=mask, scale=call.scale, dropout=call.dropout)


def _seen_from_first(
    call: TorchCall, q: Tensor, k: Tensor, rows: Span, some: slice
) -> tuple[Tensor, Tensor]:
    """Return queries of a block and some of the keys as seen from the block's first query."""
    at_q, at_k = call.at_q[..., slice(*rows), :], call.at_k[..., some, :]
    first, last = at_q.amin(-2, keepdim=True), at_q.amax(-2, keepdim=True)
    refer = call.encoding.see_from
    given: dict[str, Any] = {"reference": 0.0, "xp": XP}
    left = refer(q, at_q - first, call.numbers, side="q", **given)
    # A key after the block is masked; from its own place its factor might not be finite.
    near = torch.minimum(at_k, last) - first
    right = refer(k, near, call.numbers, side="k", **given)
    return left, right


def _merge(
    call: TorchCall, layout: Layout, vectors: tuple[Tensor, Tensor, Tensor], rows: Span
) -> Tensor:
    """Return a block of queries, its logits in parts that are merged."""
    q, k, v = vectors
    end = k.shape[-2]
    mask = whole_mask(call, layout, rows, end)
    before = 0 if layout.ahead is None else max(0, min(end, layout.ahead + rows[0] + 1))
    parts = []
    for first in range(0, before, KEYS):
        some = slice(first, min(first + KEYS, before))
        left, right = _seen_from_first(call, q, k[:, :, some], rows, some)
        logits = torch.matmul(left, right.mT) * call.scale
        parts.append(_part(_mask(logits, mask, some), v[:, :, some], call.dropout))
    for first in range(before, end, TILE):
        some = slice(first, min(first + TILE, end))
        logits = _own_scores(call, q, k[:, :, some], rows, some)
        parts.append(_part(_mask(logits, mask, some), v[:, :, some], call.dropout))
    return merged(parts)


def _own_scores(call: TorchCall, q: Tensor, k: Tensor, rows: Span, some: slice) -> Tensor:
    """Return logits as the encoding itself makes them, right at every position."""
    at_q, at_k = call.at_q[..., slice(*rows), :], call.at_k[..., some, :]
    given: dict[str, Any] = {"scale": call.scale, "numbers": call.numbers}
    made: Tensor = call.encoding.scores(q, k, places(at_q), places(at_k), **given)
    return made


def _mask(logits: Tensor, mask: Tensor | None, some: slice) -> Tensor:
    if mask is None:
        return logits
    mask = mask if mask.shape[-1] == 1 else mask[..., some]
    return torch.where(mask, logits, -torch.inf) if mask.dtype == torch.bool else logits + mask


def _part(logits: Tensor, v: Tensor, dropout: float) -> tuple[Tensor, Tensor]:
    """Return attention to some keys, and the log-sum-exp of their logits (..., n, 1)."""
    total = _logsumexp(logits)
    weights = torch.exp(logits - torch.where(torch.isinf(total), 0.0, total))
    return torch.matmul(functional.dropout(weights, dropout), v), total


def _logsumexp(logits: Tensor) -> Tensor:
    """Return ln sum e^logits over the last axis, kept: -inf, with a gradient of 0, of no key."""
    none = torch.isinf(logits).all(-1, keepdim=True)
    total = torch.logsumexp(torch.where(none, 0.0, logits), dim=-1, keepdim=True)
    return torch.where(none, -torch.inf, total)


def merged(parts: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Return attention to all keys from that to parts of them, by their log-sum-exp."""
    sums = torch.cat([total for _, total in parts], dim=-1)
    whole = _logsumexp(sums)
    shift = torch.where(torch.isinf(whole), 0.0, whole)
    shares = torch.exp(sums - shift)
    weighed = [out * shares[..., i : i + 1] for i, (out, _) in enumerate(parts)]
    return torch.stack(weighed).sum(dim=0)
