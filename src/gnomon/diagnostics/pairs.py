"""What a diagnostic compares: distances of an encoding and of a geometry, pair by pair.

Matrices are square and symmetric; only pairs i < j count. A target is a geometry or an array of
distances; a subject is an encoding, its lifted distances, vectors (one row per position) or an
array of distances. A square array that is symmetric, non-negative and zero on the diagonal is read
as distances, any other as vectors.

Correlation: Pearson's r of the values and Spearman's rho, which is Pearson's r of their ranks, ties
sharing their mean rank [spearman1904]. Neither sees scale. Undefined for constant distances: None,
with the reason.

Separation: how far apart the closest two positions are.

    minimum = min_(i<j) D_ij,   mean = mean_(i<j) D_ij,   relative = minimum / mean.

A positive minimum says little: any continuous random table has one with probability one, so it is
read beside the mean [cirrincione2026 sec. 6.5].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import Encoding, Lifted, lift
from gnomon.errors import InputError
from gnomon.numeric.checks import plain_array, real_array
from gnomon.numeric.rows import distances_between
from gnomon.results import Result

Floats = NDArray[np.float64]
_TILE = 256
_SYMMETRIC = 1e-9
"""Relative asymmetry that rounding may leave in distances."""
_CONSTANT = 1e-12
"""Relative range below which distances are equal but for rounding."""


@dataclass(frozen=True, eq=False)
class Target:
    """Distances between m positions and the coordinates (m, axes) of these positions."""

    distances: Floats
    coordinates: NDArray[Any]


def target_of(value: Any, positions: Any = None) -> Target:
    """Read a geometry or an array of distances; positions are 0, 1, ... unless they are given."""
    trusted = hasattr(value, "coordinates") and hasattr(value, "distances")
    distances = value.distances if trusted else square(value, "The target distances")
    if len(distances) < 2:
        raise InputError(
            f"The target has {len(distances)} position; distances need two or more, so use a "
            "greater length or a smaller minimum count."
        )
    if positions is not None:
        given = np.atleast_1d(plain_array(positions, "The positions hold"))
        coordinates = given.reshape(len(given), -1 if given.size else 1)
    else:
        coordinates = value.coordinates if trusted else np.arange(len(distances))[:, None]
    if len(coordinates) != len(distances):
        raise InputError(
            f"There are {len(coordinates)} positions for {len(distances)} rows of distances; "
            "pass one position per row."
        )
    return Target(distances, coordinates)


def lifted_of(
    subject: Any,
    target: Target,
    *,
    lift_name: str = "kernel",
    probe: Any = None,
    rng: np.random.Generator | None = None,
) -> Lifted:
    """Return the distances of a subject at the positions of a target."""
    if isinstance(subject, Encoding):
        return lift(subject, target.coordinates, lift=lift_name, probe=probe, rng=rng)
    found = subject if isinstance(subject, Lifted) else _from_array(subject, target)
    if len(found.distances) != len(target.distances):
        raise InputError(
            f"The encoding has {len(found.distances)} positions and the target "
            f"{len(target.distances)}; measure both at the same positions."
        )
    return found


def _from_array(subject: Any, target: Target) -> Lifted:
    values = _numbers(getattr(subject, "vectors", subject), "The encoding is")
    if values.ndim != 2 or values.size == 0:
        raise InputError(
            f"The encoding is an array of shape {values.shape}; pass vectors of shape "
            "(positions, dimension), a square array of distances, or an encoding."
        )
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise InputError(
            f"The encoding holds {values[row, column]} at row {row}, column {column}; "
            "pass finite numbers."
        )
    if _looks_like_distances(values):
        note = "distances as given"
        return Lifted(
            distances=values, lift="distances", negative_share=0.0, profile=None, note=note
        )
    return Lifted(
        distances=distances_between(_rows_at(values, target)),
        lift="vectors",
        negative_share=0.0,
        profile=None,
        note="Euclidean distance of the vectors given",
    )


def _rows_at(vectors: Floats, target: Target) -> Floats:
    """Take the rows of a longer table at the positions that the target kept."""
    wanted = target.coordinates
    if len(vectors) == len(wanted) or wanted.shape[1] != 1 or len(vectors) <= wanted.max():
        return vectors
    return vectors[wanted[:, 0].astype(np.int64)]


def _looks_like_distances(values: Floats) -> bool:
    if values.shape[0] != values.shape[1] or np.diagonal(values).any():
        return False
    return bool((values >= 0.0).all()) and _asymmetry(values) <= _SYMMETRIC * values.max()


def square(value: Any, what: str) -> Floats:
    """Return a square, symmetric array of distances, or say what it is instead."""
    if hasattr(value, "distances"):
        return np.asarray(value.distances)  # a result was checked when it was made
    values = _numbers(value, f"{what} are")
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.size == 0:
        raise InputError(
            f"{what} have shape {values.shape}; pass a square array, one row per position."
        )
    _check_entries(values, what)
    return values


def _numbers(value: Any, what: str) -> Floats:
    try:
        return real_array(value, f"{what} an array of")
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        shown = repr(value) if isinstance(value, str) else f"of type {type(value).__name__}"
        raise InputError(
            f"{what} {shown}, which is no array of numbers; pass an array, a geometry, or an "
            "encoding as encoding(name, ...) makes it."
        ) from error


def _check_entries(values: Floats, what: str) -> None:
    lowest, highest = values.min(), values.max()
    if not (np.isfinite(lowest) and np.isfinite(highest)) or lowest < 0.0:
        row, column = np.argwhere(~(np.isfinite(values) & (values >= 0.0)))[0]
        raise InputError(
            f"{what} hold {values[row, column]} at row {row}, column {column}; "
            "pass finite distances from 0 on."
        )
    if _asymmetry(values) > _SYMMETRIC * highest:
        raise InputError(f"{what} are not symmetric; pass distances with d(i, j) = d(j, i).")


def _asymmetry(values: Floats) -> float:
    """Return the largest |d_ij - d_ji|, tile by tile so that both sides stay in cache."""
    worst = 0.0
    for row in range(0, len(values), _TILE):
        for column in range(0, row + 1, _TILE):
            upper = values[column : column + _TILE, row : row + _TILE]
            lower = values[row : row + _TILE, column : column + _TILE]
            worst = max(worst, float(np.abs(lower - upper.T).max()))
    return worst


def condensed(distances: Floats) -> Floats:
    """Return the entries above the diagonal, row after row.

    >>> condensed(np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]]))
    array([1, 2, 3])
    """
    return np.concatenate([row[index + 1 :] for index, row in enumerate(distances)])


@dataclass(frozen=True, kw_only=True, eq=False)
class Correlation(Result):
    """Pearson's and Spearman's coefficients over pairs i < j, or the reason why there are none."""

    pearson: float | None
    spearman: float | None
    reason: str | None = None


def correlation(distances: Any, target: Any) -> Correlation:
    """Return both coefficients; the ranks cost a sort of all pairs, O(n^2 log n).

    >>> correlation([[0, 1, 4], [1, 0, 9], [4, 9, 0]], [[0, 1, 2], [1, 0, 3], [2, 3, 0]]).spearman
    1.0
    """
    made = condensed(square(distances, "The distances"))
    wanted = condensed(square(target, "The target distances"))
    if made.size != wanted.size or made.size == 0:
        raise InputError(
            f"There are {made.size} pairs of positions on one side and {wanted.size} on the other; "
            "pass distances between the same two or more positions."
        )
    for values, whose in ((made, "encoding"), (wanted, "target")):
        if np.ptp(values) <= _CONSTANT * values.max():
            reason = f"all distances of the {whose} are equal"
            return Correlation(pearson=None, spearman=None, reason=reason)
    return Correlation(
        pearson=_pearson(made, wanted), spearman=_pearson(mean_ranks(made), mean_ranks(wanted))
    )


def _pearson(left: Floats, right: Floats) -> float:
    left, right = left - left.mean(), right - right.mean()
    cosine = (left @ right) / np.sqrt((left @ left) * (right @ right))
    return float(np.clip(cosine, -1.0, 1.0))


def mean_ranks(values: Floats) -> Floats:
    """Return ranks from 0 on, equal values sharing the mean of their ranks.

    >>> mean_ranks(np.array([3.0, 1.0, 3.0]))
    array([1.5, 0. , 1.5])
    """
    order = np.argsort(values)  # equal values share their rank, so their order does not matter
    ordered = values[order]
    edges = np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, [len(values)]])
    middle = 0.5 * (edges[:-1] + edges[1:] - 1)
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(middle, np.diff(edges))
    return ranks


@dataclass(frozen=True, kw_only=True, eq=False)
class Separation(Result):
    """Smallest and mean distance; `relative` is None when all distances are 0."""

    minimum: float
    mean: float
    relative: float | None
    reason: str | None = None


def separation(distances: Any) -> Separation:
    """Return minimum, mean and their ratio over pairs i < j.

    >>> separation([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]).relative
    0.5
    """
    values = square(distances, "The distances")
    size = len(values)
    if size < 2:
        raise InputError("Separation needs two or more positions; there is 1.")
    rows = [values[row, row + 1 :] for row in range(size - 1)]
    minimum = min(float(row.min()) for row in rows)
    mean = sum(float(row.sum()) for row in rows) / (size * (size - 1) // 2)
    if mean == 0.0:
        return Separation(minimum=minimum, mean=mean, relative=None, reason="all distances are 0")
    return Separation(minimum=minimum, mean=mean, relative=minimum / mean)
