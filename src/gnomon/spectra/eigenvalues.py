r"""The eigenvalues of a kernel's n x n matrix, and what they say: rank, condition, effective rank.

They are computed by the cheapest way that is exact enough:

1. Sums of cosines: in closed form, all of them, at any length.
2. Up to `DENSE` positions: all of them, from two dense matrices of half the size.
3. Above: both ends by Lanczos with FFT products. Where eigenvalues crowd at an end, as at the foot
   of nearly every kernel, it is caught between a number that no eigenvalue passes and one that some
   eigenvalue reaches (`gnomon.spectra.symbol`) [grenander1958 sec. 5.2]. Where these two agree to
   `CLOSE` the second is given for the end; where they do not, the end is not known, and both are.

Of eigenvalues or singular values one counts where |e| > tolerance max |e|; by default the tolerance
is n eps, below which a solver cannot tell it from 0. The condition number is max |e| / min |e|
over those that count: kernels of rank below n have none on the whole space. Of a kernel whose
eigenvalues fall without a gap, as those of rotary encoding do, the smallest that counts is near the
tolerance whatever that is, and the number is one about floating point; so the tolerance stands
beside it, and the effective rank exp(-sum p ln p), p = |e| / sum |e| [roy2007], which needs none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import SpectrumError
from gnomon.results import Result
from gnomon.spectra.checks import check_array, check_float, check_int
from gnomon.spectra.kernel import Kernel
from gnomon.spectra.modes import cosine_eigenvalues, most_rank
from gnomon.spectra.symbol import inner_ends, outer_ends
from gnomon.spectra.toeplitz import all_eigenvalues, extreme_eigenvalues

Floats = NDArray[np.float64]

DENSE = 4096
"""Positions up to which all eigenvalues are computed: 1 to 4 s, 64 MiB."""

LONGEST = 2**20

COUNT = 8
"""Eigenvalues that are looked for at the top of a larger matrix; at its foot it is one."""

STEPS = 10
"""Restarts of Lanczos at an end before its eigenvalues count as crowded."""

CLOSE = 1e-3
"""Relative distance of the two numbers that catch an end up to which it counts as known."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Eigenvalues(Result):
    """Eigenvalues, the largest first; what is missing where they are not all."""

    values: Floats
    length: int
    method: str
    complete: bool
    """Whether all that are not zero are there."""
    rank_bound: int
    """What the rank cannot exceed, from the number of modes."""
    largest: float | None
    smallest: float | None
    """The ends of the spectrum; None where they are not known to three digits."""
    low: float | None = None
    high: float | None = None
    """Where an end was not computed: what no eigenvalue lies beyond."""
    reached_low: float | None = None
    reached_high: float | None = None
    """Where an end was not computed: what some eigenvalue lies at or beyond."""
    reason: str = ""
    """Why some are missing, or nothing."""


def eigenvalues_of(
    kernel: Kernel,
    length: int,
    *,
    column: Floats | None = None,
    told: Callable[[str], None] | None = None,
) -> Eigenvalues:
    """Return the eigenvalues of a kernel at positions 0 ... n-1.

    `column` is the kernel at these lags where it was computed before; `told` hears of progress.
    """
    length = check_length(length)
    modes = kernel.modes
    if modes is not None and modes.discrete:
        places, masses = modes.masses()
        values = cosine_eigenvalues(places, masses, length)
        return all_of(values, length, "closed form", most_rank(places, length))
    column = kernel.column(length) if column is None else column
    if length > DENSE:
        return _of_ends(kernel, column, told)
    return all_of(all_eigenvalues(column), length, "even and odd halves", length)


@dataclass(frozen=True, kw_only=True, eq=False)
class Conditioning(Result):
    """What a list of eigenvalues or singular values says of a matrix of n rows."""

    rank: int
    largest: float
    smallest: float
    norm: float
    condition_on_range: float | None
    """max |e| / min |e| over values that count; None for the zero matrix."""
    effective_rank: float
    negative: int
    """Values below zero that count."""
    tolerance: float


def rank_and_condition(values: Any, length: int, *, tolerance: float | None = None) -> Conditioning:
    """Return rank and conditioning; values that are not listed, up to `length`, are zeros.

    >>> found = rank_and_condition([4.0, 2.0, 1e-20], 5)
    >>> found.rank, found.condition_on_range, found.smallest
    (2, 2.0, 0.0)
    """
    known = check_array("values", values, "eigenvalues or singular values").ravel()
    if check_int("length", length, least=1) < len(known):
        raise SpectrumError(
            f"There are {len(known)} eigenvalues of a matrix with {length} rows; pass the number "
            "of its rows as length."
        )
    share = length * np.finfo(np.float64).eps if tolerance is None else _check_tolerance(tolerance)
    sizes = np.abs(known)
    norm = float(sizes.max(initial=0.0))
    kept = sizes > share * norm
    missing = [0.0] if len(known) < length else []
    p = sizes[kept] / max(float(sizes[kept].sum()), np.finfo(np.float64).tiny)
    return Conditioning(
        rank=int(kept.sum()),
        largest=float(np.max([*known, *missing])),
        smallest=float(np.min([*known, *missing])),
        norm=norm,
        condition_on_range=norm / float(sizes[kept].min()) if kept.any() else None,
        effective_rank=float(np.exp(-np.sum(p * np.log(p)))) if kept.any() else 0.0,
        negative=int((known[kept] < 0.0).sum()),
        tolerance=float(share),
    )


