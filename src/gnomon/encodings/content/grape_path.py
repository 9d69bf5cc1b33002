"""GRAPE, additive along the path: each query decides what is forgotten on the way to its keys.

    logit(i, j) = scale q_i.k_j + sum_(l=j+1..i) m_h ln sigmoid(<p_i, R_l p_l> / r),
    p_l = P_h x_l / rms(P_h x_l),   R_l = exp(l J) turns every pair by l radians

[zhang2025 sec. 5, eq. 5.1-5.3]. FoX is the case in which the gate does not look at the query.
m_h are the slopes of ALiBi. R_l stands at the token's own position and not at its lag from the
query, so a common shift of positions changes logits: it is relative in its path, not in positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.base import Numbers
from gnomon.encodings.biases.linear import official_slopes
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.content.base import TokenRule, last, read, summing_type
from gnomon.encodings.rotary.rope import tables, turn
from gnomon.encodings.scoring import later_in_order, scaled
from gnomon.encodings.starting import drawn
from gnomon.numeric import checks
from gnomon.numeric.activations import log_sigmoid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace

NORMED = ("both", "keys")
CARD = Card(
    name="grape-path",
    family="content",
    kind=("content",),
    formula="scale q.k + sum_(l=j+1..i) m_h ln sigmoid(<p_i, exp(l J) p_l> / r), p = P_h x / rms",
    source="zhang2025",
    level=in_words("L6"),
    relative=False,
    learnable=True,
    causal_only=True,
    reading="both p have mean square 1, as the paper says; the authors' code leaves that of the "
    'query as it is (normed="keys"), and turns the other way, which is P_h with every second '
    "row of a pair negated. Paper and code turn by the position of the token, so that a common "
    "shift of positions is seen",
    proofs=proved(
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
        checks.one_of("normed", self.normed, NORMED)
        self.keep_learned()

    @property
    def card(self) -> Card:
        """Return the card of GRAPE along the path."""
        return CARD

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of the projection."""
        return {"projection": (self.heads, self.features, self.read_width)}

    def started(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return normal numbers times sigma / sqrt(width)."""
        del name
        return self.sigma * self.read_width**-0.5 * drawn(0, shape, self.seed)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the projection, the slopes of ALiBi, and frequencies that are all 1."""
        return {
            **self.learned,
            "slopes": np.asarray(official_slopes(self.heads)),
            "frequencies": np.ones((self.features // 2, 1)),
        }

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
        """Return scale q.k plus the sums from the query back to the key, the key left out."""
        del queries
        self.check_content(q, tokens, self.read_width)
        dtype = summing_type(keys, xp=xp)
        plain = read(tokens, numbers["projection"], dtype=dtype, xp=xp)
        even = _even(plain, xp=xp)
        cosine, sine = tables(keys, numbers["frequencies"], xp=xp)
        along = turn(even, cosine, sine, layout="interleaved", xp=xp)
        from_query = last(even if self.normed == "both" else plain, q.shape[-2], axis=-2)
        seen = xp.matmul(from_query, xp.matrix_transpose(along)) * self.features**-1
        gates = log_sigmoid(seen, xp=xp) * xp.astype(numbers["slopes"], dtype)[:, None, None]
        gates = xp.where(later_in_order(gates, xp=xp), xp.zeros_like(gates), gates)
        sums = xp.flip(xp.cumulative_sum(xp.flip(gates, axis=-1), axis=-1), axis=-1)
        # as wide as both: a part of one key would fix sizes that a graph leaves open
        past = xp.concat([sums, xp.zeros_like(sums)], axis=-1)[..., 1 : sums.shape[-1] + 1]
        logits = scaled(xp.matmul(q, xp.matrix_transpose(k)), scale)
        return logits + xp.astype(past, logits.dtype)


def _even(x: Array, *, xp: Namespace) -> Array:
    """Return vectors with mean square 1; as in float32, where they are trained, 2^-23 is added."""
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + 2.0**-23)
