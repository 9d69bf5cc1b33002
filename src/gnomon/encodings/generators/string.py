"""STRING: rotary encoding in another basis, R_i = P Rot_i P^T, P learned or that of Fourier.

    q~ = Rot_i P^T q,   k~ = Rot_j P^T k,   q~.k~ = q^T P Rot_(j-i) P^T k

with P orthogonal and the same for queries and keys, and pair k turned by <W_k, i>, for positions of
any number of axes. The outer P of R_i would cancel in every logit, so it is left out: one product
with P for a vector instead of two. Every set of commuting skew generators has this form, up to the
frequencies, so it is exactly relative [schenck2025 sec. 3].

*Cayley*: P = (I - S)(I + S)^(-1) with S skew. S has the numbers above the diagonal of a learned
matrix; at 0, where it starts, P is the identity and the encoding is rotary encoding.

*Circulant*: generators L_a = C_a - C_a^T with C_a circulant, one for each axis. All circulant
matrices have one basis, that of Fourier. On the orthonormal pairs sqrt(2/d) (cos(2 pi k n / d),
sin(2 pi k n / d)), k = 1 ... ceil(d/2) - 1, L_a turns by w_ka = 2 sum_n c_an sin(2 pi k n / d) for
C_a with first column c_a; what is left of the basis, one or two coordinates, stands still. So
frequencies are a linear, orthogonal function of c_a up to a scale: those are what is learned here
(`frequencies_of_columns` makes them of a given c). A product with the basis is d^2 operations for a
vector; at the dimensions of heads that is faster than the d log d of a Fourier transform.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.arrays import beside_heads
from gnomon.encodings.base import LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proved
from gnomon.encodings.frequencies import geometric_frequencies
from gnomon.encodings.generated import of_head, of_turns, pair_columns, skew_of
from gnomon.encodings.rotary.rope import Rotating, check_share, reordering, turn
from gnomon.encodings.starting import learned, of_each_head
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.exponential import identity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace
    from gnomon.groups import Commuting, Generator


@dataclass(frozen=True, kw_only=True, eq=False)
class Based(Rotating):
    """Base of rotary encodings that turn in a basis of their own."""

    @abstractmethod
    def basis_in(self, numbers: Numbers, like: Array, *, xp: Namespace) -> Array:
        """Return P (..., d, d), its columns the new coordinates, in the type of an array.

        That is the type of phases, float64 where there is: P is rounded once.
        """

    def turned(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors in the basis, each turned to its position."""
        self.check_vectors(x, side, numbers["frequencies"])
        cosine, sine = self.tables(beside_heads(coordinates, x), numbers, xp=xp)
        wide = xp.astype(x, xp.result_type(x.dtype, xp.float32))
        basis = xp.astype(self.basis_in(numbers, cosine, xp=xp), wide.dtype)
        moved = xp.matmul(wide, basis)
        return xp.astype(turn(moved, cosine, sine, layout=self.layout, xp=xp), x.dtype)

    def generator(self, head: int = 0) -> Generator | Commuting:
        """Return the turns of a head in its basis."""
        basis = of_head(self.basis_in(self.numbers, np.zeros(()), xp=np), head, 2)
        columns = pair_columns(self.dimension, layout=self.layout, first=0, rotated=self.rotated)
        return of_turns(of_head(self.frequencies, head, 2), basis @ columns)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the closed form of the kernel; a probe is carried, since its pairs are P's."""
        del probe
        return super().lag_distances(lift, None) if lift == "kernel" else None


_PURPOSE = 23
"""Keeps this stream apart from others of the same seed."""


