"""Selective RoPE: rotary encoding in which every token says how far each pair turns.

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
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.content.base import TokenRule, last, read, summing_type, unit
from gnomon.encodings.content.short import convolved
from gnomon.encodings.frequencies import ladder
from gnomon.encodings.rotary.rope import LAYOUTS, turn
from gnomon.encodings.scoring import scaled
from gnomon.encodings.starting import drawn, spread
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace

CARD = Card(
    name="selective-rope",
    family="content",
    kind=("content",),
    formula="pair c turns by w_c sum_(l<=i) (U_h x_l / |x_l| + d_h)_c, w_c = base^(-2c/d)",
    source="movahedi2026",
    level=in_words("L3"),
    relative=True,
    learnable=True,
    causal_only=True,
    reading="one matrix per head reads a token of length 1, as the authors' full-rank projection "
    "does; their low-rank one is the case of a product. They convolve by 4 taps, here by kernel; "
    "their phase gate is left out, which their language models do not use either; the drift of a "
    "clock, there exp of a number, is the number itself, and starts from 0",
    proofs=proved(
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

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why="they turn in pairs")
        checks.real("base", self.base, above=0.0)
        checks.one_of("layout", self.layout, LAYOUTS)
        checks.whole("kernel", self.kernel, least=1)
        self.keep_learned()

    @property
    def card(self) -> Card:
        """Return the card of Selective RoPE."""
        return CARD

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
        rows = drawn(0, shape, self.seed)
        return rows / np.sqrt(np.sum(rows * rows, axis=-1, keepdims=True))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the rates of pairs, and what drives their clocks."""
        rates = ladder(self.dimension, float(self.base), xp=np, dtype=np.float64)
        return {"rates": rates, **self.learned}

    def clocks(self, tokens: Array, keys: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the phase of every pair at every token, (..., heads, m, pairs)."""
        dtype = summing_type(keys, xp=xp)
        steps = read(unit(tokens, dtype=dtype, xp=xp), numbers["clock_weights"], dtype=dtype, xp=xp)
        if self.kernel > 1:
            steps = convolved(steps, numbers["taps"], keys, xp=xp)
        steps = steps + xp.astype(numbers["drift"], dtype)[:, None, :]
        return xp.cumulative_sum(steps, axis=-2) * xp.astype(numbers["rates"], dtype)

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
        """Return the logits of queries and keys, each turned to where its clocks stand."""
        del queries
        self.check_content(q, tokens, self.read_width)
        phases = self.clocks(tokens, keys, numbers, xp=xp)
        cosine, sine = xp.cos(phases), xp.sin(phases)
        count = q.shape[-2]
        ends = (last(part, count, axis=-2) for part in (cosine, sine))
        left = turn(q, *ends, layout=self.layout, xp=xp)
        right = turn(k, cosine, sine, layout=self.layout, xp=xp)
        return scaled(xp.matmul(left, xp.matrix_transpose(right)), scale)
