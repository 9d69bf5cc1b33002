"""Penalties that grow linearly with the lag: ALiBi, and decay with the time that has passed.

ALiBi: a penalty on the logit that grows linearly with the lag, one slope per head.

    bias_h(i, j) = -m_h (i - j)   (causal: keys after the query are masked by the caller),
    bias_h(i, j) = -m_h |i - j|   (symmetric),
    bias_h(i, j) = -m_h (i - j) for j <= i,  -m'_h (j - i) for j > i   (two slopes).

Slopes for H heads, H a power of two: m_h = 2^(-8(h+1)/H), h = 0 ... H-1. For other H: the slopes of
the next lower power of two, then every other slope of twice that number, until there are H.
Symmetric and two-slope biases are the authors' advice for encoders, in the issues of their code.
On several axes the lag is Euclidean, which knows no before and after, so the bias is symmetric.

Lifts. *kernel*: k_ij = -m |i-j| with m the mean slope, of both sides, so D = sqrt(2 m |i-j|).
*slope*: D = m |i-j|, the bias read as a distance, as [cirrincione2026] does.

Source: [press2021 sec. 3].

Decay of attention with the time that has passed: every head forgets with its own half-life.

    bias_h(t, s) = -ln 2 (t - s) / (T_h unit),

so that a key that is one half-life older has half of the weight before softmax divides: ALiBi
[press2021 sec. 3] with slopes that are told as times, at steps that may be uneven. By default the
half-lives are geometric from `shortest` to `longest`. Keys after their query are masked by the
caller, or with `symmetric` count by |t - s|.

The causal form has rank 2: (-m (t - r), 1).(1, m (s - r)), m = ln 2 / (T unit), with any reference
r (`bias_factors`); seconds since 1970 want one that is near, or float64. Without factors the lag is
subtracted in float64, or in limbs, so small times between large ones are exact.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, Row, catalogued, in_words, proofs_of
from gnomon.encodings.positions import check_spans, spans, unit_of
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import lags_between, since
from gnomon.numeric.checks import refuse_masked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.numeric.arrays import Array, Coordinates, Namespace


def official_slopes(heads: int) -> tuple[float, ...]:
    """Return the published slopes for any number of heads, steepest first within each ladder.

    >>> official_slopes(4)
    (0.25, 0.0625, 0.015625, 0.00390625)
    """
    below = 1 << (heads.bit_length() - 1)
    slopes = _ladder(below)
    return slopes + _ladder(2 * below)[0 : 2 * (heads - below) : 2]


def _ladder(heads: int) -> tuple[float, ...]:
    return tuple(2.0 ** (-8.0 * (head + 1) / heads) for head in range(heads))


def _linear_bias(lags: Array, slopes: Array, *, xp: Namespace) -> Array:
    """Return -m_h lag for lags (..., queries, keys): shape (..., heads, queries, keys)."""
    return -slopes[:, None, None] * xp.expand_dims(lags, axis=-3)


def _two_slopes(lags: Array, before: Array, after: Array, *, xp: Namespace) -> Array:
    """Return -m_h lag where keys come before their query, m'_h lag where they come after."""
    zero = xp.zeros_like(lags)
    seen, ahead = xp.where(lags > 0, lags, zero), xp.where(lags < 0, -lags, zero)
    return _linear_bias(seen, before, xp=xp) + _linear_bias(ahead, after, xp=xp)


def _euclidean(steps: Array, *, xp: Namespace) -> Array:
    """Return the length of lags (..., axes), with a slope of 0 at lag 0 where it has a kink."""
    if steps.shape[-1] == 1:
        return xp.abs(steps[..., 0])
    squares = xp.sum(steps * steps, axis=-1)
    apart = squares > 0.0  # the root of 0 has an infinite slope, and 0 times that is NaN
    return xp.where(apart, xp.sqrt(xp.where(apart, squares, 1.0)), 0.0)


