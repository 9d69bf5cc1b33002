r"""ComRoPE: learned skew matrices that commute by construction, so that logits are relative.

    q~ = exp(sum_a i_a A_a) q,  k~ = exp(sum_a j_a A_a) k,  A_a = diag(B_a1, ..., B_am)

of m blocks of size b, in one of two ways [yu2025 sec. 4], as in Longin-Yu/ComRoPE at 7aeef08:

*axis partition* (AP)        B_aj = P_j - P_j^T where j = a modulo the number of axes, else 0
*linearly dependent* (LD)    B_aj = theta_aj (P_j - P_j^T)

In both, block j turns by exp(<theta_j, x> (P_j - P_j^T)): one matrix and one number for each
position, theta_j being a unit vector under AP.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.generators.dense import Dense
from gnomon.encodings.starting import learned, of_each_head
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Namespace
    from gnomon.encodings.base import Numbers

PURPOSE = 31
"""Keeps this stream apart from others of the same seed."""
VARIANTS = ("axis-partition", "linearly-dependent")
CARD = Card(
    name="comrope",
    family="generator",
    kind=("transform",),
    formula="q~ = exp(sum_a i_a A_a) q, k~ = exp(sum_a j_a A_a) k, blocks of A_a commute",
    source="yu2025",
    level=in_words("L0"),
    relative=True,
    learnable=True,
    extrapolation="no claim",
    reading="As in the authors' code: matrices for each head, factors theta for each axis and "
    "block shared by heads, both normal at the start. Their random shifts of positions in "
    "training are no part of the encoding.",
    proofs=proved(
        ORACLE,
        (
            "torch.matrix_exp of the authors' formula",
            "encodings/test_encoding_comrope.py",
            "test_vectors_are_those_of_the_matrix_exponential_of_torch",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComRope(Dense):
    """Exponentials of commuting skew matrices, whose entries start with deviation `spread`."""

    variant: str = "linearly-dependent"
    spread: float = 1.0
    seed: int = 0
    generators: Any = field(default=None, repr=False)
    """Matrices P (blocks, b, b), or (heads, blocks, b, b)."""
    slopes: Any = field(default=None, repr=False)
    """Factors theta (axes, blocks); learned where matrices are linearly dependent."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("variant", self.variant, VARIANTS)
        checks.real("spread", self.spread, above=0.0)
        checks.whole("seed", self.seed, least=0)
        stream = np.random.default_rng([self.seed, PURPOSE])
        shape = of_each_head(self.heads, self.blocks, self.block, self.block)
        start = self.spread * stream.normal(size=shape)
        made = learned("generators", self.generators, start, shape)
        object.__setattr__(self, "generators", made)
        object.__setattr__(self, "slopes", self._slopes(stream))

    def _slopes(self, stream: np.random.Generator) -> NDArray[np.float64]:
        shape = (self.axes, self.blocks)
        if self.variant == "linearly-dependent":
            return learned("slopes", self.slopes, stream.normal(size=shape), shape)
        if self.blocks % self.axes:
            raise EncodingError(
                f"A head has {self.blocks} blocks and positions {self.axes} axes, and an axis "
                "partition deals blocks evenly; pass a dimension or a block that gives a multiple."
            )
        dealt = np.arange(self.blocks) % self.axes == np.arange(self.axes)[:, None]
        fixed = learned("slopes", None, dealt.astype(np.float64), shape)
        if self.slopes is not None and not np.array_equal(self.slopes, fixed):
            raise EncodingError(
                "slopes are given, and under an axis partition they are fixed; leave them out, or "
                "pass variant='linearly-dependent'."
            )
        return fixed

    @property
    def card(self) -> Card:
        """Return the card of ComRoPE."""
        return CARD

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return copies of the matrices and factors, which a framework may write into."""
        return {"generators": np.array(self.generators), "slopes": np.array(self.slopes)}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the matrices, and the factors where they are learned."""
        both = ("generators", "slopes")
        return both if self.variant == "linearly-dependent" else both[:1]

    def parts(self, numbers: Numbers, like: Array, *, xp: Namespace) -> tuple[Array, Array | None]:
        """Return the skew matrix of every block, and its factors."""
        given = xp.astype(numbers["generators"], like.dtype)
        skew = given - xp.matrix_transpose(given)
        return skew, xp.astype(numbers["slopes"], like.dtype)
