"""A layer that adds to logits: a bias for each head, query and key.

Lags are differences of float64 coordinates, so they are exact at any position, and the bias is cast
to the type of the layer last.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from gnomon.torch.base import XP, Layer
from gnomon.torch.places import coordinates_of, device_of


class Bias(Layer):
    """The bias of an encoding, as a module."""

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
