"""A layer that adds to logits: a bias for each head, query and key.

Lags are differences of float64 coordinates, so they are exact at any position, and the bias is cast
to the type of the layer last. Learned numbers stay in float32 when the layer is moved to half
precision: an exponent rounded to bfloat16 errs by 3 % at lag 4096, and what a network adds up and
cancels by more. Entries of a table are the bias themselves, and follow the layer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gnomon.encodings import Encoding
from gnomon.torch.base import XP, Layer
from gnomon.torch.places import coordinates_of, device_of


class Bias(Layer):
    """The bias of an encoding, as a module."""

    def __init__(
        self, encoding: Encoding, *, learn: bool = True, dtype: torch.dtype | None = None
    ) -> None:
        self.keeps_float32 = "table" not in encoding.learnable
        super().__init__(encoding, learn=learn, dtype=dtype)

    def forward(self, positions_q: Any, positions_k: Any = None) -> Tensor:
        """Return what is added to the logits, shape (..., heads, queries, keys).

        Under an encoding that is causal only, keys after their query are left to the caller's mask.
        """
        queries = self._coordinates(positions_q)
        keys = queries
        if positions_k is not None:
            keys = coordinates_of(positions_k, self.definition.axes, device_of(queries))
        numbers = self.numbers_on(device_of(queries))
        return self.definition.bias_between(queries, keys, numbers, xp=XP).to(self._dtype)
