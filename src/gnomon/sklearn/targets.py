"""The distances that an estimator is fitted to: from counts, from shares, or given.

Whole numbers are counts, and the noise that counting leaves in distances can be estimated and taken
out. Other numbers >= 0 are taken for shares of their row: how many tokens they rest on is not
known, so neither is their noise, and their distances are plug-in ones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from gnomon.corpus import PositionCounts
from gnomon.distances import angle
from gnomon.encodings import FILLED, MEASURED, Fitted, distances_between
from gnomon.errors import CountsError
from gnomon.numeric.checks import refuse_masked
from gnomon.pipeline import fit

SHARES = (
    "X holds numbers that are not whole, so they were taken for shares: their sampling noise is "
    "not known and is in these distances."
)


DEALT = (
    "An array of counts has no documents, so its tokens were dealt to folds as if they were "
    "independent of each other; where words come in documents, noise is underestimated: count the "
    "corpus with gnomon.count and pass that to gnomon.fit."
)


def target_of_counts(
    X: Any, *, metric: str, estimator: str, minimum_count: int, seed: int
) -> Fitted:
    """Return points in as many dimensions as there are, whose distances are to be fitted."""
    counts = PositionCounts.from_array(X, minimum_count=minimum_count)
    if np.count_nonzero(counts.kept) < 2:
        raise _too_few(int(np.count_nonzero(counts.kept)), len(counts.kept))
    made = fit(
        counts,
        dimension=max(counts.length - 1, 1),
        rank="effective" if estimator == "debiased" else "full",
        estimator=estimator,
        metric=metric,
        masked="refuse",
        rotation=None,
        seed=seed,
    )
    return replace(made, warnings=(*made.warnings, DEALT)) if estimator == "debiased" else made


def refuse_unusual(X: Any) -> None:
    """Refuse what scikit-learn reads as numbers and is none: masked entries, and dates."""
    refuse_masked(X, "X holds", kind=CountsError)
    if isinstance(X, np.ndarray) and X.dtype.kind in "Mm":
        raise CountsError(f"X holds {X.dtype}, and no numbers; pass counts or distances.")


def target_of_shares(X: Any, *, metric: str) -> Fitted:
    """Return points at the plug-in distances of rows of shares; rows of zeros are masked."""
    weights = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
    totals = weights.sum(axis=1)
    kept = np.flatnonzero(totals > 0.0)
    if len(kept) < 2:
        raise _too_few(len(kept), len(totals))
    chords = distances_between(np.sqrt(weights[kept] / totals[kept, None]))
    points = target_of_distances(angle(chords) if metric == "angle" else chords)
    left = np.full((len(totals), points.rank), np.nan)
    status = np.full(len(totals), FILLED, dtype=np.uint8)
    left[kept], status[kept] = points.left, MEASURED
    return replace(
        points,
        left=left,
        status=status,
        shape=(len(totals),),
        length=len(totals),
        estimator="plugin",
        warnings=(SHARES,),
    )


def target_of_distances(distances: NDArray[np.float64]) -> Fitted:
    """Return points at the distances given, as far as a Euclidean space allows."""
    return fit(distances, dimension=max(len(distances) - 1, 1), rotation=None, masked="refuse")


def are_counts(X: Any) -> bool:
    """Whether all numbers are whole, and there is one above 0."""
    values = X.data if issparse(X) else X
    return bool(np.any(values) and np.array_equal(values, np.trunc(values)))


def _too_few(found: int, rows: int) -> CountsError:
    return CountsError(
        f"{found} of {rows} rows hold tokens enough to be measured, and distances need two; pass "
        "more counts, or lower minimum_count."
    )
