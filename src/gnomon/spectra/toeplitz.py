r"""Symmetric Toeplitz matrices by their first column: products with vectors in O(n log n).

T_ij = c(|i-j|) is the upper left corner of a circulant matrix of size N >= 2n - 1 whose first
column is c(0) ... c(n-1), zeros, c(n-1) ... c(1); a circulant matrix is diagonal under Fourier's
transform [golub2013 sec. 4.8]. The transform of that column is real, and is computed once: a
product then costs two transforms of a length with small prime factors. Rounding grows with log n.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from gnomon.errors import SpectrumError
from gnomon.numeric.reals import plain_array

Floats = NDArray[np.float64]


class Toeplitz:
    """A symmetric Toeplitz matrix that is multiplied often.

    >>> Toeplitz(np.array([2.0, 1.0, 0.0])) @ np.array([1.0, 0.0, 1.0])
    array([2., 2., 2.])
    """

    def __init__(self, column: Any) -> None:
        self.column = checked_column(column)
        self.size = len(self.column)
        self._length = int(fft.next_fast_len(max(2 * self.size - 1, 1), real=True))
        around = np.zeros(self._length)
        around[: self.size] = self.column
        around[self._length - self.size + 1 :] = self.column[:0:-1]
        self._transform = np.ascontiguousarray(fft.rfft(around).real)

    def __matmul__(self, vectors: Any) -> Floats:
        """Return T x for x (n,) or (n, m)."""
        given = plain_array(vectors, "The vectors hold", kind=SpectrumError)
        if given.ndim not in (1, 2) or len(given) != self.size or given.dtype.kind not in "fiu":
            raise SpectrumError(
                f"The vectors have shape {given.shape} and hold {given.dtype}; pass real numbers "
                f"({self.size},) or ({self.size}, m)."
            )
        moved = np.ascontiguousarray(given.astype(np.float64, copy=False).T)
        spectrum = fft.rfft(moved, self._length)
        spectrum *= self._transform
        made = fft.irfft(spectrum, self._length, overwrite_x=True)[..., : self.size]
        return np.asarray(made.T)

    def dense(self) -> Floats:
        """Return the matrix, n x n."""
        lags = np.arange(self.size)
        return np.asarray(self.column[np.abs(lags[:, None] - lags)])


def checked_column(column: Any) -> Floats:
    """Return the first column of a matrix as float64, or say what it is."""
    values = plain_array(column, "The column holds", kind=SpectrumError)
    if values.ndim != 1 or len(values) == 0 or values.dtype.kind not in "fiu":
        raise SpectrumError(
            f"The kernel has shape {values.shape} and holds {values.dtype}; pass real numbers for "
            "lags 0, 1, ..., n-1 in a line."
        )
    if not np.isfinite(values).all():
        where = int(np.flatnonzero(~np.isfinite(values))[0])
        raise SpectrumError(
            f"The kernel is {values[where]} at lag {where}; pass finite numbers, with what is "
            "masked left out."
        )
    return values.astype(np.float64)
