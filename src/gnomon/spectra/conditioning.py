r"""Rank, condition number on the range, and effective rank, from eigenvalues or singular values.

A value counts where |e| > tolerance max |e|; by default the tolerance is n eps, below which a
solver can not tell it from 0. The condition number is max |e| / min |e| over those that count:
kernels of rank below n have none on the whole space. Of a kernel whose eigenvalues fall without a
gap, as those of rotary encoding do, the smallest that counts is near the tolerance whatever that
is, and the number is one about floating point; so the tolerance stands beside it, and the effective
rank exp(-sum p ln p), p = |e| / sum |e| [roy2007], which needs none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import SpectrumError
from gnomon.results import Result
from gnomon.spectra.checks import real, real_array, whole

Floats = NDArray[np.float64]


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


def conditioning(values: Any, length: int, *, tolerance: float | None = None) -> Conditioning:
    """Return rank and conditioning; values that are not listed, up to `length`, are zeros.

    >>> found = conditioning([4.0, 2.0, 1e-20], 5)
    >>> found.rank, found.condition_on_range, found.smallest
    (2, 2.0, 0.0)
    """
    known = real_array("values", values, "eigenvalues or singular values").ravel()
    if whole("length", length, least=1) < len(known):
        raise SpectrumError(
            f"There are {len(known)} eigenvalues of a matrix with {length} rows; pass the number "
            "of its rows as length."
        )
    share = length * np.finfo(np.float64).eps if tolerance is None else _checked(tolerance)
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


def _checked(tolerance: float) -> float:
    share = real("tolerance", tolerance, "a number from 0 to below 1", least=0.0)
    if share >= 1.0:
        raise SpectrumError(f"tolerance is {tolerance!r}; pass a number from 0 to below 1.")
    return share
