r"""Symmetric matrices that are Toeplitz in blocks of blocks, by their kernel on all lags.

T_xy = c(x - y) with c(t) = c(-t) at lags -(n_a - 1) ... n_a - 1 of every axis a, the last axis
moving fastest. It is a part of a matrix that is circulant on every axis, so a product is two
transforms of Fourier on all axes [chan2007]. The reversal of all places commutes with T, so that
with m = floor(N/2) of N places, as for one axis [cantoni1976],

    T_even, T_odd = T_ij +- T_i(N-1-j),   i, j < m,

and the middle place of an odd number joins the even part.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import eigvalsh

from gnomon.numeric.reals import reals

Floats = NDArray[np.float64]


class BlockToeplitz:
    """A matrix of that kind that is multiplied often.

    >>> kernel = np.array([[0.0, 1.0, 0.0], [2.0, 5.0, 2.0], [0.0, 1.0, 0.0]])
    >>> BlockToeplitz(kernel) @ np.array([1.0, 0.0, 0.0, 0.0])
    array([5., 2., 1., 0.])
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = reals(kernel, "kernel")
        self.shape = tuple((size + 1) // 2 for size in self.kernel.shape)
        self.size = math.prod(self.shape)
        self.bound = float(np.abs(self.kernel).sum()) or 1.0
        """What no eigenvalue is larger than in size."""
        self._axes = tuple(range(self.kernel.ndim))
        self._lengths = [int(fft.next_fast_len(size, real=True)) for size in self.kernel.shape]
        around = np.zeros(self._lengths)
        around[tuple(slice(size) for size in self.kernel.shape)] = self.kernel
        rolled = np.roll(around, [1 - size for size in self.shape], self._axes)
        self._transform = np.ascontiguousarray(fft.rfftn(rolled).real)

    def __matmul__(self, vectors: Any) -> Floats:
        """Return T x for x (N,) or (N, m)."""
        given = reals(vectors, "vectors")
        columns = given.reshape(self.size, -1).T.reshape(-1, *self.shape)
        axes = [axis + 1 for axis in self._axes]
        moved = fft.rfftn(columns, self._lengths, axes=axes) * self._transform
        made = fft.irfftn(moved, self._lengths, axes=axes)
        kept = made[(slice(None), *(slice(size) for size in self.shape))]
        return np.asarray(kept.reshape(len(columns), -1).T.reshape(given.shape))


def rows_of(kernel: Floats, rows: int) -> Floats:
    """Return the first rows of the matrix."""
    shape = tuple((size + 1) // 2 for size in kernel.shape)
    places = np.indices(shape).reshape(len(shape), -1)
    lags = places[:, :rows, None] - places[:, None, :]
    return np.asarray(kernel[tuple(lags + np.array(shape)[:, None, None] - 1)])


def all_eigenvalues(kernel: Any) -> Floats:
    """Return all eigenvalues, the largest first.

    >>> all_eigenvalues(np.ones((3, 3))).round(12) + 0.0
    array([4., 0., 0., 0.])
    """
    c = reals(kernel, "kernel")
    size = math.prod((side + 1) // 2 for side in c.shape)
    m = size // 2
    top = rows_of(c, m + size % 2)
    near, far = top[:m, :m], top[:m, ::-1][:, :m]
    even, odd = near + far, near - far
    if size % 2:
        beside = np.sqrt(2.0) * top[m, :m]
        even = np.block([[even, beside[:, None]], [beside[None, :], top[m:, m : m + 1]]])
    parts = [eigvalsh(one, overwrite_a=True, check_finite=False) for one in (even, odd) if one.size]
    return np.asarray(np.sort(np.concatenate(parts))[::-1])


def pairs_of(sides: tuple[int, ...]) -> Floats:
    """Return how many pairs of places have each lag, for a kernel with these sides.

    >>> pairs_of((3, 3)).tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    counts = [np.minimum(np.arange(1, side + 1), np.arange(side, 0, -1)) for side in sides]
    made = np.ones(())
    for one in counts:
        made = made[..., None] * one
    return np.asarray(made, dtype=np.float64)
