"""Separation: how far apart the closest two positions are.

    minimum = min_(i<j) D_ij,   mean = mean_(i<j) D_ij,   relative = minimum / mean.

A positive minimum says little: any continuous random table has one with probability one, so it is
read beside the mean [cirrincione2026 sec. 6.5].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gnomon.diagnostics.pairs import square
from gnomon.errors import InputError
from gnomon.results import Result


@dataclass(frozen=True, kw_only=True, eq=False)
class Separation(Result):
    """Smallest and mean distance; `relative` is None when all distances are 0."""

    minimum: float
    mean: float
    relative: float | None
    reason: str | None = None


def separation(distances: Any) -> Separation:
    """Return minimum, mean and their ratio over pairs i < j.

    >>> separation([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]).relative
    0.5
    """
    values = square(distances, "The distances")
    size = len(values)
    if size < 2:
        raise InputError("Separation needs two or more positions; there is 1.")
    rows = [values[row, row + 1 :] for row in range(size - 1)]
    minimum = min(float(row.min()) for row in rows)
    mean = sum(float(row.sum()) for row in rows) / (size * (size - 1) // 2)
    if mean == 0.0:
        return Separation(minimum=minimum, mean=mean, relative=None, reason="all distances are 0")
    return Separation(minimum=minimum, mean=mean, relative=minimum / mean)
