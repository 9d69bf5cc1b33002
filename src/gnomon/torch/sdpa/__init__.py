"""Attention with any encoding of the catalogue, by the route that suits it.

from gnomon.torch import attention, attention_plan
out = attention(q, k, v, gnomon.encoding("alibi", heads=8))
attention_plan(q, k, v, gnomon.encoding("alibi", heads=8)).route
"""

from __future__ import annotations

from gnomon.torch.sdpa.call import (
    Plan,
    Prepared,
    attention,
    attention_plan,
    prepare_attention,
)

__all__ = ["Plan", "Prepared", "attention", "attention_plan", "prepare_attention"]
