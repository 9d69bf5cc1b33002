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


def padded(x: Tensor, width: int) -> Tensor:
    """Return vectors with zeros added up to a width."""
    return x if x.shape[-1] == width else functional.pad(x, (0, width - x.shape[-1]))
