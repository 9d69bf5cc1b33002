"""Vectors that a fading group carries: heads of one dimension, with numbers of their own or not.

What is done with them is told in `gnomon.encodings.referred` [sun2022 sec. 3.2 for a decay].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from gnomon.encodings.base import Numbers
from gnomon.encodings.referred import Referred
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class Carrying(Referred):
    """Base of fading groups that are no turns of plain pairs: a subclass has its formulas."""

    kinds: ClassVar[tuple[str, ...]] = ("transform",)
    dimension: int
    heads: int | None = None
    """Heads with numbers of their own; None: one set serves all."""

    def __post_init__(self) -> None:
        checks.one_axis(self.name, self.axes)
        checks.real("reference", self.reference)
        if self.heads is not None:
            checks.whole("heads", self.heads, least=1)

    def check_side(self, x: Array, side: str, numbers: Numbers) -> None:
        """Refuse vectors that are not of this head dimension, or of another number of heads."""
        del numbers
        if x.ndim == 0 or x.shape[-1] != self.dimension:
            raise EncodingError(
                f"{side} has shape {tuple(x.shape)}, but this encoding carries vectors of "
                f"dimension {self.dimension}; pass an array of shape "
                f"(..., positions, {self.dimension})."
            )
        if self.heads is not None and (x.ndim < 3 or x.shape[-3] != self.heads):
            raise EncodingError(
                f"{side} has shape {tuple(x.shape)}, but this encoding has numbers for "
                f"{self.heads} heads; pass an array of shape "
                f"(..., {self.heads}, positions, {self.dimension})."
            )
