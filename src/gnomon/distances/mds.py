"""Classical scaling: coordinates whose Gram matrix is nearest to the given one.

    X = V_k diag(max(l, 0))^(1/2) from the k largest eigenvalues l of g = -1/2 J D^2 J

minimises the STRAIN |g - X X^T|_F over all X with k columns (Eckart-Young) [torgerson1952]; it does
not minimise stress, for which see `majorization`. Where g is positive semidefinite it is
exact at k >= rank(g), and below that every distance it gives is too short: it is a projection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.distances.eigenvalues import square
from gnomon.distances.gram import double_centred
from gnomon.errors import InputError, nearest
from gnomon.results import Result, to_dataframe

if TYPE_CHECKING:
    from numpy.typing import NDArray

METHODS = ("classical", "smacof")
SUBSET_SHARE = 4
"""Above m / 4 wanted eigenvectors all of them by divide and conquer cost less than a subset."""


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
    gram = square(gram, "a Gram matrix")
    dimension = checked_dimension(dimension)
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


def checked_dimension(dimension: int) -> int:
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
        from gnomon.distances.majorization import smacof

        return smacof(distances, dimension)
    if gram is None:
        gram = double_centred(np.square(square(distances, "a matrix of distances")))
    return classical_mds(gram, dimension)
