"""No positional encoding: nothing is added, turned or biased.

It is the identity of the group, and the zero against which raw stress must be read: all its
distances are 0, so its raw stress is exactly 1. Under a causal mask a model without any encoding
still learns position from the mask [haviv2022].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gnomon.encodings import checks
from gnomon.encodings.base import Encoding, LagDistances
from gnomon.encodings.card import Card, in_words
from gnomon.encodings.positions import Array, as_coordinates, namespace_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

CARD = Card(
    name="nope",
    family="none",
    kind=("transform", "bias"),
    formula="q~ = q, k~ = k, bias = 0",
    source="haviv2022",
    level=in_words("L0"),
    relative=True,
    verified_against=("the identity",),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Nope(Encoding):
    """Positions leave no trace."""

    kinds: ClassVar[tuple[str, ...]] = ("transform", "bias")

    def __post_init__(self) -> None:
        checks.whole("axes", self.axes, least=1)

    @property
    def card(self) -> Card:
        """Return the card of no encoding."""
        return CARD

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel alone."""
        return ("kernel",)

    def transform(
        self, q: Array, k: Array, positions_q: Array, positions_k: Array | None = None
    ) -> tuple[Array, Array]:
        """Return queries and keys as they are."""
        del positions_q, positions_k
        return q, k

    def bias(self, positions_q: Array, positions_k: Array | None = None) -> Array:
        """Return zeros for one head."""
        queries = as_coordinates(positions_q, self.axes)
        keys_at = positions_q if positions_k is None else positions_k
        keys = as_coordinates(keys_at, self.axes, like=queries)
        steps = queries[..., :, None, :] - keys[..., None, :, :]
        xp = namespace_of(queries)
        return xp.zeros_like(xp.expand_dims(steps[..., 0], axis=-3))

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return 0 at every lag."""
        del lift, probe
        return lambda lags: np.zeros(lags.shape[:-1])
