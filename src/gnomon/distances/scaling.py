"""Classical scaling: coordinates whose Gram matrix is nearest to the given one.

    X = V_k diag(max(l, 0))^(1/2) from the k largest eigenvalues l of g = -1/2 J D^2 J

minimises the STRAIN |g - X X^T|_F over all X with k columns (Eckart-Young) [torgerson1952]; it does
not minimise stress, for which see `majorization`. Where g is positive semidefinite it is
exact at k >= rank(g), and below that every distance it gives is too short: it is a projection.

SMACOF: coordinates of least stress, by majorisation.

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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.distances.chord import BLOCK_BYTES, double_centred
from gnomon.distances.eigenvalues import check_symmetric
from gnomon.errors import InputError, nearest
from gnomon.numeric.checks import reals
from gnomon.numeric.parallel import map_threads, stripes, use_numba
from gnomon.results import Result, to_dataframe

METHODS = ("classical", "smacof")
SUBSET_SHARE = 4
"""Above m / 4 wanted eigenvectors all of them by divide and conquer cost less than a subset."""
_ROWS = 64
"""Rows of the distance matrix per task of one thread."""
_ZERO = 1e-30
"""Stress below this share of sum h^2 is rounding: the squared relative error of a distance."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Coordinates(Result):
    """Positions as points: m x dimension, unique up to rotation, reflection and translation."""

    vectors: NDArray[np.float64]
    method: str
    """"classical" or "smacof"."""
    minimises: str
    """"strain" or "stress": what this method makes smallest."""
    dimension: int
    rank: int
    """How many columns are not zero."""
    objective: float
    """Strain |g - X X^T|_F, or raw stress sum (D - h)^2 / sum h^2 over pairs."""
    iterations: int
    converged: bool

    def to_dataframe(self) -> Any:
        """Return one row per position and one column per coordinate, numbered from 1."""
        names = [f"x{k + 1}" for k in range(self.vectors.shape[1])]
        return to_dataframe([dict(zip(names, row, strict=True)) for row in self.vectors.tolist()])


def classical_mds(gram: NDArray[np.float64], dimension: int) -> Coordinates:
    """Return the k-dimensional coordinates of least strain; O(m^3), deterministic.

    Eigenvalues that are not positive (to rounding) give zero columns, as do columns past m - 1.
    The sign of a column is fixed by its largest entry, which is positive.

    >>> points = classical_mds(np.array([[1.0, -1.0], [-1.0, 1.0]]), 3)
    >>> points.vectors.round(3).tolist(), points.rank
    ([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], 1)
    """
    gram = check_symmetric(gram, "a Gram matrix")
    dimension = check_dimension(dimension)
    m = gram.shape[0]
    values, axes = _largest(gram, min(dimension, m))
    # Rounding leaves eigenvalues of either sign and this size where the true ones are zero.
    positive = values > m * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)
    values = np.where(positive, values, 0.0)
    vectors = np.zeros((m, dimension))
    vectors[:, : values.size] = _signed(axes) * np.sqrt(values)
    return Coordinates(
        vectors=vectors,
        method="classical",
        minimises="strain",
        dimension=dimension,
        rank=int(positive.sum()),
        objective=_strain(gram, values, vectors),
        iterations=1,
        converged=True,
    )


