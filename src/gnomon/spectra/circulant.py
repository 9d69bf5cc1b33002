r"""The circulant matrix nearest to a symmetric Toeplitz matrix, and its eigenvalues by one FFT.

Among all circulant C, |T - C| in the Frobenius norm is least for the mean of T along each wrapped
diagonal [chan1988],

    C_j = ((n - j) c(j) + j c(n - j)) / n,      eigenvalues sum_j C_j cos(2 pi j k / n).

Its eigenvalues lie between those of T, and are the values of Fejer's mean of the symbol at
2 pi k / n. For a kernel that is short against n they are near those of T; for one that reaches as
far as n, as a rotary kernel does, they are not, and `residual` = |T - C| / |T| says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from gnomon.results import Result
from gnomon.spectra.toeplitz import checked_column

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Circulant(Result):
    """The nearest circulant matrix by its first column, with its eigenvalues, the largest first."""

    column: Floats
    eigenvalues: Floats
    residual: float
    """|T - C| / |T| in the Frobenius norm; 0 where T is 0."""


def nearest_circulant(column: Any) -> Circulant:
    """Return the circulant matrix nearest to T.

    >>> nearest_circulant([2.0, 1.0, 1.0]).eigenvalues
    array([4., 1., 1.])
    """
    c = checked_column(column)
    n, j = len(c), np.arange(len(c))
    wrapped = np.concatenate([[0.0], c[:0:-1]])
    mean = ((n - j) * c + j * wrapped) / n
    values = np.sort(fft.fft(mean).real)[::-1]
    # Each wrapped diagonal of T is n - j numbers c(j) and j numbers c(n - j).
    off = float(np.sum((n - j) * (c - mean) ** 2 + j * (wrapped - mean) ** 2))
    whole = float(np.sum((n - j) * c**2 + j * wrapped**2))
    residual = float(np.sqrt(off / whole)) if whole > 0.0 else 0.0
    return Circulant(column=mean, eigenvalues=values, residual=residual)
