r"""Turns by exponentials of learned skew matrices, block by block.

    q~ = exp(S(i)) q,   k~ = exp(S(j)) k,   S(x) block-diagonal and skew, linear in x

A block of two is a turn by <W_k, x>, which has a closed form. Larger blocks take an exponential for
each position (`gnomon.numeric.exponential`): O(n d b^2) operations, and memory for n d b numbers at
n positions and blocks of size b. On one axis, whole positions that can be seen take powers of two
of one exponential instead: O(n d b log n), and no matrix for a position.

Accuracy. A matrix learned entry by entry has its frequencies only to the rounding of its entries:
vectors err by about u |S(x)|, u that of the type of phases (2^-53; 2^-24 in JAX without float64).
Positions are meant to lie between 0 and 1 across a picture, as the authors of these encodings have
them; at 10^6 times that, float64 is good to 1e-9, and float32 to nothing.

*LieRE* [ostmeier2024 sec. 4], with the code of StanfordMIMI/LieRE at b27b41b: S(x) = sum_a x_a A_a,
A_a = U_a - U_a^T block-diagonal, U_a the numbers above the diagonal of a learned matrix, uniform in
[0, 2 pi] at the start; positions lie between 0 and 1 on every axis. On one axis this is a group,
and exactly relative. On several axes exp(X + Y) is not exp(X) exp(Y) unless the matrices commute,
which learned ones do not: logits change when all positions shift. Blocks of two always commute;
that case is mixed rotary encoding.

*ComRoPE* [yu2025 sec. 4], as in Longin-Yu/ComRoPE at 7aeef08: matrices A_a = diag(B_a1, ..., B_am)
of m blocks of size b that commute by construction, so that logits are relative, in one of two ways:
under *axis partition* (AP) B_aj = P_j - P_j^T where j = a modulo the number of axes, else 0; if
*linearly dependent* (LD) B_aj = theta_aj (P_j - P_j^T). In both, block j turns by
exp(<theta_j, x> (P_j - P_j^T)): one matrix and one number for each position, theta_j being a unit
vector under AP.

STRING: rotary encoding in another basis, R_i = P Rot_i P^T, P learned or that of Fourier.

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

GRAPE, multiplicative: turns in learned planes, each a generator of rank 2.

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

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.frequencies import (
    circular_distances,
    geometric_frequencies,
    of_head,
    of_skew,
    of_turns,
    pair_columns,
    skew_of,
)
from gnomon.encodings.rotary.rope import Rotating, check_share, reordering, tables, turn
from gnomon.encodings.starting import learned, of_each_head
from gnomon.errors import EncodingError
from gnomon.groups import rotate_planes
from gnomon.numeric import checks
from gnomon.numeric.arrays import (
    beside_heads,
    check_dimension,
    check_own_heads,
    concrete_or_none,
    moved_axis,
)
from gnomon.numeric.exponential import doubled, expm, identity, squarings_for
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.groups import Commuting, Generator
    from gnomon.numeric.arrays import Array, Coordinates, Namespace


@dataclass(frozen=True, kw_only=True, eq=False)
class Dense(Encoding):
    """Base of encodings by skew matrices in blocks of `block` coordinates."""

    kinds: ClassVar[tuple[str, ...]] = ("transform",)
    mixes_axes: ClassVar[bool] = True
    span: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    dimension: int
    heads: int | None = None
    block: int = 8

    def __post_init__(self) -> None:
        checks.whole("axes", self.axes, least=1)
        if self.heads is not None:
            checks.whole("heads", self.heads, least=1)
        checks.whole("block", self.block, least=2)
        why = "it is cut into blocks"
        checks.whole("dimension", self.dimension, least=2, multiple_of=self.block, why=why)

    @property
    def blocks(self) -> int:
        """Return how many blocks a head has."""
        return self.dimension // self.block

    @property
    def commutes(self) -> bool:
        """Whether the matrices of all axes commute, so that logits depend on lags alone."""
        return True

    @abstractmethod
    def parts(self, numbers: Numbers, like: Array, *, xp: Namespace) -> tuple[Array, Array | None]:
        """Return skew matrices and slopes, in the type of an array.

        With slopes (axes, blocks), S(x) = <slopes_k, x> S_k for matrices (..., blocks, b, b);
        without, S(x) = sum_a x_a S_a for matrices (..., axes, blocks, b, b).
        """

    @property
    def matrices(self) -> NDArray[np.float64]:
        """Return the generators of all axes, (axes, blocks, b, b), or with heads first."""
        like = np.zeros(())
        skew, slopes = self.parts(self.numbers, like, xp=np)
        if slopes is None:
            return np.asarray(skew)
        return np.asarray(skew[..., None, :, :, :] * slopes[:, :, None, None])

    @property
    def fastest(self) -> float:
        """Return a bound of the radians that anything turns by for a step on every axis."""
        return float(np.linalg.norm(self.matrices, 2, axis=(-2, -1)).sum(axis=-2).max())

    @property
    def frequencies(self) -> NDArray[np.float64] | None:
        """Return W (pairs, axes), or (heads, pairs, axes), of matrices that commute."""
        if not self.commutes:
            return None
        skew, slopes = self.parts(self.numbers, np.zeros(()), xp=np)
        if self.block == 2:
            return np.asarray(_turns(skew, slopes, xp=np))
        slopes = np.ones((1, self.blocks)) if slopes is None else slopes
        skew = skew if skew.ndim == len(self._lead) + 3 else skew[..., 0, :, :, :]
        turns = np.linalg.eigvalsh(1j * skew)[..., ::-1][..., : self.block // 2]
        made = turns[..., None] * slopes.T[:, None, :]
        return np.asarray(made.reshape(*self._lead, -1, self.axes))

    @property
    def _lead(self) -> tuple[int, ...]:
        return () if self.heads is None else (self.heads,)

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel (where matrices commute) and probe (a given content vector)."""
        return ("kernel", "probe") if self.commutes else ("probe",)

    def apply(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors (..., n, dimension), each turned to its position."""
        self._check_vectors(x, side)
        beside = beside_heads(coordinates, x)
        points = _floats(beside, xp=xp)
        skew, slopes = self.parts(numbers, points, xp=xp)
        if self.block == 2:
            waves = _turns(skew, slopes, xp=xp)
            cosine, sine = tables(beside, waves, xp=xp)
            return turn(x, cosine, sine, layout="interleaved", xp=xp)
        wide = xp.astype(x, xp.result_type(x.dtype, xp.float32))
        whole = self._whole_steps(points)
        if whole is not None:
            return xp.astype(self._double(wide, points, skew, slopes, whole, xp=xp), x.dtype)
        exponents = _exponents(points, skew, slopes)
        made = xp.astype(expm(exponents, squarings=_squarings(exponents), xp=xp), wide.dtype)
        split = xp.reshape(wide, (*wide.shape[:-1], self.blocks, self.block, 1))
        moved = xp.matmul(made, split)[..., 0]
        return xp.astype(xp.reshape(moved, (*moved.shape[:-2], self.dimension)), x.dtype)

    def _whole_steps(self, points: Array) -> int | None:
        """Return how many bits whole positions on one axis have, where they can be seen."""
        known = concrete_or_none(points) if self.axes == 1 and points.ndim > 1 else None
        if known is None or known.size == 0 or known.min() < 0.0:
            return None
        return int(known.max()).bit_length() if np.array_equal(known, np.rint(known)) else None

    def _double(
        self,
        x: Array,
        points: Array,
        skew: Array,
        slopes: Array | None,
        bits: int,
        *,
        xp: Namespace,
    ) -> Array:
        """Return vectors carried by powers of two of one exponential of each block."""
        generator = skew[..., 0, :, :, :] if slopes is None else skew * slopes[0][:, None, None]
        split = xp.reshape(x, (*x.shape[:-1], self.blocks, self.block))
        rows = xp.astype(moved_axis(split, -2, -3, xp=xp), points.dtype)
        steps = xp.expand_dims(points[..., 0], axis=-2)
        made = doubled(generator, steps, rows, bits=bits, xp=xp)
        flat = moved_axis(xp.astype(made, x.dtype), -3, -2, xp=xp)
        return xp.reshape(flat, (*flat.shape[:-2], self.dimension))

    def _check_vectors(self, x: Array, name: str) -> None:
        """Refuse vectors of another dimension or number of heads."""
        check_dimension(x, name, self.dimension, does="turns")
        check_own_heads(x, name, self.heads, has="matrices")

    def generator(self, head: int = 0) -> Generator | Commuting:
        """Return the turns of a head, where the matrices of all axes commute."""
        from scipy.linalg import block_diag

        if not self.commutes:
            return super().generator(head)
        blocks = of_head(self.matrices, head, 4)
        return of_skew(np.stack([block_diag(*one) for one in blocks]))

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return 2 sqrt(sum_k sin^2(<W_k, t>/2)) of the kernel, the mean over heads."""
        del probe
        waves = self.frequencies
        if lift != "kernel" or waves is None:
            return None
        flat = waves.reshape(-1, self.axes)
        share = 1.0 if self.heads is None else 1.0 / self.heads
        return circular_distances(flat, np.full(len(flat), share))


def _floats(coordinates: Coordinates, *, xp: Namespace) -> Array:
    """Return coordinates as one number each, in the best type there is."""
    if isinstance(coordinates, Limbs):
        return xp.astype(coordinates.whole, xp.float32) + coordinates.fraction
    return coordinates


def _turns(skew: Array, slopes: Array | None, *, xp: Namespace) -> Array:
    """Return the frequencies (..., blocks, axes) of blocks of two: exp(S) turns by -S_01."""
    upper = -skew[..., 0, 1]
    if slopes is not None:
        return upper[..., None] * xp.matrix_transpose(slopes)
    return xp.matrix_transpose(upper)


def _exponents(points: Array, skew: Array, slopes: Array | None) -> Array:
    """Return S(x) (..., n, blocks, b, b) at points (..., n, axes)."""
    total = 0.0
    for axis in range(points.shape[-1]):
        if slopes is None:
            matrices = skew[..., axis, :, :, :]
            by = points[..., axis, None, None, None]
        else:
            matrices = skew
            by = (points[..., axis, None] * slopes[axis])[..., None, None]
        matrices = matrices if matrices.ndim == 3 else matrices[:, None]
        total = total + by * matrices
    return total


def _squarings(exponents: Array) -> int | None:
    """Return how often the largest of matrices is halved, where they can be seen."""
    known = concrete_or_none(exponents)
    if known is None:
        return None
    return squarings_for(float(np.abs(known).sum(axis=-1).max(initial=0.0)))


_LIERE_PURPOSE = 29
"""Keeps this stream apart from others of the same seed."""


@catalogued(
    Card(
        name="liere",
        family="generator",
        kind=("transform",),
        formula="q~ = exp(sum_a i_a A_a) q, k~ = exp(sum_a j_a A_a) k, A_a skew and learned",
        source="ostmeier2024",
        level=in_words("L0"),
        relative=True,
        learnable=True,
        extrapolation="no claim",
        reading=(
            "On several axes matrices do not commute and logits are not relative: level L6 there, "
            "unless blocks have two coordinates. The authors' code takes 1/2 from the upper "
            "triangle before it is made skew, which cancels."
        ),
        proofs=proofs_of(
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
    ),
    examples=(
        {"dimension": 8, "block": 4, "spread": 0.5},
        {"dimension": 6, "block": 3, "axes": 2, "heads": 2, "spread": 0.5},
    ),
)
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
        stream = np.random.default_rng([self.seed, _LIERE_PURPOSE])
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
        plain = self.own_card
        if self.commutes:
            return plain
        return dataclasses.replace(plain, level=in_words("L6"), relative=False)

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


_COMROPE_PURPOSE = 31
"""Keeps this stream apart from others of the same seed."""
_VARIANTS = ("axis-partition", "linearly-dependent")


@catalogued(
    Card(
        name="comrope",
        family="generator",
        kind=("transform",),
        formula="q~ = exp(sum_a i_a A_a) q, k~ = exp(sum_a j_a A_a) k, blocks of A_a commute",
        source="yu2025",
        level=in_words("L0"),
        relative=True,
        learnable=True,
        extrapolation="no claim",
        reading="As in the authors' code: matrices for each head, factors theta for each axis and "
        "block shared by heads, both normal at the start. Their random shifts of positions in "
        "training are no part of the encoding.",
        proofs=proofs_of(
            ORACLE,
            (
                "torch.matrix_exp of the authors' formula",
                "encodings/test_encoding_comrope.py",
                "test_vectors_are_those_of_the_matrix_exponential_of_torch",
            ),
        ),
    ),
    examples=(
        {"dimension": 8, "block": 4, "axes": 2, "spread": 0.3},
        {"dimension": 8, "block": 4, "axes": 2, "heads": 2, "variant": "axis-partition"},
    ),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class ComRope(Dense):
    """Exponentials of commuting skew matrices, whose entries start with deviation `spread`."""

    variant: str = "linearly-dependent"
    spread: float = 1.0
    seed: int = 0
    generators: Any = field(default=None, repr=False)
    """Matrices P (blocks, b, b), or (heads, blocks, b, b)."""
    slopes: Any = field(default=None, repr=False)
    """Factors theta (axes, blocks); learned where matrices are linearly dependent."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of("variant", self.variant, _VARIANTS)
        checks.real("spread", self.spread, above=0.0)
        checks.whole("seed", self.seed, least=0)
        stream = np.random.default_rng([self.seed, _COMROPE_PURPOSE])
        shape = of_each_head(self.heads, self.blocks, self.block, self.block)
        start = self.spread * stream.normal(size=shape)
        made = learned("generators", self.generators, start, shape)
        object.__setattr__(self, "generators", made)
        object.__setattr__(self, "slopes", self._slopes(stream))

    def _slopes(self, stream: np.random.Generator) -> NDArray[np.float64]:
        shape = (self.axes, self.blocks)
        if self.variant == "linearly-dependent":
            return learned("slopes", self.slopes, stream.normal(size=shape), shape)
        if self.blocks % self.axes:
            raise EncodingError(
                f"A head has {self.blocks} blocks and positions {self.axes} axes, and an axis "
                "partition deals blocks evenly; pass a dimension or a block that gives a multiple."
            )
        dealt = np.arange(self.blocks) % self.axes == np.arange(self.axes)[:, None]
        fixed = learned("slopes", None, dealt.astype(np.float64), shape)
        if self.slopes is not None and not np.array_equal(self.slopes, fixed):
            raise EncodingError(
                "slopes are given, and under an axis partition they are fixed; leave them out, or "
                "pass variant='linearly-dependent'."
            )
        return fixed

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return copies of the matrices and factors, which a framework may write into."""
        return {"generators": np.array(self.generators), "slopes": np.array(self.slopes)}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the matrices, and the factors where they are learned."""
        both = ("generators", "slopes")
        return both if self.variant == "linearly-dependent" else both[:1]

    def parts(self, numbers: Numbers, like: Array, *, xp: Namespace) -> tuple[Array, Array | None]:
        """Return the skew matrix of every block, and its factors."""
        given = xp.astype(numbers["generators"], like.dtype)
        skew = given - xp.matrix_transpose(given)
        return skew, xp.astype(numbers["slopes"], like.dtype)


@dataclass(frozen=True, kw_only=True, eq=False)
class Based(Rotating):
    """Base of rotary encodings that turn in a basis of their own."""

    @abstractmethod
    def basis_in(self, numbers: Numbers, like: Array, *, xp: Namespace) -> Array:
        """Return P (..., d, d), its columns the new coordinates, in the type of an array.

        That is the type of phases, float64 where there is: P is rounded once.
        """

    def apply(
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
        proofs=proofs_of(
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
        proofs=proofs_of(
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


@catalogued(
    Card(
        name="grape",
        family="generator",
        kind=("transform",),
        formula="q~ = exp(iX) q, k~ = exp(jX) k, X = sum_p w_p (u_p v_p^T - v_p u_p^T)",
        source="zhang2025",
        level=in_words("L0"),
        relative=True,
        learnable=True,
        extrapolation="no claim",
        reading=(
            "The multiplicative kind with fixed, not contextual, generators. Planes are learned "
            "and made orthonormal, frequencies are learned beside them; the authors' code keeps "
            "planes of coordinates and learns frequencies alone, the case of directions that are "
            "not trained, and it turns the other way: its frequencies are those here with their "
            "signs changed."
        ),
        proofs=proofs_of(
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
    ),
    examples=(
        {"dimension": 8},
        {"dimension": 8, "planes": 1, "heads": 2, "layout": "half", "base": 100.0},
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
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return copies of what is learned, which a framework may write into."""
        return {name: np.array(getattr(self, name)) for name in self.learnable}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the frequencies and the directions of planes."""
        return ("frequencies", "directions")

    def apply(
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
