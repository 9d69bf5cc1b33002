"""Stress against dimension: what every further coordinate of classical MDS buys.

The rank-r solution is the first r columns of the full one, so squared distances only grow:
D_r^2 = D_(r-1)^2 + (x_ir - x_jr)^2. One eigendecomposition and one running matrix of squares serve
all dimensions. Classical MDS minimises strain and not stress. Where the Gram matrix is positive
semidefinite it is exact from the rank on, and truncated it under-estimates every distance (it
projects) [gower1966].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics.pairs import target_of
from gnomon.diagnostics.residuals import residuals_by_row
from gnomon.errors import InputError
from gnomon.numeric.rows import squared_distances
from gnomon.results import Result, to_dataframe

if TYPE_CHECKING:
    from collections.abc import Iterable

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class StressByDimension(Result):
    """Stress of truncated classical MDS; entry k belongs to dimensions[k]."""

    dimensions: NDArray[np.int64]
    raw: Floats
    scale_free: Floats
    kruskal: Floats
    minimises: str = "strain"

    def to_dataframe(self) -> Any:
        """Return one row per dimension as a pandas DataFrame."""
        names = ("dimensions", "raw", "scale_free", "kruskal")
        columns = zip(*(getattr(self, name).tolist() for name in names), strict=True)
        return to_dataframe([dict(zip(names, row, strict=True)) for row in columns])


def stress_by_dimension(
    gram: Any, distances: Any = None, dimensions: Iterable[int] = (1, 2, 3, 4, 8, 16)
) -> StressByDimension:
    """Return the stresses of classical MDS for each dimension, in ascending order.

    `gram` is a geometry (then `distances` are its own) or a centred Gram matrix. Cost O(n^2 r) for
    the largest r, and O(n^2) for each dimension asked for. `kruskal` is NaN for zero distances.
    """
    from gnomon.distances import classical_mds

    wanted = sorted(set(dimensions))
    if not wanted or wanted[0] < 1:
        raise InputError(f"dimensions are {wanted}; pass whole numbers from 1 on.")
    matrix = getattr(gram, "gram", gram)
    target = target_of(gram if distances is None else distances).distances
    vectors = np.asarray(classical_mds(matrix, min(wanted[-1], len(target))).vectors)
    squares = np.zeros_like(target)
    done, rows = 0, []
    for dimension in wanted:
        if dimension > done:
            squares = squares + squared_distances(vectors[:, done:dimension])
        done = max(done, min(dimension, vectors.shape[1]))
        rows.append(_stresses(np.sqrt(squares), target))
    raw, scale_free, kruskal = np.array(rows).T
    return StressByDimension(
        dimensions=np.array(wanted), raw=raw, scale_free=scale_free, kruskal=kruskal
    )


def _stresses(made: Floats, target: Floats) -> tuple[float, float, float]:
    sums = residuals_by_row(made, target)
    if not sums.target_squares > 0.0:
        raise InputError(
            "All target distances are 0, so there is nothing to fit; every position has the same "
            "law, and stress is undefined."
        )
    kruskal = np.sqrt(sums.raw / sums.encoding_squares) if sums.encoding_squares else np.nan
    return sums.raw / sums.target_squares, sums.best / sums.target_squares, float(kruskal)
