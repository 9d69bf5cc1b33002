"""PoPE: a coordinate says how much, its position alone says where: polar coordinates.

    q~ = softplus(q_c) (cos, sin)(w_c i),   k~ = softplus(k_c) (cos, sin)(w_c j + s_hc),
    w_c = base^(-c/d),  c = 0 ... d - 1

so that q~.k~ = sum_c softplus(q_c) softplus(k_c) cos(w_c (i - j) - s_hc): content can not turn a
pair, as it does in rotary encoding [gopalakrishnan2025 sec. 3]. All of d coordinates have a pair of
their own, so vectors double: (..., 2 d), first all cosines, then all sines. The shift s_hc is
learned, kept within -2 pi ... 0, and starts from 0, with which the authors extrapolate best, or
uniform. The map is fixed, not linear; after it the group of rotary encoding acts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.border import within
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.content.base import check_heads
from gnomon.encodings.frequencies import circular_distances, phases
from gnomon.encodings.positions import beside_heads
from gnomon.encodings.starting import kept, locked, spread
from gnomon.numeric import checks
from gnomon.numeric.elementwise import softplus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

STARTS = ("zero", "uniform")
CARD = Card(
    name="pope",
    family="rotary",
    kind=("transform",),
    formula="sum_c softplus(q_c) softplus(k_c) cos(w_c (i-j) - s_hc), w_c = base^(-c/d)",
    source="gopalakrishnan2025",
    level=in_words("L2"),
    relative=True,
    learnable=True,
    extrapolation="the authors claim strong length extrapolation without training for it",
    reading="cosines come first and sines after, as in x-transformers; another order is the same "
    "permutation of both sides",
    proofs=proved(
        ORACLE,
        (
            "x-transformers",
            "agreement/test_content_peers.py",
            "test_polar_vectors_equal_those_of_x_transformers",
        ),
        (
            "complex multiplication",
            "encodings/test_encoding_pope.py",
            "test_logits_are_real_parts_of_products_of_polar_numbers",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Pope(Encoding):
    """Polar coordinates for `heads` heads of `dimension`; `shifts` (heads, dimension) are learned.

    >>> Pope(dimension=2, heads=1, base=100.0).frequencies
    array([[1. ],
           [0.1]])
    """

    kinds: ClassVar[tuple[str, ...]] = ("transform",)
    on_grids: ClassVar[bool] = False
    dimension: int
    heads: int
    base: float = 10000.0
    start: str = "zero"
    seed: int = 0
    shifts: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("pope", self.axes)
        checks.whole("dimension", self.dimension, least=1)
        checks.whole("heads", self.heads, least=1)
        checks.real("base", self.base, above=0.0)
        checks.one_of("start", self.start, STARTS)
        checks.whole("seed", self.seed, least=0)
        kept(self, "shifts", (self.heads, self.dimension))

    @property
    def card(self) -> Card:
        """Return the card of PoPE."""
        return CARD

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel (magnitudes 1) and probe (a given content vector)."""
        return ("kernel", "probe")

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies (dimension, 1): one for every coordinate."""
        steps = np.arange(self.dimension, dtype=np.float64) / self.dimension
        return (1.0 / float(self.base) ** steps)[:, None]

    @cached_property
    def _shifts(self) -> NDArray[np.float64]:
        if self.shifts is not None:
            return np.asarray(self.shifts)
        shape = (self.heads, self.dimension)
        zero = self.start == "zero"
        return locked(np.zeros(shape) if zero else np.pi * (spread(0, shape, self.seed) - 1.0))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the frequencies and the shifts of keys."""
        return {"frequencies": self.frequencies, "shifts": self._shifts}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the shifts."""
        return ("shifts",)

    def turned(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors (..., heads, n, 2 dimension): magnitudes at the angles of positions."""
        check_heads(x, self.heads, self.dimension, side)
        angles = phases(beside_heads(coordinates, x), numbers["frequencies"], xp=xp)
        if side == "k":
            shifts = within(xp.astype(numbers["shifts"], angles.dtype), -2.0 * np.pi, 0.0, xp=xp)
            angles = angles + (shifts[:, None, :] if x.ndim > 2 else shifts)
        wide = xp.result_type(x.dtype, xp.float32)
        size = softplus(xp.astype(x, wide), xp=xp)
        cosine, sine = xp.astype(xp.cos(angles), wide), xp.astype(xp.sin(angles), wide)
        return xp.astype(xp.concat([size * cosine, size * sine], axis=-1), x.dtype)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return 2 sqrt(sum_c a_c^2 sin^2(w_c t/2)), a_c = 1 or the softplus of the probe."""
        if lift != "probe" or probe is None:
            return circular_distances(self.frequencies)
        return circular_distances(self.frequencies, softplus(probe, xp=np) ** 2)
