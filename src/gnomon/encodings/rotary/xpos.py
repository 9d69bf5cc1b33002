"""xPos: rotary encoding whose pairs decay with the lag, slow pairs the least.

    zeta_k = (2k/d + gamma) / (1 + gamma),   q~ = zeta^(i/s) R_i q,   k~ = zeta^(-j/s) R_j k,

s = scale_base, so pair k decays by e^(a_k) for each position of lag, a_k = ln(zeta_k) / s: by 3.5
over 512 positions where it turns fastest, hardly at all where it turns slowest. The constants gamma
= 0.4 and s = 512 are the authors' [sun2022 sec. 3.2]. Frequencies are those of rotary encoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import geometric_frequencies
from gnomon.encodings.rotary.decay import Decaying
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

CARD = Card(
    name="xpos",
    family="rotary",
    kind=("transform",),
    formula="q~ = zeta^(i/s) R_i q, k~ = zeta^(-j/s) R_j k, zeta_k = (2k/d + gamma)/(1 + gamma)",
    source="sun2022",
    level=in_words("L0"),
    relative=True,
    causal_only=True,
    extrapolation="the authors claim lower perplexity past the trained length, by blocks",
    proofs=proved(
        ORACLE,
        (
            "x-transformers and rotary-embedding-torch",
            "agreement/test_decay_peers.py",
            "test_xpos_logits_equal_those_of_peers_where_theirs_are_finite",
        ),
        (
            "direct sums in float64 at 20,000 positions",
            "encodings/test_encoding_decay.py",
            "test_scores_in_float32_equal_direct_sums_in_float64_at_20000_positions",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class XPos(Decaying):
    """Rotary encoding of heads with `dimension` coordinates that decays with the lag.

    >>> XPos(dimension=4, gamma=0.5, scale_base=1.0).rates.round(6)
    array([-1.098612, -0.405465])
    """

    base: float = 10000.0
    gamma: float = 0.4
    scale_base: float = 512.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_axis("xpos", self.axes)
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why="they turn in pairs")
        checks.real("base", self.base, above=0.0)
        checks.real("gamma", self.gamma, above=0.0)
        checks.real("scale_base", self.scale_base, above=0.0)

    @property
    def card(self) -> Card:
        """Return the card of xPos."""
        return CARD

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, shape (pairs, 1)."""
        return geometric_frequencies(self.dimension, float(self.base))

    @property
    def rates(self) -> NDArray[np.float64]:
        """Return ln(zeta_k) / s, shape (pairs,)."""
        share = np.arange(0, self.dimension, 2) / self.dimension
        rates: NDArray[np.float64] = np.log((share + self.gamma) / (1.0 + self.gamma))
        return rates / float(self.scale_base)
