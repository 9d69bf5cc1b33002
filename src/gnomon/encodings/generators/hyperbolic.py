r"""Hyperbolic rotary encoding: Lorentz boosts of pairs, damped so that nothing grows.

    q~ = e^(-a t) B(b t) q,   k~ = e^(a s) B(-b s) k,   B(p) = [[cosh p, sinh p], [sinh p, cosh p]]
    q~.k~ = sum_k e^(-a (t-s)) q_k^T B(b_k (t-s)) k_k,   s <= t                       [dai2025]

A boost alone grows as e^(|b| t); with a damping a > |b| both of its rates, -a + b and -a - b, are
below 0. On the sum and the difference of a pair the boost is diagonal, so the encoding is a decay
of single coordinates there, and is computed so: cosh and sinh would overflow at p = 710 and cancel
long before. With imaginary b it would be rotary encoding.

b_k starts at rotary encoding's base^(-2k/d), times a `rate` of your own where 1 per position is too
much: a logit then fades within a few positions. Learned are b_k, freely, and what the damping
has beyond them: a = max_k |b_k| + least + softplus(.), one number for all pairs as published
(damping "common"), or a_k = |b_k| + least + softplus(.) for each pair ("own").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import fading_distances
from gnomon.encodings.generated import of_columns, of_head
from gnomon.encodings.referred import Carrying, of_heads, of_pairs
from gnomon.encodings.starting import learned, of_each_head
from gnomon.groups import Block, Generator, block_logits, decay_factors, light_cone
from gnomon.numeric import checks
from gnomon.numeric.elementwise import softplus, softplus_inverse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace

_DAMPINGS = ("common", "own")
CARD = Card(
    name="rope-hyperbolic",
    family="generator",
    kind=("transform",),
    formula="q~ = e^(-a i) B(b i) q, k~ = e^(a j) B(-b j) k, B a boost of pairs, a > |b|",
    source="dai2025",
    level=in_words("L0"),
    relative=True,
    learnable=True,
    causal_only=True,
    extrapolation="the authors claim a lower perplexity than other encodings on sequences longer "
    "than trained on",
    reading="Of three encodings called HoPE, the hyperbolic one. Keys get the inverse of the map "
    "of queries, and the damping exceeds every rapidity, by construction: the logit then decays "
    "with the lag, as the authors want. One damping for all pairs, as published, fades slow ones "
    'at the pace of the fastest; damping "own" gives each pair one of its own.',
    proofs=proved(
        ORACLE,
        (
            "scipy.linalg.expm of the whole generator",
            "encodings/test_encoding_hyperbolic.py",
            "test_logits_are_those_of_the_exponential_of_the_generator",
        ),
        (
            "cosh and sinh as published",
            "encodings/test_encoding_hyperbolic.py",
            "test_transformed_vectors_are_those_of_the_published_formula",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Hyperbolic(Carrying):
    """Boosts of the pairs (2k, 2k + 1), damped by `excess` more than the fastest of them needs.

    >>> made = Hyperbolic(dimension=4, base=100.0, excess=0.5)
    >>> made.rates.round(6)
    array([-0.5, -2.5, -1.4, -1.6])
    """

    least: ClassVar[float] = 1e-6
    """The smallest excess that training can reach."""
    base: float = 10000.0
    rate: float = 1.0
    """The largest boost per position at the start."""
    excess: float = 0.01
    damping: str = "common"
    rapidities: Any = field(default=None, repr=False)
    """Boosts per position (pairs,), or (heads, pairs); without them a ladder."""
    excesses: Any = field(default=None, repr=False)
    """Learned numbers y with an excess of least + softplus(y), one or one for each pair."""

    def __post_init__(self) -> None:
        super().__post_init__()
        why = "they are boosted in pairs"
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why=why)
        checks.real("base", self.base, above=0.0)
        checks.real("rate", self.rate, above=0.0)
        checks.real("excess", self.excess, above=self.least)
        checks.one_of("damping", self.damping, _DAMPINGS)
        pairs = self.dimension // 2
        ladder = self.rate * float(self.base) ** (-np.arange(pairs) / pairs)
        count = 1 if self.damping == "common" else pairs
        start = softplus_inverse(self.excess - self.least)
        starts = {"rapidities": (ladder, pairs), "excesses": (start, count)}
        for name, (first, size) in starts.items():
            shape = of_each_head(self.heads, size)
            object.__setattr__(self, name, learned(name, getattr(self, name), first, shape))

    @property
    def card(self) -> Card:
        """Return the card of hyperbolic rotary encoding."""
        return CARD

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return copies of what is learned, which a framework may write into."""
        return {name: np.array(getattr(self, name)) for name in self.learnable}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the rapidities and the excesses."""
        return ("rapidities", "excesses")

    @property
    def rates(self) -> NDArray[np.float64]:
        """Return the rates of all sums and differences, below 0: (d,) or (heads, d)."""
        return np.asarray(self._rates(self.numbers, self.rapidities, xp=np))

    @property
    def steepness(self) -> float:
        """Return the largest decay per position."""
        return float(np.max(np.abs(self.rates)))

    def _rates(self, numbers: Numbers, like: Array, *, xp: Namespace) -> Array:
        """Return -a + b and -a - b side by side for every pair."""
        boosts = xp.astype(numbers["rapidities"], like.dtype)
        sizes = xp.abs(boosts)
        sizes = xp.max(sizes, axis=-1, keepdims=True) if self.damping == "common" else sizes
        excess = self.least + softplus(xp.astype(numbers["excesses"], like.dtype), xp=xp)
        # |b| - b is exact where b is the largest, so that the excess alone is left.
        both = xp.stack([-(sizes - boosts) - excess, -(sizes + boosts) - excess], axis=-1)
        return xp.reshape(both, (*boosts.shape[:-1], self.dimension))

    @property
    def scales(self) -> bool:
        """Whether nothing can cancel: sums and differences of pairs are only scaled."""
        return True

    def isometric(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return the sums and differences of pairs: the same at every position."""
        del coordinates, numbers, side
        return light_cone(x, xp=xp)

    def finished(self, x: Array, *, xp: Namespace) -> Array:
        """Return pairs of their sums and differences."""
        return light_cone(x, xp=xp)

    def carried(
        self, x: Array, steps: Array, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return every coordinate times its decay; keys times the inverse."""
        rates = of_heads(self._rates(numbers, steps, xp=xp), xp=xp)
        factor = decay_factors(steps if side == "q" else -steps, rates, xp=xp)
        return x * xp.astype(factor, x.dtype)

    def weighed(self, q: Array, k: Array, ages: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the sum over coordinates of e^(rate * age) q k."""
        rates = self._rates(numbers, ages, xp=xp)
        total: Any = 0.0
        for place in range(self.dimension):
            weight = decay_factors(ages, of_pairs(rates, place), xp=xp)
            one = slice(place, place + 1)
            total = total + block_logits(q[..., one], k[..., one], [weight], width=1, xp=xp)
        return total

    def exponent(self, furthest: float, numbers: Numbers) -> float:
        """Return the largest rate times the distance."""
        rates = self._rates(numbers, numbers["rapidities"], xp=np)
        return float(np.max(np.abs(rates))) * furthest

    def generator(self, head: int = 0) -> Generator:
        """Return the decays of all sums and differences of a head."""
        columns = light_cone(np.eye(self.dimension), xp=np)
        return of_columns([Block(decay=rate) for rate in of_head(self.rates, head, 1)], columns)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the distances of the trace, the mean over heads where they differ."""
        del lift, probe
        rates = self.rates.reshape(-1)
        share = 0.5 / (1 if self.heads is None else self.heads)
        return fading_distances(rates, np.zeros(len(rates)), np.full(len(rates), share))
