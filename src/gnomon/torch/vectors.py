"""A layer that adds to embeddings: one vector for each position.

Vectors are computed by the encoding's formula from float64 coordinates and cast to the type of the
layer last. A table that can be learned is a parameter.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from gnomon.torch.base import XP, Layer
from gnomon.torch.places import device_of


class Vectors(Layer):
    """Vectors of an encoding, as a module."""

    def forward(self, positions: Any) -> Tensor:
        """Return one vector for each position, shape (..., dimension), in the type of the layer."""
        coordinates = self._coordinates(positions)
        numbers = self.numbers_on(device_of(coordinates))
        return self.definition.vectors_at(coordinates, numbers, xp=XP).to(self._dtype)
