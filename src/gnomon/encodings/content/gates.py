"""Gates read from content that say how far a key is: FoX, additive GRAPE, and CoPE.

*fox* [lin2025 sec. 3]: every token says how much of what came before it is forgotten.

    logit(i, j) = scale q_i.k_j + c_i - c_j,   c_l = sum of ln f over tokens up to l,
    f_l = sigmoid(<w_h, x_l> + b_h)

so that a key has lost f_(j+1) ... f_i on its way to its query. It is ALiBi on a clock that content
drives: a constant gate gives the slope -ln f for each token. Gates start from N(0, sigma^2) with
bias 0, as the authors train them; x-transformers, under the name of data-dependent ALiBi, starts
from bias 5, where nearly nothing is forgotten (`start`).

*grape-path* [zhang2025 sec. 5, eq. 5.1-5.3]: each query decides what is forgotten on the way to its
keys.

    logit(i, j) = scale q_i.k_j + sum_(l=j+1..i) m_h ln sigmoid(<p_i, R_l p_l> / r),
    p_l = P_h x_l / rms(P_h x_l),   R_l = exp(l J) turns every pair by l radians

FoX is the case in which the gate does not look at the query. m_h are the slopes of ALiBi. R_l
stands at the token's own position and not at its lag from the query, so a common shift of positions
changes logits: it is relative in its path, not in positions.

*grape-additive* [zhang2025 sec. 4, eq. 4.6]: ALiBi whose slopes are read from the query and the
key.

    logit(i, j) = scale q_i.k_j - (i - j) o_h (a(<v_h, q_i>) + a(<u_h, k_j>)),
    a(x) = softplus(x / sqrt d),

for keys up to their query. It is a unipotent group acting on q and k with two coordinates more,
which are fixed functions of content (level L2), so the lag enters exactly; no slope is negative, so
distance never raises a logit. o_h = m_h softplus(r_h), with m_h the slopes of ALiBi and r_h
learned; u_h and v_h count by their direction alone: both as in the authors' code.

*cope* [golovneva2024 sec. 4]: a position counts the tokens between key and query that the query's
own gates let count.

    logit(i, j) = scale q_i.(k_j + e(p_ij)),   p_ij = sum_(l=j..i) g_il,  at most rows - 1,
    g_il = sigmoid(scale q_i.x_l),   e(p) linear between rows floor(p) and floor(p) + 1 of a table

Gates read keys; given tokens of the same width are read instead: other keys or the values, both of
which the authors try. Gates in (0, 1) may count words, or sentences. Each row of a table costs one
product with q_i, and a position between two rows mixes those products.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.biases.linear import official_slopes
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.content.base import ContentRule, TokenRule, last, read, sum_type
from gnomon.encodings.rotary.rope import tables, turn
from gnomon.encodings.scoring import later_in_order, scale_logits
from gnomon.encodings.starting import normal
from gnomon.numeric import checks
from gnomon.numeric.arrays import along, lags_between, within
from gnomon.numeric.elementwise import log_sigmoid, sigmoid, softplus
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.scoring import ContentCall
    from gnomon.numeric.arrays import Array, Namespace


@catalogued(
    Card(
        name="fox",
        family="content",
        kind=("content",),
        formula="scale q.k + sum_(l=j+1..i) ln sigmoid(<w_h, x_l> + b_h)",
        source="lin2025",
        level=in_words("L3"),
        relative=True,
        learnable=True,
        causal_only=True,
        extrapolation="the authors claim better length extrapolation than that of the Transformer",
        reading=(
            "the gate alone: the authors' rotary encoding, norms and output gate are no part of "
            "it. The bias of gates starts from 0, as in their code; x-transformers starts from 5"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "x-transformers, data-dependent ALiBi",
                "agreement/test_content_peers.py",
                "test_forgetting_equals_the_data_dependent_alibi_of_x_transformers",
            ),
            (
                "ALiBi, where gates are constant",
                "encodings/test_encoding_fox.py",
                "test_constant_gates_are_alibi",
            ),
        ),
    ),
    examples=({"heads": 2, "dimension": 4, "sigma": 0.5},),
    shown={"heads": 8, "dimension": 64},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Fox(TokenRule):
    """Forget gates of `heads` heads; `gate_weights` (heads, width) and `gate_bias` are learned."""

    sigma: float = 0.02
    start: float = 0.0
    gate_weights: Any = field(default=None, repr=False)
    gate_bias: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.real("sigma", self.sigma, least=0.0)
        checks.real("start", self.start)
        self.keep_learned()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of weights and bias of the gates."""
        return {"gate_weights": (self.heads, self.read_width), "gate_bias": (self.heads,)}

    def started(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return normal weights times sigma, and the bias `start`."""
        if name == "gate_bias":
            return np.full(shape, float(self.start))
        return self.sigma * normal(0, shape, self.seed)

    def content_scores(self, call: ContentCall) -> Array:
        """Return scale q.k + c_i - c_j; c and its differences are float64 where there is."""
        self.check_content(call, self.read_width)
        numbers, dtype, xp = call.numbers, sum_type(call.keys, xp=call.xp), call.xp
        bias = xp.astype(numbers["gate_bias"], dtype)[:, None]
        seen = read(call.tokens, numbers["gate_weights"], dtype=dtype, xp=xp)
        gates = log_sigmoid(seen + bias, xp=xp)
        clock = xp.cumulative_sum(gates, axis=-1)
        passed = last(clock, call.q.shape[-2], axis=-1)[..., :, None] - clock[..., None, :]
        logits = call.scaled_products()
        return logits + xp.astype(passed, logits.dtype)


_NORMED = ("both", "keys")


@catalogued(
    Card(
        name="grape-path",
        family="content",
        kind=("content",),
        formula=(
            "scale q.k + sum_(l=j+1..i) m_h ln sigmoid(<p_i, exp(l J) p_l> / r), p = P_h x / rms"
        ),
        source="zhang2025",
        level=in_words("L6"),
        relative=False,
        learnable=True,
        causal_only=True,
        reading=(
            "both p have mean square 1, as the paper says; the authors' code leaves that of the "
            'query as it is (normed="keys"), and turns the other way, which is P_h with every '
            "second row of a pair negated. Paper and code turn by the position of the token, so "
            "that a common shift of positions is seen"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "the paper's sums, token by token",
                "encodings/test_encoding_grape_additive.py",
                "test_paths_are_summed_as_the_query_sees_them",
            ),
            (
                "FoX, where all queries see alike",
                "encodings/test_encoding_grape_additive.py",
                "test_gates_that_see_nothing_forget_at_an_even_rate",
            ),
        ),
    ),
    examples=({"heads": 2, "dimension": 4, "features": 4},),
    shown={"heads": 8, "dimension": 64},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class GrapePath(TokenRule):
    """Path sums of `heads` heads; `projection` (heads, features, width) is learned.

    It starts from N(0, sigma^2 / width), as the authors' other projections do.
    """

    features: int = 8
    sigma: float = 0.5
    normed: str = "both"
    projection: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("features", self.features, least=2, multiple_of=2, why="they turn in pairs")
        checks.real("sigma", self.sigma, above=0.0)
        checks.one_of("normed", self.normed, _NORMED)
        self.keep_learned()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of the projection."""
        return {"projection": (self.heads, self.features, self.read_width)}

    def started(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return normal numbers times sigma / sqrt(width)."""
        del name
        return self.sigma * self.read_width**-0.5 * normal(0, shape, self.seed)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the projection, the slopes of ALiBi, and frequencies that are all 1."""
        return {
            **self.learned,
            "slopes": np.asarray(official_slopes(self.heads)),
            "frequencies": np.ones((self.features // 2, 1)),
        }

    def content_scores(self, call: ContentCall) -> Array:
        """Return scale q.k plus the sums from the query back to the key, the key left out."""
        self.check_content(call, self.read_width)
        numbers, dtype, xp = call.numbers, sum_type(call.keys, xp=call.xp), call.xp
        plain = read(call.tokens, numbers["projection"], dtype=dtype, xp=xp)
        even = _even(plain, xp=xp)
        cosine, sine = tables(call.keys, numbers["frequencies"], xp=xp)
        along = turn(even, cosine, sine, layout="interleaved", xp=xp)
        from_query = last(even if self.normed == "both" else plain, call.q.shape[-2], axis=-2)
        seen = xp.matmul(from_query, xp.matrix_transpose(along)) * self.features**-1
        gates = log_sigmoid(seen, xp=xp) * xp.astype(numbers["slopes"], dtype)[:, None, None]
        gates = xp.where(later_in_order(gates, xp=xp), xp.zeros_like(gates), gates)
        sums = xp.flip(xp.cumulative_sum(xp.flip(gates, axis=-1), axis=-1), axis=-1)
        # as wide as both: a part of one key would fix sizes that a graph leaves open
        past = xp.concat([sums, xp.zeros_like(sums)], axis=-1)[..., 1 : sums.shape[-1] + 1]
        logits = call.scaled_products()
        return logits + xp.astype(past, logits.dtype)


def _even(x: Array, *, xp: Namespace) -> Array:
    """Return vectors with mean square 1; as in float32, where they are trained, 2^-23 is added."""
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + 2.0**-23)


_GATED = ("both", "queries", "keys")
_SHORTEST = 1e-6
"""A way that is shorter counts as if it had this length."""


@catalogued(
    Card(
        name="grape-additive",
        family="content",
        kind=("content",),
        formula="scale q.k - (i-j) o_h (softplus(<v_h, q>/sqrt d) + softplus(<u_h, k>/sqrt d))",
        source="zhang2025",
        level=in_words("L2"),
        relative=True,
        learnable=True,
        causal_only=True,
        reading="o_h is the slope of ALiBi times a learned factor, and u_h and v_h are divided by "
        "their lengths: the paper leaves both open, the authors' code does so",
        proofs=proofs_of(
            ORACLE,
            (
                "the unipotent group of the paper",
                "encodings/test_encoding_grape_additive.py",
                "test_slopes_are_those_of_a_unipotent_group_on_two_more_coordinates",
            ),
            (
                "ALiBi, where slopes are constant",
                "encodings/test_encoding_grape_additive.py",
                "test_vectors_that_see_nothing_leave_alibi",
            ),
        ),
    ),
    examples=({"heads": 2, "dimension": 4},),
    shown={"heads": 8, "dimension": 64},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class GrapeAdditive(ContentRule):
    """Slopes of `heads` heads from queries, keys, or both (`gated`).

    Learned are `factor` (heads,), `query_ways` and `key_ways` (heads, dimension), as far as they
    are used. The factor starts from 1 after its softplus, ways from N(0, 1/dimension).
    """

    reads_tokens: ClassVar[bool] = False
    gated: str = "both"
    seed: int = 0
    factor: Any = field(default=None, repr=False)
    query_ways: Any = field(default=None, repr=False)
    key_ways: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("gated", self.gated, _GATED)
        checks.whole("seed", self.seed, least=0)
        self.keep_learned()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of the factor, and of the ways that are used."""
        sides = {"both": ("query_ways", "key_ways"), "queries": ("query_ways",)}
        used = sides.get(self.gated, ("key_ways",))
        return {"factor": (self.heads,), **dict.fromkeys(used, (self.heads, self.dimension))}

    def started(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return a factor that is 1 after its softplus, or normal ways of length about 1."""
        if name == "factor":
            return np.full(shape, np.log(np.expm1(1.0)))
        purpose = ("query_ways", "key_ways").index(name)
        return self.dimension**-0.5 * normal(purpose, shape, self.seed)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the slopes of ALiBi, and what is learned."""
        return {"slopes": np.asarray(official_slopes(self.heads)), **self.learned}

    def content_scores(self, call: ContentCall) -> Array:
        """Return scale q.k minus lag times slope."""
        self.check_content(call, self.dimension)
        numbers, dtype, xp = call.numbers, sum_type(call.queries, xp=call.xp), call.xp
        slopes = 0.0
        if self.gated != "keys":
            slopes = slopes + _gate(call.q, numbers["query_ways"], dtype=dtype, xp=xp)[..., :, None]
        if self.gated != "queries":
            slopes = slopes + _gate(call.k, numbers["key_ways"], dtype=dtype, xp=xp)[..., None, :]
        factor = softplus(xp.astype(numbers["factor"], dtype), xp=xp)
        sizes = factor * xp.astype(numbers["slopes"], dtype)
        lags = lags_between(call.queries, call.keys, xp=xp)[..., 0]
        logits = call.scaled_products()
        return logits - xp.astype(lags * sizes[:, None, None] * slopes, logits.dtype)


def _gate(x: Array, ways: Array, *, dtype: Any, xp: Namespace) -> Array:
    """Return softplus(<v, x> / (|v| sqrt d)) for vectors x (..., heads, n, d): (..., heads, n)."""
    wide = xp.astype(ways, dtype)
    square = xp.sum(wide * wide, axis=-1)
    # chosen before the root, whose slope at 0 is not finite
    length = xp.sqrt(xp.where(square > _SHORTEST**2, square, _SHORTEST**2))
    seen = read(x, wide, dtype=dtype, xp=xp) / length[:, None]
    return softplus(seen * x.shape[-1] ** -0.5, xp=xp)


@catalogued(
    Card(
        name="cope",
        family="content",
        kind=("content",),
        formula="scale q.(k + e(p_ij)), p_ij = sum_(l=j..i) sigmoid(scale q_i.k_l)",
        source="golovneva2024",
        level=in_words("L7"),
        relative=True,
        learnable=True,
        causal_only=True,
        reading=(
            "scale divides gates and rows alike, as in the authors' code; x-transformers adds q.e "
            "unscaled, which is the table divided by scale. Rows are shared by all heads, and "
            "start from 0"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "x-transformers",
                "agreement/test_content_peers.py",
                "test_counted_positions_equal_those_of_x_transformers",
            ),
        ),
    ),
    examples=({"heads": 2, "dimension": 4, "rows": 3, "sigma": 0.5},),
    shown={"heads": 8, "dimension": 64},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Cope(ContentRule):
    """Counted positions up to `rows` - 1; `table` (rows, dimension) is learned, from N(0, sigma^2).

    The published start is sigma = 0.
    """

    in_order: ClassVar[bool] = True
    rows: int = 64
    sigma: float = 0.0
    seed: int = 0
    table: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("rows", self.rows, least=2)
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)
        self.keep_learned()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of the table."""
        return {"table": (self.rows, self.dimension)}

    def started(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return normal rows times sigma."""
        del name
        return self.sigma * normal(0, shape, self.seed)

    def content_scores(self, call: ContentCall) -> Array:
        """Return scale q.(k + e(p)); tokens after their query do not count."""
        self.check_content(call, self.dimension)
        q, scale, xp = call.q, call.scale, call.xp
        seen = scale_logits(xp.matmul(q, xp.matrix_transpose(call.tokens)), scale)
        counts = sigmoid(seen, xp=xp)
        counts = xp.where(later_in_order(counts, xp=xp), xp.zeros_like(counts), counts)
        places = xp.flip(xp.cumulative_sum(xp.flip(counts, axis=-1), axis=-1), axis=-1)
        places = within(places, 0, self.rows - 1, xp=xp)
        by_row = xp.matmul(q, xp.matrix_transpose(xp.astype(call.numbers["table"], q.dtype)))
        whole = xp.int32 if isinstance(call.keys, Limbs) else xp.int64
        logits = call.products() + _between_rows(by_row, places, whole=whole, xp=xp)
        return scale_logits(logits, scale)


def _between_rows(by_row: Array, places: Array, *, whole: Any, xp: Namespace) -> Array:
    """Return the entries of by_row (..., n, rows) at places (..., n, m), linear between rows.

    Row numbers have the type `whole`: PyTorch takes int64 alone, JAX may have int32 alone.
    """
    below = within(xp.floor(places), 0, by_row.shape[-1] - 2, xp=xp)
    share = places - below
    index = xp.astype(below, whole)
    low = along(by_row, index, axis=-1, xp=xp)
    high = along(by_row, index + 1, axis=-1, xp=xp)
    return low + share * (high - low)
