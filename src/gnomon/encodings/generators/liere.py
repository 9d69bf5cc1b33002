r"""LieRE: a turn by the exponential of learned skew matrices, one for each axis.

    q~ = exp(sum_a i_a A_a) q,  k~ = exp(sum_a j_a A_a) k,  A_a = U_a - U_a^T block-diagonal,

U_a the numbers above the diagonal of a learned matrix, uniform in [0, 2 pi] at the start; positions
lie between 0 and 1 on every axis [ostmeier2024 sec. 4], with the code of
StanfordMIMI/LieRE at b27b41b. On one axis this is a group, and exactly
relative. On several axes exp(X + Y) is not exp(X) exp(Y) unless the matrices commute, which learned
ones do not: logits change when all positions shift. Blocks of two always commute; that case is
mixed rotary encoding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.generators.bases import skew_of
from gnomon.encodings.generators.dense import Dense
from gnomon.encodings.starting import learned, of_each_head
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Namespace
    from gnomon.encodings.base import Numbers

PURPOSE = 29
"""Keeps this stream apart from others of the same seed."""
CARD = Card(
    name="liere",
    family="generator",
    kind=("transform",),
    formula="q~ = exp(sum_a i_a A_a) q, k~ = exp(sum_a j_a A_a) k, A_a skew and learned",
    source="ostmeier2024",
    level=in_words("L0"),
    relative=True,
    learnable=True,
    extrapolation="no claim",
    reading="On several axes matrices do not commute and logits are not relative: level L6 there, "
    "unless blocks have two coordinates. The authors' code takes 1/2 from the upper triangle "
    "before it is made skew, which cancels.",
    proofs=proved(
        ORACLE,
        (
            "torch.matrix_exp of the authors' formula",
            "encodings/test_encoding_liere.py",
            "test_vectors_are_those_of_the_matrix_exponential_of_torch",
        ),
        (
            "scipy.linalg.expm",
            "encodings/test_encoding_liere.py",
            "test_whole_positions_by_doubling_are_those_of_scipy",
        ),
    ),
)
ON_GRIDS = Card(**{**vars(CARD), "level": in_words("L6"), "relative": False})


@dataclass(frozen=True, kw_only=True, eq=False)
class Liere(Dense):
    """Exponentials of learned skew matrices; entries start between 0 and `spread`."""

    spread: float = 2.0 * np.pi
    seed: int = 0
    generators: Any = field(default=None, repr=False)
    """Numbers (axes, blocks, b, b), or with heads first; those above the diagonal count."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.real("spread", self.spread, above=0.0)
        checks.whole("seed", self.seed, least=0)
        shape = of_each_head(self.heads, self.axes, self.blocks, self.block, self.block)
        stream = np.random.default_rng([self.seed, PURPOSE])
        start = self.spread * stream.random(size=shape)
        made = learned("generators", self.generators, start, shape)
        object.__setattr__(self, "generators", made)

    @property
    def commutes(self) -> bool:
        """Whether there is one axis, or blocks of two."""
        return self.axes == 1 or self.block == 2

    @property
    def card(self) -> Card:
        """Return the card of LieRE, which is relative where its matrices commute."""
        return CARD if self.commutes else ON_GRIDS

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return a copy of what is learned, which a framework may write into."""
        return {"generators": np.array(self.generators)}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the numbers of the skew matrices."""
        return ("generators",)

    def parts(self, numbers: Numbers, like: Array, *, xp: Namespace) -> tuple[Array, Array | None]:
        """Return the skew matrix of every axis."""
        return skew_of(xp.astype(numbers["generators"], like.dtype), xp=xp), None
