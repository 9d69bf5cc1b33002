"""What rotary families with a ladder share: a scaling that may replace it, also on their cards.

A scaling replaces the ladder w_k of any family that has one. Where it follows the length of the
context, keys that were cached at another length are wrong, whatever the family [peng2024].
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.rotary.base import Rotating
from gnomon.errors import EncodingError
from gnomon.numeric.arrays import concrete_or_none

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from gnomon.encodings.base import Numbers
    from gnomon.encodings.card import Card
    from gnomon.encodings.positions import Array, Coordinates, Namespace
    from gnomon.encodings.rotary.scaling.unscaled import Scaling

CHANGED = ("level", "relative", "cacheable", "extrapolation")
"""What a scaling says of every encoding that it scales; name, formula and proofs stay."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Scaled(Rotating):
    """Base of rotary encodings with a field `scaling`, each where it wants it among its own."""

    if TYPE_CHECKING:
        scaling: Scaling

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, shape (pairs, axes)."""
        return np.asarray(self.frequencies_in(xp=np, dtype=np.float64))

    @abstractmethod
    def frequencies_in(self, *, xp: Namespace, dtype: Any) -> Array:
        """Return the frequencies computed in a library and type as transformers does it."""

    @property
    def attention_factor(self) -> float:
        """Return what the scaling multiplies cosines and sines by."""
        return self.scaling.attention_factor

    def tables(
        self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> tuple[Array, Array]:
        """Return cosines and sines; refuse positions whose frequencies no stated length decides."""
        self._check_reach(coordinates)
        return super().tables(coordinates, numbers, xp=xp)

    def centred(self, at_q: Coordinates, at_k: Coordinates) -> tuple[Coordinates, Coordinates]:
        """Return coordinates counted from their middle, after a look at where they were."""
        self._check_reach(at_q)
        self._check_reach(at_k)
        return super().centred(at_q, at_k)

    def _check_reach(self, coordinates: Coordinates) -> None:
        """Refuse positions whose frequencies depend on a length that is not stated."""
        reach = self.scaling.reach
        places = None if reach is None else concrete_or_none(coordinates)
        if places is not None and places.size and places.max() >= reach:
            raise EncodingError(
                f"Position {places.max():g} is beyond the trained length {reach}, after which the "
                f"scaling {self.scaling.name!r} follows the length of the sequence; fix it: "
                "encoding.at_length(...), or from_config(..., length=...)."
            )

    def at_length(self, length: int) -> Self:
        """Return the encoding as it is for a context of `length`, where the scaling follows it."""
        return dataclasses.replace(self, scaling=self.scaling.at_length(length))

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as plain values, the scaling with its own."""
        return {**super().parameters, "scaling": self.scaling.parameters}


def with_scaling(card: Card, scaling: Scaling) -> Card:
    """Return the card of a family with a scaling in it."""
    said = scaling.on_card()
    found = dataclasses.replace(card, **{key: said[key] for key in CHANGED if key in said})
    if not said:
        return found
    return dataclasses.replace(found, formula=f"{card.formula}; w_k scaled: {scaling.name}")
