"""Encodings in PyTorch: `layer` makes a module of a definition, `load` one of a fitted file,
`attention` computes attention with any of them, and `ablate` takes heads out of any model.

from gnomon.torch import attention, layer, load
rotary = layer(gnomon.encoding("rope", dimension=64))
out = attention(q, k, v, rotary, causal=True)
model.bert.embeddings.position_embeddings = load("encoding.safetensors")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.errors import MissingExtraError
from gnomon.fronts import front

if TYPE_CHECKING:
    from gnomon.torch.ablation import AttentionHeads as AttentionHeads
    from gnomon.torch.ablation import mean_of_rows as mean_of_rows
    from gnomon.torch.capture_logits import subject_of_module as subject_of_module
    from gnomon.torch.coordinates import XP as XP
    from gnomon.torch.layers import Layer as Layer
    from gnomon.torch.sdpa.kernel import attend as attend
    from gnomon.torch.sdpa.prepare import falling as falling


try:
    import torch as _torch  # noqa: F401 - asked for first, so that its absence is said in words
except ImportError as error:
    raise MissingExtraError(
        "gnomon.torch needs PyTorch, which is not installed; run `pip install gnomon[torch]`."
    ) from error

from gnomon.torch.ablation import Ablation, ablate, find_heads, find_rotary_pairs
from gnomon.torch.embedding import FactoredPositionEmbedding, PositionEmbedding, load
from gnomon.torch.layers import Bias, Content, Transform, Vectors, layer
from gnomon.torch.sdpa import Plan, Prepared, attention, attention_plan, prepare_attention

__all__ = [
    "Ablation",
    "Bias",
    "Content",
    "FactoredPositionEmbedding",
    "Plan",
    "PositionEmbedding",
    "Prepared",
    "Transform",
    "Vectors",
    "ablate",
    "attention",
    "attention_plan",
    "find_heads",
    "find_rotary_pairs",
    "layer",
    "load",
    "prepare_attention",
]

# What other rooms need beside, loaded when it is asked for.
__getattr__, __dir__ = front(
    __name__,
    {
        "ablation": ("AttentionHeads", "mean_of_rows"),
        "capture_logits": ("subject_of_module",),
        "coordinates": ("XP",),
        "layers": ("Layer",),
        "sdpa.kernel": ("attend",),
        "sdpa.prepare": ("falling",),
    },
)
