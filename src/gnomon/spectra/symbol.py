r"""The symbol of a kernel: what it says of the eigenvalues, and where it says nothing.

For a bounded symbol f the eigenvalues of T_n lie in [min f, max f], and for every continuous F the
mean of F(e_j) tends to the mean of F(f(x)) [grenander1958 sec. 5.2]. `distance` compares the two at
a length: the mean of |e_(j) - f_(j)| over the sorted eigenvalues and as many sorted values of f at
evenly spaced x, as a part of the mean |f|.

Masses (turns that do not decay) are no function. The kernel is then the transform of a discrete
measure: rank at most the number of masses on both sides of 0, and the largest eigenvalues grow as n
times a mass. A kernel that grows has no integrable symbol; its norm grows faster than n. A kernel
that is constant past a lag, as T5's and Shaw's are, is c(t) = v + r(t) with r(t) = 0 from the
middle of the lags on: the matrix of v is v times that of ones, of rank 1 with the eigenvalue n v,
and the symbol of r is a trigonometric polynomial, whatever the length.

So the ends of the spectrum of a large matrix are caught without solving for any eigenvalue.

*Outside.* T_n is made of c(0) ... c(n-1) alone, so its eigenvalues lie between the ends of every
symbol with these coefficients, and those of a sum between the sums of ends (Weyl)
[horn2013 thm. 4.3.1]. So the function part of a closed form, and its masses by their eigenvalues;
or the polynomial that a constant tail leaves, and n times the constant; or else the polynomial cut
at n. A polynomial p of degree m is looked at in N even angles: with M and R the middle and half the
range of what is seen there, |p - M| <= R / cos(pi m / N) [ehlich1964].

*Inside.* Any vector has a quotient v^* T v / v^* v between the ends of the spectrum. That of the
half sine sin(pi (j+1)/(n+1)) turned by e^(ixj) is

    sum_t c(t) W(t) cos(tx),   W(t) = ((n - t) cos(at) + sin((t+1) a) / sin a) / (n + 1),

a = pi/(n+1), so one FFT has the quotients at all angles x. At an end of a smooth symbol they are
off by O(1/n^2); a mass elsewhere is seen as the fourth power of the distance in units of 1/n.

*The ends of a bounded symbol* lie between any grid of angles. A mode of decay a at the frequency b
makes a peak at x = b as narrow as |a|, 1e-5 and less for the slow pairs of xPos: no even grid meets
it. In u with x = b + |a| sinh u every mode is smooth on the scale of 1, near its peak and far from
it, so steps of 1/4 in the u of every mode, all of them together with an even grid, leave nothing
unseen. The best places are then cut finer between their neighbours, 16 times a pass, until the
value is exact to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from gnomon.results import Result
from gnomon.spectra.kernel import Kernel
from gnomon.spectra.modes import Modes, cosine_eigenvalues
from gnomon.spectra.toeplitz import read_column

Floats = NDArray[np.float64]

_AROUND = np.array([-8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0])
"""Places around a frequency, in units of its decay, at which a symbol is drawn besides."""

_COARSE, _FINE, _MOST = 16, 1024, 2**22
"""Angles for each degree of a polynomial: at least, where there is room, and that room."""

POINTS = 513
"""Even angles from 0 to pi."""

_STEP = 0.25

_CANDIDATES = 16
"""Local extremes that are looked at closely."""

_PASSES = 6

_CUTS = np.linspace(0.0, 1.0, 33)

FEWEST = 8
"""Lags below which a constant half says nothing."""

_SAME = 1e-12
"""Lags of the far half that differ by less, as a part of the largest value, are constant."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Symbol(Result):
    """The symbol of a kernel: a function of the angle, masses, or both."""

    angles: Floats
    values: Floats | None
    """The part that is a function, at the angles; None where the masses are all."""
    mass_angles: Floats
    masses: Floats
    """Weight at b and -b together."""
    source: str
    """`closed form`, `constant tail` (exact for it) or `cut at the length`."""
    applies: bool | None
    """Whether Szego's theorem says how eigenvalues are distributed; None: not decided."""
    statement: str
    low: float | None
    high: float | None
    """The ends of the symbol, between all angles: where the theorem applies, those of the
    eigenvalues at every length."""


def symbol_of(kernel: Kernel, column: Floats) -> Symbol:
    """Return the symbol of a kernel whose values at lags 0 ... n-1 are `column`."""
    if kernel.modes is not None:
        return _exact_symbol(kernel.modes)
    tail = _constant_tail(column)
    if tail is not None:
        return _with_tail(column, tail)
    angles = np.linspace(0.0, np.pi, POINTS)
    words = (
        "the kernel grows with the lag, so it has no integrable symbol and Szego's theorem "
        "does not apply; drawn is the sum cut at this length"
        if kernel.grows
        else "there is no closed form, so whether Szego's theorem applies is not decided; "
        "drawn is the sum cut at this length"
    )
    return Symbol(
        angles=angles,
        values=_interpolate(column, angles),
        mass_angles=np.zeros(0),
        masses=np.zeros(0),
        source="cut at the length",
        applies=False if kernel.grows else None,
        statement=words,
        low=None,
        high=None,
    )


