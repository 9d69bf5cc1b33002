"""PositionalMDS: coordinates of positions whose distances are those between their token laws.

A row of X is a position, a column a token type, an entry how often the one has the other. The
distance of two rows is the chord |sqrt p - sqrt q| (or its angle) between their laws; coordinates
are those of classical scaling [torgerson1952] or of least stress [deleeuw1977].

Distances between observed shares are too large by sampling noise. Whole numbers are counts: the
noise is taken out by default, and the number of directions that exceed it is `rank_`. Other numbers
>= 0 are taken for shares of their row: how many tokens they rest on is not known, so neither is
their noise, and their distances are plug-in ones. An array has no documents: its tokens are dealt
to folds as if they were independent of each other. Where they are not, pass what `gnomon.count`
makes of the corpus to `gnomon.fit` instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_non_negative, validate_data

from gnomon.corpus import PositionCounts
from gnomon.distances import (
    ESTIMATORS,
    METHODS,
    angle,
    check_distances,
    double_centred,
    scale,
    spectrum,
)
from gnomon.encodings import Finish, Fitted, Points
from gnomon.errors import CountsError
from gnomon.numeric import checks
from gnomon.numeric.checks import refuse_masked
from gnomon.numeric.rows import distances_between
from gnomon.pipeline import fit

Floats = NDArray[np.float64]

SHARES = (
    "X holds numbers that are not whole, so they were taken for shares: their sampling noise is "
    "not known and is in these distances."
)

DEALT = (
    "An array of counts has no documents, so its tokens were dealt to folds as if they were "
    "independent of each other; where words come in documents, noise is underestimated: count the "
    "corpus with gnomon.count and pass that to gnomon.fit."
)


class PositionalMDS(BaseEstimator):  # type: ignore[misc]  # sklearn is not followed by the checker
    """Coordinates of positions, from their counts or from distances between them.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    metric : {"chord", "angle", "precomputed"}, default="chord"
        Distance between laws; "precomputed": X holds distances.
    method : {"classical", "smacof"}, default="classical"
        What is minimised: strain or stress.
    estimator : str, default="auto"
        Of distances: "debiased", "plugin", or another one of Gnomon; "auto" is debiased for whole
        counts, and plug-in where they are no counts or too few.
    rank : int, default=None
        Directions kept; the other coordinates are 0. None: all there are.
    minimum_count : int, default=1
        Rows with fewer tokens are not measured; they get the coordinates of the row before them.
    random_state : int, RandomState or None, default=0
        Deals tokens to folds, and draws the signs of the noise estimate.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    stress_ : float
        sum (D - h)^2 / sum h^2 over pairs of measured rows, h the distances fitted to.
    eigenvalues_ : ndarray of shape (n_measured,)
        Of the centred Gram matrix of those distances, descending.
    rank_ : int
        Directions those distances have; of debiased ones, directions above the noise.
    estimator_ : str
        How they were estimated; "given" where they were.
    status_ : ndarray of shape (n_samples,)
        2 measured, 1 projected into what was measured, 0 filled in.
    warnings_ : tuple of str
        What speaks against trusting the coordinates.
    encoding_ : Fitted
        The coordinates as an encoding, to be saved and loaded as a layer.
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> pixels = load_digits().data.T  # 64 places by 1797 images: ink is what is counted
    >>> found = PositionalMDS(n_components=3).fit(pixels)
    >>> found.embedding_.shape, found.estimator_
    ((64, 3), 'debiased')
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: str = "chord",
        method: str = "classical",
        estimator: str = "auto",
        rank: int | None = None,
        minimum_count: int = 1,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.method = method
        self.estimator = estimator
        self.rank = rank
        self.minimum_count = minimum_count
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the coordinates of the rows of X."""
        del y
        self._check_parameters()
        given = self.metric == "precomputed"
        _refuse_unusual(X)
        X = validate_data(
            self,
            X,
            accept_sparse=False if given else "csr",
            dtype=[np.float64, np.float32, np.int64, np.int32],
            ensure_min_samples=2,
        )
        check_non_negative(X, "PositionalMDS")
        self._place(self._target(X), check_distances(X) if given else None)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Find the coordinates of the rows of X, and return them."""
        return self.fit(X, y).embedding_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = self.metric != "precomputed"
        tags.input_tags.positive_only = True
        return tags

    def _check_parameters(self) -> None:
        checks.whole("n_components", self.n_components, least=1)
        checks.one_of("metric", self.metric, ("chord", "angle", "precomputed"))
        checks.one_of("method", self.method, METHODS)
        checks.one_of("estimator", self.estimator, ("auto", *sorted(ESTIMATORS)))
        checks.whole("minimum_count", self.minimum_count, least=0)
        if self.rank is not None:
            checks.whole("rank", self.rank, least=1)
            Finish.check_rank(self.rank, dimension=self.n_components, most=self.rank, what="")

    def _target(self, X: Any) -> Fitted:
        """Return points at the distances to be fitted, in as many dimensions as it takes."""
        if self.metric == "precomputed":
            return _target_of_distances(X)
        if self.estimator in ("auto", "plugin") and not _are_counts(X):
            return _target_of_shares(X, metric=self.metric)
        return _target_of_counts(
            X,
            metric=self.metric,
            estimator="debiased" if self.estimator == "auto" else self.estimator,
            minimum_count=self.minimum_count,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    def _place(self, target: Fitted, given: Floats | None) -> None:
        """Scale the target's distances to the coordinates asked for; keep what was found."""
        measured = target.status != Fitted.FILLED
        wanted = distances_between(target.left[measured]) if given is None else given
        gram = double_centred(np.square(wanted))
        kept = min(self.n_components, self.rank or self.n_components, max(len(wanted) - 1, 1))
        made = scale(wanted, self.method, dimension=kept)
        rows = np.zeros((len(measured), kept))
        rows[measured] = made.vectors
        rows = Points.fill(rows, target.status, target.shape, "continue")
        found = spectrum(gram)
        self.encoding_ = self._encoding(target, rows, str(made.minimises))
        self.embedding_ = rows @ np.eye(kept, self.n_components)
        self.stress_ = _stress(distances_between(made.vectors), wanted)
        self.eigenvalues_, self.rank_ = found.eigenvalues, int(found.rank_numerical)
        self.estimator_, self.status_ = target.estimator, target.status
        self.warnings_ = target.warnings

    def _encoding(self, target: Fitted, rows: Floats, minimises: str) -> Fitted:
        return replace(
            target,
            family="smacof" if self.method == "smacof" else "mds",
            method=self.method,
            minimises=minimises,
            dimension=self.n_components,
            rank=rows.shape[1],
            factored=False,
            left=rows,
            right=np.eye(rows.shape[1], self.n_components),
            masked_rule="continue",
        )


def _target_of_counts(
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


def _target_of_shares(X: Any, *, metric: str) -> Fitted:
    """Return points at the plug-in distances of rows of shares; rows of zeros are masked."""
    weights = np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)
    totals = weights.sum(axis=1)
    kept = np.flatnonzero(totals > 0.0)
    if len(kept) < 2:
        raise _too_few(len(kept), len(totals))
    chords = distances_between(np.sqrt(weights[kept] / totals[kept, None]))
    points = _target_of_distances(angle(chords) if metric == "angle" else chords)
    left = np.full((len(totals), points.rank), np.nan)
    status = np.full(len(totals), Fitted.FILLED, dtype=np.uint8)
    left[kept], status[kept] = points.left, Fitted.MEASURED
    return replace(
        points,
        left=left,
        status=status,
        shape=(len(totals),),
        length=len(totals),
        estimator="plugin",
        warnings=(SHARES,),
    )


def _target_of_distances(distances: NDArray[np.float64]) -> Fitted:
    """Return points at the distances given, as far as a Euclidean space allows."""
    return fit(distances, dimension=max(len(distances) - 1, 1), rotation=None, masked="refuse")


def _are_counts(X: Any) -> bool:
    """Whether all numbers are whole, and there is one above 0."""
    values = X.data if issparse(X) else X
    return bool(np.any(values) and np.array_equal(values, np.trunc(values)))


def _refuse_unusual(X: Any) -> None:
    """Refuse what scikit-learn reads as numbers and is none: masked entries, and dates."""
    refuse_masked(X, "X holds", kind=CountsError)
    if isinstance(X, np.ndarray) and X.dtype.kind in "Mm":
        raise CountsError(f"X holds {X.dtype}, and no numbers; pass counts or distances.")


def _stress(made: Floats, wanted: Floats) -> float:
    """Return sum (D - h)^2 / sum h^2; where all h are 0, what is made of them is 0 as well."""
    total = float(np.square(wanted).sum())
    return float(np.square(made - wanted).sum()) / total if total > 0.0 else 0.0


def _too_few(found: int, rows: int) -> CountsError:
    return CountsError(
        f"{found} of {rows} rows hold tokens enough to be measured, and distances need two; pass "
        "more counts, or lower minimum_count."
    )
