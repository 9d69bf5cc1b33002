"""Rotary encoding of pixels: frequencies evenly spaced, for positions scaled to [-1, 1].

    w_k = pi (1 + k (m/2 - 1) / (r/2 - 1)),  k = 0 ... r/2 - 1,

from pi, half a turn for each half of the picture, to m pi / 2 with m the *largest frequency*, in
half turns over the picture; r coordinates per axis. Each axis has its own share of the pairs, in
order. The pixels of an axis with n of them stand at -1 + 2 i / (n - 1) (`pixel_positions`), so the
same picture at another resolution is turned alike. A head with one pair per axis turns by pi.

Source: [wang2021], freqs_for="pixel"; after the Fourier features of [jaegle2021 sec. 3.2].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import on_axes
from gnomon.encodings.rotary.grids import grid_of
from gnomon.encodings.rotary.rope import Rotating, check_share
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

AGREEMENT = "agreement/test_rotary_libraries.py"
CARD = Card(
    name="rope-pixel",
    family="rotary",
    kind=("transform",),
    formula="pair k of an axis turns by x w_k, w_k = pi linspace(1, m/2)_k, x in [-1, 1]",
    source="wang2021",
    level=in_words("L0"),
    relative=True,
    extrapolation="no claim; pictures of any size are scaled to [-1, 1]",
    proofs=proved(
        ORACLE,
        (
            "rotary-embedding-torch, freqs_for='pixel'",
            AGREEMENT,
            "test_pixel_frequencies_turn_a_picture_as_rotary_embedding_torch",
        ),
    ),
)


def pixel_positions(*shape: int) -> NDArray[np.float64]:
    """Return the positions of all pixels of a grid, row by row, in [-1, 1]: shape (pixels, axes).

    >>> pixel_positions(2, 3).tolist()[:3]
    [[-1.0, -1.0], [-1.0, 0.0], [-1.0, 1.0]]
    """
    for size in shape:
        checks.whole("the size of a grid", size, least=1)
    return grid_of([np.linspace(-1.0, 1.0, size) for size in shape])


@dataclass(frozen=True, kw_only=True, eq=False)
class Pixel(Rotating):
    """Rotary encoding of heads with evenly spaced frequencies, on any axes.

    >>> (Pixel(dimension=8, axes=1, max_frequency=10).frequencies[:, 0] / np.pi).round(3)
    array([1.   , 2.333, 3.667, 5.   ])
    """

    span: ClassVar[tuple[float, float] | None] = (-1.0, 1.0)
    axes: int = 2
    max_frequency: float = 10.0
    fraction: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.real("max_frequency", self.max_frequency, above=0.0)
        check_share(self.dimension, self.fraction, self.axes)

    @property
    def card(self) -> Card:
        """Return the card of pixel frequencies."""
        return CARD

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per unit, shape (pairs, axes)."""
        pairs = check_share(self.dimension, self.fraction, self.axes) // 2
        return on_axes(np.pi * np.linspace(1.0, self.max_frequency / 2.0, pairs), self.axes)
