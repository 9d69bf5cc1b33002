"""Rotary encoding of image patches by the places of their centres, at any resolution.

    w_k = 2 pi base^(-2k/r),  k = 0 ... r/2 - 1,  r = dimension / axes,  base 100,

on positions in [-1, 1]: patch i of n along an axis has its centre at 2 (i + 1/2) / n - 1
(`patch_centres`). The fastest pair makes two turns over the picture, the slowest little more than
a hundredth of that. Tokens without a place, such as class and register tokens, stand at 0 and are
not turned.

While it is trained the centres of a picture are moved as one (`moved_centres`): shifted by up to
`shift` on each axis, stretched by up to `jitter` on each axis and by up to `rescale` on both.

Source: [simeoni2025 sec. 3.2]; base, order of axes and layout as in its published models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import geometric_frequencies
from gnomon.encodings.rotary.grids import grid_of
from gnomon.encodings.rotary.rope import Rotating, check_share
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

AGREEMENT = "agreement/test_transformers_axes.py"
CARD = Card(
    name="rope-patches",
    family="rotary",
    kind=("transform",),
    formula="pair k of an axis turns by x w_k, w_k = 2 pi base^(-2k/r), x in [-1, 1]",
    source="simeoni2025",
    level=in_words("L0"),
    relative=True,
    extrapolation="other resolutions and aspect ratios, by its authors, trained with moved centres",
    proofs=proved(
        ORACLE,
        ("transformers' DINOv3", AGREEMENT, "test_patches_of_a_picture_turn_as_in_dinov3"),
        ("transformers' DINOv3", AGREEMENT, "test_patch_centres_are_those_of_dinov3"),
    ),
)


def patch_centres(*shape: int) -> NDArray[np.float64]:
    """Return the centres of all patches, row by row, in [-1, 1]: shape (patches, axes).

    >>> patch_centres(1, 2).tolist()
    [[0.0, -0.5], [0.0, 0.5]]
    """
    for size in shape:
        checks.whole("the size of a grid", size, least=1)
    return grid_of([2.0 * ((np.arange(size) + 0.5) / size) - 1.0 for size in shape])


def moved_centres(
    centres: NDArray[np.float64],
    *,
    rng: np.random.Generator,
    shift: float = 0.0,
    jitter: float = 1.0,
    rescale: float = 2.0,
) -> NDArray[np.float64]:
    """Return the centres of one picture as training sees them, moved as one.

    The shift is uniform; the stretches are uniform in their logarithm, between 1/jitter and jitter
    on each axis, and between 1/rescale and rescale on all.
    """
    checks.real("shift", shift, least=0.0)
    checks.real("jitter", jitter, least=1.0)
    checks.real("rescale", rescale, least=1.0)
    axes = centres.shape[-1]
    moved = centres + shift * rng.uniform(-1.0, 1.0, size=axes)
    stretches = jitter ** rng.uniform(-1.0, 1.0, size=axes) * rescale ** rng.uniform(-1.0, 1.0)
    stretched: NDArray[np.float64] = moved * stretches
    return stretched


@dataclass(frozen=True, kw_only=True, eq=False)
class Patches(Rotating):
    """Rotary encoding of the patches of a picture, or of any grid scaled to [-1, 1].

    >>> (Patches(dimension=8).frequencies / (2 * np.pi)).round(3)
    array([[1. , 0. ],
           [0.1, 0. ],
           [0. , 1. ],
           [0. , 0.1]])
    """

    span: ClassVar[tuple[float, float] | None] = (-1.0, 1.0)
    axes: int = 2
    layout: str = "half"
    base: float = 100.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.real("base", self.base, above=0.0)
        check_share(self.dimension, 1.0, self.axes)

    @property
    def card(self) -> Card:
        """Return the card of rotary encoding of patches."""
        return CARD

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per unit, shape (pairs, axes)."""
        ladder = geometric_frequencies(self.dimension, float(self.base), self.axes)
        return 2.0 * np.pi * ladder
