"""SMACOF: coordinates of least stress, by majorisation.

Raw stress sum_{i<j} (D_ij(X) - h_ij)^2 lies under a quadratic that touches it at the present X;
the minimum of that quadratic is the Guttman transform, for unit weights

    X <- (1/m) B(X) X,   b_ij = -h_ij / D_ij(X) off the diagonal (0 where D_ij = 0),  row sums 0,

so stress never rises [deleeuw1977]. Going twice as far, to 2 G(X) - X, reaches a point where the
quadratic has its old value, so stress does not rise there either and often falls faster
[borg2005 sec. 8.2]; it does not settle the scale, so plain and long steps alternate.

It ends in a local minimum; started at classical scaling it is deterministic, and never worse than
that in stress. Each step costs two matrix products and one pass, O(m^2 k).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.distances.eigenvalues import square
from gnomon.distances.gram import BLOCK_BYTES, double_centred
from gnomon.distances.mds import Coordinates, checked_dimension, classical_mds
from gnomon.errors import InputError
from gnomon.numeric.checks import reals
from gnomon.numeric.parallel import map_threads, stripes, use_numba

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 64
"""Rows of the distance matrix per task of one thread."""
ZERO = 1e-30
"""Stress below this share of sum h^2 is rounding: the squared relative error of a distance."""


def smacof(
    distances: NDArray[np.float64],
    dimension: int,
    *,
    start: NDArray[np.float64] | None = None,
    iterations: int = 300,
    tolerance: float = 1e-9,
) -> Coordinates:
    """Return coordinates of locally least stress, from classical scaling or from `start`.

    Stops after `iterations` steps, when a plain step lowers stress by less than `tolerance` of it,
    or when stress is zero to rounding. `objective` is sum (D - h)^2 / sum h^2.

    >>> line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> smacof(line, 1).objective < 1e-28
    True
    """
    target, unit = _in_units_of_the_largest(checked_distances(distances))
    points = _start(target, checked_dimension(dimension), start, unit)
    total = float(np.square(target).sum())
    stress, moved = guttman(target, points)
    done, converged = 0, stress <= ZERO * total
    while done < iterations and not converged:
        plain = done % 2 == 0
        further = moved if plain else 2.0 * moved - points
        lower, onward = guttman(target, further)
        step, done = stress - lower, done + 1
        converged = (plain and step <= tolerance * stress) or lower <= ZERO * total
        if lower < stress:  # rounding could raise it in the last digits: then the old points stay
            stress, points, moved = lower, further, onward
    return Coordinates(
        vectors=points * unit,
        method="smacof",
        minimises="stress",
        dimension=points.shape[1],
        rank=int(np.count_nonzero(np.abs(points).max(axis=0) > 0.0)),
        objective=stress / total if total > 0.0 else 0.0,
        iterations=done,
        converged=converged,
    )


def guttman(
    target: NDArray[np.float64], points: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Return the stress of the points (over ordered pairs) and their Guttman transform."""
    m = target.shape[0]
    own = np.square(points).sum(axis=1)
    stress, moved = np.empty(m), np.empty_like(points)
    for first, last in stripes(0, m, max(ROWS, BLOCK_BYTES // (8 * m))):
        ratio = points[first:last] @ points.T
        weight = _ratios(target, own, ratio, stress, first, last)
        moved[first:last] = (weight[:, None] * points[first:last] - ratio @ points) / m
    return float(stress.sum()), moved


def _ratios(
    target: NDArray[np.float64],
    own: NDArray[np.float64],
    products: NDArray[np.float64],
    stress: NDArray[np.float64],
    first: int,
    last: int,
) -> NDArray[np.float64]:
    """Turn inner products of rows first:last into h / D in place; return the row sums."""
    weight = np.empty(last - first)
    if use_numba():
        from gnomon.distances.kernels import ratio_rows

        def compiled_rows(begin: int, end: int) -> None:
            ratio_rows(target, own, products, stress, weight, first, begin, end)

        map_threads(compiled_rows, stripes(0, last - first, ROWS))
        return weight
    for begin, end in stripes(0, last - first, ROWS):
        rows, here = slice(begin, end), slice(first + begin, first + end)
        length = np.sqrt(np.maximum(own[here, None] + own - 2.0 * products[rows], 0.0))
        length[np.arange(end - begin), np.arange(here.start, here.stop)] = 0.0
        stress[here] = np.square(length - target[here]).sum(axis=1)
        products[rows] = 0.0
        np.divide(target[here], length, out=products[rows], where=length > 0.0)
        weight[rows] = products[rows].sum(axis=1)
    return weight


def _in_units_of_the_largest(
    target: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:
    """Return distances of at most 1 and their unit, so that no square leaves the float range."""
    unit = float(target.max()) or 1.0
    return target / unit, unit


def _start(
    target: NDArray[np.float64],
    dimension: int,
    start: NDArray[np.float64] | None,
    unit: float,
) -> NDArray[np.float64]:
    """Return centred starting points in which no two that should differ coincide."""
    if start is None:
        points = classical_mds(double_centred(np.square(target)), dimension).vectors.copy()
    else:
        points = reals(start, "start") / unit
        if points.shape != (target.shape[0], dimension) or not np.isfinite(points).all():
            raise InputError(
                f"the start has shape {points.shape} or values that are not finite; "
                f"pass {target.shape[0]} x {dimension} finite numbers."
            )
    points -= points.mean(axis=0)
    return _apart(points, target)


def _apart(points: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move coinciding points apart a little: the transform can not separate them by itself.

    The shifts are multiples of the golden ratio modulo 1: different for all points, no randomness.
    """
    _, place = np.unique(points, axis=0, return_inverse=True)
    if place.max() + 1 == points.shape[0] or target.max() == 0.0:
        return points
    turn = np.arange(1.0, points.shape[0] + 1.0)[:, None] * np.arange(1.0, points.shape[1] + 1.0)
    shift = np.modf(turn * (np.sqrt(5.0) - 1.0) / 2.0)[0] - 0.5
    return np.asarray(points + 1e-6 * shift)


def checked_distances(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return symmetric, non-negative distances with a zero diagonal, or say what is wrong."""
    target = square(distances, "a matrix of distances")
    own = float(np.abs(target.diagonal()).max())
    if target.min() < 0.0 or own > 0.0:
        raise InputError(
            f"distances start at {target.min():.6g} with up to {own:.6g} on the diagonal; "
            "pass non-negative distances that are zero there."
        )
    return target
