r"""RoPE++: half of the heads score by the imaginary part of the product that rotary encoding makes.

With pairs as complex numbers, q = q_0 + i q_1, rotary encoding turns by e^(i w t) and takes

    real(i, j) = Re sum_k q_k k_k^* e^(i w_k (i - j)),

and the imaginary part of the same sum is lost. Here it is the logit of a second head of the same
query [liu2025]: since Im z = Re(-i z), its query is turned by 90 degrees less, as in the authors'
code (OpenMOSS/rope_pp, 91ba335),

    imaginary(i, j) = Im sum_k q_k k_k^* e^(i w_k (i - j)) = (R_i q').(R_j k),

q' having (b, -a) where q has the pair (a, b).

For content of unit pairs the real part is sum_k cos(w_k t), largest at lag 0; the imaginary part
is sum_k sin(w_k t), which is 0 there. Keys are those of rotary encoding: one cache serves both.

Distances. The symmetric part of a sine is 0, so the kernel is half of that of rotary encoding, the
mean over both kinds of heads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import circular_distances
from gnomon.encodings.positions import beside_heads
from gnomon.encodings.rotary.rope import Rope, turn, with_scaling
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from gnomon.encodings.base import LagDistances, Numbers
    from gnomon.encodings.positions import Array, Coordinates, Namespace

ARRANGEMENTS = ("interleaved", "chunked")
CARD = Card(
    name="rope-plus-plus",
    family="rotary",
    kind=("transform",),
    formula="real heads: Re sum_k q_k k_k^* e^(i w_k (i-j)); imaginary heads: Im of the same sum, "
    "q turned by 90 degrees less",
    source="liu2025",
    level=in_words("L0"),
    relative=True,
    extrapolation="better than rotary encoding past the trained length, by its authors",
    reading="the imaginary part has the sign of the authors' code: sum_k sin(w_k t) for unit "
    "pairs. Heads are those of attention: give each query to two of them, a real and an imaginary "
    "one, since an imaginary head with queries of its own is a real one. Coordinates that do not "
    "turn pass unchanged in both",
    proofs=proved(
        ORACLE,
        (
            "the imaginary part of complex products",
            "encodings/test_encoding_plus.py",
            "test_heads_score_by_real_and_imaginary_parts_of_complex_products",
        ),
        (
            "rotary encoding with queries turned by hand",
            "encodings/test_encoding_plus.py",
            "test_an_imaginary_head_is_a_real_one_whose_queries_were_turned_before",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RopePlusPlus(Rope):
    """Rotary encoding whose odd heads (*interleaved*), or later half (*chunked*), are imaginary.

    >>> RopePlusPlus(dimension=4, heads=4).imaginary
    array([0, 1, 0, 1])
    """

    heads: int
    arrangement: str = "interleaved"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("heads", self.heads, least=2, multiple_of=2, why="each query has two heads")
        checks.one_of("arrangement", self.arrangement, ARRANGEMENTS)

    @property
    def card(self) -> Card:
        """Return the card of RoPE++, with what the scaling says of itself."""
        return with_scaling(CARD, self.scaling)

    @property
    def imaginary(self) -> NDArray[np.int64]:
        """Return 1 for each head that scores by the imaginary part, else 0."""
        head = np.arange(self.heads)
        return head % 2 if self.arrangement == "interleaved" else head // (self.heads // 2)

    @property
    def numbers(self) -> dict[str, NDArray[Any]]:
        """Return the frequencies, and which heads are imaginary."""
        return {"frequencies": self.frequencies, "imaginary": self.imaginary}

    def turned(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return keys turned to their positions, queries of imaginary heads by 90 degrees less."""
        if side == "k":
            return super().turned(x, coordinates, numbers, side=side, xp=xp)
        self.check_vectors(x, side, numbers["frequencies"])
        if x.ndim < 3 or x.shape[-3] != self.heads:
            raise EncodingError(
                f"{side} has shape {tuple(x.shape)}, but this encoding has {self.heads // 2} real "
                f"and as many imaginary of {self.heads} heads; pass an array of shape (..., "
                f"{self.heads}, positions, {self.dimension})."
            )
        cosine, sine = self.tables(beside_heads(coordinates, x), numbers, xp=xp)
        less = numbers["imaginary"][:, None, None] == 1
        # cos(p - 90) = sin p, sin(p - 90) = -cos p: exact, unlike a sum of angles
        cosine, sine = xp.where(less, sine, cosine), xp.where(less, -cosine, sine)
        return turn(x, cosine, sine, layout=self.layout, first=self.first, xp=xp)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the distances of half the kernel of rotary encoding; a probe is only turned."""
        if lift == "probe":
            return super().lag_distances(lift, probe)
        return circular_distances(
            self.frequencies, np.full(self.rotated // 2, 0.5 * self.attention_factor**2)
        )
