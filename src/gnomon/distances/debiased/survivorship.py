"""Survivorship apart from word order: what is left of the distances when windows are shuffled.

The law of position i is that of the documents which reach i, and long documents may differ from
short ones. Shuffling the tokens inside every window keeps documents, lengths and topics and takes
the order away: the mean squared distance that remains is survivorship, the difference word order.
Both corpora have the same folds, so the difference has a jackknife interval of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.distances.debiased.estimate import Debiased, debias, pair_mean
from gnomon.distances.debiased.intervals import Figure, figure, jackknife_error, mean_squared
from gnomon.results import Result

_DRAWS = 8
"""Signs are needed here for the variance of a mean only, not for an edge."""


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
    other = debias(shuffled, rng=rng, draws=_DRAWS, keep=keep)
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
