"""Stress of one line against the debiased geometry of a corpus, and of two lines together.

A line may be a mean over readings (a random table for every seed). With h the low-rank distances of
the core and h_g the same without fold g, its curve is

    S_0 = mean over readings of S*(D, h),   S_g = mean over readings of S*(D, h_g),

with S* the scale-free stress, or the same of squared distances. The interval of a line is that of
the delete-fold jackknife of its curve. Two lines meet the same folds, so their difference is
jackknifed as the difference of their curves: two intervals that overlap can belong to lines whose
difference is certain. All of this is sampling noise only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnomon.distances import Figure, figure, jackknife_error
from gnomon.pipeline import DebiasedTarget, scale_free

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A debiased figure with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the figure with its interval.

        >>> str(Estimate(0.4929, 0.4336, 0.5522))
        '0.493 [0.434, 0.552]'
        """
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    @property
    def interval(self) -> tuple[float, float]:
        """Return the two ends."""
        return self.low, self.high

    def overlaps(self, other: Estimate) -> bool:
        """Say whether the two intervals have a point in common."""
        return self.low <= other.high and other.low <= self.high

    @classmethod
    def of(cls, found: Figure | None) -> Estimate | None:
        """Return a figure of the geometry as an estimate."""
        return None if found is None else cls(found.value, *found.interval)


class Stresses(NamedTuple):
    """Raw and scale-free stress against plug-in distances; scale-free against debiased ones."""

    raw: float
    scale_free: float
    debiased: Estimate | None = None


class Curves(NamedTuple):
    """Stress against the debiased geometry and against it without each fold."""

    plain: Floats
    squared: Floats


def curves(made: Sequence[Floats], target: DebiasedTarget) -> Curves:
    """Return the mean curves of one or more readings, each a matrix of distances."""
    upper = np.triu_indices(len(target.rows), 1)
    core = [distances[np.ix_(target.rows, target.rows)][upper] for distances in made]
    wanted = target.targets
    return Curves(
        plain=np.mean([scale_free(one, wanted) for one in core], axis=0),
        squared=np.mean([scale_free(one**2, wanted**2) for one in core], axis=0),
    )


def stress_of(curve: Floats) -> Estimate:
    """Return a stress with its interval, which ends where stress does."""
    value, low, high = _jackknifed(curve)
    return Estimate(value, max(low, 0.0), min(high, 1.0))


def difference(first: Floats, second: Floats) -> Estimate:
    """Return how much the stress of the first line exceeds that of the second, fold by fold."""
    return _jackknifed(first - second)


def _jackknifed(curve: Floats) -> Estimate:
    folds = len(curve) - 1
    return Estimate(
        float(curve[0]), *figure(float(curve[0]), jackknife_error(curve[1:]), folds).interval
    )
