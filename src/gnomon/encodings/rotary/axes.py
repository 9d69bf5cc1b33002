"""Rotary encodings whose positions are no plain count: several axes, pictures, and times.

M-RoPE [wang2024 sec. 2.1]: one ladder w_k = base^(-2k/r), each of its pairs turned by one of
several position axes, R_x turns pair k by x_a(k) w_k, x = (t, h, w) time, height and width. Text
has t = h = w, and is turned as by plain rotary encoding. *Sections*, in the order of the position
axes, say how many pairs each axis has, and the *arrangement* which pairs they are:

* chunked: the first section turns by t, the next by h, the last by w [wang2024 sec. 2.1];
* interleaved: t h w t h w ..., until the sections of h and w are spent; the rest, which are the
  slowest, turn by t [bai2025]. Every axis has fast and slow pairs;
* spatial-first: h w h w ..., then all pairs of t, which are the slowest [ernie2025].

Mixed [heo2024 sec. 3.2]: pair k of head h turns by <W_hk, x>, W (heads, pairs, axes) learned: the
general form of commuting turns in fixed planes. Axial encoding, where each W_hk has one entry that
is not 0, cannot tell a diagonal from a sum of two axes. At the start each head has one random
rotation of space, whose rows are its directions, and each direction its own ladder of lengths
base^(-2j/r), r = dimension / axes, base 10: in the plane one random angle per head, as in the
published code.

Patches [simeoni2025 sec. 3.2]: w_k = 2 pi base^(-2k/r), base 100, on positions in [-1, 1]: patch i
of n along an axis has its centre at 2 (i + 1/2) / n - 1 (`patch_centres`). The fastest pair makes
two turns over the picture, the slowest little more than a hundredth of that. Tokens without a
place, such as class and register tokens, stand at 0 and are not turned. While it is trained the
centres of a picture are moved as one (`move_centres`). Base, order of axes and layout as in its
published models.

Pixel [wang2021], freqs_for="pixel", after the Fourier features of [jaegle2021 sec. 3.2]: w_k = pi
(1 + k (m/2 - 1) / (r/2 - 1)), from half a turn for each half of the picture to m pi / 2, m the
*largest frequency* in half turns over the picture. The pixels of an axis with n of them stand at -1
+ 2 i / (n - 1) (`pixel_positions`), so the same picture at another resolution is turned alike. A
head with one pair per axis turns by pi.

Time [gao2024]: R_t turns pair k by 2 pi t / (P_k unit), P_k = shortest (longest /
shortest)^(k/(m-1)) for m = dimension / 2 pairs, the fastest first; steps of time may be uneven. The
ladder base^(-2k/d) supposes steps of 1. Times have no such step, so the periods are chosen: the
shortest below which nothing is told apart, the longest over which order must still show, say twice
the longest history. Seconds since 1970 need no origin: phases are float64, or limbs where there is
none. With u = 2^-53 a phase errs by 2 u times itself: 2e-6 radians for a period of one second at
1.7e9 seconds, 2e-11 for one of a day.

All turn pairs of coordinates of their own, and such turns commute: one group on each axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.frequencies import UNSCALED, Scaling, geometric_frequencies, ladder, on_axes
from gnomon.encodings.positions import check_spans, spans, unit_of
from gnomon.encodings.rotary.rope import Rope, Rotating, Scaled, check_share, with_scaling
from gnomon.encodings.starting import numbers_or_start
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gnomon.numeric.arrays import Array, Namespace

_ARRANGEMENTS = ("chunked", "interleaved", "spatial-first")
_TRANSFORMERS = "agreement/test_transformers_axes.py"


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


@catalogued(
    Card(
        name="m-rope",
        family="rotary",
        kind=("transform",),
        formula="pair k turns by x_a(k) w_k, w_k = base^(-2k/r), a(k) the axis of pair k",
        source="wang2024",
        level=in_words("L0"),
        relative=True,
        extrapolation="longer sequences, by its authors, since pictures use up fewer positions",
        proofs=proofs_of(
            ORACLE,
            ("transformers' Qwen2-VL", _TRANSFORMERS, "test_chunked_sections_turn_as_in_qwen2_vl"),
            (
                "transformers' Qwen3-VL",
                _TRANSFORMERS,
                "test_interleaved_sections_turn_as_in_qwen3_vl",
            ),
            (
                "transformers' Ernie-4.5-VL",
                _TRANSFORMERS,
                "test_spatial_first_turns_as_in_ernie_4_5_vl",
            ),
            (
                "plain rotary encoding, on text",
                "encodings/test_encoding_mrope.py",
                "test_text_is_turned_as_by_plain_rotary_encoding",
            ),
        ),
    ),
    examples=(
        {"dimension": 16, "sections": (4, 2, 2)},
        {"dimension": 16, "sections": (3, 3, 2), "arrangement": "interleaved", "base": 100.0},
        {"dimension": 16, "sections": (2, 3, 3), "arrangement": "spatial-first"},
        {"dimension": 12, "sections": (2, 1), "axes": 2, "fraction": 0.5},
    ),
    shown={"dimension": 128, "sections": (16, 24, 24)},
)
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
        checks.one_of("arrangement", self.arrangement, _ARRANGEMENTS)
        object.__setattr__(self, "scaling", self.line.scaling)
        given = np.ravel(np.asarray(self.sections, dtype=object)).tolist()
        for section in given:
            checks.whole("sections", section, least=0)
        object.__setattr__(self, "sections", tuple(int(section) for section in given))
        self._check_sections()

    @property
    def pairs_by_axis(self) -> tuple[int, ...]:
        """Return the sections."""
        return self.sections

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
        return with_scaling(self.own_card, self.scaling)

    def frequencies_in(self, *, xp: Namespace, dtype: Any) -> Array:
        """Return the frequencies, (pairs, axes): each row has one entry that is not 0."""
        ladder = self.line.frequencies_in(xp=xp, dtype=dtype)
        chosen = axes_of_pairs(self.sections, self.arrangement)[:, None] == np.arange(self.axes)
        return xp.where(xp.asarray(chosen), ladder, xp.zeros_like(ladder))


_PURPOSE = 17
"""Keeps this stream apart from others of the same seed."""


def random_rotations(count: int, axes: int, seed: int) -> NDArray[np.float64]:
    """Return uniform random rotations, shape (count, axes, axes), determinants 1 [mezzadri2007].

    >>> random_rotations(2, 1, 0).ravel()
    array([1., 1.])
    """
    normal = np.random.default_rng([seed, _PURPOSE]).normal(size=(count, axes, axes))
    rotations, triangles = np.linalg.qr(normal)
    rotations = rotations * np.sign(np.diagonal(triangles, axis1=-2, axis2=-1))[:, None, :]
    rotations[..., -1] *= np.linalg.det(rotations)[:, None]
    return np.asarray(rotations)


def _start_frequencies(
    dimension: int, heads: int, axes: int, *, base: float, seed: int
) -> NDArray[np.float64]:
    """Return frequencies (heads, pairs, axes): a ladder of lengths along each direction of a head.

    >>> _start_frequencies(4, 1, 1, base=100.0, seed=0).ravel()
    array([1. , 0.1])
    """
    lengths = ladder(dimension // axes, base, xp=np, dtype=np.float64)
    directions = np.swapaxes(random_rotations(heads, axes, seed), -1, -2)
    return (directions[:, :, None, :] * lengths[:, None]).reshape(heads, -1, axes)


@catalogued(
    Card(
        name="rope-mixed",
        family="rotary",
        kind=("transform",),
        formula="pair k of head h turns by <W_hk, x>, W (heads, pairs, axes) learned",
        source="heo2024",
        level=in_words("L0"),
        relative=True,
        learnable=True,
        extrapolation="larger pictures than trained on, by its authors",
        proofs=proofs_of(
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
    ),
    examples=({"dimension": 8, "heads": 2}, {"dimension": 12, "heads": 3, "axes": 3}),
)
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
        start = _start_frequencies(
            self.dimension, self.heads, self.axes, base=float(self.base), seed=self.seed
        )
        made = numbers_or_start("frequencies", self.frequencies, start, shape)
        object.__setattr__(self, "frequencies", made)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return a copy of the frequencies, which a framework may write into."""
        return {"frequencies": np.array(self.frequencies)}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the frequencies."""
        return ("frequencies",)


def patch_centres(*shape: int) -> NDArray[np.float64]:
    """Return the centres of all patches, row by row, in [-1, 1]: shape (patches, axes).

    >>> patch_centres(1, 2).tolist()
    [[0.0, -0.5], [0.0, 0.5]]
    """
    for size in shape:
        checks.whole("the size of a grid", size, least=1)
    return _grid_of([2.0 * ((np.arange(size) + 0.5) / size) - 1.0 for size in shape])


def move_centres(
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


@catalogued(
    Card(
        name="rope-patches",
        family="rotary",
        kind=("transform",),
        formula="pair k of an axis turns by x w_k, w_k = 2 pi base^(-2k/r), x in [-1, 1]",
        source="simeoni2025",
        level=in_words("L0"),
        relative=True,
        extrapolation=(
            "other resolutions and aspect ratios, by its authors, trained with moved centres"
        ),
        proofs=proofs_of(
            ORACLE,
            ("transformers' DINOv3", _TRANSFORMERS, "test_patches_of_a_picture_turn_as_in_dinov3"),
            ("transformers' DINOv3", _TRANSFORMERS, "test_patch_centres_are_those_of_dinov3"),
        ),
    ),
    examples=({"dimension": 8}, {"dimension": 12, "axes": 3}),
)
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
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per unit, shape (pairs, axes)."""
        ladder = geometric_frequencies(self.dimension, float(self.base), self.axes)
        return 2.0 * np.pi * ladder


