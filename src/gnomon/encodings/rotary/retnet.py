"""RetNet: rotary encoding under a decay of each head's own, gamma_h per position.

    logit_h(i, j) = gamma_h^(i - j) q.R_(j-i) k,   gamma_h = 1 - 2^(-5-h),  h = 0 ... H-1, j <= i

[sun2023 sec. 2.1-2.2]. The paper leaves the frequencies open. The authors' code (torchscale) takes
them with *closed* ends, w_k = base^(-k/(p-1)) for p pairs, from 1 to 1/base; others take those of
rotary encoding, base^(-k/p), here *open*. Retention has no softmax: there, read -inf of `scores` as
0. Its scale and its normalisation are no part of the encoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import geometric_frequencies
from gnomon.encodings.rotary.decay import Decaying
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACINGS = ("closed", "open")
CARD = Card(
    name="retnet",
    family="rotary",
    kind=("transform",),
    formula="q~ = gamma_h^i R_i q, k~ = gamma_h^(-j) R_j k, gamma_h = 1 - 2^(-5-h)",
    source="sun2023",
    level=in_words("L0"),
    relative=True,
    causal_only=True,
    extrapolation="no claim of the authors",
    proofs=proved(
        ORACLE,
        (
            "the recurrence s_n = gamma s_(n-1) + k_n v_n",
            "encodings/test_encoding_decay.py",
            "test_retention_in_parallel_equals_the_recurrence",
        ),
        (
            "direct sums in float64 at 20,000 positions",
            "encodings/test_encoding_decay.py",
            "test_scores_in_float32_equal_direct_sums_in_float64_at_20000_positions",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RetNet(Decaying):
    """Rotary encoding with the decay of `heads` heads, or with `gammas` of your own.

    >>> np.exp(RetNet(dimension=2, heads=2).rates)
    array([[0.96875 ],
           [0.984375]])
    """

    heads: int
    base: float = 10000.0
    spacing: str = "closed"
    gammas: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_axis("retnet", self.axes)
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why="they turn in pairs")
        checks.whole("heads", self.heads, least=1)
        checks.real("base", self.base, above=0.0)
        checks.one_of("spacing", self.spacing, SPACINGS)
        if self.gammas is not None:
            object.__setattr__(self, "gammas", self._given_gammas())

    def _given_gammas(self) -> tuple[float, ...]:
        gammas = np.ravel(np.asarray(self.gammas, dtype=object)).tolist()
        for gamma in gammas:
            checks.real("gammas", gamma, above=0.0)
        if len(gammas) != self.heads or max(gammas) > 1.0:
            raise EncodingError(
                f"gammas is {self.gammas!r} and heads is {self.heads}; pass one number for each "
                "head, above 0 and up to 1."
            )
        return tuple(float(gamma) for gamma in gammas)

    @property
    def card(self) -> Card:
        """Return the card of RetNet."""
        return CARD

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, shape (pairs, 1)."""
        if self.spacing == "open":
            return geometric_frequencies(self.dimension, float(self.base))
        exponents = np.linspace(0.0, 1.0, self.dimension // 2)
        frequencies: NDArray[np.float64] = 1.0 / float(self.base) ** exponents
        return frequencies[:, None]

    @property
    def rates(self) -> NDArray[np.float64]:
        """Return ln(gamma_h) for every pair, shape (heads, pairs)."""
        if self.gammas is None:
            rates = np.log1p(-(2.0 ** (-5.0 - np.arange(self.heads))))
        else:
            rates = np.log(np.asarray(self.gammas))
        return np.repeat(rates[:, None], self.dimension // 2, axis=1)
