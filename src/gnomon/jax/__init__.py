"""Encodings in JAX as pytrees: `layer` for any of them, `load` for fitted ones; `nnx` for Flax.

from gnomon.jax import attention, embed, layer, load
out = attention(q, k, v, layer(gnomon.encoding("alibi", heads=8)))
q, k = layer(gnomon.encoding("rope", dimension=64)).transform(q, k, positions)
vectors = embed(load("encoding.safetensors"), positions)
"""

from __future__ import annotations

from gnomon.errors import MissingExtraError

try:
    import jax as _jax  # noqa: F401 - asked for first, so that its absence is said in words
except ImportError as error:
    raise MissingExtraError(
        "gnomon.jax needs JAX, which is not installed; run `pip install gnomon[jax]`."
    ) from error

from gnomon.jax.embedding import PositionVectors, embed, load, to_fitted
from gnomon.jax.layers import Layer, Places, Tables, layer, split
from gnomon.jax.sdpa import Plan, attention, attention_plan

__all__ = [
    "Layer",
    "Places",
    "Plan",
    "PositionVectors",
    "Tables",
    "attention",
    "attention_plan",
    "embed",
    "layer",
    "load",
    "split",
    "to_fitted",
]