_LIBRARIES = "agreement/test_rotary_libraries.py"


def pixel_positions(*shape: int) -> NDArray[np.float64]:
    """Return the positions of all pixels of a grid, row by row, in [-1, 1]: shape (pixels, axes).

    >>> pixel_positions(2, 3).tolist()[:3]
    [[-1.0, -1.0], [-1.0, 0.0], [-1.0, 1.0]]
    """
    for size in shape:
        checks.whole("the size of a grid", size, least=1)
    return _grid_of([np.linspace(-1.0, 1.0, size) for size in shape])


@catalogued(
    Card(
        name="rope-pixel",
        family="rotary",
        kind=("transform",),
        formula="pair k of an axis turns by x w_k, w_k = pi linspace(1, m/2)_k, x in [-1, 1]",
        source="wang2021",
        level=in_words("L0"),
        relative=True,
        extrapolation="no claim; pictures of any size are scaled to [-1, 1]",
        proofs=proofs_of(
            ORACLE,
            (
                "rotary-embedding-torch, freqs_for='pixel'",
                _LIBRARIES,
                "test_pixel_frequencies_turn_a_picture_as_rotary_embedding_torch",
            ),
        ),
    ),
    examples=({"dimension": 8}, {"dimension": 16, "axes": 1, "fraction": 0.5}),
)
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
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per unit, shape (pairs, axes)."""
        pairs = check_share(self.dimension, self.fraction, self.axes) // 2
        return on_axes(np.pi * np.linspace(1.0, self.max_frequency / 2.0, pairs), self.axes)


def _grid_of(lines: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return all points with these coordinates on each axis, the last axis fastest.

    >>> _grid_of([np.array([0.0, 1.0]), np.array([5.0])]).tolist()
    [[0.0, 5.0], [1.0, 5.0]]
    """
    crossed = np.meshgrid(*lines, indexing="ij")
    return np.stack(crossed, axis=-1).reshape(-1, len(lines))


