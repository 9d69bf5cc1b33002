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
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gnomon.encodings.arrays import beside_heads, moved_axis
from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.frequencies import circular_distances
from gnomon.encodings.generated import of_head, of_skew
from gnomon.encodings.rotary.rope import tables, turn
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.exponential import doubled, expm, squarings_for
from gnomon.numeric.limbs import Limbs
from gnomon.numeric.visible import seen

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
        known = seen(points) if self.axes == 1 and points.ndim > 1 else None
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
        if x.ndim == 0 or x.shape[-1] != self.dimension:
            raise EncodingError(
                f"{name} has shape {tuple(x.shape)}, but this encoding turns vectors of dimension "
                f"{self.dimension}; pass an array of shape (..., positions, {self.dimension})."
            )
        if self.heads is not None and (x.ndim < 3 or x.shape[-3] != self.heads):
            raise EncodingError(
                f"{name} has shape {tuple(x.shape)}, but this encoding has matrices for "
                f"{self.heads} heads; pass an array of shape "
                f"(..., {self.heads}, positions, {self.dimension})."
            )

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
    known = seen(exponents)
    if known is None:
        return None
    return squarings_for(float(np.abs(known).sum(axis=-1).max(initial=0.0)))