def _largest(gram: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the k largest eigenvalues, descending, and their eigenvectors as columns."""
    from scipy.linalg import eigh

    m = gram.shape[0]
    gram = gram.T  # the same numbers, in the order LAPACK reads without transposing a copy
    if SUBSET_SHARE * k > m:
        values, axes = eigh(gram, driver="evd", check_finite=False)
        return values[: m - k - 1 : -1] if k < m else values[::-1], axes[:, ::-1][:, :k]
    chosen = [m - k, m - 1]
    values, axes = eigh(gram, subset_by_index=chosen, driver="evr", lower=False, check_finite=False)
    return values[::-1], axes[:, ::-1]


def _signed(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make the largest entry of every column positive; of equals to rounding, the first."""
    size = np.abs(axes)
    first = np.argmax(size >= size.max(axis=0) * (1.0 - 1e-8), axis=0)
    signs = np.where(np.take_along_axis(axes, first[None, :], axis=0) < 0.0, -1.0, 1.0)
    signed: NDArray[np.float64] = axes * signs + 0.0  # no negative zeros
    return signed


def _strain(
    gram: NDArray[np.float64], values: NDArray[np.float64], vectors: NDArray[np.float64]
) -> float:
    """|g - X X^T|_F, where X X^T has the eigenvalues `values`."""
    whole = float(np.vdot(gram, gram))
    rest = whole - float(values @ values)
    if rest > 1e-4 * whole:  # at most four digits cancel
        return float(np.sqrt(rest))
    used = vectors[:, np.abs(vectors).max(axis=0) > 0.0]
    residual = used @ used.T
    residual -= gram
    return float(np.linalg.norm(residual))


def check_dimension(dimension: int) -> int:
    """Return a dimension of at least 1, or say what was found."""
    if isinstance(dimension, bool) or int(dimension) != dimension or dimension < 1:
        raise InputError(
            f"dimension {dimension!r} is not a whole number of 1 or more (--dimension)."
        )
    return int(dimension)


def scale(geometry: Any, method: str = "classical", *, dimension: int) -> Coordinates:
    """Return coordinates of a Geometry, or of a matrix of distances, by the method named.

    "classical" minimises strain, "smacof" stress.

    >>> scale(np.array([[0.0, 2.0], [2.0, 0.0]]), dimension=1).vectors.ravel().tolist()
    [1.0, -1.0]
    """
    if method not in METHODS:
        raise InputError(f"{method!r} is no scaling method; {nearest(method, METHODS)}.")
    gram = getattr(geometry, "gram", None)
    distances = getattr(geometry, "distances", geometry)
    if method == "smacof":
        return smacof(distances, dimension)
    if gram is None:
        gram = double_centred(np.square(check_symmetric(distances, "a matrix of distances")))
    return classical_mds(gram, dimension)


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
    target, unit = _in_units_of_the_largest(check_distances(distances))
    points = _start(target, check_dimension(dimension), start, unit)
    total = float(np.square(target).sum())
    stress, moved = guttman(target, points)
    done, converged = 0, stress <= _ZERO * total
    while done < iterations and not converged:
        plain = done % 2 == 0
        further = moved if plain else 2.0 * moved - points
        lower, onward = guttman(target, further)
        step, done = stress - lower, done + 1
        converged = (plain and step <= tolerance * stress) or lower <= _ZERO * total
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
    for first, last in stripes(0, m, max(_ROWS, BLOCK_BYTES // (8 * m))):
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

        map_threads(compiled_rows, stripes(0, last - first, _ROWS))
        return weight
    for begin, end in stripes(0, last - first, _ROWS):
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
    """Move coinciding points apart a little: the transform cannot separate them by itself.

    The shifts are multiples of the golden ratio modulo 1: different for all points, no randomness.
    """
    _, place = np.unique(points, axis=0, return_inverse=True)
    if place.max() + 1 == points.shape[0] or target.max() == 0.0:
        return points
    turn = np.arange(1.0, points.shape[0] + 1.0)[:, None] * np.arange(1.0, points.shape[1] + 1.0)
    shift = np.modf(turn * (np.sqrt(5.0) - 1.0) / 2.0)[0] - 0.5
    return np.asarray(points + 1e-6 * shift)


def check_distances(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return symmetric, non-negative distances with a zero diagonal, or say what is wrong."""
    target = check_symmetric(distances, "a matrix of distances")
    own = float(np.abs(target.diagonal()).max())
    if target.min() < 0.0 or own > 0.0:
        raise InputError(
            f"distances start at {target.min():.6g} with up to {own:.6g} on the diagonal; "
            "pass non-negative distances that are zero there."
        )
    return target
