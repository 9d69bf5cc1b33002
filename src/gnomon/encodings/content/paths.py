"""Rules in which every token turns or reflects what passes it: products of matrices along the path.

PaTH: every token reflects what passes it, and a logit sees the product along the path.

    logit(i, j) = scale q_i^T H_i H_(i-1) ... H_(j+1) k_j,   H_l = I - b_l w_l w_l^T,
    w_l = W_h x_l / |W_h x_l|,   b_l = 2 sigmoid(<s_h, x_l> + o_h)

[yang2025path sec. 2]. The H_l do not commute, so there is no clock: only the path decides. At b = 1
H_l projects, at b = 2 it reflects. W_h x_l may pass a short convolution and silu first (`kernel`).

No product is formed. Over a chunk of tokens, with L the strictly lower triangle of diag(b) W W^T
and T = (I + L)^-1 (the UT transform [joffrain2006]), the chunk as a whole is I - W^T T diag(b) W,

    logits inside it            tril(Q K^T) - tril(Q W^T) T tril(diag(b) W K^T, -1)
    keys as seen from its end   K - (T tril(diag(b) W K^T, -1))^T W
    queries from its beginning  Q - tril(Q W^T) T diag(b) W,

and queries of later chunks are carried back through it, one chunk at a time: O(n m d) for chunks of
d tokens. Entries of T are at most 2, since no |H_l| is above 1, so this is stable.

Selective RoPE: rotary encoding in which every token says how far each pair turns.

    q~_i = R(w_c t_ic) q_i,  k~_j = R(w_c t_jc) k_j,   t_lc = sum of u_c over tokens up to l,
    u_l = U_h x_l / |x_l| + d_h,   w_c = base^(-2c/r)

so a logit sees w_c (u_(j+1) + ... + u_i)_c: one clock for each pair of each head, read from content
[movahedi2026 sec. 4]. Increments may pass a short convolution first (`kernel` taps). With U = 0 and
drift d = 1 every token advances all clocks by one, and this is rotary encoding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.base import Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.content.base import TokenRule, last, read, sum_type, unit
from gnomon.encodings.content.ordering import convolve
from gnomon.encodings.frequencies import ladder
from gnomon.encodings.rotary.rope import LAYOUTS, turn
from gnomon.encodings.scoring import scale_logits
from gnomon.encodings.starting import normal, spread
from gnomon.numeric import checks
from gnomon.numeric.arrays import device_beside
from gnomon.numeric.elementwise import sigmoid, silu

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.scoring import ContentCall
    from gnomon.numeric.arrays import Array, Coordinates, Namespace

CHUNK = 64
"""Tokens whose reflections are taken together."""


@catalogued(
    Card(
        name="path",
        family="content",
        kind=("content",),
        formula="scale q_i^T H_i ... H_(j+1) k_j, H_l = I - b_l w_l w_l^T, b_l in (0, 2)",
        source="yang2025path",
        level=in_words("L4"),
        relative=True,
        learnable=True,
        causal_only=True,
        onnx=False,
        reading="one matrix per head makes directions; the authors' low-rank one is the case of a "
        "product. They convolve by 3 taps, here by kernel; silu comes with the convolution, as in "
        "their code. Forget gates, which they add in a variant, are those of fox",
        proofs=proofs_of(
            ORACLE,
            (
                "products of matrices, one by one",
                "encodings/test_encoding_path.py",
                "test_logits_are_products_of_reflections_along_the_path",
            ),
        ),
    ),
    examples=(
        {"heads": 2, "dimension": 4},
        {"heads": 2, "dimension": 4, "sigma": 0.5, "kernel": 3, "seed": 1},
    ),
    shown={"heads": 8, "dimension": 64},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Path(TokenRule):
    """Reflections of `heads` heads along directions that tokens name.

    Learned are `directions` (heads, dimension, width), `step_weights` (heads, width), `step_bias`
    (heads,), and with a kernel above 1 its `taps` (heads, dimension, kernel). Weights start from
    N(0, sigma^2), so that b is near 1; taps uniform in (-1, 1) / sqrt(kernel), the bias from 0.
    """

    sigma: float = 0.02
    kernel: int = 1
    directions: Any = field(default=None, repr=False)
    step_weights: Any = field(default=None, repr=False)
    step_bias: Any = field(default=None, repr=False)
    taps: Any = field(default=None, repr=False)

    @property
    def reads_neighbours(self) -> bool:  # type: ignore[override]
        """Whether taps read the tokens before a token."""
        return self.kernel > 1

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.real("sigma", self.sigma, above=0.0)
        checks.whole("kernel", self.kernel, least=1)
        self.keep_learned()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of what makes directions and steps; taps only where there are."""
        known = {
            "directions": (self.heads, self.dimension, self.read_width),
            "step_weights": (self.heads, self.read_width),
            "step_bias": (self.heads,),
        }
        taps = (self.heads, self.dimension, self.kernel)
        return {**known, "taps": taps} if self.kernel > 1 else known

    def started(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return normal weights times sigma, uniform taps, or a bias of 0."""
        if name == "step_bias":
            return np.zeros(shape)
        if name == "taps":
            return spread(2, shape, self.seed) * self.kernel**-0.5
        return self.sigma * normal(("directions", "step_weights").index(name), shape, self.seed)

    def reflections(
        self, tokens: Array, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> tuple[Array, Array]:
        """Return directions w (..., heads, m, d) of length 1 and steps b (..., heads, m, 1)."""
        dtype = sum_type(keys, xp=xp)
        named = read(tokens, numbers["directions"], dtype=dtype, xp=xp)
        if self.kernel > 1:
            named = silu(convolve(named, numbers["taps"], keys, xp=xp), xp=xp)
        bias = xp.astype(numbers["step_bias"], dtype)[:, None]
        steps = read(tokens, numbers["step_weights"], dtype=dtype, xp=xp) + bias
        return unit(named, dtype=dtype, xp=xp), 2.0 * sigmoid(steps, xp=xp)[..., None]

    def content_scores(self, call: ContentCall) -> Array:
        """Return the logits along the path, 0 for keys after their query."""
        self.check_content(call, self.read_width)
        xp = call.xp
        named, steps = self.reflections(call.tokens, call.keys, call.numbers, xp=xp)
        left, right = (xp.astype(x, named.dtype) for x in (call.q, call.k))
        logits = path_logits(left, right, named, steps, xp=xp)
        return scale_logits(xp.astype(logits, call.q.dtype), call.scale)


def path_logits(q: Array, k: Array, named: Array, steps: Array, *, xp: Namespace) -> Array:
    """Return q_i^T H_i ... H_(j+1) k_j (..., n, m), 0 where j > i; queries are the last of m.

    Chunks are walked from the last to the first; queries in a chunk and past it are carried back
    to its beginning.
    """
    q, k, named = _joint(q, k, named, xp=xp)
    count, cached = k.shape[-2], k.shape[-2] - q.shape[-2]
    columns = []
    for start in reversed(range(0, max(count, 1), CHUNK)):
        end = min(start + CHUNK, count)
        first, past = max(start - cached, 0), max(end - cached, 0)  # queries of this chunk
        early, inside, beyond = q[..., :first, :], q[..., first:past, :], q[..., past:, :]
        keys, ways, sizes = (x[..., start:end, :] for x in (k, named, steps))
        met, carry = _solve(keys, ways, sizes, xp=xp)
        ends = xp.matrix_transpose(keys - xp.matmul(xp.matrix_transpose(met), ways))
        seen = _up_to_query(inside, ways, xp=xp)
        local = _up_to_query(inside, keys, xp=xp) - xp.matmul(seen, met)
        rows = [xp.zeros_like(xp.matmul(early, ends)), local, xp.matmul(beyond, ends)]
        columns.append(xp.concat(rows, axis=-2))
        passed = xp.concat([seen, xp.matmul(beyond, xp.matrix_transpose(ways))], axis=-2)
        carried = xp.concat([inside, beyond], axis=-2) - xp.matmul(passed, carry)
        q = xp.concat([early, carried], axis=-2)
    return xp.concat(columns[::-1], axis=-1)


def _joint(q: Array, k: Array, named: Array, *, xp: Namespace) -> tuple[Array, Array, Array]:
    """Return the three with the leading axes of all of them."""
    none = sum(xp.zeros_like(xp.sum(x, axis=-2, keepdims=True)) for x in (q, k, named))
    return q + none, k + none, named + none


def _solve(k: Array, named: Array, steps: Array, *, xp: Namespace) -> tuple[Array, Array]:
    """Return T tril(diag(b) W K^T, -1) and T diag(b) W of one chunk, T = (I + L)^-1."""
    size, weighed = named.shape[-2], steps * named
    eye = xp.eye(size, dtype=named.dtype, device=device_beside(named, xp=xp))
    lower = xp.tril(xp.matmul(weighed, xp.matrix_transpose(named)), k=-1)
    met = xp.tril(xp.matmul(weighed, xp.matrix_transpose(k)), k=-1)
    both = xp.linalg.solve(eye + lower, xp.concat([met, weighed], axis=-1))
    return both[..., :size], both[..., size:]


def _up_to_query(q: Array, x: Array, *, xp: Namespace) -> Array:
    """Return q x^T up to the token of each query; queries are the last of the tokens."""
    return xp.tril(xp.matmul(q, xp.matrix_transpose(x)), k=x.shape[-2] - q.shape[-2])


@catalogued(
    Card(
        name="selective-rope",
        family="content",
        kind=("content",),
        formula="pair c turns by w_c sum_(l<=i) (U_h x_l / |x_l| + d_h)_c, w_c = base^(-2c/d)",
        source="movahedi2026",
        level=in_words("L3"),
        relative=True,
        learnable=True,
        causal_only=True,
        reading=(
            "one matrix per head reads a token of length 1, as the authors' full-rank projection "
            "does; their low-rank one is the case of a product. They convolve by 4 taps, here by "
            "kernel; their phase gate is left out, which their language models do not use either; "
            "the drift of a clock, there exp of a number, is the number itself, and starts from 0"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "the authors' formula, written with complex numbers",
                "encodings/test_encoding_selective.py",
                "test_clocks_are_cumulative_sums_of_what_is_read_from_tokens_of_length_one",
            ),
            (
                "rotary encoding, where clocks tick alike",
                "encodings/test_encoding_selective.py",
                "test_clocks_that_tick_alike_are_rotary_encoding",
            ),
        ),
    ),
    examples=(
        {"heads": 2, "dimension": 4},
        {"heads": 2, "dimension": 4, "layout": "half", "kernel": 3, "base": 100.0},
    ),
    shown={"heads": 8, "dimension": 64},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class SelectiveRope(TokenRule):
    """Rotary encoding on `heads` x dimension/2 clocks that tokens drive.

    Learned are `clock_weights` (heads, pairs, width), `drift` (heads, pairs), and with a kernel
    above 1 its `taps` (heads, pairs, kernel). Weights start from random rows of length 1, taps
    uniform in (-1, 1) / sqrt(kernel), drift from 0.
    """

    base: float = 500000.0
    layout: str = "interleaved"
    kernel: int = 1
    clock_weights: Any = field(default=None, repr=False)
    drift: Any = field(default=None, repr=False)
    taps: Any = field(default=None, repr=False)

    @property
    def reads_neighbours(self) -> bool:  # type: ignore[override]
        """Whether taps read the tokens before a token."""
        return self.kernel > 1

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why="they turn in pairs")
        checks.real("base", self.base, above=0.0)
        checks.one_of("layout", self.layout, LAYOUTS)
        checks.whole("kernel", self.kernel, least=1)
        self.keep_learned()

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of what drives the clocks; taps only where there are."""
        clocks = (self.heads, self.dimension // 2)
        known = {"clock_weights": (*clocks, self.read_width), "drift": clocks}
        return {**known, "taps": (*clocks, self.kernel)} if self.kernel > 1 else known

    def started(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return random rows of length 1, uniform taps, or a drift of 0."""
        if name == "drift":
            return np.zeros(shape)
        if name == "taps":
            return spread(1, shape, self.seed) * self.kernel**-0.5
        rows = normal(0, shape, self.seed)
        return rows / np.sqrt(np.sum(rows * rows, axis=-1, keepdims=True))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the rates of pairs, and what drives their clocks."""
        rates = ladder(self.dimension, float(self.base), xp=np, dtype=np.float64)
        return {"rates": rates, **self.learned}

    def clocks(self, tokens: Array, keys: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the phase of every pair at every token, (..., heads, m, pairs)."""
        dtype = sum_type(keys, xp=xp)
        steps = read(unit(tokens, dtype=dtype, xp=xp), numbers["clock_weights"], dtype=dtype, xp=xp)
        if self.kernel > 1:
            steps = convolve(steps, numbers["taps"], keys, xp=xp)
        steps = steps + xp.astype(numbers["drift"], dtype)[:, None, :]
        return xp.cumulative_sum(steps, axis=-2) * xp.astype(numbers["rates"], dtype)

    def content_scores(self, call: ContentCall) -> Array:
        """Return the logits of queries and keys, each turned to where its clocks stand."""
        self.check_content(call, self.read_width)
        q, k, xp = call.q, call.k, call.xp
        phases = self.clocks(call.tokens, call.keys, call.numbers, xp=xp)
        cosine, sine = xp.cos(phases), xp.sin(phases)
        count = q.shape[-2]
        ends = (last(part, count, axis=-2) for part in (cosine, sine))
        left = turn(q, *ends, layout=self.layout, xp=xp)
        right = turn(k, cosine, sine, layout=self.layout, xp=xp)
        return scale_logits(xp.matmul(left, xp.matrix_transpose(right)), call.scale)
