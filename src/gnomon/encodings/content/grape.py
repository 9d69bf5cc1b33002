"""GRAPE, additive: ALiBi whose slopes are read from the query and the key.

    logit(i, j) = scale q_i.k_j - (i - j) o_h (a(<v_h, q_i>) + a(<u_h, k_j>)),
    a(x) = softplus(x / sqrt d),

for keys up to their query [zhang2025 sec. 4, eq. 4.6]. It is a unipotent group acting on q and k
with two coordinates more, which are fixed functions of content (level L2), so the lag enters
exactly; no slope is negative, so distance never raises a logit. o_h = m_h softplus(r_h), with m_h
the slopes of ALiBi and r_h learned; u_h and v_h count by their direction alone: both as in the
authors' code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.arrays import lags_between
from gnomon.encodings.base import Numbers
from gnomon.encodings.biases.linear import official_slopes
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.content.base import ContentRule, read, summing_type
from gnomon.encodings.scoring import scaled
from gnomon.encodings.starting import drawn
from gnomon.numeric import checks
from gnomon.numeric.activations import softplus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace

GATED = ("both", "queries", "keys")
SHORTEST = 1e-6
"""A way that is shorter counts as if it had this length."""
CARD = Card(
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
    proofs=proved(
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
        checks.one_of("gated", self.gated, GATED)
        checks.whole("seed", self.seed, least=0)
        self.keep_learned()

    @property
    def card(self) -> Card:
        """Return the card of additive GRAPE."""
        return CARD

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
        return self.dimension**-0.5 * drawn(purpose, shape, self.seed)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the slopes of ALiBi, and what is learned."""
        return {"slopes": np.asarray(official_slopes(self.heads)), **self.learned}

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
        """Return scale q.k minus lag times slope."""
        self.check_content(q, tokens, self.dimension)
        dtype = summing_type(queries, xp=xp)
        slopes = 0.0
        if self.gated != "keys":
            slopes = slopes + _gate(q, numbers["query_ways"], dtype=dtype, xp=xp)[..., :, None]
        if self.gated != "queries":
            slopes = slopes + _gate(k, numbers["key_ways"], dtype=dtype, xp=xp)[..., None, :]
        factor = softplus(xp.astype(numbers["factor"], dtype), xp=xp)
        sizes = factor * xp.astype(numbers["slopes"], dtype)
        lags = lags_between(queries, keys, xp=xp)[..., 0]
        logits = scaled(xp.matmul(q, xp.matrix_transpose(k)), scale)
        return logits - xp.astype(lags * sizes[:, None, None] * slopes, logits.dtype)


def _gate(x: Array, ways: Array, *, dtype: Any, xp: Namespace) -> Array:
    """Return softplus(<v, x> / (|v| sqrt d)) for vectors x (..., heads, n, d): (..., heads, n)."""
    wide = xp.astype(ways, dtype)
    square = xp.sum(wide * wide, axis=-1)
    # chosen before the root, whose slope at 0 is not finite
    length = xp.sqrt(xp.where(square > SHORTEST**2, square, SHORTEST**2))
    seen = read(x, wide, dtype=dtype, xp=xp) / length[:, None]
    return softplus(seen * x.shape[-1] ** -0.5, xp=xp)
