"""Multi-head latent attention: queries, keys and values out of small latents, position apart.

    c_q = LN(W_dq x),  c_kv = LN(W_dkv x)
    q = [W_uq c_q ; R_i W_qr c_q],  k = [W_uk c_kv ; R_j W_kr x],  v = W_uv c_kv

The second part of every key is one for all heads, and only it is turned [deepseek2024 sec. 2.1].
The encoding "mla" does that to queries and keys of twice the width of a head; without an encoding
this is the control that tells latents from positions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gnomon.lab.coupled import Coupled
from gnomon.lab.model import Scales, Transformer, merged, split


class LatentAttention(nn.Module):  # type: ignore[misc]  # torch is not followed by the checker
    """Attention of one layer through latents of queries, and of keys and values."""

    def __init__(
        self, dimension: int, heads: int, coupled: Coupled, *, layer: int, latent: int
    ) -> None:
        super().__init__()
        self.heads, self.layer, self.coupled = heads, layer, coupled
        head = dimension // heads
        self.down_q, self.down_kv = nn.Linear(dimension, latent), nn.Linear(dimension, latent)
        self.norm_q, self.norm_kv = nn.LayerNorm(latent), nn.LayerNorm(latent)
        self.up_q = nn.Linear(latent, 2 * dimension)
        self.up_kv = nn.Linear(latent, 2 * dimension)
        self.shared = nn.Linear(dimension, head)
        self.out = nn.Linear(dimension, dimension)

    def forward(self, x: Tensor, scales: Scales, **given: Any) -> Tensor:
        """Return what tokens x (b, n, dimension) take from one another."""
        content_q, turned_q = split(self.up_q(self.norm_q(self.down_q(x))), 2, self.heads)
        content_k, v = split(self.up_kv(self.norm_kv(self.down_kv(x))), 2, self.heads)
        shared = self.shared(x)[:, None].expand_as(content_k)
        q, k = torch.cat([content_q, turned_q], -1), torch.cat([content_k, shared], -1)
        made = self.coupled(q, k, v, pairs=scales.of_pairs(self.layer), **given)
        return self.out(merged(scales.applied(made, self.layer)))


class LatentTransformer(Transformer):
    """The Transformer with latent attention; `latent` is half the dimension by default."""

    def __init__(self, *, dimension: int = 64, latent: int | None = None, **given: Any) -> None:
        self._latent = dimension // 2 if latent is None else latent
        super().__init__(dimension=dimension, **given)

    def _query_width(self, head: int) -> int:
        return 2 * head

    def _attention(self, dimension: int, layer: int) -> nn.Module:
        given: dict[str, Any] = {"layer": layer, "latent": self._latent}
        return LatentAttention(dimension, self.heads_count, self._coupled(layer), **given)
