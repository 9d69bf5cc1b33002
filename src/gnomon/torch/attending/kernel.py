"""One call of PyTorch's attention: four axes, an explicit scale, values as wide as queries.

    out = softmax(scale q k^T + mask) v

Its fast kernels ask for queries, keys and values of one dimension and for masks with four axes, and
take a mask of float32 beside vectors of half precision on a processor: a bias is then not rounded
to eight bits. Memory beside the result: O(n), where a fast kernel serves; a mask that learns is
served by plain products, with as many logits as it has entries.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from gnomon.numeric.arrays import wrapped


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
    out = functional.scaled_dot_product_attention(
        padded(q, width),
        padded(k, width),
        padded(v, width),
        attn_mask=mask,
        is_causal=causal,
        scale=scale,
        dropout_p=dropout,
        enable_gqa=shared,
    )
    return out if wanted == width else out[..., :wanted]


def _learns_unseen(mask: Tensor) -> bool:
    """Whether a mask learns where PyTorch does not see it: within a transform of `torch.func`.

    It would take a kernel without a gradient of the mask, and fail. Compiled code can not tell.
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
