"""A Transformer over patches of pictures: numbers enter by a matrix instead of a table.

    x = W values + b + p            values of a patch; p: vectors of encodings [dosovitskiy2021]

The matrix starts such that values of root mean square 1 enter at the root mean square that tokens
have elsewhere. Positions have an axis for rows and one for columns.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from gnomon.lab.model import Transformer


class PatchTransformer(Transformer):
    """The Transformer over patches of `features` numbers each."""

    reads_values = True
    """Whether it reads the values of patches and not their tokens."""

    def __init__(self, *, features: int, **given: Any) -> None:
        self._features = features
        super().__init__(**given)

    def _embedding(self, vocabulary: int, dimension: int, rms: float) -> nn.Module:
        del vocabulary
        made = nn.Linear(self._features, dimension)
        nn.init.normal_(made.weight, std=rms / self._features**0.5)
        nn.init.zeros_(made.bias)
        return made

    def forward(
        self, tokens: Tensor, *, mask: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """Return (b, classes) of patches (b, n, features)."""
        return super().forward(tokens, mask=mask, positions=positions)
