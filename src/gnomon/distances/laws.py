"""The laws of the positions: counts that were checked, in the form the kernels read.

The law of position i gives token v the share p_iv = c_iv / N_i, with N_i the tokens counted there.
Counts stay integers until the last moment: two rows in the same proportion then differ by exactly
zero, and near rows can be subtracted without loss (see `gnomon.distances.near`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from gnomon.errors import CountsError
from gnomon.numeric.checks import in_usual_type, plain_array
from gnomon.numeric.parallel import map_threads, stripes, use_numba

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_TOKEN = 2**31 - 1
PIECES = 8
"""Tasks in which entries are counted; integers, so their number changes nothing."""


@dataclass(frozen=True)
class Laws:
    """Counts of m positions in compressed rows."""

    starts: NDArray[np.int64]
    """Row i is `starts[i]:starts[i + 1]` of `tokens` and `counts`."""
    tokens: NDArray[np.int32]
    """Token numbers, ascending inside a row."""
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]
    """N_i, the tokens counted at position i; never zero."""
    vocabulary: int
    """How many token numbers there are, whether they occur or not."""

    @property
    def positions(self) -> int:
        """How many positions there are."""
        return int(self.totals.size)

    @property
    def scales(self) -> NDArray[np.float64]:
        """1 / sqrt(N_i), so that sqrt(p_iv) = sqrt(c_iv) scale_i."""
        scales: NDArray[np.float64] = 1.0 / np.sqrt(self.totals.astype(np.float64))
        return scales

    def occurrences(self) -> NDArray[np.int64]:
        """At how many positions each token occurs."""
        if not use_numba():
            return np.bincount(self.tokens, minlength=self.vocabulary)
        from gnomon.distances.kernels import count_tokens

        pieces = stripes(0, self.tokens.size, max(1, -(-self.tokens.size // PIECES)))
        found = np.zeros((len(pieces), self.vocabulary), dtype=np.int64)

        def entries(first: int, last: int) -> None:
            count_tokens(self.tokens, found[pieces.index((first, last))], first, last)

        map_threads(entries, pieces)
        total: NDArray[np.int64] = found.sum(axis=0)
        return total

    @property
    def matrix(self) -> csr_array:
        """The counts as a sparse matrix (a view)."""
        shape = (self.positions, self.vocabulary)
        return csr_array((self.counts, self.tokens, self.starts), shape=shape)


def counts_matrix(counts: Any) -> csr_array:
    """Return counts as a canonical int64 CSR matrix, or say in one sentence why they are none.

    >>> counts_matrix([[2, 0], [1, 3]]).toarray().tolist()
    [[2, 0], [1, 3]]
    """
    matrix = counts if issparse(counts) else plain_array(counts, "counts hold", kind=CountsError)
    _check_type(matrix)
    matrix = in_usual_type(matrix)
    if matrix.dtype.kind == "b":
        matrix = matrix.astype(np.int64)
    if matrix.ndim != 2:
        raise CountsError(
            f"counts have {matrix.ndim} axes where 2 are needed; "
            "pass one row per position and one column per token."
        )
    matrix = matrix if isinstance(matrix, csr_array) else csr_array(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    whole = _whole(matrix)
    return csr_array((whole, matrix.indices, matrix.indptr), shape=matrix.shape)


def _check_type(matrix: Any) -> None:
    if matrix.dtype.kind not in "iufb":
        raise CountsError(
            f"counts are of type {matrix.dtype}, not numbers; "
            "pass whole numbers, one row per position and one column per token."
        )


def _whole(matrix: csr_array) -> NDArray[np.int64]:
    """Return the stored values as int64; refuse what can not be a count, naming its place."""
    values = matrix.data
    if values.size == 0:
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        _refuse(matrix, ~np.isfinite(values), "is no number", "recount, or leave that position out")
        advice = "pass counts of tokens, not probabilities"
        _refuse(matrix, values != np.trunc(values), "is not a whole number", advice)
        _refuse(matrix, np.abs(values) >= 2.0**53, "is too large to be exact", "pass integers")
    if values.min() < 0:
        _refuse(matrix, values < 0, "is negative", "counts start at zero")
    return values.astype(np.int64, copy=False)


def _refuse(matrix: csr_array, bad: NDArray[np.bool_], what: str, advice: str) -> None:
    if not bad.any():
        return
    at = int(np.argmax(bad))
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    raise CountsError(
        f"counts[{row}, {matrix.indices[at]}] = {matrix.data[at]} {what} "
        f"({int(bad.sum())} such entries); {advice}."
    )


def totals(matrix: csr_array) -> NDArray[np.int64]:
    """Return N_i, the tokens counted in each row, exactly."""
    sums = np.zeros(matrix.shape[0], dtype=np.int64)
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if filled.size:
        sums[filled] = np.add.reduceat(matrix.data, matrix.indptr[filled])
    return sums


def laws(matrix: csr_array, sums: NDArray[np.int64], kept: NDArray[np.bool_]) -> Laws:
    """Return the laws of the kept rows of checked counts with row sums `sums`, none of them 0."""
    if 0 in matrix.shape:
        raise CountsError(
            f"counts are empty, of shape {matrix.shape}; pass at least one position and one token."
        )
    if not kept.all():
        matrix = matrix[np.flatnonzero(kept)]
    if matrix.shape[1] > LARGEST_TOKEN:
        raise CountsError(
            f"counts have {matrix.shape[1]} columns, more than {LARGEST_TOKEN}; "
            "coarsen the vocabulary (--top-k)."
        )
    return Laws(
        starts=matrix.indptr.astype(np.int64, copy=False),
        tokens=matrix.indices.astype(np.int32, copy=False),
        counts=matrix.data,
        totals=sums[kept],
        vocabulary=int(matrix.shape[1]),
    )
