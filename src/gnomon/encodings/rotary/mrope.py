"""M-RoPE: one ladder of frequencies, each of its pairs turned by one of several position axes.

    w_k = base^(-2k/r),  R_x turns pair k by x_a(k) w_k,  x = (t, h, w) time, height and width:

text has t = h = w, and is turned as by plain rotary encoding. Unlike axial encoding there is one
ladder for all axes, and *sections* say how many pairs each axis has. Which pairs they are is the
*arrangement*:

* chunked: the first section turns by t, the next by h, the last by w [wang2024 sec. 2.1];
* interleaved: t h w t h w ..., until the sections of h and w are spent; the rest, which are the
  slowest, turn by t [bai2025]. Every axis has fast and slow pairs;
* spatial-first: h w h w ..., then all pairs of t, which are the slowest [ernie2025].

Sections are given in the order of the position axes, whatever the arrangement. All three are
commuting turns: one group on each axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.rotary.rope import Rope, Scaled, with_scaling
from gnomon.encodings.rotary.scaling import UNSCALED, Scaling
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Namespace

ARRANGEMENTS = ("chunked", "interleaved", "spatial-first")
AGREEMENT = "agreement/test_transformers_axes.py"
CARD = Card(
    name="m-rope",
    family="rotary",
    kind=("transform",),
    formula="pair k turns by x_a(k) w_k, w_k = base^(-2k/r), a(k) the axis of pair k",
    source="wang2024",
    level=in_words("L0"),
    relative=True,
    extrapolation="longer sequences, by its authors, since pictures use up fewer positions",
    proofs=proved(
        ORACLE,
        ("transformers' Qwen2-VL", AGREEMENT, "test_chunked_sections_turn_as_in_qwen2_vl"),
        ("transformers' Qwen3-VL", AGREEMENT, "test_interleaved_sections_turn_as_in_qwen3_vl"),
        ("transformers' Ernie-4.5-VL", AGREEMENT, "test_spatial_first_turns_as_in_ernie_4_5_vl"),
        (
            "plain rotary encoding, on text",
            "encodings/test_encoding_mrope.py",
            "test_text_is_turned_as_by_plain_rotary_encoding",
        ),
    ),
)


def axes_of_pairs(sections: tuple[int, ...], arrangement: str) -> NDArray[np.int64]:
    """Return the position axis that turns each pair.

    >>> axes_of_pairs((2, 1, 1), "chunked"), axes_of_pairs((2, 1, 1), "interleaved")
    (array([0, 0, 1, 2]), array([0, 1, 2, 0]))
    """
    axes, pairs = len(sections), sum(sections)
    if arrangement == "chunked":
        return np.repeat(np.arange(axes), sections)
    if arrangement == "interleaved":
        turns = np.arange(pairs) % axes
        spent = np.arange(pairs) >= axes * np.asarray(sections)[turns]
        return np.where(spent, 0, turns)
    spatial = np.tile(np.arange(1, axes), sections[1])
    return np.concatenate([spatial, np.zeros(sections[0], dtype=np.int64)])


@dataclass(frozen=True, kw_only=True, eq=False)
class MRope(Scaled):
    """Rotary encoding of heads whose pairs are dealt to several position axes by `sections`.

    `fraction` of the head's coordinates turn, with frequencies that a `scaling` may change.

    >>> MRope(dimension=8, sections=(2, 1, 1), base=16.0).frequencies
    array([[1.   , 0.   , 0.   ],
           [0.5  , 0.   , 0.   ],
           [0.   , 0.25 , 0.   ],
           [0.   , 0.   , 0.125]])
    """

    axes: int = 3
    layout: str = "half"
    sections: tuple[int, ...]
    arrangement: str = "chunked"
    base: float = 10000.0
    fraction: float = 1.0
    scaling: Scaling = UNSCALED

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("arrangement", self.arrangement, ARRANGEMENTS)
        object.__setattr__(self, "scaling", self.line.scaling)
        given = np.ravel(np.asarray(self.sections, dtype=object)).tolist()
        for section in given:
            checks.whole("sections", section, least=0)
        object.__setattr__(self, "sections", tuple(int(section) for section in given))
        self._check_sections()

    def _check_sections(self) -> None:
        pairs = self.line.rotated // 2
        if len(self.sections) != self.axes or sum(self.sections) != pairs:
            raise EncodingError(
                f"sections is {list(self.sections)}; pass {self.axes} numbers, one per axis, whose "
                f"sum is {pairs}, the pairs that turn."
            )
        if self.arrangement == "spatial-first" and len(set(self.sections[1:])) > 1:
            raise EncodingError(
                f"sections is {list(self.sections)}; pass equal sections of all axes but the first "
                "for the arrangement 'spatial-first'."
            )
        dealt = np.bincount(axes_of_pairs(self.sections, self.arrangement), minlength=self.axes)
        if dealt.tolist() != list(self.sections):
            raise EncodingError(
                f"sections is {list(self.sections)}; interleaved pairs would be dealt as "
                f"{dealt.tolist()}, so pass a first section that is no smaller than the others."
            )

    @property
    def line(self) -> Rope:
        """Return plain rotary encoding with this ladder: what text is turned by."""
        return Rope(
            dimension=self.dimension,
            layout=self.layout,
            base=self.base,
            fraction=self.fraction,
            scaling=self.scaling,
        )

    @property
    def card(self) -> Card:
        """Return the card of M-RoPE, with what the scaling says of itself."""
        return with_scaling(CARD, self.scaling)

    def frequencies_in(self, *, xp: Namespace, dtype: Any) -> Array:
        """Return the frequencies, (pairs, axes): each row has one entry that is not 0."""
        ladder = self.line.frequencies_in(xp=xp, dtype=dtype)
        chosen = axes_of_pairs(self.sections, self.arrangement)[:, None] == np.arange(self.axes)
        return xp.where(xp.asarray(chosen), ladder, xp.zeros_like(ladder))
