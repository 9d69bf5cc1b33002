r"""Vectors that are added: the spectrum of P P^T and how far it is from a Toeplitz matrix.

Eigenvalues of G = P P^T, P (n, d), are the squared singular values of P. Sums along its diagonals
are the autocorrelation of the columns of P, by FFT in O(d n log n), and sum G_ij^2 = |P^T P|^2, so
the share of G that the lag explains (`gnomon.spectra.share`) needs no n x n matrix
[golub2013 sec. 4.8].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import svdvals

from gnomon.errors import SpectrumError
from gnomon.numeric.reals import reals
from gnomon.results import Result

Floats = NDArray[np.float64]
_LARGEST = 1e70
"""Fourth powers of numbers above it, summed over positions, leave what float64 can hold."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GramSpectrum(Result):
    """Eigenvalues of P P^T, the largest first, its mean by lag, and its Toeplitz share."""

    eigenvalues: Floats
    profile: Floats
    """The mean of p_i.p_(i+t) for t = 0 ... n-1."""
    toeplitz_share: float
    """NaN where all products are equal."""


def gram_spectrum(vectors: Any) -> GramSpectrum:
    """Return the spectrum of the products of vectors (n, d).

    >>> gram_spectrum([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]).profile.round(12) + 0.0
    array([ 1.,  0., -1.])
    """
    p = reals(vectors, "vectors")
    if p.ndim != 2 or not p.size or not np.isfinite(p).all():
        raise SpectrumError(
            f"The vectors have shape {p.shape}; pass finite numbers (positions, dimension)."
        )
    largest = float(np.abs(p).max())
    if largest > _LARGEST:
        raise SpectrumError(
            f"The vectors have numbers up to {largest:.3g}, whose products are not finite; scale "
            "them down."
        )
    n = len(p)
    length = int(fft.next_fast_len(2 * n - 1, real=True))
    power = np.abs(fft.rfft(p, length, axis=0)) ** 2
    sums = fft.irfft(power.sum(axis=1), length)[:n]
    pairs = np.arange(n, 0, -1, dtype=np.float64)
    profile = sums / pairs
    twice = np.where(np.arange(n) > 0, 2.0, 1.0) * pairs
    mean = float(twice @ profile) / n**2
    total = float(np.sum((p.T @ p) ** 2)) - n**2 * mean**2
    explained = float(twice @ (profile - mean) ** 2)
    varies = total > 1e-14 * max(n**2 * mean**2, np.finfo(np.float64).tiny)
    return GramSpectrum(
        eigenvalues=np.square(svdvals(p)),
        profile=profile,
        toeplitz_share=min(explained / total, 1.0) if varies else float("nan"),
    )
