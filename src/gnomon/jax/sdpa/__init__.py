"""Attention with any encoding of the catalogue, by the route that suits it.

from gnomon.jax import attention, attention_plan
out = attention(q, k, v, gnomon.encoding("alibi", heads=8))
attention_plan(q, k, v, gnomon.encoding("alibi", heads=8)).route
"""

from __future__ import annotations

from gnomon.jax.sdpa.call import Plan, attention, attention_plan

__all__ = ["Plan", "attention", "attention_plan"]
