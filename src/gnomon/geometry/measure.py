"""The walk from counts to a geometry: laws, Gram matrix, distances, spectrum.

"plugin" takes the observed shares for the laws, as published: on small counts much of what it
measures is sampling noise. "debiased" takes the noise out with the help of folds and keeps what
exceeds the noise edge (`gnomon.geometry.debiased`), on the positions counted well enough for that.
Positions that are not measured are left out and named in `masked`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import CountsError, InputError, nearest
from gnomon.geometry.distances import angle, gram_and_chords
from gnomon.geometry.gram import double_centred
from gnomon.geometry.laws import counts_matrix, laws, totals
from gnomon.geometry.spectrum import Spectrum, spectrum
from gnomon.results import Result

ESTIMATORS = ("debiased", "plugin")
METRICS = ("angle", "chord")


@dataclass(frozen=True, kw_only=True, eq=False)
class Geometry(Result):
    """Distances between the laws of m positions, and the Gram matrix they come from."""

    distances: NDArray[np.float64]
    """m x m, symmetric, zero diagonal."""
    gram: NDArray[np.float64]
    """m x m, centred: -1/2 J D^2 J."""
    spectrum: Spectrum
    metric: str
    estimator: str
    positions: NDArray[np.int64]
    """Indices of the m positions measured."""
    coordinates: NDArray[np.int64]
    """m x axes: where each position lies; one column for sequences."""
    axes: tuple[int, ...] | None
    """Sizes of the axes of a grid; None for sequences."""
    masked: NDArray[np.int64]
    """Indices of the positions left out."""
    counts_per_position: NDArray[np.int64]
    """Tokens counted at each of the m positions."""

    @property
    def eigenvalues(self) -> NDArray[np.float64]:
        """Eigenvalues of the Gram matrix, descending."""
        return self.spectrum.eigenvalues

    @property
    def mean_distance(self) -> float:
        """Mean distance over pairs of positions."""
        m = self.positions.size
        return float(self.distances.sum() / (m * (m - 1)))

    @property
    def mean_squared(self) -> float:
        """Mean squared distance over pairs of positions."""
        m = self.positions.size
        return float(np.vdot(self.distances, self.distances) / (m * (m - 1)))


def measure(
    counts: Any,
    metric: str = "chord",
    *,
    estimator: str = "plugin",
    rng: np.random.Generator | None = None,
    minimum_count: int = 1,
    keep: NDArray[np.bool_] | None = None,
    axes: tuple[int, ...] | None = None,
) -> Geometry:
    """Return the geometry of counts: a matrix (positions x tokens), or an object that holds one.

    An object with `matrix`, `kept` and `axes` (such as PositionCounts) says itself which positions
    count. Positions with fewer than `minimum_count` tokens, or not in `keep`, are left out.

    >>> found = measure([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> found.masked.tolist(), round(found.mean_squared, 12), found.spectrum.rank_numerical
    ([3], 2.0, 2)
    """
    _known(estimator, dict.fromkeys(ESTIMATORS), "estimator")
    check_metric(metric)
    matrix = counts_matrix(getattr(counts, "matrix", counts))
    keep = getattr(counts, "kept", None) if keep is None else keep
    axes = getattr(counts, "axes", None) if axes is None else axes
    tokens = totals(matrix)
    kept = _kept(tokens, minimum_count, keep)
    if estimator == "debiased":
        kept, distances = _debiased(counts, kept, metric, rng)
        gram = double_centred(np.square(distances))
    else:
        gram, distances = gram_and_chords(laws(matrix, tokens, kept))
    positions = np.flatnonzero(kept)
    if metric == "angle":
        distances = angle(distances)
        gram = double_centred(np.square(distances))
    return Geometry(
        distances=distances,
        gram=gram,
        spectrum=spectrum(gram, floor=rounding_floor(positions.size)),
        metric=metric,
        estimator=estimator,
        positions=positions,
        coordinates=_coordinates(positions, tokens.size, axes),
        axes=axes,
        masked=np.flatnonzero(~kept),
        counts_per_position=tokens[kept],
    )


def _debiased(
    counts: Any, kept: NDArray[np.bool_], metric: str, rng: np.random.Generator | None
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return the core positions and the low-rank estimate of their chord distances."""
    from gnomon.geometry.debiased.estimate import debias

    if metric == "angle":
        raise InputError(
            "the angle is no sum over types, so it is not debiased; "
            "use the chord, or the plug-in estimator."
        )
    if not hasattr(counts, "folds"):
        raise CountsError(
            "debiasing needs counts in folds, and these are a plain matrix; count the corpus with "
            "gnomon.count, or pass PositionCounts."
        )
    found = debias(counts, rng=rng, keep=kept)
    core = np.zeros_like(kept)
    core[found.positions[found.core]] = True
    if core.sum() < 2:
        raise CountsError(
            f"{int(core.sum())} positions have tokens enough to be debiased, and distances need "
            "two; use more documents, or the plug-in estimator."
        )
    return core, np.sqrt(found.low_rank.squares)


def rounding_floor(m: int) -> float:
    """Return m (m eps)^2, the largest eigenvalue that m equal laws can show after centring.

    The mean of m equal roots is off by at most m eps of them, the same for all positions.
    """
    return float(m * (m * np.finfo(np.float64).eps) ** 2)


def check_metric(metric: str) -> None:
    """Refuse a metric that there is not, with the one that was probably meant."""
    _known(metric, dict.fromkeys(METRICS), "metric (--metric)")


def _known(name: str, known: dict[str, Any], what: str) -> Any:
    if name not in known:
        raise InputError(f"{name!r} is no {what}; {nearest(name, known)}.")
    return known[name]


def _kept(
    tokens: NDArray[np.int64], minimum_count: int, keep: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Say which positions are measured; there must be two of them."""
    kept: NDArray[np.bool_] = tokens >= max(minimum_count, 1)
    if keep is not None:
        keep = np.asarray(keep)
        if keep.shape != kept.shape or keep.dtype != np.bool_:
            raise CountsError(
                f"keep is {keep.dtype} of shape {keep.shape}; "
                f"pass one truth value for each of the {kept.size} positions."
            )
        kept = kept & keep
    if kept.sum() < 2:
        raise CountsError(
            f"{int(kept.sum())} of {kept.size} positions can be measured, and distances need two; "
            "use more of the corpus or a greater --length, or lower --minimum-count."
        )
    return kept


def _coordinates(
    positions: NDArray[np.int64], length: int, axes: tuple[int, ...] | None
) -> NDArray[np.int64]:
    """Return where the positions lie on their axes, in C order."""
    if axes is None or len(axes) < 2:
        return positions[:, None]
    if int(np.prod(axes)) != length:
        raise CountsError(
            f"axes {tuple(axes)} hold {int(np.prod(axes))} positions and the counts have {length} "
            "rows; pass axes whose product is the number of rows."
        )
    return np.stack(np.unravel_index(positions, axes), axis=1).astype(np.int64)