def best_slope(distances: NDArray[np.float64], positions: Any = None) -> float:
    """Return m* = sum h l / sum l^2 over pairs: the slope whose m |i-j| has the least raw stress.

    >>> best_slope(np.array([[0.0, 3.0], [3.0, 0.0]]))
    3.0
    """
    points = np.arange(len(distances)) if positions is None else np.asarray(positions)
    points = points.reshape(len(distances), -1).astype(np.float64)
    products = squares = 0.0
    for row in range(len(points) - 1):
        lags = np.linalg.norm(points[row + 1 :] - points[row], axis=1)
        products += float(lags @ distances[row, row + 1 :])
        squares += float(lags @ lags)
    if squares == 0.0:
        raise EncodingError("All positions are the same, so no slope fits; pass two or more.")
    return products / squares


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    """Return slopes as floats, or say which is none."""
    refuse_masked(values, f"{name} holds", kind=EncodingError)
    slopes = np.ravel(np.asarray(values, dtype=object)).tolist()
    for slope in slopes:
        checks.real(name, slope, least=0.0)
    return tuple(float(slope) for slope in slopes)


@catalogued(
    Card(
        name="alibi",
        family="bias",
        kind=("bias",),
        formula="bias_h(i, j) = -m_h (i - j), m_h = 2^(-8(h+1)/H)",
        source="press2021",
        level=in_words("L1"),
        relative=True,
        causal_only=True,
        extrapolation="the authors claim, at twice the trained length, what training there gives",
        proofs=proofs_of(
            ORACLE,
            (
                "the published slopes of 8, 12 and 40 heads",
                "encodings/test_encoding_alibi.py",
                "test_eight_heads_have_the_slopes_of_the_paper",
            ),
            (
                "transformers, BLOOM, MPT and Falcon",
                "agreement/test_transformers_biases.py",
                "test_alibi_equals_bloom_mpt_and_falcon_of_transformers",
            ),
            (
                "x-transformers",
                "agreement/test_transformers_biases.py",
                "test_alibi_equals_that_of_x_transformers",
            ),
        ),
    ),
    examples=(
        {"heads": 3},
        {"heads": 4, "symmetric": True},
        {"heads": 2, "axes": 2},
        {"heads": 2, "slopes_after": (0.5, 0.125)},
    ),
    surveyed=(Row(parameters={"heads": 8}, lifts=("kernel", "slope")),),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Alibi(Encoding):
    """Linear biases with the official slopes of `heads` heads, or with `slopes` of your own.

    `symmetric` is left to the axes when it is None: causal on one, symmetric on several. With
    `slopes_after`, keys after their query have slopes of their own.
    """

    kinds: ClassVar[tuple[str, ...]] = ("bias",)
    heads: int | None = None
    slopes: tuple[float, ...] | None = None
    symmetric: bool | None = None
    slopes_after: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        checks.whole("axes", self.axes, least=1)
        given = self._given_slopes()
        if self.slopes_after is not None:
            self._check_after(len(given))
        object.__setattr__(self, "slopes", given)
        object.__setattr__(self, "heads", len(given))
        if self.symmetric is None:
            object.__setattr__(self, "symmetric", self.axes > 1)
        if self.axes > 1 and not self.symmetric:
            raise EncodingError(
                f"symmetric is False on {self.axes} axes, where a Euclidean lag has no before and "
                "after; pass symmetric=True."
            )

    def _given_slopes(self) -> tuple[float, ...]:
        if self.slopes is None:
            heads = 8 if self.heads is None else self.heads
            checks.whole("heads", heads, least=1)
            return official_slopes(heads)
        slopes = _numbers("slopes", self.slopes)
        if not slopes or self.heads not in (None, len(slopes)):
            raise EncodingError(
                f"heads is {self.heads} and slopes has {len(slopes)} entries; pass one of the two."
            )
        return slopes

    def _check_after(self, heads: int) -> None:
        after = _numbers("slopes_after", self.slopes_after)
        if len(after) != heads:
            raise EncodingError(
                f"slopes_after has {len(after)} entries and there are {heads} heads; pass one "
                "slope for each."
            )
        if self.axes > 1 or self.symmetric:
            raise EncodingError(
                f"slopes_after needs one axis and no symmetric=True, and axes is {self.axes}, "
                f"symmetric {self.symmetric}; leave out one of them."
            )
        object.__setattr__(self, "slopes_after", after)

    @property
    def card(self) -> Card:
        """Return the card: causal ALiBi is an augmented group, the others are none."""
        if not self.symmetric and self.slopes_after is None:
            return self.own_card
        formula = "bias_h(i, j) = -m_h |i - j|, m_h = 2^(-8(h+1)/H)"
        if self.slopes_after is not None:
            formula = "bias_h(i, j) = -m_h (i - j) for j <= i, -m'_h (j - i) for j > i"
        return dataclasses.replace(
            self.own_card, formula=formula, level=in_words("L5"), causal_only=False
        )

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel and slope."""
        return ("kernel", "slope")

    @property
    def mean_slope(self) -> float:
        """Return the mean of the slopes over heads, and over both sides where they differ."""
        return float(np.mean([*(self.slopes or ()), *(self.slopes_after or ())]))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the slopes."""
        slopes = {"slopes": self.slopes, "slopes_after": self.slopes_after}
        return {name: np.array(s, dtype=np.float64) for name, s in slopes.items() if s is not None}

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the biases, shape (..., heads, queries, keys)."""
        steps = lags_between(queries, keys, xp=xp)
        if self.slopes_after is not None:
            after = numbers["slopes_after"]
            return _two_slopes(steps[..., 0], numbers["slopes"], after, xp=xp)
        lags = _euclidean(steps, xp=xp) if self.symmetric else steps[..., 0]
        return _linear_bias(lags, numbers["slopes"], xp=xp)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return m t for the slope lift, sqrt(2 m t) for the kernel lift, t the Euclidean lag."""
        del probe
        slope = self.mean_slope

        def distances(lags: NDArray[np.float64]) -> NDArray[np.float64]:
            lengths = np.sqrt(np.sum(lags * lags, axis=-1))
            scaled: NDArray[np.float64] = slope * lengths
            return scaled if lift == "slope" else np.sqrt(2.0 * scaled)

        return distances


_TESTS = "encodings/test_encoding_times.py"


@catalogued(
    Card(
        name="decay-time",
        family="bias",
        kind=("bias",),
        formula="bias_h(t, s) = -ln 2 (t - s) / T_h, T_h the half-life of head h",
        source="press2021",
        level=in_words("L1"),
        relative=True,
        causal_only=True,
        reading=(
            "ALiBi on real times, its slopes told as half-lives; the published slopes suppose "
            "steps of 1, so half-lives are given, or are geometric between two that are"
        ),
        proofs=proofs_of(
            ORACLE,
            ("ALiBi", _TESTS, "test_half_lives_of_the_published_slopes_give_alibi"),
            (
                "halves of the weight",
                _TESTS,
                "test_a_key_one_half_life_older_has_half_of_the_weight",
            ),
            ("its rank", _TESTS, "test_factors_of_rank_two_give_the_decay_at_timestamps"),
            (
                "60 digits at timestamps, in all libraries",
                _TESTS,
                "test_timestamps_decay_as_60_digits_do",
            ),
        ),
    ),
    examples=(
        {"heads": 3, "shortest": 1.0, "longest": 30.0, "unit": 86400.0},
        {"heads": 2, "shortest": 20.0, "longest": 300.0, "symmetric": True},
    ),
    shown={"heads": 8, "shortest": 1.0, "longest": 64.0},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class DecayTime(Encoding):
    """Half-lives from `shortest` to `longest` over `heads` heads, or `half_lives` of your own.

    All of them are in `unit`s of the positions: 1, or 86400 or "day" where positions are seconds.

    >>> DecayTime(half_lives=(1.0,), unit="hour").bias([7200], [0, 3600]).round(4)
    array([[[-1.3863, -0.6931]]])
    """

    kinds: ClassVar[tuple[str, ...]] = ("bias",)
    on_grids: ClassVar[bool] = False
    heads: int | None = None
    shortest: float | None = None
    longest: float | None = None
    half_lives: tuple[float, ...] | None = None
    unit: Any = 1.0
    symmetric: bool = False
    lives: tuple[float, ...] = field(init=False, repr=False)
    """The half-life of every head, as given or from the ladder."""

    def __post_init__(self) -> None:
        checks.one_axis("decay-time", self.axes)
        unit_of(self.unit)
        object.__setattr__(self, "lives", self._given())
        object.__setattr__(self, "heads", len(self.lives))

    def _given(self) -> tuple[float, ...]:
        """Return the half-lives, as given or as a ladder."""
        if self.half_lives is None:
            return self._ladder()
        values = np.ravel(np.asarray(self.half_lives, dtype=object)).tolist()
        for value in values:
            checks.real("half_lives", value, above=0.0)
        if not values or self.heads not in (None, len(values)):
            raise EncodingError(
                f"heads is {self.heads} and half_lives has {len(values)} entries; pass one of the "
                "two."
            )
        if self.shortest is not None or self.longest is not None:
            raise EncodingError(
                "half_lives are given, and a shortest or longest one too; pass half_lives alone."
            )
        return tuple(float(value) for value in values)

    def _ladder(self) -> tuple[float, ...]:
        """Return half-lives from the shortest to the longest."""
        if self.heads is None or self.shortest is None or self.longest is None:
            raise EncodingError(
                "The encoding 'decay-time' needs half-lives; pass half_lives=(...), or heads, "
                "shortest and longest."
            )
        checks.whole("heads", self.heads, least=1)
        check_spans(self.shortest, self.longest)
        return tuple(spans(float(self.shortest), float(self.longest), self.heads).tolist())

    @property
    def card(self) -> Card:
        """Return the card: the causal form is an augmented group, the symmetric one is none."""
        if not self.symmetric:
            return self.own_card
        formula = "bias_h(t, s) = -ln 2 |t - s| / T_h, T_h the half-life of head h"
        return dataclasses.replace(
            self.own_card, formula=formula, level=in_words("L5"), causal_only=False
        )

    @property
    def slopes(self) -> NDArray[np.float64]:
        """Return ln 2 over every half-life, per position."""
        return math.log(2.0) / (np.array(self.lives) * unit_of(self.unit))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the slopes."""
        return {"slopes": self.slopes}

    @property
    def bias_rank(self) -> int | None:  # type: ignore[override]
        """Return how many coordinates beside those of q and k give the bias: 2, or no number."""
        return None if self.symmetric else 2

    def bias_factors(
        self,
        coordinates: Coordinates,
        numbers: Numbers,
        *,
        side: str,
        reference: float = 0.0,
        xp: Namespace,
    ) -> Array:
        """Return coordinates (..., heads, n, 2) to append to q or k, whose product is the bias."""
        checks.one_of("side", side, ("q", "k"))
        if self.symmetric:
            raise EncodingError(
                "The symmetric 'decay-time' has no finite rank; pass symmetric=False, or use bias."
            )
        steps = xp.expand_dims(since(coordinates, reference, xp=xp)[..., 0], axis=-2)
        grown = numbers["slopes"][:, None] * steps
        parts = [-grown, xp.ones_like(grown)] if side == "q" else [xp.ones_like(grown), grown]
        return xp.stack(parts, axis=-1)

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the biases, shape (..., heads, queries, keys)."""
        lags = lags_between(queries, keys, xp=xp)[..., 0]
        return _linear_bias(xp.abs(lags) if self.symmetric else lags, numbers["slopes"], xp=xp)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return sqrt(2 m t), m the mean slope."""
        del lift, probe
        slope = float(self.slopes.mean())

        def distances(lags: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.sqrt(2.0 * slope * np.abs(lags[..., 0]))

        return distances
