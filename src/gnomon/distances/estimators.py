"""The estimators of squared distances, one table: what `measure(counts, estimator=...)` can take.

Every estimator is a function of (counts, kept, rng) that returns an `Estimate`: the positions it
could measure, among those kept, and their squared chord distances. To add one, write the function
and put it in `ESTIMATORS`.

A document (group) lies in one fold. "debiased", "u" and "split-half" multiply different folds only,
so a document is never on both sides of a product; the one exception is the correction of common
types in "debiased" and "u" (`debiased.remainder`), from which its noise is taken off. "plugin" and
"null-subtracted" square the counts of all folds together, every document with itself.

The squares of "u", "null-subtracted" and "split-half" are differences of estimates and can be
negative; they are not clipped before they are averaged or centred. A negative square has no root
and so no angle: those three are measured as chords only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gnomon.distances.chord import gram_and_chords
from gnomon.distances.laws import counts_matrix, laws, totals
from gnomon.errors import CountsError

Floats = NDArray[np.float64]
Kept = NDArray[np.bool_]
FARTHEST = 2.0
"""Two laws are at most sqrt 2 apart."""


class Estimate(NamedTuple):
    """Squared chord distances between the positions that could be measured."""

    positions: NDArray[np.int64]
    squares: Floats
    """m x m, zero diagonal, possibly negative."""
    gram: Floats | None = None
    """The centred Gram matrix, where it is known more exactly than by centring the squares."""


Estimator = Callable[[Any, Kept, np.random.Generator], Estimate]


def plugin(counts: Any, kept: Kept, _rng: np.random.Generator) -> Estimate:
    """Take the observed shares for the laws, as published; a document meets itself."""
    matrix = _matrix(counts)
    gram, distances = gram_and_chords(laws(matrix, totals(matrix), kept))
    return Estimate(np.flatnonzero(kept), np.square(distances), gram)


def null_subtracted(counts: Any, kept: Kept, _rng: np.random.Generator) -> Estimate:
    """Take the exact expectation of the dealt null off plug-in; a document meets itself."""
    from gnomon.distances.null_subtraction import null_subtracted_squares

    positions = np.flatnonzero(kept)
    return Estimate(positions, null_subtracted_squares(_matrix(counts)[positions]))


def split_half(counts: Any, kept: Kept, rng: np.random.Generator) -> Estimate:
    """Multiply random halves of the folds; a document is never on both sides."""
    from gnomon.distances.split_half import measurable, split_half_squares

    folds = _folds(counts, "split-half")
    blocks = csr_array(counts.blocks)
    positions = np.flatnonzero(kept & measurable(blocks, folds))
    _two(positions, "have tokens in more than half of the folds")
    rows = (positions[:, None] * folds + np.arange(folds)).ravel()
    return Estimate(positions, split_half_squares(blocks[rows], folds, rng))


def u(counts: Any, kept: Kept, rng: np.random.Generator) -> Estimate:
    """Return U on the core, as it is: some squares may be negative."""
    from gnomon.distances.debiased.estimate import debias

    _folds(counts, "u")
    found = debias(counts, rng=rng, draws=0, keep=kept)
    positions = found.positions[found.core]
    _two(positions, "have tokens enough to be debiased")
    return Estimate(positions, found.squares[np.ix_(found.core, found.core)])


def debiased(counts: Any, kept: Kept, rng: np.random.Generator) -> Estimate:
    """Return the low-rank part of U on the core."""
    from gnomon.distances.debiased.estimate import debias

    _folds(counts, "debiased")
    found = debias(counts, rng=rng, keep=kept)
    positions = found.positions[found.core]
    _two(positions, "have tokens enough to be debiased")
    return Estimate(positions, np.minimum(found.low_rank.squares, FARTHEST))


ESTIMATORS: dict[str, Estimator] = {
    "debiased": debiased,
    "null-subtracted": null_subtracted,
    "plugin": plugin,
    "split-half": split_half,
    "u": u,
}
WITH_ANGLE = ("debiased", "plugin")
"""Estimators whose squares lie in [0, 2]: the angle is a smooth function of them."""


def _matrix(counts: Any) -> csr_array:
    return counts_matrix(getattr(counts, "matrix", counts))


def _folds(counts: Any, name: str) -> int:
    """Return the number of folds, of which the estimator needs two."""
    if not hasattr(counts, "folds"):
        raise CountsError(
            f"the {name} estimator needs counts in folds, and these are a plain matrix; count the "
            "corpus with gnomon.count, or pass PositionCounts, or use the plug-in estimator."
        )
    folds = int(counts.folds)
    if folds < 2:
        raise CountsError(
            f"the {name} estimator needs counts in folds, and these have {folds}; count the corpus "
            "again with --folds 16, or use the plug-in estimator."
        )
    return folds


def _two(positions: NDArray[np.int64], what: str) -> None:
    if positions.size < 2:
        raise CountsError(
            f"{positions.size} positions {what}, and distances need two; use more documents, or "
            "the plug-in estimator."
        )
