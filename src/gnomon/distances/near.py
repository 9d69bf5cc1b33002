"""Near pairs: the difference of two laws without cancellation.

Counts are integers, so the difference of two roots can be taken before any rounding:

    sqrt(c/N) - sqrt(c'/N') = (c N' - c' N) / (N N' (sqrt(c/N) + sqrt(c'/N'))),

where the numerator is exact in 64-bit integers as long as N, N' < 2^31. Rows in the same
proportion are at distance exactly zero, and all others keep full relative accuracy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.numeric.parallel import map_threads, stripes, use_numba

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.distances.laws import Laws

PAIRS = 256
"""Pairs per task of one thread."""
BATCH_BYTES = 16 * 2**20


def direct_squared(
    law: Laws, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return |sqrt p_i - sqrt p_j|^2 for the pairs (rows[k], columns[k])."""
    exact = bool(law.totals.max() < 2**31)
    out = np.empty(rows.size)
    if use_numba():
        from gnomon.distances.kernels import near_squared

        def pairs(first: int, last: int) -> None:
            laws = (law.starts, law.tokens, law.counts, law.totals)
            near_squared(*laws, rows, columns, exact, out, first, last)

        map_threads(pairs, stripes(0, rows.size, PAIRS))
        return out
    batch = max(1, BATCH_BYTES // (8 * max(law.vocabulary, 1)))
    for first, last in stripes(0, rows.size, batch):
        out[first:last] = _batch(law, rows[first:last], columns[first:last], exact=exact)
    return out


def _batch(
    law: Laws, rows: NDArray[np.int64], columns: NDArray[np.int64], *, exact: bool
) -> NDArray[np.float64]:
    """Do with NumPy what the compiled `near_squared` does, for pairs that fit in memory dense."""
    kind = np.int64 if exact else np.float64
    own, other = (law.matrix[side].toarray().astype(kind) for side in (rows, columns))
    n_own, n_other = law.totals[rows][:, None], law.totals[columns][:, None]
    cross = (own * n_other.astype(kind) - other * n_own.astype(kind)).astype(np.float64)
    roots = np.sqrt(own / n_own) + np.sqrt(other / n_other)
    product = n_own.astype(np.float64) * n_other
    difference = np.divide(cross, product * roots, out=np.zeros_like(roots), where=roots > 0)
    squared: NDArray[np.float64] = np.square(difference).sum(axis=1)
    return squared
