"""DeBERTa's disentangled attention: content and lag each meet the other, in three products.

    logit(i, j) = scale / sqrt(3) [ q_i . k_j + q_i . A_row(i-j) + k_j . B_row(i-j) ],

A and B (heads, 2K, d): the model's table of lags (2K, d_model), projected for keys and for queries
by each layer [he2021 sec. 3.1]. Attention passes scale = 1 / sqrt(d), so that logits are divided by
sqrt(3 d) as published: the 3 belongs to the encoding, one for each product.

Rows of version 1: row(t) = clip(t, -K, K - 1) + K. Rows of version 2 (`buckets` = K rows for each
side, the first h = K // 2 lags with a row each, and L = `largest_lag`):

    row(t) = K + sign(t) b(|t|), within 0 ... 2K - 1,   b(t) = t up to h,
    b(t) = h + ceil( (h - 1) ln(t / h) / ln((L - 1) / h) ) from there on,

as the authors' code has it [he2021]. b is found in whole numbers and looked up, so that no rounding
can move a bound: it is h + s for the least s with t^(h-1) h^s <= (L - 1)^s h^(h-1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.additive.taking import take
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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

PURPOSES = {"key_table": 6, "query_table": 7}
"""Keep the starts of the two tables apart."""
TERMS = 3
"""Products that are added: content with content, content with lag, lag with content."""
CARD = Card(
    name="deberta",
    family="relative",
    kind=("content",),
    formula="logit = scale (q_i.k_j + q_i.A_row(i-j) + k_j.B_row(i-j)) / sqrt 3",
    source="he2021",
    level=in_words("L5"),
    relative=True,
    learnable=True,
    extrapolation="no claim; lags past the last row share it",
    reading="the tables hold lags already projected by their layer, so that nothing else of the "
    "model is needed; the row of both products is that of i - j, as in the authors' code and "
    "weights, where the paper writes j - i for the second; the factor 1/sqrt 3 is the encoding's "
    "and 1/sqrt d attention's; a lag that is no whole number has the row of the whole lag next to "
    "it towards 0",
    proofs=proved(
        ORACLE,
        (
            "transformers, DeBERTa",
            "agreement/test_transformers_deberta.py",
            "test_scores_are_those_of_a_layer_of_deberta",
        ),
        (
            "transformers, DeBERTa-v2",
            "agreement/test_transformers_deberta.py",
            "test_scores_are_those_of_a_layer_of_deberta_v2",
        ),
    ),
)


def bucket_sizes(buckets: int, largest_lag: int) -> tuple[int, ...]:
    """Return b(t) for t = 0 ... largest_lag, where it is `buckets` at last.

    >>> bucket_sizes(8, 16)
    (0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 7, 7, 7, 7, 7, 7, 8)
    """
    half = buckets // 2
    found, step = [], 0
    for lag in range(largest_lag + 1):
        while step < half and lag > half and _is_past(lag, step, half, largest_lag - 1):
            step += 1
        found.append(min(lag, half) + step)
    return tuple(found)


def _is_past(lag: int, step: int, half: int, last: int) -> bool:
    """Whether (lag / h)^(h-1) > (last / h)^step, in whole numbers."""
    left: int = lag ** (half - 1) * half**step
    right: int = last**step * half ** (half - 1)
    return left > right


def projected(table: Any, weight: Any, bias: Any = None, *, heads: int) -> NDArray[np.float64]:
    """Return a table of lags (rows, d_model) as a layer sees it, (heads, rows, d).

    `weight` (heads d, d_model) and `bias` (heads d,) are those of the layer's linear map of lags,
    for keys or for queries.
    """
    lags, linear = checks.array("table", table), checks.array("weight", weight)
    if lags.ndim != 2 or linear.ndim != 2 or linear.shape[1] != lags.shape[1]:
        raise EncodingError(
            f"table has shape {lags.shape} and weight {linear.shape}; pass a table (rows, d_model) "
            "and a weight (heads d, d_model)."
        )
    checks.whole("heads", heads, least=1)
    if linear.shape[0] % heads:
        raise EncodingError(
            f"weight has shape {linear.shape}, whose rows {heads} heads can not share evenly; pass "
            "the number of heads of the model."
        )
    made = lags.astype(np.float64) @ linear.astype(np.float64).T
    made = made if bias is None else made + checks.array("bias", bias)
    return np.moveaxis(made.reshape(len(lags), heads, -1), 1, 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Deberta(Encoding):
    """Disentangled attention with rows for lags up to `largest_lag`, or for `buckets` of them.

    `key_table` and `query_table` (heads, rows, dimension) are lags as a layer projects them
    (`projected`); there are two rows for each of `buckets`, or of `largest_lag` without buckets.
    """

    kinds: ClassVar[tuple[str, ...]] = ("content",)
    on_grids: ClassVar[bool] = False
    dimension: int
    heads: int
    largest_lag: int = 512
    buckets: int | None = None
    sigma: float = SIGMA
    seed: int = 0
    key_table: Any = field(default=None, repr=False)
    query_table: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("deberta", self.axes)
        checks.whole("dimension", self.dimension, least=1)
        checks.whole("heads", self.heads, least=1)
        checks.whole("largest_lag", self.largest_lag, least=1)
        if self.buckets is not None:
            checks.whole("buckets", self.buckets, least=4, multiple_of=2)
            if self.largest_lag < self.buckets // 2 + 2:
                raise EncodingError(
                    f"largest_lag is {self.largest_lag}, but the first {self.buckets // 2} lags "
                    "have a bucket each; pass a larger largest_lag, or fewer buckets."
                )
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)
        for name in PURPOSES:
            kept(self, name, self._shape)

    @property
    def card(self) -> Card:
        """Return the card of disentangled attention."""
        return CARD

    @property
    def reach(self) -> int:
        """Return the rows of one side."""
        return self.largest_lag if self.buckets is None else self.buckets

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self.heads, 2 * self.reach, self.dimension)

    @cached_property
    def _learned(self) -> dict[str, NDArray[np.float64]]:
        shapes = dict.fromkeys(PURPOSES, self._shape)
        return settled(self, normal_numbers(self, shapes, PURPOSES))

    @cached_property
    def _rows(self) -> NDArray[np.int64] | None:
        """Return the rows of lags -largest_lag ... largest_lag, where buckets decide them."""
        if self.buckets is None:
            return None
        sizes = np.asarray(bucket_sizes(self.buckets, self.largest_lag))
        both = self.buckets + np.concatenate([-sizes[:0:-1], sizes])
        rows = np.clip(both, 0, 2 * self.buckets - 1)
        rows.flags.writeable = False
        return rows

    @property
    def numbers(self) -> dict[str, Any]:
        """Return the two tables, and the rows of lags where buckets decide them."""
        rows = {} if self._rows is None else {"rows": self._rows}
        return {**self._learned, **rows}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the two tables."""
        return ("key_table", "query_table")

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
        """Return the logits (..., heads, n, m)."""
        del tokens
        check_vectors(q, "q", dimension=self.dimension, heads=self.heads)
        check_vectors(k, "k", dimension=self.dimension, heads=self.heads)
        lags = signed_lags(queries, keys, xp=xp)
        rows = self._rows_of(lags, numbers, xp=xp)
        of_keys, of_queries = (
            xp.matrix_transpose(xp.astype(numbers[name], q.dtype)) for name in self.learnable
        )
        content = xp.matmul(q, xp.matrix_transpose(k))
        to_lags = picked(xp.matmul(q, of_keys), rows, xp=xp)
        from_lags = picked(xp.matmul(k, of_queries), xp.matrix_transpose(rows), xp=xp)
        logits = content + to_lags + xp.matrix_transpose(from_lags)
        return scaled(or_nan_lags(logits, lags, xp=xp), scale / math.sqrt(TERMS))

    def _rows_of(self, lags: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the row of every lag i - j."""
        if self.buckets is None:
            return clipped(lags, -self.largest_lag, self.largest_lag - 1, xp=xp)
        places = clipped(lags, -self.largest_lag, self.largest_lag, xp=xp)
        return take(numbers["rows"], places, xp=xp)
