r"""Kernels that are sums of modes, with their symbol, and the eigenvalues of sums of cosines.

    c(t) = sum_k w_k |t|^(r_k) e^(a_k |t|) cos(b_k t),   a_k <= 0,

mirrored at lag 0, is what the blocks of a generator leave of a logit. Its symbol

    f(x) = c(0) + 2 sum_(t >= 1) c(t) cos(tx)

is a sum of rational functions: with z = e^(a + i(b +- x)) and polylogarithms of order -r,
sum_t t^r z^t = sum_(k <= r) k! S(r+1, k+1) (z/(1-z))^(k+1), S the Stirling numbers of the second
kind; for r = 0 that is the Poisson kernel. A mode that neither decays nor grows (a = 0, r = 0) has
no such function: it is a mass w/2 at b and at -b, and the symbol is *discrete*. A mode with a = 0
and r > 0 grows: its sum diverges everywhere, and what the formula gives (for -m |t|:
m / (2 sin^2(x/2))) is Abel's sum, which is not integrable at x = b. What the symbol says of
eigenvalues, and where it says nothing: `gnomon.spectra.symbol`.

A discrete kernel, such as a rotary one, has its eigenvalues exactly and at any length. The matrix

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
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh

from gnomon.errors import SpectrumError
from gnomon.numeric.checks import reals
from gnomon.results import Result
from gnomon.spectra.checks import check_int

Floats = NDArray[np.float64]

_CHUNK = 2**21
"""Numbers held at a time: 16 MiB."""

_SAME = 1e-12
"""Frequencies that differ by less are one mode."""

_NEAR = 1e-6
"""Below it sin(n x / 2) / sin(x / 2) is taken from its sinc, which has no 0 / 0."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Modes(Result):
    """Weights w, rates a <= 0, frequencies b in [0, pi] and powers r of every mode, flat arrays."""

    weights: Floats
    rates: Floats
    frequencies: Floats
    powers: NDArray[np.int64]

    def at(self, lags: Floats) -> Floats:
        """Return c(t) at any lags."""
        sizes = np.abs(reals(lags, "lags"))
        flat, found = sizes.reshape(-1), np.empty(sizes.size)
        step = max(1, _CHUNK // max(1, len(self.weights)))
        for start in range(0, len(flat), step):
            t = flat[start : start + step, None]
            waves = np.cos(t * self.frequencies) * np.exp(t * self.rates)
            waves = waves * t**self.powers if self.powers.any() else waves
            found[start : start + step] = waves @ self.weights
        return found.reshape(sizes.shape)

    @cached_property
    def standing(self) -> NDArray[np.bool_]:
        """Which modes neither decay nor grow: masses of the symbol."""
        return np.asarray((self.rates == 0.0) & (self.powers == 0))

    @cached_property
    def growing(self) -> NDArray[np.bool_]:
        """Which modes grow with the lag."""
        return np.asarray((self.rates == 0.0) & (self.powers > 0))

    @property
    def discrete(self) -> bool:
        """Whether the symbol is masses and nothing else."""
        return bool(self.standing.all())

    def masses(self) -> tuple[Floats, Floats]:
        """Return the frequencies in [0, pi] at which the symbol has a mass, and both sides' sum.

        Modes of equal frequency are one; those of no weight are none.
        """
        kept = self.standing & (self.weights != 0.0)
        if not kept.any():
            return np.zeros(0), np.zeros(0)
        order = np.argsort(self.frequencies[kept])
        places, weights = self.frequencies[kept][order], self.weights[kept][order]
        first = np.concatenate([[True], np.diff(places) > _SAME])
        return places[first], np.add.reduceat(weights, np.flatnonzero(first))

    def symbol(self, angles: Floats) -> Floats:
        """Return f(x) of the modes that are no masses, at angles in radians; Abel's sum if need be.

        Where that has a pole the value is NaN.
        """
        x = reals(angles, "angles")
        total = np.zeros(x.shape)
        for k in np.flatnonzero(~self.standing):
            a, b, r = self.rates[k], self.frequencies[k], int(self.powers[k])
            total = total + self.weights[k] * (_series(a, b - x, r) + _series(a, b + x, r))
        return np.asarray(total)


def modes(
    weights: Floats,
    frequencies: Floats | float = 0.0,
    rates: Floats | float = 0.0,
    powers: int = 0,
) -> Modes:
    """Return modes from arrays that broadcast; whole positions see frequencies modulo 2 pi.

    >>> modes(np.array([0.5, 0.5]), np.array([0.0, np.pi])).at(np.arange(3.0))
    array([1., 0., 1.])
    """
    frequencies = reals(frequencies, "frequencies")
    w, b, a, r = np.broadcast_arrays(np.atleast_1d(weights), frequencies, rates, powers)
    turned = np.abs(np.remainder(np.ravel(b) + math.pi, 2.0 * math.pi) - math.pi)
    return Modes(
        weights=reals(w, "weights").copy().ravel(),
        # Small frequencies keep their digits: the remainder would round them to those of pi.
        frequencies=np.where(np.abs(np.ravel(b)) <= math.pi, np.abs(np.ravel(b)), turned),
        rates=reals(a, "rates").copy().ravel(),
        powers=np.array(r, dtype=np.int64).ravel(),
    )


def add_modes(*parts: Modes) -> Modes:
    """Return the sum of kernels."""
    names = ("weights", "rates", "frequencies", "powers")
    return Modes(**{name: np.concatenate([getattr(one, name) for one in parts]) for name in names})


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
    length = check_int("length", length, least=1)
    _check(b, w)
    if not b.size:
        return np.zeros(0)
    apart = dirichlet(b[:, None] - b, length)
    beside = dirichlet(b[:, None] + b, length)
    # Half a turn from place to place is a sine, counted from the middle of an even number of them.
    half = b == math.pi
    cosines, sines = ~half | (length % 2 == 1), (b > 0.0) & (~half | (length % 2 == 0))
    even = weighted_eigenvalues(0.5 * (apart + beside)[np.ix_(cosines, cosines)], w[cosines])
    odd = weighted_eigenvalues(0.5 * (apart - beside)[np.ix_(sines, sines)], w[sines])
    values = np.concatenate([even, odd])
    # More modes than rows: those beyond the rank are zeros, the smallest in size.
    kept = np.argsort(np.abs(values))[::-1][:length]
    return np.asarray(np.sort(values[kept])[::-1])


def most_rank(frequencies: Any, length: int) -> int:
    """Return what the rank cannot exceed, and is in exact numbers.

    >>> most_rank([0.0, 1.0, 2.0], 100)
    5
    """
    b = np.atleast_1d(reals(frequencies, "frequencies"))
    turns = int(((b > 0.0) & (b < math.pi)).sum())
    return min(length, len(b) + turns)


def weighted_eigenvalues(gram: Floats, weights: Floats) -> Floats:
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


def _series(rate: float, angles: Floats, power: int) -> Floats:
    """Return half of c(0) and the real part of sum_(t >= 1) t^r z^t, z = e^(a + ix)."""
    if power > 0:
        return _powers_summed(rate, angles, power)
    # Poisson's kernel, (1 - r^2) / (1 - 2 r cos x + r^2) / 2: both terms below are positive.
    half = 2.0 * np.exp(0.5 * rate) * np.sin(0.5 * angles)
    return np.asarray(-0.5 * np.expm1(2.0 * rate) / (np.expm1(rate) ** 2 + half**2))


def _powers_summed(rate: float, angles: Floats, power: int) -> Floats:
    """Return the real part of sum_(t >= 1) t^r z^t, z = e^(a + ix)."""
    z = np.exp(rate + 1j * angles)
    # 1 - z loses all digits near z = 1: e^u - 1 from the halves of its angle does not.
    less = -(np.expm1(rate) * np.cos(angles) - 2.0 * np.sin(0.5 * angles) ** 2)
    gap = less - 1j * np.exp(rate) * np.sin(angles)
    pole = gap == 0.0
    ratio = z / np.where(pole, 1.0, gap)
    total = sum(
        math.factorial(k) * _stirling(power + 1, k + 1) * ratio ** (k + 1) for k in range(power + 1)
    )
    return np.asarray(np.where(pole, np.nan, np.real(total)), dtype=np.float64)


def _stirling(n: int, k: int) -> int:
    """Return the number of ways to split n things into k groups."""
    if k in (0, n):
        return int(n == k)
    return k * _stirling(n - 1, k) + _stirling(n - 1, k - 1)


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
