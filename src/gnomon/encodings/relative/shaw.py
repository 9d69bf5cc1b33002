"""Shaw's relative vectors: a learned vector for each clipped lag, added to keys and to values.

    logit(i, j) = scale q_i . (k_j + a_(j-i)),    a_t = row clip(t, -K, K') of a learned table,
    z_i = sum_j w_ij (v_j + b_(j-i)),             b_t the same of a second table,

w the attention weights [shaw2018 sec. 3.1-3.2]. The tables are shared by heads. Row 0 is that of
keys K or more before their query, the last row that of keys K' or more after it; the paper has
K' = K, speech models have fewer after.

Products with the table come first and rows are picked after (`relative.lags`): no pair has a vector
of its own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.relative.lags import clipped, or_nan_lags, picked, signed_lags
from gnomon.encodings.relative.tables import (
    SIGMA,
    check_vectors,
    normal_numbers,
)
from gnomon.encodings.scoring import scaled
from gnomon.encodings.starting import kept, settled
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import sums_by_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

PURPOSES = {"table": 1, "value_table": 2}
"""Keep the starts of the two tables apart."""
CARD = Card(
    name="shaw",
    family="relative",
    kind=("content",),
    formula="logit = scale q_i.(k_j + a_clip(j-i, -K, K)), a a learned table",
    source="shaw2018",
    level=in_words("L5"),
    relative=True,
    learnable=True,
    extrapolation="all lags past the largest share one vector; the authors expect that to carry "
    "over to lengths not trained on",
    reading="vectors are added to keys, and to values only where with_values asks for them: the "
    "authors define both and find no loss without those of values; a lag that is no whole number "
    "has the vector of the whole lag next to it towards 0",
    proofs=proved(
        ORACLE,
        (
            "transformers, Wav2Vec2-BERT (relative_key)",
            "agreement/test_transformers_relative.py",
            "test_shaw_scores_are_those_of_wav2vec2_bert",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Shaw(Encoding):
    """Vectors of lags up to `largest_lag`; `largest_lag_after` is that of keys after their query.

    `table` (rows, dimension) is what was learned for keys, `value_table` for values, one row for
    each lag j - i from -largest_lag on.
    """

    kinds: ClassVar[tuple[str, ...]] = ("content",)
    on_grids: ClassVar[bool] = False
    on_values: ClassVar[tuple[str, ...]] = ("value_table",)
    dimension: int
    largest_lag: int = 16
    largest_lag_after: int | None = None
    with_values: bool = False
    sigma: float = SIGMA
    seed: int = 0
    table: Any = field(default=None, repr=False)
    value_table: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("shaw", self.axes)
        checks.whole("dimension", self.dimension, least=1)
        checks.whole("largest_lag", self.largest_lag, least=0)
        if self.largest_lag_after is not None:
            checks.whole("largest_lag_after", self.largest_lag_after, least=0)
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)
        if self.value_table is not None and not self.with_values:
            raise EncodingError(
                "value_table is given, and with_values is False; pass with_values=True, or leave "
                "the table out."
            )
        for name in PURPOSES:
            kept(self, name, (self.rows, self.dimension))

    @property
    def card(self) -> Card:
        """Return the card; with values its formula says so."""
        if not self.with_values:
            return CARD
        formula = f"{CARD.formula}; values are v_j + b_clip(j-i, -K, K)"
        return dataclasses.replace(CARD, formula=formula)

    @property
    def after(self) -> int:
        """Return the largest lag of keys after their query that has a row."""
        return self.largest_lag if self.largest_lag_after is None else self.largest_lag_after

    @property
    def rows(self) -> int:
        """Return the number of rows of a table."""
        return self.largest_lag + self.after + 1

    @cached_property
    def _learned(self) -> dict[str, NDArray[np.float64]]:
        shapes = dict.fromkeys(self.learnable, (self.rows, self.dimension))
        return settled(self, normal_numbers(self, shapes, PURPOSES))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the table of keys, and that of values where there is one."""
        return dict(self._learned)

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the tables."""
        return ("table", "value_table") if self.with_values else ("table",)

    def content_scores(
        self,
        q: Array,
        k: Array,
        queries: Coordinates,
        keys: Coordinates,
        numbers: Numbers,
        *,
        scale: float,
        tokens: Array,
        xp: Namespace,
    ) -> Array:
        """Return the logits (..., n, m)."""
        del tokens
        check_vectors(q, "q", dimension=self.dimension)
        check_vectors(k, "k", dimension=self.dimension)
        lags = signed_lags(queries, keys, xp=xp)
        table = xp.astype(numbers["table"], q.dtype)
        by_lag = xp.matmul(q, xp.matrix_transpose(table))
        found = picked(by_lag, self._rows_of(lags, xp=xp), xp=xp)
        logits = xp.matmul(q, xp.matrix_transpose(k)) + found
        return scaled(or_nan_lags(logits, lags, xp=xp), scale)

    def value_terms(
        self,
        weights: Array,
        queries: Coordinates,
        keys: Coordinates,
        numbers: Numbers,
        *,
        xp: Namespace,
    ) -> Array | None:
        """Return what weights (..., n, m) add to their values: (..., n, dimension)."""
        if not self.with_values:
            return None
        rows = self._rows_of(signed_lags(queries, keys, xp=xp), xp=xp)
        sums = sums_by_row(weights, rows, self.rows, xp=xp)
        return xp.matmul(sums, xp.astype(numbers["value_table"], weights.dtype))

    def _rows_of(self, lags: Array, *, xp: Namespace) -> Array:
        """Return the row of every lag i - j: that of j - i in the paper's order."""
        return clipped(-lags, -self.largest_lag, self.after, xp=xp)
