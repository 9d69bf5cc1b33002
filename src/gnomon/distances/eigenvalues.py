"""The spectrum of a Gram matrix, and what it certifies.

A symmetric g = -1/2 J D^2 J with eigenvalues l_1 >= l_2 >= ... has an exact Euclidean embedding
if and only if no eigenvalue is negative, and then from dimension rank(g) on [gower1966].
The chord always has one; the angle may not, and the share of negative eigenvalues says how far.

The numerical rank counts eigenvalues above rounding. On sampled counts it is m - 1 almost surely:
it is not the dimension of the corpus, for which `participation` = (sum l)^2 / sum l^2 is a better
first reading, and the noise floor the honest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import InputError
from gnomon.numeric.checks import reals
from gnomon.results import Result, to_dataframe

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Spectrum(Result):
    """All eigenvalues of a Gram matrix and the exactness certificate they give."""

    eigenvalues: NDArray[np.float64]
    """All of them, descending; none is left out at any size."""
    cumulative_share: NDArray[np.float64]
    """Share of the positive sum in the first k eigenvalues, k = 1 .. m."""
    participation: float
    """(sum l)^2 / sum l^2 over the positive eigenvalues; 0 if there are none."""
    rank_numerical: int
    """How many eigenvalues exceed `tolerance`."""
    isometric_from_dimension: int | None
    """Smallest dimension with an exact embedding; None where no dimension has one."""
    negative_share: float
    """sum |negative l| / sum |l|; rounding alone leaves about 1e-16."""
    positive_semidefinite: bool
    """No eigenvalue below -`tolerance`."""
    tolerance: float
    """m eps max |l|: what rounding may do to an eigenvalue of an m x m matrix; or the floor."""

    def to_dataframe(self) -> Any:
        """Return one row per eigenvalue, the largest first."""
        pairs = zip(self.eigenvalues.tolist(), self.cumulative_share.tolist(), strict=True)
        return to_dataframe([{"eigenvalue": v, "cumulative_share": s} for v, s in pairs])


def spectrum(gram: NDArray[np.float64], *, floor: float = 0.0) -> Spectrum:
    """Return all eigenvalues of a symmetric matrix with their certificate; O(m^3).

    `floor` is the size below which an eigenvalue is rounding for reasons that the matrix itself
    does not show, such as laws that are all equal but were centred in floating point.

    >>> found = spectrum(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    >>> found.rank_numerical, found.isometric_from_dimension, found.positive_semidefinite
    (1, 1, True)
    """
    from scipy.linalg import eigvalsh

    gram = check_symmetric(gram, "a Gram matrix")
    return spectrum_of(eigvalsh(gram.T, check_finite=False)[::-1], floor=floor)


def spectrum_of(eigenvalues: NDArray[np.float64], *, floor: float = 0.0) -> Spectrum:
    """Return the spectrum with these eigenvalues, given in descending order."""
    values = np.ascontiguousarray(eigenvalues, dtype=np.float64)
    magnitude = np.abs(values)
    rounding = values.size * np.finfo(np.float64).eps * magnitude.max(initial=0.0)
    tolerance = max(float(rounding), floor)
    rank = int(np.count_nonzero(values > tolerance))
    semidefinite = bool((values >= -tolerance).all())
    positive = np.where(values > tolerance, values, 0.0)
    total = positive.sum()
    shares = np.cumsum(positive) / total if total > 0 else np.ones_like(values)
    return Spectrum(
        eigenvalues=values,
        cumulative_share=shares,
        participation=float(total**2 / np.square(positive).sum()) if total > 0 else 0.0,
        rank_numerical=rank,
        isometric_from_dimension=rank if semidefinite else None,
        negative_share=float(magnitude[values < 0].sum() / magnitude.sum()) if rank else 0.0,
        positive_semidefinite=semidefinite,
        tolerance=tolerance,
    )


def check_symmetric(matrix: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    """Return a finite, square, symmetric float64 matrix, or say in one sentence what is wrong."""
    array = reals(matrix, what)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] == 0:
        raise InputError(f"{what} of shape {array.shape} is not square; pass m x m numbers.")
    gap, row, column = _asymmetry(array)
    if gap > 0.0 or np.isnan(gap):
        _refuse(array, what, gap, row, column)
    return array


def _refuse(array: NDArray[np.float64], what: str, gap: float, row: int, column: int) -> None:
    """Raise if the matrix is not finite, or asymmetric beyond rounding."""
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InputError(
            f"{what} holds {array[row, column]} at [{row}, {column}]; leave out that position."
        )
    if gap > 1e-9 * np.abs(array).max():
        raise InputError(
            f"{what} is not symmetric: [{row}, {column}] and [{column}, {row}] differ by "
            f"{gap:.3g}; pass the mean of it and its transpose."
        )


def _asymmetry(array: NDArray[np.float64], tile: int = 256) -> tuple[float, int, int]:
    """Return the largest |a_ij - a_ji| and its place; NaN where the matrix is not finite."""
    worst = (0.0, 0, 0)
    starts = range(0, array.shape[0], tile)
    for first in starts:
        for second in starts[first // tile :]:
            rows, columns = slice(first, first + tile), slice(second, second + tile)
            with np.errstate(invalid="ignore"):  # inf - inf
                gaps = np.abs(array[rows, columns] - array[columns, rows].T)
            place = int(gaps.argmax())
            gap = float(gaps.flat[place])
            if not gap <= worst[0]:
                row, column = np.unravel_index(place, gaps.shape)
                worst = (gap, first + int(row), second + int(column))
            if np.isnan(gap):
                return worst
    return worst
