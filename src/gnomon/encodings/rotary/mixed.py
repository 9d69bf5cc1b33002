"""Mixed rotary encoding: every pair of every head turns by a learned combination of all axes.

    R_x turns pair k of head h by <W_hk, x>,  W of shape (heads, pairs, axes) learned.

Axial encoding is the case where each W_hk has one entry that is not 0, and can not tell a diagonal
from a sum of two axes. Turns of the same plane commute, so scores depend on the lag alone: this is
the general form of commuting turns in fixed planes [heo2024 sec. 3.2].

At the start each head has one random rotation of space, whose rows are its directions, and each
direction has its own ladder of lengths base^(-2j/r), r = dimension / axes, base 10: in the plane
one random angle per head, as in the published code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import ladder
from gnomon.encodings.rotary.rope import Rotating, check_share
from gnomon.encodings.starting import learned
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

PURPOSE = 17
"""Keeps this stream apart from others of the same seed."""
CARD = Card(
    name="rope-mixed",
    family="rotary",
    kind=("transform",),
    formula="pair k of head h turns by <W_hk, x>, W (heads, pairs, axes) learned",
    source="heo2024",
    level=in_words("L0"),
    relative=True,
    learnable=True,
    extrapolation="larger pictures than trained on, by its authors",
    proofs=proved(
        ORACLE,
        (
            "complex multiplication",
            "encodings/test_encoding_mixed.py",
            "test_heads_turn_by_the_complex_numbers_of_their_own_frequencies",
        ),
        (
            "axial rotary encoding",
            "encodings/test_encoding_mixed.py",
            "test_axial_frequencies_give_axial_rotary_encoding",
        ),
    ),
)


def random_rotations(count: int, axes: int, seed: int) -> NDArray[np.float64]:
    """Return uniform random rotations, shape (count, axes, axes), determinants 1 [mezzadri2007].

    >>> random_rotations(2, 1, 0).ravel()
    array([1., 1.])
    """
    normal = np.random.default_rng([seed, PURPOSE]).normal(size=(count, axes, axes))
    rotations, triangles = np.linalg.qr(normal)
    rotations = rotations * np.sign(np.diagonal(triangles, axis1=-2, axis2=-1))[:, None, :]
    rotations[..., -1] *= np.linalg.det(rotations)[:, None]
    return np.asarray(rotations)


def starting_frequencies(
    dimension: int, heads: int, axes: int, *, base: float, seed: int
) -> NDArray[np.float64]:
    """Return frequencies (heads, pairs, axes): a ladder of lengths along each direction of a head.

    >>> starting_frequencies(4, 1, 1, base=100.0, seed=0).ravel()
    array([1. , 0.1])
    """
    lengths = ladder(dimension // axes, base, xp=np, dtype=np.float64)
    directions = np.swapaxes(random_rotations(heads, axes, seed), -1, -2)
    return (directions[:, :, None, :] * lengths[:, None]).reshape(heads, -1, axes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixed(Rotating):
    """Rotary encoding with learned frequencies for each of `heads` heads, on any axes."""

    mixes_axes: ClassVar[bool] = True
    axes: int = 2
    heads: int
    base: float = 10.0
    seed: int = 0
    frequencies: Any = field(default=None, repr=False)
    """Frequencies (heads, pairs, axes); without them the starting ones of the seed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("heads", self.heads, least=1)
        checks.whole("seed", self.seed, least=0)
        checks.real("base", self.base, above=0.0)
        share = check_share(self.dimension, 1.0, self.axes)
        shape = (self.heads, share * self.axes // 2, self.axes)
        start = starting_frequencies(
            self.dimension, self.heads, self.axes, base=float(self.base), seed=self.seed
        )
        made = learned("frequencies", self.frequencies, start, shape)
        object.__setattr__(self, "frequencies", made)

    @property
    def card(self) -> Card:
        """Return the card of mixed rotary encoding."""
        return CARD

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return a copy of the frequencies, which a framework may write into."""
        return {"frequencies": np.array(self.frequencies)}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the frequencies."""
        return ("frequencies",)
