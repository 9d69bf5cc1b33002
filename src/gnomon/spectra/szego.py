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
from gnomon.spectra.extremes import cut_symbol
from gnomon.spectra.kernel import Kernel
from gnomon.spectra.modes import Modes

Floats = NDArray[np.float64]
POINTS = 513
"""Angles from 0 to pi at which a symbol is drawn."""
_TAIL = 1e-12
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
    """Between these lie all eigenvalues, where the theorem applies (on the drawn angles)."""


def symbol_of(kernel: Kernel, column: Floats) -> Symbol:
    """Return the symbol of a kernel whose values at lags 0 ... n-1 are `column`."""
    angles = np.linspace(0.0, np.pi, POINTS)
    if kernel.modes is not None:
        return _closed(kernel.modes, angles)
    tail = _constant_tail(column)
    if tail is not None:
        values = _interpolated(column - tail, angles)
        where, mass = (np.zeros(1), np.full(1, tail)) if tail else (np.zeros(0), np.zeros(0))
        applies: bool | None = not tail
        words = (
            f"the kernel is constant ({tail:.4g}) from the middle of its lags on: one mass at 0, "
            "which moves one eigenvalue, and Szego's theorem for the rest"
        )
        source = "constant tail"
    else:
        values, where, mass = _interpolated(column, angles), np.zeros(0), np.zeros(0)
        applies, source = (False if kernel.grows else None), "cut at the length"
        words = (
            "the kernel grows with the lag, so it has no integrable symbol and Szego's theorem "
            "does not apply; drawn is the sum cut at this length"
            if kernel.grows
            else "there is no closed form, so whether Szego's theorem applies is not decided; "
            "drawn is the sum cut at this length"
        )
    return Symbol(
        angles=angles,
        values=values,
        mass_angles=where,
        masses=mass,
        source=source,
        applies=applies,
        statement=words,
        low=float(values.min()) if applies else None,
        high=float(values.max()) if applies else None,
    )


def _closed(modes: Modes, angles: Floats) -> Symbol:
    places, masses = modes.masses()
    values = None if modes.discrete else modes.symbol(angles)
    grows, mixed = bool(modes.growing.any()), len(places) > 0
    bounded = values is not None and not grows and not mixed
    return Symbol(
        angles=angles,
        values=values,
        mass_angles=places,
        masses=masses,
        source="closed form",
        applies=bounded,
        statement=_statement(modes, places, masses),
        low=float(np.min(values)) if bounded and values is not None else None,
        high=float(np.max(values)) if bounded and values is not None else None,
    )


def _statement(modes: Modes, places: Floats, masses: Floats) -> str:
    if modes.growing.any():
        return (
            "the kernel grows with the lag, so it has no integrable symbol and Szego's theorem "
            "does not apply; drawn is Abel's sum, which has a pole"
        )
    if modes.discrete and not len(places):
        return "the kernel is zero"
    if modes.discrete:
        top = float(np.max(np.where((places > 0.0) & (places < np.pi), 0.5, 1.0) * masses))
        return (
            f"the symbol is {_counted(places)} and no function, so Szego's theorem does not "
            f"apply: the rank has a bound, and the largest eigenvalue grows as n, at {top:.4g} n "
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
        tail = _constant_tail(column)
        if tail is None or tail != 0.0:
            return None
        values = _interpolated(column, angles)
    size = float(np.abs(values).mean())
    gaps = np.abs(np.sort(eigenvalues) - np.sort(values))
    return float(gaps.mean()) / size if size > 0.0 else None


def _constant_tail(column: Floats) -> float | None:
    """Return the value that the far half of the lags has, or None where they differ."""
    far = column[len(column) // 2 :]
    if len(column) < 8 or np.ptp(far) > _TAIL * max(float(np.abs(column).max()), 1e-300):
        return None
    return float(far[-1]) if abs(far[-1]) > _TAIL * np.abs(column).max() else 0.0


def _interpolated(column: Floats, angles: Floats) -> Floats:
    """Return the sum cut at n at angles, from a grid four times as fine as n."""
    grid = cut_symbol(column)
    return np.asarray(np.interp(angles, np.linspace(0.0, np.pi, len(grid)), grid))
