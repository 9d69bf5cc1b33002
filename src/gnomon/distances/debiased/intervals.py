"""Intervals by the delete-fold jackknife: every figure again with one fold of the corpus left out.

With d_(g) the figure without fold g of F,   se_J^2 = (F - 1) / F  sum_g (d_(g) - mean)^2.

The figure's pilot, weights, profile and rank stay as they are. For the mean squared distance the
jackknife doubles the part that is there without signal, whose variance v0 is that of the mean under
balanced signs; hence se^2 = max(se_J^2 - v0, v0, se_J^2 / 4), plus the allowance for the tail that
was filled and not measured. Stress, participation and violations are read from the low-rank
geometry of every replicate; their intervals hold the sampling noise only, and where the bias of a
figure is larger than that they are too narrow. Quantiles are Student's with F - 1 degrees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.distances.debiased.estimate import Debiased, pair_mean
from gnomon.distances.debiased.folded import Floats
from gnomon.distances.debiased.lowrank import low_rank

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Figure:
    """An estimate with its standard error and interval."""

    value: float
    error: float
    interval: tuple[float, float]


def jackknife_error(values: Floats) -> float:
    """Return the standard error of a figure from its fold-deleted values.

    >>> round(jackknife_error(np.array([1.0, 2.0, 3.0])), 6)  # of a mean of 3 groups
    1.154701
    """
    folds = len(values)
    return float(np.sqrt((folds - 1) / folds * ((values - values.mean()) ** 2).sum()))


def figure(value: float, error: float, folds: int) -> Figure:
    """Return a figure with its interval."""
    from scipy.stats import t

    half = float(t.ppf(0.5 + CONFIDENCE / 2, folds - 1)) * error
    return Figure(value=value, error=error, interval=(value - half, value + half))


def mean_squared(found: Debiased, core: NDArray[np.int64] | None = None) -> Figure:
    """Return the mean squared distance (U) with its interval, over pairs of `core` positions.

    By default these are the core of the estimate itself.
    """
    chosen = found.core if core is None else core
    among = np.ix_(chosen, chosen)
    value = pair_mean(found.squares[among])
    again = np.array([pair_mean(one[among]) for one in found.replicates])
    spread, null = jackknife_error(again) ** 2, float(np.var(found.null_means))
    tail = pair_mean(found.tail[among])  # one profile filled all pairs: their errors add up
    sampling = max(spread - null, null, spread / 4.0)
    return figure(value, float(np.sqrt(sampling + tail**2)), len(again))


def low_rank_replicates(found: Debiased) -> list[Floats]:
    """Return the low-rank squared distances of the core, once for every fold left out."""
    core = found.core
    among = np.ix_(core, core)
    sigma, tokens = found.sigma[core], found.tokens[core]
    return [
        low_rank(one[among], sigma, tokens, edge=found.edge, rank=found.rank).squares
        for one in found.replicates
    ]


def jackknifed(value: float, replicates: Sequence[Floats], of: Callable[[Floats], float]) -> Figure:
    """Return a figure of the low-rank geometry with its sampling interval."""
    again = np.array([of(one) for one in replicates])
    return figure(value, jackknife_error(again), len(again))
