"""Masks of transformers: which keys a query may see, and what that says of positions [wolf2020].

Beside a cache with room to spare the mask alone says which keys the queries are, and where a
document begins among padded or packed ones.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.masking_utils import sdpa_mask


def attention_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    *,
    allow_is_causal_skip: bool = True,
    **more: Any,
) -> Tensor | None:
    """Return where queries may see keys, as booleans, or None where causality says it all.

    Beside a cache the mask is always made: it says which keys the queries are.
    """
    skip = allow_is_causal_skip and q_length == kv_length
    seen: Tensor | None = sdpa_mask(
        batch_size, q_length, kv_length, allow_is_causal_skip=skip, **more
    )
    return seen


def first_of_documents(mask: Tensor) -> Tensor:
    """Return which keys (batch, 1, m) begin a document: their query does not see the one before.

    Queries are the last keys. Keys from before them are judged by the last query, which does not
    see padding.
    """
    n, m = mask.shape[-2:]
    seen = seen_in(mask)[:, :1]
    rows = torch.arange(m, device=mask.device) - (m - n)
    rows = torch.where(rows < 0, n - 1, rows)
    before = torch.arange(m, device=mask.device) - 1
    return ~seen[..., rows, before.clamp(min=0)] | (before < 0)


def seen_in(mask: Tensor) -> Tensor:
    """Return a mask as booleans; one of floats hides by its lowest number."""
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


def query_positions(mask: Tensor | None, n: int, m: int, device: Any) -> Tensor:
    """Return the indices of n queries among m keys: the last, or the last that each may see."""
    if n == m or mask is None:
        return torch.arange(m - n, m, device=device)
    seen = seen_in(mask)
    indices = torch.arange(m, device=device)
    return torch.where(seen, indices, -1).amax(dim=-1).amax(dim=(0, 1))
