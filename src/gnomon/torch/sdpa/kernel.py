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

*The kernel*, out = softmax(scale q k^T + mask) v. PyTorch's fast kernels ask for queries, keys and
values of one dimension and for masks with four axes, and take a mask of float32 beside vectors of
half precision on a processor: a bias is then not rounded to eight bits. Memory beside the result:
O(n), where a fast kernel serves; a mask that learns within a transform of `torch.func` is served by
plain products, with as many logits as it has entries.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gnomon.numeric.arrays import wrapped
from gnomon.torch.coordinates import XP
from gnomon.torch.sdpa.prepare import Layout, TorchCall, places, whole_mask


def run_plain(call: TorchCall, layout: Layout) -> Tensor:
    """Return attention of turned queries and keys."""
    _, _, n, m = call.sizes
    q, k, v = call.encode()
    given: dict[str, Any] = {"scale": call.scale, "dropout": call.dropout}
    if is_triangle(call, layout):
        return attend(q, k, v, causal=True, **given)
    return attend(q, k, v, mask=whole_mask(call, layout, (0, n), m), **given)


def run_empty(call: TorchCall, layout: Layout) -> Tensor:
    """Return attention where there is no query, or no key: nothing, or zeros without a slope."""
    del layout
    k, v = call.own_heads(call.k), call.own_heads(call.v)
    return torch.matmul(torch.matmul(call.q, k.mT), v)


def run_dense(call: TorchCall, layout: Layout) -> Tensor:
    """Return attention from the logits of the encoding."""
    _, _, n, m = call.sizes
    ordered = call.encoding.in_order
    logits = call.logits_in_order() if ordered else _logits(call)
    if ordered:  # -inf stands on later keys already
        call = dataclasses.replace(call, causal=False)
    mask = whole_mask(call, layout, (0, n), m)
    if mask is not None and mask.dtype == torch.bool:
        logits = torch.where(mask, logits, -torch.inf)
    elif mask is not None:
        logits = logits + mask
    weights = functional.dropout(weights_of(logits), call.dropout)
    v = call.own_heads(call.v.to(call.wide))
    if ordered:  # room to spare in a buffer may hold anything
        v = torch.where((logits == -torch.inf).all(dim=-2)[..., None], 0.0, v)
    out = torch.matmul(weights, v)
    more = _value_terms(call, weights)
    return (out if more is None else out + more).to(call.q.dtype)


def _logits(call: TorchCall) -> Tensor:
    q = call.q.to(call.wide)
    k = call.own_heads(call.k.to(call.wide))
    tokens = call.tokens if call.tokens is None else call.tokens.to(call.wide)
    given: dict[str, Any] = {"scale": call.scale, "tokens": tokens, "numbers": call.numbers}
    at_q, at_k = places(call.at_q), places(call.at_k)
    made: Tensor = call.encoding.scores(q, k, at_q, at_k, **given)
    return made


def _value_terms(call: TorchCall, weights: Tensor) -> Tensor | None:
    """Return what the encoding adds to values, or None."""
    if not call.encoding.on_values:
        return None
    at_q, at_k = call.at_q, call.at_k
    found: Tensor | None = call.encoding.value_terms(weights, at_q, at_k, call.numbers, xp=XP)
    return found


def is_triangle(call: TorchCall, layout: Layout) -> bool:
    """Whether the mask is the one that the kernel has of its own."""
    _, _, n, m = call.sizes
    return call.causal and not call.masked and layout.ahead == 0 and n == m


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float,
    mask: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """Return attention of q (batch, heads, n, d) to keys, whose heads may be fewer."""
    if mask is not None and mask.is_floating_point() and _learns_unseen(mask):
        return _by_products(q, k, v, mask, scale=scale, dropout=dropout)
    wanted = v.shape[-1]
    width = max(wanted, q.shape[-1])
    if mask is not None and mask.dtype != torch.bool and q.device.type != "cpu":
        mask = mask.to(q.dtype)
    # A literal: the size of a dynamic graph is a symbol, and so is what it is compared with.
    shared = True if q.shape[1] != k.shape[1] else False  # noqa: SIM210
    if width != q.shape[-1] or width != wanted:
        q, k, v = (padded(x, width) for x in (q, k, v))
    out = functional.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=mask,
        is_causal=causal,
        scale=scale,
        dropout_p=dropout,
        enable_gqa=shared,
    )
    return out if wanted == width else out[..., :wanted]


def _learns_unseen(mask: Tensor) -> bool:
    """Whether a mask learns where PyTorch does not see it: within a transform of `torch.func`.

    It would take a kernel without a gradient of the mask, and fail. Compiled code cannot tell.
    """
    inside = torch._C._functorch.peek_interpreter_stack() is not None  # noqa: SLF001 - no other way
    if not inside or torch.compiler.is_compiling():
        return inside
    while wrapped(mask) and not mask.requires_grad:
        mask = torch._C._functorch.get_unwrapped(mask)  # noqa: SLF001
    return bool(mask.requires_grad)


def _by_products(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor, *, scale: float, dropout: float
) -> Tensor:
    """Return attention with all logits in memory, which any transform differentiates."""
    groups, wide = q.shape[1] // k.shape[1], torch.promote_types(q.dtype, mask.dtype)
    k, v = (x.to(wide).repeat_interleave(groups, dim=1) for x in (k, v))
    logits = torch.matmul(q.to(wide), k.mT) * scale + mask
    weights = functional.dropout(weights_of(logits), dropout)
    return torch.matmul(weights, v).to(q.dtype)


def weights_of(logits: Tensor) -> Tensor:
    """Return softmax over keys; zeros, with gradients of zero, where every logit is -inf."""
    none = (logits == -torch.inf).all(dim=-1, keepdim=True)
    weights = torch.softmax(torch.where(none, 0.0, logits), dim=-1)
    return torch.where(none, 0.0, weights)


def padded(x: Tensor, width: int) -> Tensor:
    """Return vectors with zeros added up to a width."""
    return x if x.shape[-1] == width else functional.pad(x, (0, width - x.shape[-1]))
