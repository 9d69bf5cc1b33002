"""Turns by exponentials of learned skew matrices, block by block.

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
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.arrays import beside_heads, check_dimension, check_own_heads, moved_axis
from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proved
from gnomon.encodings.frequencies import circular_distances
from gnomon.encodings.generated import of_head, of_skew, skew_of
from gnomon.encodings.rotary.rope import tables, turn
from gnomon.encodings.starting import learned, of_each_head
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import concrete_or_none
from gnomon.numeric.exponential import doubled, expm, squarings_for
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace
    from gnomon.groups import Commuting, Generator


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

    def turned(
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
            return xp.astype(self._doubled(wide, points, skew, slopes, whole, xp=xp), x.dtype)
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

    def _doubled(
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
        proofs=proved(
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
        proofs=proved(
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
