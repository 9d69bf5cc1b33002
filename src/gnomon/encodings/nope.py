"""No positional encoding: nothing is added, turned or biased.

It is the identity of the group, and the zero against which raw stress must be read: all its
distances are 0, so its raw stress is exactly 1. Under a causal mask a model without any encoding
still learns position from the mask [haviv2022].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.numeric import checks
from gnomon.numeric.arrays import lags_between

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.numeric.arrays import Array, Coordinates, Namespace


@catalogued(
    Card(
        name="nope",
        family="none",
        kind=("transform", "bias"),
        formula="q~ = q, k~ = k, bias = 0",
        source="haviv2022",
        level=in_words("L0"),
        relative=True,
        proofs=proofs_of(
            ORACLE,
            (
                "the identity",
                "laws/test_laws_of_scores.py",
                "test_without_an_encoding_scores_are_q_k",
            ),
        ),
    ),
    examples=({},),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Nope(Encoding):
    """Positions leave no trace."""

    kinds: ClassVar[tuple[str, ...]] = ("transform", "bias")

    def __post_init__(self) -> None:
        checks.whole("axes", self.axes, least=1)

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel alone."""
        return ("kernel",)

    def apply(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors as they are."""
        del coordinates, numbers, side, xp
        return x

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return zeros for one head."""
        del numbers
        steps = lags_between(queries, keys, xp=xp)[..., 0]
        return xp.zeros_like(xp.expand_dims(steps, axis=-3))

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return 0 at every lag."""
        del lift, probe
        return lambda lags: np.zeros(lags.shape[:-1])
