"""Encodings in PyTorch: `layer` makes a module of a definition, `load` one of a fitted file.

from gnomon.torch import layer, load
rotary = layer(gnomon.encoding("rope", dimension=64))
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

from gnomon.torch.bias import Bias
from gnomon.torch.embedding import FactoredPositionEmbedding, PositionEmbedding, load
from gnomon.torch.layer import layer
from gnomon.torch.transform import Transform
from gnomon.torch.vectors import Vectors

__all__ = [
    "Bias",
    "FactoredPositionEmbedding",
    "PositionEmbedding",
    "Transform",
    "Vectors",
    "layer",
    "load",
]
