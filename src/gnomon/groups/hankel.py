r"""Hankel matrices of a lag kernel: their rank, and what no small rank can do.

    H_ij = k(i + j),    rank H = the least r with k(n) = P A^n Q, A of size r       [kronecker1881]

so a finite Hankel rank is the test for a kernel that splits into query and key coordinates. Of many
lags only some columns are taken: all of the first, where short-lived modes are, and a random choice
of the rest (a regular choice would be blind to periods it divides). The columns of H span the same
space whichever of them are taken, as long as they are as many as the rank.

The rank is read where the singular values fall to their tail. Noise of standard deviation s in k
gives a flat tail, rounding one of about 1e-16 of the largest. The widest fall onto such a tail, by
`CLEAR` or more, is the rank and is called clear. Without one, those singular values count that
exceed what white noise with the same median would show, by a sample of it in the same matrix. A
mode that lives for few of many lags can stay below that noise: give fewer lags to see it.

A bound for every approximation: if g has Hankel rank r and |k - g| <= e at all lags, then
sigma_(r+1)(H) <= |H(k - g)|_2 <= e sqrt(rows columns)  (Weyl [horn2013 cor. 7.3.5]), so

    e >= sigma_(r+1)(H) / sqrt(rows columns).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
COLUMNS = 384
"""Columns taken at most; a dense matrix of this width and 4,096 rows takes half a second."""
CLEAR = 30.0
"""Fall between neighbouring singular values that is called clear ..."""
FLAT = 100.0
"""... when what follows is a tail: its largest within this factor of its median."""
ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
_SEED = 20_240_229


@dataclass(frozen=True, eq=False)
class Hankel:
    """Left singular vectors and singular values of a Hankel matrix of a kernel (lags, p, q)."""

    left: Floats
    singular_values: Floats
    columns: int
    kernel_shape: tuple[int, ...]

    def bound(self, rank: int) -> float:
        """Return a largest error that no kernel of Hankel rank `rank` can be below."""
        if rank >= self.singular_values.size:
            return 0.0
        spare = ROUNDING * float(self.singular_values[0])
        left = max(float(self.singular_values[rank]) - spare, 0.0)
        return left / float(np.sqrt(len(self.left) * self.columns))


@dataclass(frozen=True)
class RankChoice:
    """A rank, the fall of the singular values after it, and whether that fall is clear."""

    rank: int
    fall: float
    clear: bool


def hankel(kernel: Floats, columns: int = COLUMNS) -> Hankel:
    """Return the decomposed Hankel matrix of a kernel (lags, p, q), with at most so many columns.

    Cost O(rows columns^2).
    """
    matrix = hankel_matrix(kernel, columns)
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    return Hankel(left, values, matrix.shape[1], kernel.shape)


def hankel_matrix(kernel: Floats, columns: int = COLUMNS) -> Floats:
    """Return k(i + j) for all rows i and the chosen columns j, blocks side by side.

    >>> hankel_matrix(np.arange(5.0)[:, None, None])
    array([[0., 1., 2.],
           [1., 2., 3.],
           [2., 3., 4.]])
    """
    lags, p, q = kernel.shape
    wide = (lags + 1) // 2
    shifts = _chosen(wide, max(columns // q, 2))
    rows = np.arange(lags - wide + 1)
    blocks = kernel[rows[:, None] + shifts[None, :]]
    made: Floats = blocks.transpose(0, 2, 1, 3).reshape(rows.size * p, shifts.size * q)
    return made


def _chosen(wide: int, most: int) -> NDArray[np.int64]:
    if wide <= most:
        return np.arange(wide)
    first = most // 2
    rest = np.random.default_rng(_SEED).choice(wide - first, most - first, replace=False)
    return np.concatenate([np.arange(first), first + np.sort(rest)])


def choose_rank(decomposed: Hankel) -> RankChoice:
    """Return the rank at which the singular values fall to their tail; 0 where all is tail."""
    values = decomposed.singular_values
    floor = max(ROUNDING * float(values[0]), float(np.finfo(np.float64).tiny))
    kept = np.maximum(values, floor / ROUNDING * np.finfo(np.float64).eps)
    falls = kept[:-1] / kept[1:]
    medians = np.array([np.median(kept[r:]) for r in range(1, kept.size)])
    tails = (kept[1:] <= FLAT * medians) & (falls >= CLEAR)
    # With one value after the fall nothing says that it is a tail, unless it is rounding.
    enough = (kept.size - np.arange(1, kept.size) >= 3) | (kept[1:] <= floor)
    tails &= enough
    if np.any(tails):
        rank = 1 + int(np.argmax(np.where(tails, falls, 0.0)))
        return RankChoice(rank, float(falls[rank - 1]), clear=True)
    level = max(floor, _noise_edge(decomposed))
    rank = int(np.count_nonzero(values > level))
    after = float(falls[rank - 1]) if 0 < rank < values.size else 1.0
    return RankChoice(rank, after, clear=False)


def _noise_edge(decomposed: Hankel) -> float:
    """Return the largest singular value that white noise of the same median would have."""
    sample = np.random.default_rng(_SEED).standard_normal(decomposed.kernel_shape)
    matrix = hankel_matrix(sample, decomposed.columns)
    noise = np.linalg.svd(matrix, compute_uv=False)
    edge = 1.2 * float(noise[0] / np.median(noise))
    return edge * float(np.median(decomposed.singular_values))


def least_error(values: Floats, rank: int) -> float:
    """Return a largest error over the lags that no sum of `rank` modes of any kind can be below.

    The bound is taken over the first 32, 64, ... lags too, since it is sharp where the kernel is
    rough, and holds for all lags where it holds for some.
    """
    lengths = [32 * 2**k for k in range(5) if 2 * rank < 32 * 2**k < values.size]
    windows = [values[:n] for n in lengths] + [values]
    return max(hankel(window[:, None, None]).bound(rank) for window in windows)


def step_of(decomposed: Hankel, rank: int) -> Floats:
    """Return A of that rank: it maps U without its last block row onto U without its first."""
    left, p = decomposed.left[:, :rank], decomposed.kernel_shape[1]
    return np.asarray(np.linalg.lstsq(left[:-p], left[p:], rcond=None)[0], dtype=np.float64)