def distance(eigenvalues: Floats, kernel: Kernel, column: Floats) -> float | None:
    """Return how far sorted eigenvalues are from as many sorted values of the symbol, or None."""
    n = len(eigenvalues)
    angles = np.pi * (np.arange(n) + 0.5) / n
    modes = kernel.modes
    if modes is not None:
        if modes.standing.any() or modes.growing.any():
            return None
        values = modes.symbol(angles)
    else:
        tail = _constant_tail(column)
        if tail is None or tail != 0.0:
            return None
        values = _interpolate(column, angles)
    size = float(np.abs(values).mean())
    gaps = np.abs(np.sort(eigenvalues) - np.sort(values))
    return float(gaps.mean()) / size if size > 0.0 else None


def outer_ends(kernel: Kernel, column: Floats) -> tuple[float, float]:
    """Return two numbers between which all eigenvalues of a kernel's matrix lie."""
    modes, n = kernel.modes, len(column)
    if modes is not None and not modes.growing.any():
        low, high = (0.0, 0.0) if modes.discrete else symbol_ends(modes)
        below, above = _mass_ends(modes, n)
    else:
        tail = _constant_tail(column) or 0.0
        low, high = polynomial_ends(column - tail)
        below, above = min(n * tail, 0.0), max(n * tail, 0.0)
    return low + below, high + above


def inner_ends(column: Any) -> tuple[float, float]:
    """Return the least and the largest quotient of a turned half sine.

    >>> low, high = inner_ends([2.0, 1.0, 0.0])  # ends of this spectrum are 2 -+ sqrt 2
    >>> round(low, 6), round(high, 6)
    (0.585786, 3.414214)
    """
    c = read_column(column)
    n, t, a = len(c), np.arange(len(c)), math.pi / (len(c) + 1)
    weights = ((n - t) * np.cos(a * t) + np.sin((t + 1) * a) / math.sin(a)) / (n + 1)
    found = cut_symbol(c * weights)
    return float(found.min()), float(found.max())


def symbol_ends(modes: Modes) -> tuple[float, float]:
    """Return the least and the largest value of a bounded symbol.

    >>> from gnomon.spectra.modes import modes
    >>> low, high = symbol_ends(modes(np.ones(1), 0.0, np.log(0.5)))  # (1 - r) / (1 + r), inverse
    >>> round(low, 12), round(high, 12)
    (0.333333333333, 3.0)
    """
    angles = _nodes(modes)
    values = modes.symbol(angles)
    return -_top(modes, angles, values, -1.0), _top(modes, angles, values, 1.0)


def polynomial_ends(column: Any) -> tuple[float, float]:
    """Return two numbers between which sum_t c(t) cos(tx) lies for all x.

    >>> low, high = polynomial_ends([2.0, 1.0])
    >>> -1e-5 < low <= 0.0, 4.0 <= high < 4.0 + 1e-5
    (True, True)
    """
    c = read_column(column)
    held = np.flatnonzero(c)
    degree = int(held[-1]) if len(held) else 0
    if degree == 0:
        return float(c[0]), float(c[0])
    seen = cut_symbol(c[: degree + 1], max(_COARSE * degree, min(_FINE * degree, _MOST)))
    middle, reach = 0.5 * (seen.max() + seen.min()), 0.5 * (seen.max() - seen.min())
    reach /= math.cos(math.pi * degree / (2 * (len(seen) - 1)))
    return float(middle - reach), float(middle + reach)


def cut_symbol(column: Any, points: int | None = None) -> Floats:
    """Return sum_(|t| < n) c(t) cos(tx) at x = 2 pi j / N, j = 0 ... N/2, N at least 4n.

    >>> cut_symbol([2.0, 1.0])[[0, -1]]
    array([4., 0.])
    """
    c = read_column(column)
    length = int(fft.next_fast_len(max(4 * len(c), 64) if points is None else points, real=True))
    length += length % 2
    around = np.zeros(length)
    around[: len(c)] = c
    around[length - len(c) + 1 :] += c[:0:-1]
    return np.asarray(fft.rfft(around).real)