@catalogued(
    Card(
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
        reading=(
            "The outer P of P Rot P^T cancels in logits and is left out. Frequencies are learned, "
            "too: the paper leaves open whether they are."
        ),
        proofs=proved(
            ORACLE,
            (
                "scipy.linalg.expm of P (sum_a x_a W_a J) P^T",
                "encodings/test_encoding_string.py",
                "test_logits_are_those_of_the_exponential_of_commuting_generators",
            ),
        ),
    ),
    examples=(
        {"dimension": 8, "spread": 0.3},
        {"dimension": 8, "axes": 2, "heads": 2, "spread": 0.2, "layout": "half"},
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
        d, rng = self.dimension, np.random.default_rng([self.seed, _PURPOSE])
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
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return copies of what is learned, which a framework may write into."""
        return {name: np.array(getattr(self, name)) for name in self.learnable}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the frequencies and the numbers of S."""
        return ("frequencies", "skew")

    def basis_in(self, numbers: Numbers, like: Array, *, xp: Namespace) -> Array:
        """Return P of the learned numbers."""
        return _cayley(skew_of(xp.astype(numbers["skew"], like.dtype), xp=xp), xp=xp)


def _cayley(skew: Array, *, xp: Namespace) -> Array:
    """Return (I - S)(I + S)^(-1) of skew matrices (..., d, d)."""
    one = identity(skew.shape[-1], skew, xp=xp)
    return xp.linalg.solve(one + skew, xp.broadcast_to(one, skew.shape) - skew)


def fourier_basis(dimension: int, layout: str = "interleaved") -> NDArray[np.float64]:
    """Return the orthonormal real Fourier basis as columns: pairs k = 1, 2, ..., then what stands.

    >>> fourier_basis(3)[:, 2].round(4).tolist()
    [0.5774, 0.5774, 0.5774]
    """
    places = np.arange(dimension)
    columns = []
    for k in range(1, (dimension + 1) // 2):
        angles = 2.0 * np.pi * ((k * places) % dimension) / dimension
        columns += [np.sqrt(2.0 / dimension) * part for part in (np.cos(angles), np.sin(angles))]
    rotated = len(columns)
    columns.append(np.full(dimension, dimension**-0.5))
    if dimension % 2 == 0:
        columns.append((1.0 - 2.0 * (places % 2)) * dimension**-0.5)
    basis = np.stack(columns, axis=-1)
    return (
        basis
        if layout == "interleaved"
        else basis[:, reordering(dimension, to="half", rotated=rotated)]
    )


def frequencies_of_columns(columns: Any) -> NDArray[np.float64]:
    """Return the frequencies (..., pairs, axes) of circulant first columns (..., axes, d).

    >>> frequencies_of_columns([[0.0, 0.5, 0.0]]).round(4).tolist()
    [[0.866]]
    """
    values = checks.array("columns", columns).astype(np.float64)
    if values.ndim < 2 or values.shape[-1] < 3:
        raise EncodingError(
            f"columns has shape {values.shape}; pass the first column of a matrix for every axis, "
            "(axes, d) with d from 3 on."
        )
    size = values.shape[-1]
    pairs, places = np.arange(1, (size + 1) // 2), np.arange(size)
    sines = np.sin(2.0 * np.pi * ((pairs[:, None] * places) % size) / size)
    return np.swapaxes(2.0 * values @ sines.T, -1, -2)


@catalogued(
    Card(
        name="string-circulant",
        family="generator",
        kind=("transform",),
        formula="q~ = exp(sum_a i_a L_a) q, k~ = exp(sum_a j_a L_a) k, L_a = C_a - C_a^T circulant",
        source="schenck2025",
        level=in_words("L0"),
        relative=True,
        learnable=True,
        extrapolation="no claim",
        reading="Learned are the frequencies of the Fourier pairs, an orthogonal function of the "
        "entries of C up to scale, which start as the ladder of rotary encoding, dealt to the axes"
        " in turn. Vectors stay in the Fourier basis, which cancels in logits.",
        proofs=proved(
            ORACLE,
            (
                "scipy.linalg.expm of circulant matrices",
                "encodings/test_encoding_string.py",
                "test_logits_are_those_of_the_exponential_of_circulant_matrices",
            ),
        ),
    ),
    examples=({"dimension": 8}, {"dimension": 7, "axes": 2, "heads": 2, "base": 100.0}),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class CirculantString(Based):
    """Rotary encoding in the basis of Fourier, with learned frequencies on any axes."""

    mixes_axes: ClassVar[bool] = True
    heads: int | None = None
    base: float = 10000.0
    frequencies: Any = field(default=None, repr=False)
    """Radians per position (pairs, axes), or (heads, pairs, axes); without them a ladder."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("dimension", self.dimension, least=3)
        if self.heads is not None:
            checks.whole("heads", self.heads, least=1)
        checks.real("base", self.base, above=0.0)
        pairs = (self.dimension - 1) // 2
        ladder = np.zeros((pairs, self.axes))
        for pair in range(pairs):
            rung = 2.0 * self.axes * (pair // self.axes) / self.dimension
            ladder[pair, pair % self.axes] = float(self.base) ** -rung
        shape = of_each_head(self.heads, pairs, self.axes)
        made = learned("frequencies", self.frequencies, ladder, shape)
        object.__setattr__(self, "frequencies", made)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the learned frequencies and the basis."""
        basis = fourier_basis(self.dimension, self.layout)
        return {"frequencies": np.array(self.frequencies), "basis": basis}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the frequencies."""
        return ("frequencies",)

    def basis_in(self, numbers: Numbers, like: Array, *, xp: Namespace) -> Array:
        """Return the basis of Fourier."""
        return xp.astype(numbers["basis"], like.dtype)
