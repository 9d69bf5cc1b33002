"""Logits in which queries and keys meet vectors of their lag, with no vector for every pair.

Products with a table come first, and rows are picked after:

    S = x T^T  (n, rows),   logits[i, j] = S[i, row(i - j)]  (n, m),

since x_i . T[row] depends on (i, j) through the row alone: O(n rows d + n m) operations and O(n
rows + n m) memory, where vectors for all pairs would take O(n m d) of both. What attention weights
add to values goes the other way: weights are summed by row, then multiplied by the table [shaw2018
sec. 3.3 needs a vector for each pair of one sequence; this does not]. A lag that is no whole number
has the row of the whole lag next to it towards 0, as T5's buckets do. Learned entries start from
N(0, sigma^2), a function of seed, purpose and row alone (`gnomon.encodings.starting`), so that one
table starts apart from another of the same seed.

*shaw* [shaw2018 sec. 3.1-3.2]: a learned vector for each clipped lag, added to keys and to values.

    logit(i, j) = scale q_i . (k_j + a_(j-i)),    a_t = row clip(t, -K, K') of a learned table,
    z_i = sum_j w_ij (v_j + b_(j-i)),             b_t the same of a second table,

w the attention weights. The tables are shared by heads. Row 0 is that of keys K or more before
their query, the last row that of keys K' or more after it; the paper has K' = K, speech models
fewer after.

*wavelet* [oka2025]: Shaw's form with fixed vectors, one Ricker wavelet for each coordinate.

    logit(i, j) = scale q_i . (k_j + p_(i-j)),   p_t[c] = psi((t - b_c) / a_c),
    psi(x) = (1 - x^2) e^(-x^2 / 2),

with a = 2^0, 2^1, ..., 2^(S-1) and b = 0, 1, ..., d/S - 1, every scale with every shift: coordinate
c has scale number c // (d/S) and shift c mod d/S. Nothing is learned, and the lag is any real
number. A wavelet has no finite rank in (i, j), so coordinates are added one by one: O(n m) memory.
Where positions can be seen and are whole, every lag is computed once and rows are picked.

*transformer-xl* [dai2019 sec. 3.3]: queries meet keys and a sinusoid of the lag, each with a
learned constant.

    logit(i, j) = scale [ (q_i + u) . k_j + (q_i + v) . W r_(i-j) ],
    r_t = (sin w_1 t, ..., sin w_p t, cos w_1 t, ..., cos w_p t),  w_k = base^(-(k-1)/p),

u, v (heads, d) and W (heads, d, 2p) learned, 2p the dimension of the model. The sinusoid of a lag
comes apart at its two ends. With s = W^T (q_i + v) = (a, b),

    s . r_(i-j) = (a sin wi + b cos wi) . cos wj + (b sin wi - a cos wi) . sin wj,

so the second term is a product of 2p further coordinates of the query with 2p of the key: the
published shift of a table of lags is not needed, and positions may be any real numbers, packed or
cached. Extra coordinates are turned, nothing else: a group acts on the augmented vectors. Memory is
O((n + m) 2p + n m) for each head.

*deberta* [he2021 sec. 3.1], disentangled attention: content and lag each meet the other, in three
products.

    logit(i, j) = scale / sqrt(3) [ q_i . k_j + q_i . A_row(i-j) + k_j . B_row(i-j) ],

A and B (heads, 2K, d): the model's table of lags (2K, d_model), projected for keys and for queries
by each layer. Attention passes scale = 1 / sqrt(d), so that logits are divided by sqrt(3 d) as
published: the 3 belongs to the encoding, one for each product. Rows of version 1: row(t) = clip(t,
-K, K - 1) + K. Rows of version 2 (`buckets` = K rows for each side, the first h = K // 2 lags with
a row each, and L = `largest_lag`), as the authors' code has it:

    row(t) = K + sign(t) b(|t|), within 0 ... 2K - 1,   b(t) = t up to h,
    b(t) = h + ceil( (h - 1) ln(t / h) / ln((L - 1) / h) ) from there on.

b is found in whole numbers and looked up, so that no rounding can move a bound: it is h + s for the
least s with t^(h-1) h^s <= (L - 1)^s h^(h-1).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.frequencies import geometric_frequencies, phases
from gnomon.encodings.scoring import scale_logits
from gnomon.encodings.starting import freeze_given, given_or_starts, normal
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import (
    along,
    check_dimension,
    check_own_heads,
    concrete_or_none,
    device_beside,
    hidden,
    lags_between,
    sums_by_row,
    take,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from gnomon.encodings.scoring import ContentCall
    from gnomon.numeric.arrays import Array, Coordinates, Namespace

_SIGMA = 0.02
"""The usual standard deviation at the start, that of BERT and of Transformer-XL."""

_SHAW_PURPOSES = {"table": 1, "value_table": 2}
"""Keep the starts of the two tables apart."""


@catalogued(
    Card(
        name="shaw",
        family="relative",
        kind=("content",),
        formula="logit = scale q_i.(k_j + a_clip(j-i, -K, K)), a a learned table",
        source="shaw2018",
        level=in_words("L5"),
        relative=True,
        learnable=True,
        extrapolation=(
            "all lags past the largest share one vector; the authors expect that to carry over to "
            "lengths not trained on"
        ),
        reading=(
            "vectors are added to keys, and to values only where with_values asks for them: the "
            "authors define both and find no loss without those of values; a lag that is no whole "
            "number has the vector of the whole lag next to it towards 0"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "transformers, Wav2Vec2-BERT (relative_key)",
                "agreement/test_transformers_relative.py",
                "test_shaw_scores_are_those_of_wav2vec2_bert",
            ),
        ),
    ),
    examples=(
        {"dimension": 8},
        {
            "dimension": 8,
            "largest_lag": 4,
            "largest_lag_after": 2,
            "with_values": True,
            "sigma": 1.0,
            "seed": 1,
        },
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
    sigma: float = _SIGMA
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
        for name in _SHAW_PURPOSES:
            freeze_given(self, name, (self.rows, self.dimension))

    @property
    def card(self) -> Card:
        """Return the card; with values its formula says so."""
        if not self.with_values:
            return self.own_card
        formula = f"{self.own_card.formula}; values are v_j + b_clip(j-i, -K, K)"
        return dataclasses.replace(self.own_card, formula=formula)

    @property
    def after(self) -> int:
        """Return the largest lag of keys after their query that has a row."""
        return self.largest_lag if self.largest_lag_after is None else self.largest_lag_after

    @property
    def rows(self) -> int:
        """Return the number of rows of a table."""
        return self.largest_lag + self.after + 1

    @cached_property
    def _parameter_arrays(self) -> dict[str, NDArray[np.float64]]:
        shapes = dict.fromkeys(self.learnable, (self.rows, self.dimension))
        return given_or_starts(self, _normal_numbers(self, shapes, _SHAW_PURPOSES))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the table of keys, and that of values where there is one."""
        return dict(self._parameter_arrays)

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the tables."""
        return ("table", "value_table") if self.with_values else ("table",)

    def content_scores(self, call: ContentCall) -> Array:
        """Return the logits (..., n, m)."""
        _check_vectors(call, dimension=self.dimension)
        q, xp, lags = call.q, call.xp, _lags(call.queries, call.keys, xp=call.xp)
        table = xp.astype(call.numbers["table"], q.dtype)
        by_lag = xp.matmul(q, xp.matrix_transpose(table))
        found = _pick(by_lag, self._rows_of(lags, xp=xp), xp=xp)
        logits = call.products() + found
        return scale_logits(_or_nan_lags(logits, lags, xp=xp), call.scale)

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
        rows = self._rows_of(_lags(queries, keys, xp=xp), xp=xp)
        sums = sums_by_row(weights, rows, self.rows, xp=xp)
        return xp.matmul(sums, xp.astype(numbers["value_table"], weights.dtype))

    def _rows_of(self, lags: Array, *, xp: Namespace) -> Array:
        """Return the row of every lag i - j: that of j - i in the paper's order."""
        return _clip(-lags, -self.largest_lag, self.after, xp=xp)


