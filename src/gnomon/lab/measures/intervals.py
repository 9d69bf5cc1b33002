r"""Intervals over seeds.

    mean over k seeds        m +- t_(k-1) s / sqrt k                           [student1908]
    difference, paired       the same of d_i = x_i - y_i, seed by seed, with its p value
    several differences      Holm's step-down: p_(1) <= ... <= p_(m), adjusted
                             p_(j) = max_(i<=j) min(1, (m - i + 1) p_(i))      [holm1979]
    accuracy a, n documents  sqrt(a (1 - a) / n), its standard error with one answer each

Seeds are few: one seed gives a mean and no interval. Where all seeds are scored on the same
documents, an interval over seeds does not hold what the choice of documents leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import LabError
from gnomon.numeric.checks import reals
from gnomon.results import Result

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate(Result):
    """A mean over seeds with its interval; None where one seed gives none."""

    mean: float
    interval: tuple[float, float] | None
    seeds: int
    smallest: float
    largest: float
    p: float | None = None
    """Two-sided, of the hypothesis that the mean is 0; for differences only."""


def over_seeds(values: Any, *, confidence: float = 0.95) -> Estimate:
    """Return mean and t interval of one value per seed.

    >>> [round(end, 3) for end in over_seeds([0.8, 0.9, 1.0]).interval]
    [0.652, 1.148]
    """
    from scipy.stats import t

    made = _values(values)
    count, mean = len(made), float(made.mean())
    interval = None
    if count > 1:
        half = float(t.ppf(0.5 + confidence / 2.0, count - 1) * made.std(ddof=1) / np.sqrt(count))
        interval = (mean - half, mean + half)
    smallest, largest = float(made.min()), float(made.max())
    return Estimate(mean=mean, interval=interval, seeds=count, smallest=smallest, largest=largest)


def document_error(accuracy: float, documents: int) -> float | None:
    """Return the standard error that the number of documents alone gives an accuracy.

    >>> round(document_error(0.9, 900) or 0.0, 6)
    0.01
    """
    if documents < 1 or not 0.0 <= accuracy <= 1.0:
        return None
    return float(np.sqrt(accuracy * (1.0 - accuracy) / documents))


def paired_difference(first: Any, second: Any, *, confidence: float = 0.95) -> Estimate:
    """Return the mean of first - second over common seeds, with interval and p value.

    >>> round(paired_difference([2.0, 3.0, 5.0], [1.0, 2.0, 3.0]).p, 4)
    0.0572
    """
    from scipy.stats import t

    one, other = _values(first), _values(second)
    if one.shape != other.shape:
        raise LabError(
            f"{len(one)} runs can not be paired with {len(other)}; pass the runs of common seeds, "
            "in the same order."
        )
    apart = over_seeds(one - other, confidence=confidence)
    if apart.seeds < 2:
        return apart
    spread = float((one - other).std(ddof=1))
    if spread == 0.0:
        p = 1.0 if apart.mean == 0.0 else 0.0
    else:
        p = float(2.0 * t.sf(abs(apart.mean) / spread * np.sqrt(apart.seeds), apart.seeds - 1))
    return Estimate(**{**vars(apart), "p": p})


def holm(p_values: Any) -> Floats:
    """Return p values adjusted for their number, in the order given.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = reals(p_values, "p_values")
    if given.ndim != 1 or not ((given >= 0.0) & (given <= 1.0)).all():
        raise LabError("p values must be a list of numbers from 0 to 1; check what was passed.")
    order = np.argsort(given, kind="stable")
    factors = np.arange(len(given), 0, -1)
    raised = np.minimum(np.maximum.accumulate(factors * given[order]), 1.0)
    adjusted = np.empty_like(given)
    adjusted[order] = raised
    return adjusted


def _values(values: Any) -> Floats:
    made = reals(values, "values")
    if made.ndim != 1 or not len(made) or not np.isfinite(made).all():
        raise LabError(
            f"values of shape {made.shape} are not one finite number per seed; leave out runs that "
            "diverged, and say how many."
        )
    return made
