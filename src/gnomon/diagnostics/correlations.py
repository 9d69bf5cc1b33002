"""Correlation between the distances of an encoding and those of a corpus, pair by pair.

Pearson's r of the values and Spearman's rho, which is Pearson's r of their ranks, ties sharing
their mean rank [spearman1904]. Neither sees scale. Undefined for constant distances: None, with
the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics.pairs import condensed, square
from gnomon.errors import InputError
from gnomon.results import Result

Floats = NDArray[np.float64]
_CONSTANT = 1e-12
"""Relative range below which distances are equal but for rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Correlation(Result):
    """Pearson's and Spearman's coefficients over pairs i < j, or the reason why there are none."""

    pearson: float | None
    spearman: float | None
    reason: str | None = None


def correlation(distances: Any, target: Any) -> Correlation:
    """Return both coefficients; the ranks cost a sort of all pairs, O(n^2 log n).

    >>> correlation([[0, 1, 4], [1, 0, 9], [4, 9, 0]], [[0, 1, 2], [1, 0, 3], [2, 3, 0]]).spearman
    1.0
    """
    made = condensed(square(distances, "The distances"))
    wanted = condensed(square(target, "The target distances"))
    if made.size != wanted.size or made.size == 0:
        raise InputError(
            f"There are {made.size} pairs of positions on one side and {wanted.size} on the other; "
            "pass distances between the same two or more positions."
        )
    for values, whose in ((made, "encoding"), (wanted, "target")):
        if np.ptp(values) <= _CONSTANT * values.max():
            reason = f"all distances of the {whose} are equal"
            return Correlation(pearson=None, spearman=None, reason=reason)
    return Correlation(
        pearson=_pearson(made, wanted), spearman=_pearson(mean_ranks(made), mean_ranks(wanted))
    )


def _pearson(left: Floats, right: Floats) -> float:
    left, right = left - left.mean(), right - right.mean()
    cosine = (left @ right) / np.sqrt((left @ left) * (right @ right))
    return float(np.clip(cosine, -1.0, 1.0))


def mean_ranks(values: Floats) -> Floats:
    """Return ranks from 0 on, equal values sharing the mean of their ranks.

    >>> mean_ranks(np.array([3.0, 1.0, 3.0]))
    array([1.5, 0. , 1.5])
    """
    order = np.argsort(values)  # equal values share their rank, so their order does not matter
    ordered = values[order]
    edges = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, [len(values)]])
    middle = 0.5 * (edges[:-1] + edges[1:] - 1)
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(middle, np.diff(edges))
    return ranks