def ricker(x: Array, *, xp: Namespace) -> Array:
    """Return (1 - x^2) e^(-x^2/2): minus the second derivative of the Gaussian e^(-x^2/2)."""
    square = x * x
    return (1.0 - square) * xp.exp(-0.5 * square)


@catalogued(
    Card(
        name="wavelet",
        family="relative",
        kind=("content",),
        formula=(
            "logit = scale q_i.(k_j + p_(i-j)), p_t[c] = (1 - x^2) e^(-x^2/2), x = (t - b_c)/a_c"
        ),
        source="oka2025",
        level=in_words("L5"),
        relative=True,
        extrapolation=(
            "positions past the trained length, without a limit on attention, by its authors"
        ),
        reading=(
            "the lag is i - j, query minus key, so that shifts lie among keys before their query; "
            "every wavelet has height 1 (no factor 1/sqrt a), since the projection of queries "
            "stands before it; scales are 2^0 ... 2^(S-1), each with shifts 0 ... d/S - 1, S = 8 "
            "unless given; no code of the authors is known, so none was compared"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "the second derivative of a Gaussian, by SciPy",
                "encodings/test_encoding_wavelet.py",
                "test_wavelets_are_second_derivatives_of_gaussians",
            ),
        ),
    ),
    examples=({"dimension": 8, "scales": 4},),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Wavelet(Encoding):
    """Ricker wavelets of `scales` scales; `dimension` is a multiple of their number."""

    kinds: ClassVar[tuple[str, ...]] = ("content",)
    on_grids: ClassVar[bool] = False
    dimension: int
    scales: int = 8

    def __post_init__(self) -> None:
        checks.one_axis("wavelet", self.axes)
        checks.whole("scales", self.scales, least=1)
        why = "every scale with as many shifts"
        checks.whole("dimension", self.dimension, least=1, multiple_of=self.scales, why=why)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the scale and the shift of every coordinate."""
        shifts = self.dimension // self.scales
        scale, shift = np.divmod(np.arange(self.dimension), shifts)
        return {"scale": np.exp2(scale), "shift": shift.astype(np.float64)}

    def content_scores(self, call: ContentCall) -> Array:
        """Return the logits (..., n, m)."""
        _check_vectors(call, dimension=self.dimension)
        q, numbers, scale, xp = call.q, call.numbers, call.scale, call.xp
        lags = _lags(call.queries, call.keys, xp=xp)
        content, span = call.products(), _whole_span(call.queries, call.keys)
        if span is None:
            return scale_logits(_one_by_one(q, lags, content, numbers, xp=xp), scale)
        known = xp.arange(span[0], span[1] + 1, dtype=lags.dtype, device=device_beside(q, xp=xp))
        table = ricker((known[:, None] - numbers["shift"]) / numbers["scale"], xp=xp)
        by_lag = xp.matmul(q, xp.matrix_transpose(xp.astype(table, q.dtype)))
        return scale_logits(content + _pick(by_lag, _clip(lags, *span, xp=xp), xp=xp), scale)


def _one_by_one(q: Array, lags: Array, logits: Array, numbers: Numbers, *, xp: Namespace) -> Array:
    """Return logits with the wavelet of every coordinate added in turn."""
    for c in range(q.shape[-1]):
        wave = ricker((lags - numbers["shift"][c]) / numbers["scale"][c], xp=xp)
        logits = logits + q[..., c, None] * xp.astype(wave, q.dtype)
    return logits


_XL_PURPOSES = {"content_bias": 3, "position_bias": 4, "projection": 5}
"""Keep the starts of u, v and W apart."""


@catalogued(
    Card(
        name="transformer-xl",
        family="relative",
        kind=("content",),
        formula="logit = scale [(q_i + u).k_j + (q_i + v).W r_(i-j)], r the sinusoid of the lag",
        source="dai2019",
        level=in_words("L1"),
        relative=True,
        learnable=True,
        extrapolation="attention longer at evaluation than in training, by its authors",
        reading=(
            "sines stand before cosines in r, as in the published code; sines of keys after their "
            "query are those of negative lags, as in XLNet"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "transformers, XLNet",
                "agreement/test_transformers_relative.py",
                "test_transformer_xl_scores_are_those_of_xlnet",
            ),
            (
                "transformers, Wav2Vec2-Conformer",
                "agreement/test_transformers_relative.py",
                "test_transformer_xl_scores_are_those_of_wav2vec2_conformer",
            ),
        ),
    ),
    examples=(
        {"dimension": 8, "heads": 2},
        {"dimension": 8, "heads": 3, "model_dimension": 6, "base": 100.0, "sigma": 0.3},
    ),
    shown={"heads": 8},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class TransformerXL(Encoding):
    """Sinusoids of lags with `model_dimension` coordinates; by default heads times dimension.

    Learned: `content_bias` u and `position_bias` v (heads, dimension), `projection` W (heads,
    dimension, model_dimension).
    """

    kinds: ClassVar[tuple[str, ...]] = ("content",)
    on_grids: ClassVar[bool] = False
    dimension: int
    heads: int
    model_dimension: int | None = None
    base: float = 10000.0
    sigma: float = _SIGMA
    seed: int = 0
    content_bias: Any = field(default=None, repr=False)
    position_bias: Any = field(default=None, repr=False)
    projection: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("transformer-xl", self.axes)
        checks.whole("dimension", self.dimension, least=1)
        checks.whole("heads", self.heads, least=1)
        why = "a sine and a cosine for each frequency"
        checks.whole("model_dimension", self._sinusoid, least=2, multiple_of=2, why=why)
        checks.real("base", self.base, above=0.0)
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)
        for name, shape in self._shapes.items():
            freeze_given(self, name, shape)

    @property
    def _sinusoid(self) -> int:
        """Return the number of coordinates of the sinusoid."""
        known = self.model_dimension
        return self.heads * self.dimension if known is None else known

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        each = (self.heads, self.dimension)
        return {
            "content_bias": each,
            "position_bias": each,
            "projection": (*each, self._sinusoid),
        }

    @cached_property
    def _parameter_arrays(self) -> dict[str, NDArray[np.float64]]:
        return given_or_starts(self, _normal_numbers(self, self._shapes, _XL_PURPOSES))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return u, v and W, and the frequencies of the sinusoid."""
        frequencies = geometric_frequencies(self._sinusoid, float(self.base))
        return {**self._parameter_arrays, "frequencies": frequencies}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name u, v and W."""
        return ("content_bias", "position_bias", "projection")

    def content_scores(self, call: ContentCall) -> Array:
        """Return the logits (..., heads, n, m)."""
        _check_vectors(call, dimension=self.dimension, heads=self.heads)
        q, numbers, xp = call.q, call.numbers, call.xp
        u, v, w = (xp.astype(numbers[name], q.dtype) for name in self.learnable)
        met = xp.matmul(q + u[:, None, :], xp.matrix_transpose(call.k))
        seen = xp.matmul(q + v[:, None, :], w)
        frequencies = numbers["frequencies"]
        left = _rotate_query(seen, phases(call.queries, frequencies, xp=xp), xp=xp)
        at_k = phases(call.keys, frequencies, xp=xp)
        right = xp.astype(xp.concat([xp.cos(at_k), xp.sin(at_k)], axis=-1), q.dtype)
        return scale_logits(met + xp.matmul(left, xp.matrix_transpose(right)), call.scale)


def _rotate_query(seen: Array, angles: Array, *, xp: Namespace) -> Array:
    """Return (a sin wi + b cos wi, b sin wi - a cos wi) for (a, b) (..., n, 2p), angles wi.

    In float32 or better, and rounded once to the type of the query.
    """
    pairs = seen.shape[-1] // 2
    wide = xp.result_type(seen.dtype, xp.float32)
    sine, cosine = (xp.astype(part(angles), wide) for part in (xp.sin, xp.cos))
    a, b = (xp.astype(part, wide) for part in (seen[..., :pairs], seen[..., pairs:]))
    made = xp.concat([a * sine + b * cosine, b * sine - a * cosine], axis=-1)
    return xp.astype(made, seen.dtype)


_DEBERTA_PURPOSES = {"key_table": 6, "query_table": 7}
"""Keep the starts of the two tables apart."""
_TERMS = 3
"""Products that are added: content with content, content with lag, lag with content."""


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
            f"weight has shape {linear.shape}, whose rows {heads} heads cannot share evenly; pass "
            "the number of heads of the model."
        )
    made = lags.astype(np.float64) @ linear.astype(np.float64).T
    made = made if bias is None else made + checks.array("bias", bias)
    return np.moveaxis(made.reshape(len(lags), heads, -1), 1, 0)


@catalogued(
    Card(
        name="deberta",
        family="relative",
        kind=("content",),
        formula="logit = scale (q_i.k_j + q_i.A_row(i-j) + k_j.B_row(i-j)) / sqrt 3",
        source="he2021",
        level=in_words("L5"),
        relative=True,
        learnable=True,
        extrapolation="no claim; lags past the last row share it",
        reading=(
            "the tables hold lags already projected by their layer, so that nothing else of the "
            "model is needed; the row of both products is that of i - j, as in the authors' code "
            "and weights, where the paper writes j - i for the second; the factor 1/sqrt 3 is the "
            "encoding's and 1/sqrt d attention's; a lag that is no whole number has the row of the"
            " whole lag next to it towards 0"
        ),
        proofs=proofs_of(
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
    ),
    examples=(
        {"dimension": 8, "heads": 2, "largest_lag": 16},
        {"dimension": 8, "heads": 2, "largest_lag": 40, "buckets": 16, "sigma": 1.0},
    ),
    shown={"heads": 8, "largest_lag": 512},
)
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
    sigma: float = _SIGMA
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
        for name in _DEBERTA_PURPOSES:
            freeze_given(self, name, self._shape)

    @property
    def reach(self) -> int:
        """Return the rows of one side."""
        return self.largest_lag if self.buckets is None else self.buckets

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self.heads, 2 * self.reach, self.dimension)

    @cached_property
    def _parameter_arrays(self) -> dict[str, NDArray[np.float64]]:
        shapes = dict.fromkeys(_DEBERTA_PURPOSES, self._shape)
        return given_or_starts(self, _normal_numbers(self, shapes, _DEBERTA_PURPOSES))

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
        return {**self._parameter_arrays, **rows}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the two tables."""
        return ("key_table", "query_table")

    def content_scores(self, call: ContentCall) -> Array:
        """Return the logits (..., heads, n, m)."""
        _check_vectors(call, dimension=self.dimension, heads=self.heads)
        q, numbers, xp = call.q, call.numbers, call.xp
        lags = _lags(call.queries, call.keys, xp=xp)
        rows = self._rows_of(lags, numbers, xp=xp)
        of_keys, of_queries = (
            xp.matrix_transpose(xp.astype(numbers[name], q.dtype)) for name in self.learnable
        )
        to_lags = _pick(xp.matmul(q, of_keys), rows, xp=xp)
        from_lags = _pick(xp.matmul(call.k, of_queries), xp.matrix_transpose(rows), xp=xp)
        logits = call.products() + to_lags + xp.matrix_transpose(from_lags)
        return scale_logits(_or_nan_lags(logits, lags, xp=xp), call.scale / math.sqrt(_TERMS))

    def _rows_of(self, lags: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the row of every lag i - j."""
        if self.buckets is None:
            return _clip(lags, -self.largest_lag, self.largest_lag - 1, xp=xp)
        places = _clip(lags, -self.largest_lag, self.largest_lag, xp=xp)
        return take(numbers["rows"], places, xp=xp)


def _lags(queries: Coordinates, keys: Coordinates, *, xp: Namespace) -> Array:
    """Return the lags i - j of one axis, shape (..., n, m)."""
    return lags_between(queries, keys, xp=xp)[..., 0]


def _clip(lags: Array, least: int, most: int, *, xp: Namespace) -> Array:
    """Return whole lags from `least` to `most`, counted from 0: others have the nearest of them."""
    kind = xp.int64 if lags.dtype == xp.float64 else xp.int32
    return xp.astype(within(xp.trunc(lags), least, most, xp=xp), kind) - least


def _whole_span(queries: Coordinates, keys: Coordinates) -> tuple[int, int] | None:
    """Return the least and the largest lag where positions are seen to be whole and close by.

    Close by: there are at most four lags for each position, so that a table of lags pays.
    """
    first, second = concrete_or_none(queries), concrete_or_none(keys)
    if first is None or second is None or not first.size or not second.size:
        return None
    if not all(np.array_equal(places, np.rint(places)) for places in (first, second)):
        return None
    least, most = int(first.min() - second.max()), int(first.max() - second.min())
    near = most - least < 4 * (first.shape[-2] + second.shape[-2])
    return (least, most) if near else None


def _pick(scores: Array, rows: Array, *, xp: Namespace) -> Array:
    """Return scores[..., i, rows[..., i, j]] for scores (..., n, rows) and rows (..., n, m)."""
    axes = max(scores.ndim, rows.ndim)
    return along(_raise(scores, axes), _raise(rows, axes), axis=-1, xp=xp)


def _raise(x: Array, axes: int) -> Array:
    """Return an array with leading axes of one entry, so that it has so many."""
    for _ in range(axes - x.ndim):
        x = x[None, ...]
    return x


def _or_nan_lags(logits: Array, lags: Array, *, xp: Namespace) -> Array:
    """Return logits, NaN where a lag is NaN: in compiled code nothing refuses such positions."""
    if isinstance(lags, np.ndarray) or not hidden(lags):
        return logits
    return xp.where(lags == lags, logits, xp.nan)  # noqa: PLR0124 - false for NaN alone


def _normal_numbers(
    encoding: Any, shapes: Mapping[str, tuple[int, ...]], purposes: Mapping[str, int]
) -> dict[str, NDArray[np.float64]]:
    """Return the normal numbers from which training starts, by name."""
    return {
        name: encoding.sigma * normal(purposes[name], shape, encoding.seed)
        for name, shape in shapes.items()
    }


def _check_vectors(call: ContentCall, *, dimension: int, heads: int | None = None) -> None:
    """Refuse queries or keys of another dimension, or of another number of heads; one serves all.

    Without `heads` an encoding does not tell heads apart.
    """
    for x, name in ((call.q, "q"), (call.k, "k")):
        check_dimension(x, name, dimension, does="has", axes=2)
        check_own_heads(x, name, heads, has="numbers", one_for_all=True)
