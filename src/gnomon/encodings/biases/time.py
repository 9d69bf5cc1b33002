"""Decay of attention with the time that has passed: every head forgets with its own half-life.

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
from gnomon.encodings.biases.alibi import linear_bias
from gnomon.encodings.border import lags_between
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.times import check_spans, spans, unit_of
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import since

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

TESTS = "encodings/test_encoding_times.py"
CARD = Card(
    name="decay-time",
    family="bias",
    kind=("bias",),
    formula="bias_h(t, s) = -ln 2 (t - s) / T_h, T_h the half-life of head h",
    source="press2021",
    level=in_words("L1"),
    relative=True,
    causal_only=True,
    reading=(
        "ALiBi on real times, its slopes told as half-lives; the published slopes suppose steps of "
        "1, so half-lives are given, or are geometric between two that are"
    ),
    proofs=proved(
        ORACLE,
        ("ALiBi", TESTS, "test_half_lives_of_the_published_slopes_give_alibi"),
        ("halves of the weight", TESTS, "test_a_key_one_half_life_older_has_half_of_the_weight"),
        ("its rank", TESTS, "test_factors_of_rank_two_give_the_decay_at_timestamps"),
        (
            "60 digits at timestamps, in all libraries",
            TESTS,
            "test_timestamps_decay_as_60_digits_do",
        ),
    ),
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
            return CARD
        formula = "bias_h(t, s) = -ln 2 |t - s| / T_h, T_h the half-life of head h"
        return dataclasses.replace(CARD, formula=formula, level=in_words("L5"), causal_only=False)

    @property
    def slopes(self) -> NDArray[np.float64]:
        """Return ln 2 over every half-life, per position."""
        return math.log(2.0) / (np.array(self.lives) * unit_of(self.unit))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the slopes."""
        return {"slopes": self.slopes}

    @property
    def bias_rank(self) -> int | None:
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
        return linear_bias(xp.abs(lags) if self.symmetric else lags, numbers["slopes"], xp=xp)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return sqrt(2 m t), m the mean slope."""
        del lift, probe
        slope = float(self.slopes.mean())

        def distances(lags: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.sqrt(2.0 * slope * np.abs(lags[..., 0]))

        return distances
