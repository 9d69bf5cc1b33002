"""Proportional rotary encoding: the ladder of the whole head, of which only the fast share turns.

    w_k = base^(-2k/d) / s  for k < n = int(fraction d / 2),   w_k = 0  from there on,

d the dimension of the head and s a factor, 1 by default. Partial rotary encoding (`Rope` with a
fraction) spreads the whole range of frequencies over fewer pairs; here the slowest pairs of the
full range stand still instead, and carry content alone. All d coordinates belong to pairs, so in
layout *half* coordinate k is paired with k + d/2.

Sources: [barbero2025 sec. 6]; the factor and the order of operations are those of [wolf2020].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.rotary.rope import Rotating
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Namespace

CARD = Card(
    name="rope-proportional",
    family="rotary",
    kind=("transform",),
    formula="R_i turns pair k by i w_k, w_k = base^(-2k/d) / s for k < fraction d/2, else 0",
    source="barbero2025",
    level=in_words("L0"),
    relative=True,
    extrapolation="its authors claim that still pairs keep content robust at long lags",
    proofs=proved(
        ORACLE,
        (
            "transformers' Gemma 4",
            "agreement/test_transformers_rotated.py",
            "test_gemma_turns_proportionally_in_full_layers_and_plainly_in_local_ones",
        ),
        (
            "transformers, rope type proportional",
            "agreement/test_transformers_frequencies.py",
            "test_frequencies_are_within_the_float32_rounding_of_transformers",
        ),
        (
            "transformers, rope type proportional, in float32",
            "agreement/test_transformers_frequencies.py",
            "test_frequencies_in_torch_float32_have_the_bits_of_transformers",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Proportional(Rotating):
    """Rotary encoding of heads with `dimension` coordinates, whose fastest `fraction` pairs turn.

    >>> Proportional(dimension=8, fraction=0.5).frequencies[:, 0]
    array([1. , 0.1, 0. , 0. ])
    """

    base: float = 10000.0
    fraction: float = 0.25
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.axes != 1:
            raise EncodingError(
                f"axes is {self.axes}, and proportional rotary encoding has one axis; use rope "
                "for several."
            )
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why="they turn in pairs")
        checks.real("base", self.base, above=0.0)
        checks.real("factor", self.factor, above=0.0)
        checks.real("fraction", self.fraction, above=0.0)
        if self.fraction > 1.0 or self.turning == 0:
            raise EncodingError(
                f"fraction is {self.fraction:g}, with which {self.turning} of "
                f"{self.dimension // 2} pairs turn; pass a number up to 1 with which at least one "
                "does."
            )

    @property
    def card(self) -> Card:
        """Return the card of proportional rotary encoding."""
        return CARD

    @property
    def turning(self) -> int:
        """Return the number of pairs that turn; the rest stands still."""
        return int(self.fraction * self.dimension // 2)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, shape (pairs, 1); still pairs have 0."""
        return np.asarray(self.frequencies_in(xp=np, dtype=np.float64))

    def frequencies_in(self, *, xp: Namespace, dtype: Any) -> Array:
        """Return the frequencies computed in a library and type as transformers does it."""
        powers = xp.astype(xp.arange(0, 2 * self.turning, 2), dtype) / self.dimension
        turning = 1.0 / (float(self.base) ** powers)
        still = xp.zeros(self.dimension // 2 - self.turning, dtype=dtype)
        return xp.concat([turning, still])[:, None] / self.factor