def _constant_tail(column: Floats) -> float | None:
    """Return the value that the far half of the lags has, or None where they differ.

    >>> _constant_tail(np.array([3.0, 2.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]))
    0.5
    """
    far, size = column[len(column) // 2 :], float(np.abs(column).max())
    if len(column) < FEWEST or np.ptp(far) > _SAME * size:
        return None
    return float(far[-1]) if abs(far[-1]) > _SAME * size else 0.0


def _with_tail(column: Floats, tail: float) -> Symbol:
    """Return a polynomial, and a mass at 0 where the far lags are not 0."""
    angles = np.linspace(0.0, np.pi, POINTS)
    words = (
        f"the kernel is constant ({tail:.4g}) from the middle of its lags on: one mass at 0, "
        "which moves one eigenvalue, and Szego's theorem for the rest"
    )
    if not tail:
        words = (
            "the kernel is 0 from the middle of its lags on, so the symbol is a trigonometric "
            "polynomial: all eigenvalues lie between its ends, and are distributed as its values "
            "as the length grows (Szego)"
        )
    low, high = polynomial_ends(column) if not tail else (None, None)
    return Symbol(
        angles=angles,
        values=_interpolate(column - tail, angles) if column.any() else None,
        mass_angles=np.zeros(1 if tail else 0),
        masses=np.full(1 if tail else 0, tail),
        source="constant tail",
        applies=not tail,
        statement=words if column.any() else "the kernel is zero",
        low=low,
        high=high,
    )


def _exact_symbol(modes: Modes) -> Symbol:
    places, masses = modes.masses()
    angles = _drawn(modes)
    values = None if modes.discrete else modes.symbol(angles)
    bounded = values is not None and not modes.growing.any() and not len(places)
    low, high = symbol_ends(modes) if bounded else (None, None)
    return Symbol(
        angles=angles,
        values=values,
        mass_angles=places,
        masses=masses,
        source="closed form",
        applies=bounded,
        statement=_statement(modes, places, masses),
        low=low,
        high=high,
    )


def _drawn(modes: Modes) -> Floats:
    """Return even angles, and some around every peak, which an even grid would not meet."""
    decays = modes.rates < 0.0
    around = modes.frequencies[decays, None] - modes.rates[decays, None] * _AROUND
    inside = around[(around >= 0.0) & (around <= np.pi)]
    return np.unique(np.concatenate([np.linspace(0.0, np.pi, POINTS), inside]))


def _statement(modes: Modes, places: Floats, masses: Floats) -> str:
    if modes.growing.any():
        return (
            "the kernel grows with the lag, so it has no integrable symbol and Szego's theorem "
            "does not apply; drawn is Abel's sum, which has a pole"
        )
    if modes.discrete and not len(places):
        return "the kernel is zero"
    if modes.discrete:
        sides = np.where((places > 0.0) & (places < np.pi), 0.5, 1.0) * masses
        end, top = ("largest", sides.max()) if sides.max() > 0.0 else ("smallest", sides.min())
        return (
            f"the symbol is {_count_words(places)} and no function, so Szego's theorem does not "
            f"apply: the rank has a bound, and the {end} eigenvalue grows as n, at {top:.4g} n "
            "or more in the limit"
        )
    if len(places):
        return (
            f"{_count_words(places)} beside a bounded function: Szego's theorem applies to the "
            "function, and the masses move a bounded number of eigenvalues"
        )
    return (
        "the symbol is a bounded function: all eigenvalues lie between its ends, and are "
        "distributed as its values as the length grows (Szego)"
    )


def _count_words(places: Floats) -> str:
    return f"{len(places)} mass{'es' if len(places) > 1 else ''}"


def _interpolate(column: Floats, angles: Floats) -> Floats:
    """Return the sum cut at n at angles, from a grid four times as fine as n."""
    grid = cut_symbol(column)
    return np.asarray(np.interp(angles, np.linspace(0.0, np.pi, len(grid)), grid))


def _mass_ends(modes: Modes, length: int) -> tuple[float, float]:
    """Return the ends of the spectrum that masses alone have."""
    places, masses = modes.masses()
    if not len(places):
        return 0.0, 0.0
    values = cosine_eigenvalues(places, masses, length)
    return min(float(values[-1]), 0.0), max(float(values[0]), 0.0)


def _nodes(modes: Modes, step: float = _STEP) -> Floats:
    """Return angles from 0 to pi, dense where the symbol of decaying modes changes."""
    even = np.linspace(0.0, np.pi, POINTS)
    decays = modes.rates < 0.0
    if not decays.any():
        return even
    places = np.stack([modes.frequencies[decays], -modes.rates[decays]], axis=1)
    places = np.unique(places, axis=0)
    reach = np.arcsinh(np.pi / places[:, 1].min())
    steps = np.sinh(np.arange(-np.ceil(reach / step), np.ceil(reach / step) + 1) * step)
    around = (places[:, :1] + places[:, 1:] * steps).ravel()
    inside = around[(around > 0.0) & (around < np.pi)]
    return np.unique(np.concatenate([even, places[:, 0], inside]))


def _top(modes: Modes, angles: Floats, values: Floats, sign: float) -> float:
    """Return the largest value of the symbol, or of its negative, at and between the angles."""
    heights = sign * values
    beside = np.pad(heights, 1, constant_values=-np.inf)
    peaks = np.flatnonzero((heights >= beside[:-2]) & (heights >= beside[2:]))
    peaks = peaks[np.argsort(heights[peaks])[::-1][:_CANDIDATES]]
    left = angles[np.maximum(peaks - 1, 0)]
    right = angles[np.minimum(peaks + 1, len(angles) - 1)]
    rows, best = np.arange(len(peaks)), heights[peaks]
    for _ in range(_PASSES):
        x = left[:, None] + (right - left)[:, None] * _CUTS
        found = sign * modes.symbol(x)
        place = np.argmax(found, axis=1)
        best = np.maximum(best, found[rows, place])
        left = x[rows, np.maximum(place - 1, 0)]
        right = x[rows, np.minimum(place + 1, len(_CUTS) - 1)]
    return float(best.max())
