"""Fitted encodings in PyTorch: `load` gives a module that stands where `nn.Embedding` stood.

from gnomon.torch import load
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

from gnomon.torch.embedding import FactoredPositionEmbedding, PositionEmbedding, load

__all__ = ["FactoredPositionEmbedding", "PositionEmbedding", "load"]
