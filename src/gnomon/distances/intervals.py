"""Intervals by the delete-fold jackknife: every figure again with one fold of the corpus left out.

With d_(g) the figure without fold g of F,   se_J^2 = (F - 1) / F  sum_g (d_(g) - mean)^2.

The figure's pilot, weights, profile and rank stay as they are. For the mean squared distance the
jackknife doubles the part that is there without signal, whose variance v0 is that of the mean under
balanced signs; hence se^2 = max(se_J^2 - v0, v0, se_J^2 / 4), plus the allowance for the tail that
was filled and not measured. Stress, participation and violations are read from the low-rank
geometry of every replicate; their intervals hold the sampling noise only, and where the bias of a
figure is larger than that they are too narrow. Quantiles are Student's with F - 1 degrees.

Positions outside the core, placed in the core's geometry by what little they say.

A position with too few tokens for the core still has U distances to the well-counted ones. With
K_ij = -1/2 (D_ij - (D pi)_i - (D pi)_j + pi' D pi) over core positions j, and a_jk, theta_k, c2_k
of the low rank (`estimate.low_rank`),

    a_ik = b_k  sum_j K_ij a_jk / (sigma_j^2 theta_k),   b_k = v_k / (v_k + nu_ik),

the least-squares coordinate, shrunk to the centre by b_k: v_k is the mean a_jk^2 of the core and
nu_ik = sigma_i^2 c2_k / theta_k the noise of the coordinate. Such a position cannot add a
direction of its own: what is new there and nowhere in the core is not seen.

Survivorship apart from word order: what is left of the distances when windows are shuffled.

The law of position i is that of the documents which reach i, and long documents may differ from
short ones. Shuffling the tokens inside every window keeps documents, lengths and topics and takes
the order away: the mean squared distance that remains is survivorship, the difference word order.
Both corpora have the same folds, so the difference has a jackknife interval of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.distances.estimate import Debiased, debias, low_rank, pair_mean
from gnomon.distances.folds import Floats
from gnomon.results import Result

CONFIDENCE = 0.95
_SHUFFLED_DRAWS = 8
"""Signs are needed here for the variance of a mean only, not for an edge."""


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


def jackknife(value: float, replicates: Sequence[Floats], of: Callable[[Floats], float]) -> Figure:
    """Return a figure of the low-rank geometry with its sampling interval."""
    again = np.array([of(one) for one in replicates])
    return figure(value, jackknife_error(again), len(again))


def outside_core(found: Debiased) -> NDArray[np.int64]:
    """Return the estimated positions that are not core (indices into `found.positions`)."""
    return np.setdiff1d(np.arange(len(found.positions)), found.core)


def project(found: Debiased) -> Floats:
    """Return the coordinates of the positions outside the core, rank columns."""
    outside, core, low = outside_core(found), found.core, found.low_rank
    if not low.rank or not len(outside):
        return np.zeros((len(outside), low.rank))
    inside = found.squares[np.ix_(core, core)]
    share = found.tokens[core] / found.tokens[core].sum()
    rows = inside @ share
    across = found.squares[np.ix_(outside, core)]
    gram = -0.5 * (across - (across @ share)[:, None] - rows[None, :] + share @ rows)
    sigma_squared = found.sigma[core] ** 2
    spike, spike_per_cosine = _spikes(low.coordinates, low.noise, sigma_squared)
    placed = gram @ (low.coordinates / sigma_squared[:, None]) / spike
    noise = found.sigma[outside, None] ** 2 / spike_per_cosine
    size = (low.coordinates**2).mean(axis=0)
    shrunk: Floats = placed * size / (size + noise)
    return shrunk


def _spikes(coordinates: Floats, noise: Floats, sigma_squared: Floats) -> tuple[Floats, Floats]:
    """Return theta and theta / c2 of every direction.

    From sum_j a_jk^2 / sigma_j^2 = theta c2 and nu_jk = sigma_j^2 c2 / theta.
    """
    times = (coordinates**2 / sigma_squared[:, None]).sum(axis=0)
    over = sigma_squared[0] / noise[0]
    return np.sqrt(over * times), over


@dataclass(frozen=True, kw_only=True, eq=False)
class Survivorship(Result):
    """Mean squared distances over core pairs."""

    original: Figure
    shuffled: Figure
    difference: Figure


def survivorship(found: Debiased, shuffled: Any, rng: np.random.Generator) -> Survivorship:
    """Compare an estimate with that of the same corpus shuffled inside its windows."""
    keep = np.zeros(len(shuffled.kept), bool)
    keep[found.positions] = True
    other = debias(shuffled, rng=rng, draws=_SHUFFLED_DRAWS, keep=keep)
    core = np.searchsorted(other.positions, found.positions[found.core])
    among, own = np.ix_(core, core), np.ix_(found.core, found.core)
    gaps = np.array(
        [
            pair_mean(one[own]) - pair_mean(two[among])
            for one, two in zip(found.replicates, other.replicates, strict=True)
        ]
    )
    gap = pair_mean(found.squares[own]) - pair_mean(other.squares[among])
    return Survivorship(
        original=mean_squared(found),
        shuffled=mean_squared(other, core=core),
        difference=figure(gap, jackknife_error(gaps), len(gaps)),
    )
