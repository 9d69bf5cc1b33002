r"""The eigenvalues of a kernel's n x n matrix, by the cheapest way that is exact enough.

1. Sums of cosines with weights above 0: in closed form, all of them, at any length.
2. Up to `DENSE` positions: all of them, from two dense matrices of half the size.
3. Above: both ends by Lanczos with FFT products. Where eigenvalues crowd at an end, as at the top
   and the bottom of a smooth symbol, it is caught between that end of the symbol and the quotient
   of one vector (`gnomon.spectra.extremes`), [grenander1958 sec. 5.2], and the reason is told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import SpectrumError
from gnomon.results import Result
from gnomon.spectra.discrete import cosine_eigenvalues, most_rank
from gnomon.spectra.extremes import cut_symbol, extreme_eigenvalues, inner_end
from gnomon.spectra.kernel import Kernel
from gnomon.spectra.splitting import all_eigenvalues

Floats = NDArray[np.float64]
DENSE = 4096
"""Positions up to which all eigenvalues are computed: 1 to 4 s, 64 MiB."""
LONGEST = 2**20
COUNTS = {"largest": 8, "smallest": 1}
"""Eigenvalues that are looked for at the ends of a larger matrix."""
STEPS = 10
"""Restarts of Lanczos at an end before its eigenvalues count as crowded."""
POINTS = 4097
"""Angles at which a bounded symbol is looked at, beside its frequencies."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Eigenvalues(Result):
    """Eigenvalues, the largest first; what is missing where they are not all."""

    values: Floats
    length: int
    method: str
    complete: bool
    """Whether all that are not zero are there."""
    rank_bound: int
    """What the rank can not exceed, from the number of modes."""
    low: float | None
    high: float | None
    """Where an end was not found: what no eigenvalue lies beyond."""
    reason: str
    """Why some are missing, or nothing."""


def eigenvalues_of(kernel: Kernel, length: int) -> Eigenvalues:
    """Return the eigenvalues of a kernel at positions 0 ... n-1."""
    check_length(length)
    modes = kernel.modes
    if modes is not None and modes.discrete and (modes.weights >= 0.0).all():
        places, masses = modes.masses()
        return Eigenvalues(
            values=cosine_eigenvalues(places, masses, length),
            length=length,
            method="closed form",
            complete=True,
            rank_bound=most_rank(places, length),
            low=None,
            high=None,
            reason="",
        )
    column = kernel.column(length)
    if length > DENSE:
        return _ends(kernel, column)
    return Eigenvalues(
        values=all_eigenvalues(column),
        length=length,
        method="even and odd halves",
        complete=True,
        rank_bound=length,
        low=None,
        high=None,
        reason="",
    )


def _ends(kernel: Kernel, column: Floats) -> Eigenvalues:
    """Return what can be had of the ends of a large matrix."""
    bounded = _bounded(kernel)
    parts: dict[str, Floats] = {}
    outer: dict[str, float | None] = {"largest": None, "smallest": None}
    for end in ("largest", "smallest"):
        # At the foot of a bounded symbol eigenvalues always crowd: no time is lost on them.
        skipped = bounded and end == "smallest"
        found = None if skipped else extreme_eigenvalues(column, COUNTS[end], end=end, steps=STEPS)
        if found is not None and len(found.values):
            parts[end] = found.values
        else:
            outer[end], angle = _outer_end(kernel, column, end)
            parts[end] = np.array([inner_end(column, angle)])
    missing = [end for end, bound in outer.items() if bound is not None]
    reason = f"{len(column)} positions are more than {DENSE}, so only both ends were looked for"
    if missing:
        reason += (
            f"; at the {' and the '.join(missing)} eigenvalues crowd, so what stands there is a "
            "quotient just inside, and the end of the symbol lies outside"
        )
    return Eigenvalues(
        values=np.concatenate([parts["largest"], parts["smallest"][::-1]]),
        length=len(column),
        method="Lanczos with FFT products",
        complete=False,
        rank_bound=len(column),
        low=outer["smallest"],
        high=outer["largest"],
        reason=reason,
    )


def _bounded(kernel: Kernel) -> bool:
    """Whether the symbol is known to be a bounded function."""
    modes = kernel.modes
    return modes is not None and not modes.growing.any() and not modes.standing.any()


def _outer_end(kernel: Kernel, column: Floats, end: str) -> tuple[float, float]:
    """Return an end of the symbol and its angle: the kernel's own where it is bounded, or cut."""
    cut = cut_symbol(column)
    angles, values = np.linspace(0.0, np.pi, len(cut)), cut
    if kernel.modes is not None and _bounded(kernel):
        # Poles near the circle make peaks narrower than any grid, at the frequencies themselves.
        angles = np.concatenate([np.linspace(0.0, np.pi, POINTS), kernel.modes.frequencies])
        values = kernel.modes.symbol(angles)
    place = int(np.argmax(values) if end == "largest" else np.argmin(values))
    return float(values[place]), float(angles[place])


def check_length(length: int) -> None:
    """Refuse a length that is none, or one whose matrix can not even be multiplied."""
    if isinstance(length, bool) or int(length) != length or not 2 <= length <= LONGEST:
        raise SpectrumError(
            f"length is {length!r}; pass a whole number of positions from 2 to {LONGEST}."
        )
