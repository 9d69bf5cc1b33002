r"""Eigenvalues of sums of cosines, exactly and at any length: rotary kernels.

    T_ij = sum_k w_k cos(b_k (i - j)),   0 <= b_k <= pi,  i, j = 0 ... n-1

is E W E^T with columns cos(b_k x) and sin(b_k x) of E at positions x counted from the middle, and
has the eigenvalues of G^(1/2) W G^(1/2), G = E^T E, but for zeros. Cosines and sines are orthogonal
there (even against odd), so G is two matrices of one row for each frequency,

    (D(b_k - b_l) +- D(b_k + b_l)) / 2,   D(x) = sin(n x / 2) / sin(x / 2),

D Dirichlet's kernel; where no weight is below 0, W^(1/2) G W^(1/2) saves the root of G. So m
frequencies cost O(m^3) whatever n is, and the rank is at most 2m (one less for b = 0 and for b =
pi, which have one of the two). Errors are some eps times the largest.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh

from gnomon.errors import SpectrumError
from gnomon.numeric.reals import reals
from gnomon.spectra.checks import whole

Floats = NDArray[np.float64]
_NEAR = 1e-6
"""Below it sin(n x / 2) / sin(x / 2) is taken from its sinc, which has no 0 / 0."""


def cosine_eigenvalues(frequencies: Any, weights: Any, length: int) -> Floats:
    """Return the eigenvalues that are not zero by the count of modes, the largest first.

    Of a matrix with fewer rows than modes there are as many as rows.

    >>> cosine_eigenvalues([0.0, np.pi / 2], [0.5, 0.5], 4)
    array([2., 1., 1.])
    """
    b, w = (
        np.atleast_1d(reals(frequencies, "frequencies")),
        np.atleast_1d(reals(weights, "weights")),
    )
    length = whole("length", length, least=1)
    _check(b, w)
    if not b.size:
        return np.zeros(0)
    apart = dirichlet(b[:, None] - b, length)
    beside = dirichlet(b[:, None] + b, length)
    # Half a turn from place to place is a sine, counted from the middle of an even number of them.
    half = b == math.pi
    cosines, sines = ~half | (length % 2 == 1), (b > 0.0) & (~half | (length % 2 == 0))
    even = weighed(0.5 * (apart + beside)[np.ix_(cosines, cosines)], w[cosines])
    odd = weighed(0.5 * (apart - beside)[np.ix_(sines, sines)], w[sines])
    values = np.concatenate([even, odd])
    # More modes than rows: those beyond the rank are zeros, the smallest in size.
    kept = np.argsort(np.abs(values))[::-1][:length]
    return np.asarray(np.sort(values[kept])[::-1])


def weighed(gram: Floats, weights: Floats) -> Floats:
    """Return the eigenvalues of G^(1/2) W G^(1/2)."""
    if not gram.size:
        return np.zeros(0)
    if (weights >= 0.0).all():
        roots = np.sqrt(weights)
        # There is no eigenvalue below 0; what is there is rounding.
        return np.maximum(eigvalsh(roots[:, None] * gram * roots), 0.0)
    values, vectors = eigh(gram)
    half = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    return np.asarray(eigvalsh((half * weights) @ half))


def most_rank(frequencies: Any, length: int) -> int:
    """Return what the rank can not exceed, and is in exact numbers.

    >>> most_rank([0.0, 1.0, 2.0], 100)
    5
    """
    b = np.atleast_1d(reals(frequencies, "frequencies"))
    turns = int(((b > 0.0) & (b < math.pi)).sum())
    return min(length, len(b) + turns)


def dirichlet(angles: Floats, length: int) -> Floats:
    """Return sin(n x / 2) / sin(x / 2), n at 0; angles up to 2 pi."""
    half = np.abs(0.5 * reals(angles, "angles"))
    # Near 2 pi the quotient is (-1)^(n-1) times that at the distance to 2 pi, which is flat.
    folded = half > 0.5 * math.pi
    rest = np.where(folded, math.pi - half, half)
    sign = np.where(folded & (length % 2 == 0), -1.0, 1.0)
    near = np.abs(rest) < _NEAR
    slow = length * np.sinc(length * rest / math.pi) / np.sinc(rest / math.pi)
    fast = np.sin(length * rest) / np.where(near, 1.0, np.sin(rest))
    return np.asarray(sign * np.where(near, slow, fast))


def _check(frequencies: Floats, weights: Floats) -> None:
    if frequencies.shape != weights.shape or frequencies.ndim != 1:
        raise SpectrumError(
            f"There are {frequencies.size} frequencies and {weights.size} weights; pass one weight "
            "for each frequency."
        )
    wrong = ~np.isfinite(weights) | ~(frequencies >= 0.0) | ~(frequencies <= math.pi)
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise SpectrumError(
            f"Mode {k} has frequency {frequencies[k]:g} and weight {weights[k]:g}; pass "
            "frequencies from 0 to pi with finite weights."
        )