def all_of(values: Floats, length: int, method: str, rank_bound: int) -> Eigenvalues:
    """Return a whole spectrum; what is not listed, up to the length, is 0."""
    ends = [*values[:1], *values[-1:], *([0.0] if len(values) < length else [])]
    return Eigenvalues(
        values=values,
        length=length,
        method=method,
        complete=True,
        rank_bound=rank_bound,
        largest=float(max(ends)),
        smallest=float(min(ends)),
    )


def check_length(length: Any) -> int:
    """Return a number of positions, or refuse one whose matrix cannot even be multiplied."""
    return check_int("length", length, least=2, most=LONGEST, of=" of positions")


@dataclass(frozen=True)
class End:
    """One end of a spectrum: eigenvalues there, or the two numbers that catch it."""

    values: Floats
    outer: float | None = None
    inner: float | None = None

    @property
    def close(self) -> bool:
        """Whether the two are one number, to three digits."""
        if self.outer is None or self.inner is None:
            return True
        return abs(self.outer - self.inner) <= CLOSE * min(abs(self.outer), abs(self.inner))

    @property
    def value(self) -> float | None:
        """Return the end, or None where it is not known."""
        if len(self.values):
            return float(self.values[0])
        return self.inner if self.close else None


def _of_ends(kernel: Kernel, column: Floats, told: Callable[[str], None] | None) -> Eigenvalues:
    """Return what can be had of the ends of a large matrix."""
    outer, inner = outer_ends(kernel, column), inner_ends(column)
    foot = _end(column, "smallest", (outer[0], inner[0]), told)
    top = _end(column, "largest", (outer[1], inner[1]), told)
    reason = _reason(len(column), {"largest": top, "smallest": foot})
    return both_ends(top, foot, len(column), reason)


def both_ends(top: End, foot: End, length: int, reason: str) -> Eigenvalues:
    """Return what Lanczos and its bounds know of a large matrix."""
    return Eigenvalues(
        values=np.asarray(np.sort(np.concatenate([top.values, foot.values]))[::-1]),
        length=length,
        method="Lanczos with FFT products",
        complete=False,
        rank_bound=length,
        largest=top.value,
        smallest=foot.value,
        low=foot.outer,
        high=top.outer,
        reached_low=foot.inner,
        reached_high=top.inner,
        reason=reason,
    )


def _end(
    column: Floats, end: str, between: tuple[float, float], told: Callable[[str], None] | None
) -> End:
    """Return one end: what Lanczos finds, unless its two numbers agree, as at a bounded foot."""
    outer, inner = between
    caught = End(np.zeros(0), outer, inner)
    if end == "smallest" and caught.close:
        return caught
    count = COUNT if end == "largest" else 1
    found = extreme_eigenvalues(column, count, end=end, steps=STEPS, told=told).values
    sign = 1.0 if end == "largest" else -1.0
    # Lanczos may pass by an end where eigenvalues crowd: then a quotient is known beyond it.
    slack = 1e-9 * max(abs(inner), abs(outer))
    if len(found) and sign * found[0] >= sign * inner - slack:
        return End(found)
    return caught


def _reason(length: int, ends: dict[str, End]) -> str:
    """Return why not all eigenvalues are there, and how the ends were caught."""
    said = [f"{length} positions are more than {DENSE}, so only both ends were looked for"]
    crowded = [name for name, end in ends.items() if not len(end.values)]
    known = [name for name in crowded if ends[name].close]
    lost = [name for name in crowded if not ends[name].close]
    if known:
        said.append(
            f"at the {' and the '.join(known)} eigenvalues crowd, so what stands there is a "
            f"quotient inside that agrees with an end of the symbol outside to {CLOSE:g}"
        )
    if lost:
        said.append(
            f"the {' and the '.join(lost)} eigenvalue cannot be told: eigenvalues crowd there, "
            "and what no eigenvalue passes is far from what one reaches"
        )
    return "; ".join(said)


def _check_tolerance(tolerance: float) -> float:
    share = check_float("tolerance", tolerance, "a number from 0 to below 1", least=0.0)
    if share >= 1.0:
        raise SpectrumError(f"tolerance is {tolerance!r}; pass a number from 0 to below 1.")
    return share
