"""Encodings in PyTorch: `layer` makes a module of a definition, `load` one of a fitted file,
and `attention` computes attention with any of them.

from gnomon.torch import attention, layer, load
rotary = layer(gnomon.encoding("rope", dimension=64))
out = attention(q, k, v, rotary, causal=True)
model.bert.embeddings.position_embeddings = load("encoding.safetensors")
"""

from __future__ import annotations

from gnomon.errors import MissingExtraError

try:
    import torch as _torch  # noqa: F401 - asked for first, so that its absence is said in words
except ImportError as error:
    raise MissingExtraError(
        "gnomon.torch needs PyTorch, which is not installed; run `pip install gnomon[torch]`."
    ) from error

from gnomon.torch.attending import Plan, Prepared, attention, attention_plan, prepare_attention
from gnomon.torch.bias import Bias
from gnomon.torch.content import Content
from gnomon.torch.embedding import FactoredPositionEmbedding, PositionEmbedding, load
from gnomon.torch.layer import layer
from gnomon.torch.transform import Transform
from gnomon.torch.vectors import Vectors

__all__ = [
    "Bias",
    "Content",
    "FactoredPositionEmbedding",
    "Plan",
    "PositionEmbedding",
    "Prepared",
    "Transform",
    "Vectors",
    "attention",
    "attention_plan",
    "layer",
    "load",
    "prepare_attention",
]
