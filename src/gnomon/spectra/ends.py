r"""Where no eigenvalue of a large matrix lies, and where one does, without solving for any.

*Outside.* T_n is made of c(0) ... c(n-1) alone, so its eigenvalues lie between the ends of every
symbol with these coefficients [grenander1958 sec. 5.2], and those of a sum between the sums of ends
(Weyl) [horn2013 thm. 4.3.1]. So the function part of a closed form, and its masses by their
eigenvalues; or the polynomial that a constant tail leaves, and n times the constant; or else the
polynomial cut at n. A polynomial p of degree m is looked at in N even angles: with M and R the
middle and half the range of what is seen there, |p - M| <= R / cos(pi m / N) [ehlich1964].

*Inside.* Any vector has a quotient v^* T v / v^* v between the ends of the spectrum. That of the
half sine sin(pi (j+1)/(n+1)) turned by e^(ixj) is

    sum_t c(t) W(t) cos(tx),   W(t) = ((n - t) cos(at) + sin((t+1) a) / sin a) / (n + 1),

a = pi/(n+1), so one FFT has the quotients at all angles x. At an end of a smooth symbol they are
off by O(1/n^2); a mass elsewhere is seen as the fourth power of the distance in units of 1/n.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from gnomon.spectra.kernel import Kernel
from gnomon.spectra.modes import Modes, cosine_eigenvalues
from gnomon.spectra.peaks import symbol_ends
from gnomon.spectra.tail import constant_tail
from gnomon.spectra.toeplitz import checked_column

Floats = NDArray[np.float64]
COARSE, FINE, MOST = 16, 1024, 2**22
"""Angles for each degree of a polynomial: at least, where there is room, and that room."""


def outer_ends(kernel: Kernel, column: Floats) -> tuple[float, float]:
    """Return two numbers between which all eigenvalues of a kernel's matrix lie."""
    modes, n = kernel.modes, len(column)
    if modes is not None and not modes.growing.any():
        low, high = (0.0, 0.0) if modes.discrete else symbol_ends(modes)
        below, above = _mass_ends(modes, n)
    else:
        tail = constant_tail(column) or 0.0
        low, high = polynomial_ends(column - tail)
        below, above = min(n * tail, 0.0), max(n * tail, 0.0)
    return low + below, high + above


def _mass_ends(modes: Modes, length: int) -> tuple[float, float]:
    """Return the ends of the spectrum that masses alone have."""
    places, masses = modes.masses()
    if not len(places):
        return 0.0, 0.0
    values = cosine_eigenvalues(places, masses, length)
    return min(float(values[-1]), 0.0), max(float(values[0]), 0.0)


def polynomial_ends(column: Any) -> tuple[float, float]:
    """Return two numbers between which sum_t c(t) cos(tx) lies for all x.

    >>> low, high = polynomial_ends([2.0, 1.0])
    >>> -1e-5 < low <= 0.0, 4.0 <= high < 4.0 + 1e-5
    (True, True)
    """
    c = checked_column(column)
    held = np.flatnonzero(c)
    degree = int(held[-1]) if len(held) else 0
    if degree == 0:
        return float(c[0]), float(c[0])
    seen = cut_symbol(c[: degree + 1], max(COARSE * degree, min(FINE * degree, MOST)))
    middle, reach = 0.5 * (seen.max() + seen.min()), 0.5 * (seen.max() - seen.min())
    reach /= math.cos(math.pi * degree / (2 * (len(seen) - 1)))
    return float(middle - reach), float(middle + reach)


def inner_ends(column: Any) -> tuple[float, float]:
    """Return the least and the largest quotient of a turned half sine.

    >>> low, high = inner_ends([2.0, 1.0, 0.0])  # ends of this spectrum are 2 -+ sqrt 2
    >>> round(low, 6), round(high, 6)
    (0.585786, 3.414214)
    """
    c = checked_column(column)
    n, t, a = len(c), np.arange(len(c)), math.pi / (len(c) + 1)
    weights = ((n - t) * np.cos(a * t) + np.sin((t + 1) * a) / math.sin(a)) / (n + 1)
    found = cut_symbol(c * weights)
    return float(found.min()), float(found.max())


def cut_symbol(column: Any, points: int | None = None) -> Floats:
    """Return sum_(|t| < n) c(t) cos(tx) at x = 2 pi j / N, j = 0 ... N/2, N at least 4n.

    >>> cut_symbol([2.0, 1.0])[[0, -1]]
    array([4., 0.])
    """
    c = checked_column(column)
    length = int(fft.next_fast_len(max(4 * len(c), 64) if points is None else points, real=True))
    length += length % 2
    around = np.zeros(length)
    around[: len(c)] = c
    around[length - len(c) + 1 :] += c[:0:-1]
    return np.asarray(fft.rfft(around).real)
