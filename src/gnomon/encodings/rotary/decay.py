"""Turning and decay: pair k of a logit is multiplied by e^(a_k (i - j)), a_k <= 0, keys before i.

    q~ = e^(a (i - r)) R_i q,   k~ = e^(a (r - j)) R_j k,
    q~.k~ = sum_k e^(a_k (i - j)) q_k.R_(j-i) k_k

A decaying group e^(tX), X = a_k I + w_k J on pair k: the same map for both sides would be wrong,
since X is not skew; keys get the inverse transpose. Only keys up to their query make sense: the
factor of later ones grows without bound, and they are masked. With the reference r = 0 the factor
of a key grows as e^(|a| j): xPos of dimension 8 leaves float32 at position 35,000 and float16 at
3,400 (`gnomon.encodings.generators.fading` says what is done then).

xPos [sun2022 sec. 3.2]: a_k = ln(zeta_k) / s, zeta_k = (2k/d + gamma) / (1 + gamma), s =
scale_base: a decay by 3.5 over 512 positions where a pair turns fastest, hardly any where it turns
slowest. The constants gamma = 0.4 and s = 512 are the authors'. Frequencies are those of rotary
encoding.

RetNet [sun2023 sec. 2.1-2.2]: a decay of each head's own, a = ln gamma_h, gamma_h = 1 - 2^(-5-h),
h = 0 ... H-1. The paper leaves the frequencies open. The authors' code (torchscale) takes them with
*closed* ends, w_k = base^(-k/(p-1)) for p pairs, from 1 to 1/base; others take those of rotary
encoding, base^(-k/p), here *open*. Retention has no softmax: there, read -inf of `scores` as 0. Its
scale and its normalisation are no part of the encoding.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.base import LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.frequencies import (
    decay_distances,
    geometric_frequencies,
    of_head,
    of_turns,
    pair_columns,
)
from gnomon.encodings.generators.fading import DecayingGroup, of_heads, of_pairs
from gnomon.encodings.rotary.rope import Rotating, turn
from gnomon.errors import EncodingError
from gnomon.groups import block_logits, decay_factors
from gnomon.numeric import checks
from gnomon.numeric.arrays import check_own_heads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.groups import Commuting, Generator
    from gnomon.numeric.arrays import Array, Coordinates, Namespace


@dataclass(frozen=True, kw_only=True, eq=False)
class Decaying(DecayingGroup, Rotating):
    """Base of rotary encodings whose pairs decay with the lag."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.real("reference", self.reference)

    @property
    @abstractmethod
    def rates(self) -> NDArray[np.float64]:
        """Return the decay per position, <= 0, of each pair, (pairs,) or (heads, pairs)."""

    @property
    def steepness(self) -> float:
        """Return the largest decay per position: it decides how far one reference point serves."""
        return float(np.max(np.abs(self.rates)))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the frequencies and the rates."""
        return {"frequencies": self.frequencies, "rates": self.rates}

    @property
    def scales(self) -> bool:
        """Whether nothing can cancel: apart from turns, coordinates are only scaled."""
        return True

    def isometric(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors turned to their positions."""
        del side
        cosine, sine = self.tables(coordinates, numbers, xp=xp)
        return turn(x, cosine, sine, layout=self.layout, xp=xp)

    def carry(self, x: Array, steps: Array, numbers: Numbers, *, side: str, xp: Namespace) -> Array:
        """Return every pair times its decay; keys times the inverse."""
        rates = of_heads(_spread(numbers["rates"], layout=self.layout, xp=xp), xp=xp)
        return x * xp.astype(decay_factors(_with_sign(steps, side), rates, xp=xp), x.dtype)

    def place(
        self,
        x: Array,
        beside: Coordinates,
        steps: Array,
        numbers: Numbers,
        *,
        side: str,
        xp: Namespace,
    ) -> Array:
        """Return vectors after both parts, the decay multiplied into the tables: one pass."""
        factor = decay_factors(_with_sign(steps, side), of_heads(numbers["rates"], xp=xp), xp=xp)
        cosine, sine = self.tables(beside, numbers, xp=xp)
        return turn(x, factor * cosine, factor * sine, layout=self.layout, xp=xp)

    def weigh(self, q: Array, k: Array, ages: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the sum over pairs of e^(a_k (i - j)) q_k.k_k, pair after pair."""
        total: Any = 0.0
        pairs = self.dimension // 2
        for pair in range(pairs):
            even = self.layout == "interleaved"
            places = slice(2 * pair, 2 * pair + 2) if even else slice(pair, None, pairs)
            weight = decay_factors(ages, of_pairs(numbers["rates"], pair), xp=xp)
            total = total + block_logits(q[..., places], k[..., places], [weight], width=2, xp=xp)
        return total

    def exponent(self, furthest: float, numbers: Numbers) -> float:
        """Return the largest rate times the distance."""
        return float(np.max(np.abs(numbers["rates"]))) * furthest

    def generator(self, head: int = 0) -> Generator | Commuting:
        """Return the turns of a head with their decays, in its layout."""
        columns = pair_columns(self.dimension, layout=self.layout, first=0, rotated=self.rotated)
        rates = of_head(self.rates, head, 1)
        return of_turns(of_head(self.frequencies, head, 2), columns, rates)

    def check_side(self, x: Array, side: str, numbers: Numbers) -> None:
        """Refuse vectors of another dimension or number of heads."""
        self.check_vectors(x, side, numbers["frequencies"])
        shape = numbers["rates"].shape
        check_own_heads(x, side, shape[0] if len(shape) == 2 else None, has="rates")

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the distances of the kernel, the mean over heads where they differ."""
        del lift, probe
        rates = np.atleast_2d(self.rates)
        turns = np.broadcast_to(self.frequencies[:, 0], rates.shape).reshape(-1)
        return decay_distances(rates.reshape(-1), turns, np.full(rates.size, 1.0 / len(rates)))


def _spread(rates: Array, *, layout: str, xp: Namespace) -> Array:
    """Return the rate of every coordinate, (..., d), from those of pairs."""
    if layout == "half":
        return xp.concat([rates, rates], axis=-1)
    return xp.reshape(xp.stack([rates, rates], axis=-1), (*rates.shape[:-1], -1))


def _with_sign(steps: Array, side: str) -> Array:
    return steps if side == "q" else -steps


@catalogued(
    Card(
        name="xpos",
        family="rotary",
        kind=("transform",),
        formula=(
            "q~ = zeta^(i/s) R_i q, k~ = zeta^(-j/s) R_j k, zeta_k = (2k/d + gamma)/(1 + gamma)"
        ),
        source="sun2022",
        level=in_words("L0"),
        relative=True,
        causal_only=True,
        extrapolation="the authors claim lower perplexity past the trained length, by blocks",
        proofs=proofs_of(
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
    ),
    examples=(
        {"dimension": 8},
        {"dimension": 8, "layout": "half", "gamma": 0.8, "scale_base": 64.0, "base": 500.0},
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
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, shape (pairs, 1)."""
        return geometric_frequencies(self.dimension, float(self.base))

    @property
    def rates(self) -> NDArray[np.float64]:
        """Return ln(zeta_k) / s, shape (pairs,)."""
        share = np.arange(0, self.dimension, 2) / self.dimension
        rates: NDArray[np.float64] = np.log((share + self.gamma) / (1.0 + self.gamma))
        return rates / float(self.scale_base)


_SPACINGS = ("closed", "open")


@catalogued(
    Card(
        name="retnet",
        family="rotary",
        kind=("transform",),
        formula="q~ = gamma_h^i R_i q, k~ = gamma_h^(-j) R_j k, gamma_h = 1 - 2^(-5-h)",
        source="sun2023",
        level=in_words("L0"),
        relative=True,
        causal_only=True,
        extrapolation="no claim of the authors",
        proofs=proofs_of(
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
    ),
    examples=(
        {"dimension": 8, "heads": 2},
        {"dimension": 8, "heads": 2, "layout": "half", "spacing": "open"},
        {"dimension": 8, "heads": 2, "gammas": (0.9, 1.0)},
    ),
    shown={"heads": 8},
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
        checks.one_of("spacing", self.spacing, _SPACINGS)
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
