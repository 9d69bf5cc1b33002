"""Cayley-STRING: rotary encoding in a learned basis, P = (I - S)(I + S)^(-1) with S skew.

    q~ = Rot_i P^T q,  k~ = Rot_j P^T k,   pair k turns by <W_k, i>,

for positions of any number of axes: exactly relative, since turns of the same planes commute, and
up to the frequencies the general form of commuting turns [schenck2025 sec. 3]. S has the numbers
above the diagonal of a learned matrix; at 0, where it starts, P is the identity and the encoding is
rotary encoding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import geometric_frequencies
from gnomon.encodings.generators.based import Based
from gnomon.encodings.generators.bases import cayley, skew_of
from gnomon.encodings.rotary.rope import check_share
from gnomon.encodings.starting import learned, of_each_head
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Namespace
    from gnomon.encodings.base import Numbers

PURPOSE = 23
"""Keeps this stream apart from others of the same seed."""
CARD = Card(
    name="string-cayley",
    family="generator",
    kind=("transform",),
    formula="q~ = Rot_i P^T q, k~ = Rot_j P^T k, P = (I - S)(I + S)^(-1), S skew and learned",
    source="schenck2025",
    level=in_words("L0"),
    relative=True,
    learnable=True,
    extrapolation="no claim",
    onnx=False,
    reading="The outer P of P Rot P^T cancels in logits and is left out. Frequencies are learned, "
    "too: the paper leaves open whether they are.",
    proofs=proved(
        ORACLE,
        (
            "scipy.linalg.expm of P (sum_a x_a W_a J) P^T",
            "encodings/test_encoding_string.py",
            "test_logits_are_those_of_the_exponential_of_commuting_generators",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class CayleyString(Based):
    """Rotary encoding in a learned basis, that starts `spread` away from the usual one."""

    mixes_axes: ClassVar[bool] = True
    heads: int | None = None
    base: float = 10000.0
    spread: float = 0.0
    seed: int = 0
    frequencies: Any = field(default=None, repr=False)
    """Radians per position (pairs, axes), or (heads, pairs, axes); without them a ladder."""
    skew: Any = field(default=None, repr=False)
    """Numbers (d, d) or (heads, d, d), of which those above the diagonal count."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads is not None:
            checks.whole("heads", self.heads, least=1)
        checks.real("base", self.base, above=0.0)
        checks.real("spread", self.spread, least=0.0)
        checks.whole("seed", self.seed, least=0)
        check_share(self.dimension, 1.0, self.axes)
        d, rng = self.dimension, np.random.default_rng([self.seed, PURPOSE])
        ladder = geometric_frequencies(d, float(self.base), self.axes)
        shapes = {
            "frequencies": (ladder, of_each_head(self.heads, d // 2, self.axes)),
            "skew": (
                self.spread * rng.normal(size=of_each_head(self.heads, d, d)),
                of_each_head(self.heads, d, d),
            ),
        }
        for name, (start, shape) in shapes.items():
            object.__setattr__(self, name, learned(name, getattr(self, name), start, shape))

    @property
    def card(self) -> Card:
        """Return the card of Cayley-STRING."""
        return CARD

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return copies of what is learned, which a framework may write into."""
        return {name: np.array(getattr(self, name)) for name in self.learnable}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the frequencies and the numbers of S."""
        return ("frequencies", "skew")

    def basis_in(self, numbers: Numbers, like: Array, *, xp: Namespace) -> Array:
        """Return P of the learned numbers."""
        return cayley(skew_of(xp.astype(numbers["skew"], like.dtype), xp=xp), xp=xp)
