"""The walk from counts to a geometry: laws, Gram matrix, distances, spectrum.

The squares of distances come from one of the estimators (`gnomon.distances.estimators`). "plugin"
takes the observed shares for the laws, as published: on small counts much of what it measures is
sampling noise. "debiased" takes the noise out with the help of folds and keeps what exceeds the
noise edge, on the positions counted well enough for that. Where a square is estimated to be
negative its distance is 0, and `negative_squares` says how many there are; the Gram matrix and the
mean squared distance keep the sign, since clipping would add a bias of its own.

Positions that are not measured are left out and named in `masked`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.distances.chord import angle, counts_matrix, double_centred, totals
from gnomon.distances.eigenvalues import Spectrum, spectrum
from gnomon.distances.estimators import ESTIMATORS, WITH_ANGLE
from gnomon.errors import CountsError, InputError, nearest
from gnomon.results import Result, html_fields, pairs_dataframe

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
    negative_squares: int = 0
    """Pairs whose squared distance was estimated to be negative; their distance is 0."""

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
        """Mean squared distance over pairs of positions, negative estimates counted as such."""
        m = self.positions.size
        if self.negative_squares:  # the trace of -1/2 J D^2 J is sum D^2 / 2m
            return float(2.0 * np.trace(self.gram) / (m - 1))
        return float(np.vdot(self.distances, self.distances) / (m * (m - 1)))

    def to_dataframe(self) -> Any:
        """Return one row per pair of positions, i < j, with its distance."""
        return pairs_dataframe(self.positions, {"distance": self.distances})

    def _repr_html_(self) -> str:
        """Show the figures of the distances, not the distances."""
        return html_fields(
            "Geometry",
            {
                "metric": self.metric,
                "estimator": self.estimator,
                "positions": self.positions.size,
                "masked": self.masked.size,
                "mean distance": self.mean_distance,
                "mean squared distance": self.mean_squared,
                "numerical rank": self.spectrum.rank_numerical,
                "participation ratio": self.spectrum.participation,
            },
        )


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
    Estimators other than plug-in need counts in folds (null-subtracted does not); `rng` draws
    their signs and halvings, and is `numpy.random.default_rng(0)` unless given.

    >>> found = measure([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    >>> found.masked.tolist(), round(found.mean_squared, 12), found.spectrum.rank_numerical
    ([3], 2.0, 2)
    """
    chosen = _known(estimator, ESTIMATORS, "estimator")
    check_metric(metric)
    _check_angle(metric, estimator)
    matrix = counts_matrix(getattr(counts, "matrix", counts))
    keep = getattr(counts, "kept", None) if keep is None else keep
    axes = getattr(counts, "axes", None) if axes is None else axes
    tokens = totals(matrix)
    kept = _kept(tokens, minimum_count, keep)
    stream = np.random.default_rng(0) if rng is None else rng
    held = counts if hasattr(counts, "matrix") else matrix
    positions, squares, gram = chosen(held, kept, stream)
    distances = np.sqrt(np.maximum(squares, 0.0))
    if metric == "angle":
        distances, gram = angle(distances), None
        squares = np.square(distances)
    gram = double_centred(squares) if gram is None else gram
    return Geometry(
        distances=distances,
        gram=gram,
        spectrum=spectrum(gram, floor=rounding_floor(positions.size)),
        metric=metric,
        estimator=estimator,
        positions=positions,
        coordinates=_coordinates(positions, tokens.size, axes, getattr(counts, "bins", None)),
        axes=axes,
        masked=np.setdiff1d(np.arange(tokens.size), positions),
        counts_per_position=tokens[positions],
        negative_squares=int(np.count_nonzero(squares < 0.0)) // 2,
    )


def rounding_floor(m: int) -> float:
    """Return m (m eps)^2, the largest eigenvalue that m equal laws can show after centring.

    The mean of m equal roots is off by at most m eps of them, the same for all positions.
    """
    return float(m * (m * np.finfo(np.float64).eps) ** 2)


def check_metric(metric: str) -> None:
    """Refuse a metric that there is not, with the one that was probably meant."""
    _known(metric, dict.fromkeys(METRICS), "metric (--metric)")


def _check_angle(metric: str, estimator: str) -> None:
    if metric == "angle" and estimator not in WITH_ANGLE:
        raise InputError(
            f"the {estimator} estimate of a squared distance can be negative, and a negative "
            "square has no angle; use the chord (--metric chord), or the debiased or plug-in "
            "estimator."
        )


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
    positions: NDArray[np.int64],
    length: int,
    axes: tuple[int, ...] | None,
    bins: tuple[int, ...] | None,
) -> NDArray[np.int64]:
    """Return where the positions lie on their axes, in C order; a bin lies where it begins."""
    if bins is not None:
        return np.asarray(bins, dtype=np.int64)[positions][:, None]
    if axes is None or len(axes) < 2:
        return positions[:, None]
    if int(np.prod(axes)) != length:
        raise CountsError(
            f"axes {tuple(axes)} hold {int(np.prod(axes))} positions and the counts have {length} "
            "rows; pass axes whose product is the number of rows."
        )
    return np.stack(np.unravel_index(positions, axes), axis=1).astype(np.int64)