_TESTS = "encodings/test_encoding_times.py"


@catalogued(
    Card(
        name="rope-time",
        family="rotary",
        kind=("transform",),
        formula="R_t turns pair k by 2 pi t / P_k, periods P_k geometric from shortest to longest",
        source="gao2024",
        level=in_words("L0"),
        relative=True,
        reading=(
            "the authors turn by times with the ladder of rotary encoding, whose periods suppose "
            "steps of 1; here the shortest and the longest period are given in a unit of time"
        ),
        proofs=proofs_of(
            ORACLE,
            ("rotary encoding", _TESTS, "test_periods_of_the_usual_ladder_give_rotary_encoding"),
            ("whole periods", _TESTS, "test_events_whole_periods_apart_are_turned_alike"),
            (
                "60 digits at timestamps, in all libraries",
                _TESTS,
                "test_timestamps_turn_as_60_digits_do",
            ),
        ),
    ),
    examples=(
        {"dimension": 8, "shortest": 1.0, "longest": 365.0, "unit": 86400.0},
        {"dimension": 8, "layout": "half", "shortest": 2.5, "longest": 4000.0},
    ),
    shown={"shortest": 4.0, "longest": 1024.0},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class RopeTime(Rotating):
    """Rotary encoding whose periods run from `shortest` to `longest`, in `unit`s of the positions.

    >>> made = RopeTime(dimension=6, shortest=1.0, longest=100.0, unit="day")
    >>> made.periods / 86400
    array([  1.,  10., 100.])
    """

    on_grids: ClassVar[bool] = False
    shortest: float
    longest: float
    unit: Any = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_axis("rope-time", self.axes)
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why="two per pair")
        check_spans(self.shortest, self.longest)
        unit_of(self.unit)

    @property
    def periods(self) -> NDArray[np.float64]:
        """Return the periods in positions, such as seconds, the shortest first."""
        ladder = spans(float(self.shortest), float(self.longest), self.dimension // 2)
        return ladder * unit_of(self.unit)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return 2 pi over every period, in radians per position: shape (dimension/2, 1)."""
        return (2.0 * np.pi / self.periods)[:, None]
