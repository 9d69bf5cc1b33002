r"""What the symbol says of the eigenvalues, and where it says nothing.

For a bounded symbol f the eigenvalues of T_n lie in [min f, max f], and for every continuous F the
mean of F(e_j) tends to the mean of F(f(x)) [grenander1958 sec. 5.2]. `distance` compares the two at
a length: the mean of |e_(j) - f_(j)| over the sorted eigenvalues and as many sorted values of f at
evenly spaced x, as a part of the mean |f|.

Masses (turns that do not decay) are no function. The kernel is then the transform of a discrete
measure: rank at most the number of masses on both sides of 0, and the largest eigenvalues grow as n
times a mass. A kernel that grows has no integrable symbol; its norm grows faster than n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.results import Result
from gnomon.spectra.ends import cut_symbol, polynomial_ends
from gnomon.spectra.kernel import Kernel
from gnomon.spectra.modes import Modes
from gnomon.spectra.peaks import POINTS, symbol_ends
from gnomon.spectra.tail import constant_tail

Floats = NDArray[np.float64]
AROUND = np.array([-8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0])
"""Places around a frequency, in units of its decay, at which a symbol is drawn besides."""


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
        return _closed(kernel.modes)
    tail = constant_tail(column)
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
        values=_interpolated(column, angles),
        mass_angles=np.zeros(0),
        masses=np.zeros(0),
        source="cut at the length",
        applies=False if kernel.grows else None,
        statement=words,
        low=None,
        high=None,
    )


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
        values=_interpolated(column - tail, angles) if column.any() else None,
        mass_angles=np.zeros(1 if tail else 0),
        masses=np.full(1 if tail else 0, tail),
        source="constant tail",
        applies=not tail,
        statement=words if column.any() else "the kernel is zero",
        low=low,
        high=high,
    )


def _closed(modes: Modes) -> Symbol:
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
    around = modes.frequencies[decays, None] - modes.rates[decays, None] * AROUND
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
            f"the symbol is {_counted(places)} and no function, so Szego's theorem does not "
            f"apply: the rank has a bound, and the {end} eigenvalue grows as n, at {top:.4g} n "
            "or more in the limit"
        )
    if len(places):
        return (
            f"{_counted(places)} beside a bounded function: Szego's theorem applies to the "
            "function, and the masses move a bounded number of eigenvalues"
        )
    return (
        "the symbol is a bounded function: all eigenvalues lie between its ends, and are "
        "distributed as its values as the length grows (Szego)"
    )


def _counted(places: Floats) -> str:
    return f"{len(places)} mass{'es' if len(places) > 1 else ''}"


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
        tail = constant_tail(column)
        if tail is None or tail != 0.0:
            return None
        values = _interpolated(column, angles)
    size = float(np.abs(values).mean())
    gaps = np.abs(np.sort(eigenvalues) - np.sort(values))
    return float(gaps.mean()) / size if size > 0.0 else None


def _interpolated(column: Floats, angles: Floats) -> Floats:
    """Return the sum cut at n at angles, from a grid four times as fine as n."""
    grid = cut_symbol(column)
    return np.asarray(np.interp(angles, np.linspace(0.0, np.pi, len(grid)), grid))
