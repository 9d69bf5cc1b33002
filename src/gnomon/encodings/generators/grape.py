r"""GRAPE, multiplicative: turns in learned planes, each a generator of rank 2.

    q~ = exp(i X) q,  k~ = exp(j X) k,   X = sum_p w_p (u_p v_p^T - v_p u_p^T)    [zhang2025 sec. 2]

For one plane spanned by any a and b, L = a b^T - b a^T has L^2 = -s^2 on it,
s^2 = |a|^2 |b|^2 - (a.b)^2, and exp(nL) = I + sin(ns)/s L + (1 - cos ns)/s^2 L^2. Here u and v are
a and b made orthonormal, so that L / s = u v^T - v u^T and the frequency is w alone. Otherwise the
lengths of two vectors would be a frequency, and their rounding a phase. Several planes are made
orthogonal to one another, one after the other: they commute, and the encoding is exactly relative.
A plane costs O(d) for a vector; no d x d matrix is made.

Planes start as pairs of coordinates with the frequencies of rotary encoding, which is the case
d/2 planes that stay there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.arrays import beside_heads
from gnomon.encodings.base import LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import geometric_frequencies
from gnomon.encodings.generated import of_head, of_turns, pair_columns
from gnomon.encodings.rotary.rope import Rotating
from gnomon.encodings.starting import learned, of_each_head
from gnomon.errors import EncodingError
from gnomon.groups import rotate_planes
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace
    from gnomon.groups import Commuting, Generator

CARD = Card(
    name="grape",
    family="generator",
    kind=("transform",),
    formula="q~ = exp(iX) q, k~ = exp(jX) k, X = sum_p w_p (u_p v_p^T - v_p u_p^T)",
    source="zhang2025",
    level=in_words("L0"),
    relative=True,
    learnable=True,
    extrapolation="no claim",
    reading="The multiplicative kind with fixed, not contextual, generators. Planes are learned "
    "and made orthonormal, frequencies are learned beside them; the authors' code keeps planes of "
    "coordinates and learns frequencies alone, the case of directions that are not trained, and it "
    "turns the other way: its frequencies are those here with their signs changed.",
    proofs=proved(
        ORACLE,
        (
            "scipy.linalg.expm of a b^T - b a^T",
            "encodings/test_encoding_grape.py",
            "test_one_plane_is_the_exponential_of_its_rank_two_generator",
        ),
        (
            "rotary encoding",
            "encodings/test_encoding_grape.py",
            "test_planes_of_coordinates_are_rotary_encoding",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Grape(Rotating):
    """Turns in `planes` planes of a head; without a number in all d/2."""

    planes: int | None = None
    heads: int | None = None
    base: float = 10000.0
    frequencies: Any = field(default=None, repr=False)
    """Radians per position (planes, 1), or (heads, planes, 1); without them a ladder."""
    directions: Any = field(default=None, repr=False)
    """Two vectors for each plane, (planes, 2, d) or (heads, planes, 2, d)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_axis("grape", self.axes)
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why="they turn in pairs")
        checks.real("base", self.base, above=0.0)
        if self.heads is not None:
            checks.whole("heads", self.heads, least=1)
        half = self.dimension // 2
        planes = half if self.planes is None else self.planes
        checks.whole("planes", planes, least=1)
        if planes > half:
            raise EncodingError(
                f"planes is {planes}, and a head of dimension {self.dimension} has {half} planes "
                f"that do not meet; pass at most {half}."
            )
        ladder = geometric_frequencies(self.dimension, float(self.base))[:planes]
        starts = {
            "frequencies": (ladder, of_each_head(self.heads, planes, 1)),
            "directions": (
                _coordinate_planes(self.dimension, self.layout)[:planes],
                of_each_head(self.heads, planes, 2, self.dimension),
            ),
        }
        for name, (start, shape) in starts.items():
            object.__setattr__(self, name, learned(name, getattr(self, name), start, shape))
        _check_directions(self.directions)

    @property
    def card(self) -> Card:
        """Return the card of multiplicative GRAPE."""
        return CARD

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return copies of what is learned, which a framework may write into."""
        return {name: np.array(getattr(self, name)) for name in self.learnable}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the frequencies and the directions of planes."""
        return ("frequencies", "directions")

    def turned(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors turned in all planes."""
        self.check_vectors(x, side, numbers["frequencies"])
        cosine, sine = self.tables(beside_heads(coordinates, x), numbers, xp=xp)
        wide = xp.astype(x, xp.result_type(x.dtype, xp.float32))
        pairs = xp.astype(numbers["directions"], cosine.dtype)
        flat = xp.reshape(pairs, (*pairs.shape[:-3], -1, self.dimension))
        basis = xp.astype(orthonormal(flat, xp=xp), wide.dtype)
        cosine, sine = xp.astype(cosine, wide.dtype), xp.astype(sine, wide.dtype)
        first, second = basis[..., 0::2, :], basis[..., 1::2, :]
        return xp.astype(rotate_planes(wide, first, second, cosine, sine, xp=xp), x.dtype)

    def generator(self, head: int = 0) -> Generator | Commuting:
        """Return the turns of a head in its planes."""
        from scipy.linalg import null_space

        flat = of_head(self.directions, head, 3).reshape(-1, self.dimension)
        made = orthonormal(flat, xp=np)
        rest = null_space(made) if len(made) < self.dimension else np.zeros((self.dimension, 0))
        # exp(nwL) turns v towards u, and so logits u towards v.
        planes = made[np.arange(len(made)) ^ 1].T
        columns = np.concatenate([planes, rest], axis=1)
        return of_turns(of_head(self.frequencies, head, 2), columns)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the closed form of the kernel; a probe is carried, since planes are learned."""
        del probe
        return super().lag_distances(lift, None) if lift == "kernel" else None


def _coordinate_planes(dimension: int, layout: str) -> NDArray[np.float64]:
    """Return pairs of unit vectors, (d/2, 2, d), whose turns are those of rotary encoding.

    exp(nwL) with L = u v^T - v u^T turns v towards u, so v is the first coordinate of a pair.
    """
    columns = pair_columns(dimension, layout=layout, first=0, rotated=dimension)
    return columns.T.reshape(-1, 2, dimension)[:, [1, 0]]


def _check_directions(directions: NDArray[np.float64]) -> None:
    """Refuse planes that meet, or two vectors that span none."""
    flat = directions.reshape(-1, directions.shape[-3] * 2, directions.shape[-1])
    lengths = np.linalg.norm(flat, axis=-1, keepdims=True)
    apart = 0.0
    if (lengths > 0.0).all():
        apart = float(np.linalg.svd(flat / lengths, compute_uv=False).min())
    if apart < 1e-6:
        raise EncodingError(
            f"The {2 * directions.shape[-3]} directions of a head are dependent to {apart:.1g}, so "
            "they span no separate planes; pass vectors that are independent."
        )


def orthonormal(vectors: Array, *, xp: Namespace) -> Array:
    """Return vectors (..., k, d) made orthonormal one after the other, each twice for rounding.

    >>> import numpy as np
    >>> orthonormal(np.array([[2.0, 0.0], [1.0, 3.0]]), xp=np).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    made: Any = None
    for place in range(vectors.shape[-2]):
        one = vectors[..., place : place + 1, :]
        for _ in range(0 if made is None else 2):
            one = one - xp.matmul(xp.matmul(one, xp.matrix_transpose(made)), made)
        one = one / xp.sqrt(xp.sum(one * one, axis=-1, keepdims=True))
        made = one if made is None else xp.concat([made, one], axis=-2)
    return made
