"""The centred Gram matrix of square roots of laws.

With s_i = sqrt(p_i) and s the mean of the s_i over positions,

    g_ij = <s_i - s, s_j - s>,   that is   g = J S S^T J,   J = I - 11^T / m.

It is the matrix of classical scaling: for the chord, -1/2 J D^2 J = g exactly, so g is positive
semidefinite and an exact embedding exists (for this distance [cirrincione2026] says otherwise, and
is wrong there: S itself is the embedding) [gower1966].

The mean is subtracted before the product, in float64: laws that differ little then keep their
digits, where 1 - BC has lost them all (at d = 2.9e-6: relative error 3e-12 against 7e-5).
The product is SYRK, over dense blocks of tokens, so memory is m^2 plus one block however large the
vocabulary; tokens that occur at few positions go the sparse way (`gnomon.distances.tail`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.distances.laws import Laws, counts_matrix, laws, totals
from gnomon.distances.tail import TAIL_SHARE, add_tail, tail_of
from gnomon.errors import CountsError, InputError
from gnomon.numeric.checks import reals
from gnomon.numeric.parallel import map_threads, stripes, use_numba

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK_BYTES = 64 * 2**20
STRIPE = 512
"""Tokens per task of one thread; a multiple of the tile of the kernel."""


def centred_gram(counts: Any, *, block_bytes: int = BLOCK_BYTES) -> NDArray[np.float64]:
    """Return g = J S S^T J of counts (positions x tokens), S = sqrt(counts / row sums).

    Cost m^2 V flops. Every row must hold at least one token.

    >>> centred_gram([[1, 0], [0, 1]])
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    gram, _ = upper_gram(whole_laws(counts), block_bytes=block_bytes)
    return mirrored(gram)


def whole_laws(counts: Any) -> Laws:
    """Return the laws of counts in which no row may be empty."""
    matrix = counts_matrix(counts)
    sums = totals(matrix)
    empty = np.flatnonzero(sums == 0)
    if empty.size:
        raise CountsError(
            f"row {empty[0]} of the counts holds no token ({empty.size} such rows) and so has no "
            "law; leave it out, or use gnomon.geometry(counts), which does."
        )
    return laws(matrix, sums, sums > 0)


def upper_gram(
    law: Laws, *, block_bytes: int = BLOCK_BYTES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centred Gram matrix, upper triangle (C order) only, and |uncentred part|^2.

    The second says of each position how much of its law was multiplied before it was centred.
    """
    occurrences = law.occurrences()
    rare = (occurrences > 0) & (occurrences < TAIL_SHARE * law.positions) & use_numba()
    head = np.flatnonzero((occurrences > 0) & ~rare)
    gram = _head_gram(law, head, block_bytes)
    if not rare.any():
        return gram, np.zeros(law.positions)
    tail = tail_of(law, occurrences, rare)
    add_tail(tail, gram)
    return gram, tail.mass


def _head_gram(law: Laws, head: NDArray[np.int64], block_bytes: int) -> NDArray[np.float64]:
    """Return the centred Gram matrix of the head tokens, upper triangle only, block by block."""
    from scipy.linalg.blas import dsyrk

    m = law.positions
    width = max(STRIPE, block_bytes // (8 * m) // STRIPE * STRIPE)
    buffer = np.empty(m * min(width, head.size))
    gram = np.zeros((m, m), order="F")
    column = np.full(law.vocabulary, -1, dtype=np.int32)
    column[head] = np.arange(head.size, dtype=np.int32)
    for first, last in stripes(0, head.size, width):
        block = buffer[: m * (last - first)].reshape(m, last - first)
        _fill(law, head[first:last], column, block)
        # The transpose of a C-ordered block is the Fortran order BLAS wants: nothing is copied.
        gram = dsyrk(1.0, block.T, beta=1.0, c=gram, trans=1, lower=1, overwrite_c=1)
    upper: NDArray[np.float64] = gram.T
    return upper


def _fill(
    law: Laws, head: NDArray[np.int64], column: NDArray[np.int32], block: NDArray[np.float64]
) -> None:
    """Write the centred roots of the head tokens into `block` (positions x tokens)."""
    scales = law.scales
    if not use_numba():
        roots = law.matrix[:, head].astype(np.float64)
        rows = np.repeat(np.arange(law.positions), np.diff(roots.indptr))
        roots.data = np.sqrt(roots.data) * scales[rows]
        mean = np.bincount(roots.indices, roots.data, minlength=head.size) / law.positions
        np.subtract(roots.toarray(), mean, out=block)
        return
    from gnomon.distances.kernels import fill_centred

    def stripe(first: int, last: int) -> None:
        chosen, out = head[first:last], block[:, first:last]
        fill_centred(law.starts, law.tokens, law.counts, scales, column, chosen, out)

    map_threads(stripe, stripes(0, head.size, STRIPE))


def mirrored(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Copy the upper triangle onto the lower one, in place."""
    for i in range(1, gram.shape[0]):
        gram[i, :i] = gram[:i, i]
    return gram


def double_centred(squared: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return -1/2 J D^2 J of squared distances: the Gram matrix of classical scaling.

    >>> double_centred(np.array([[0.0, 4.0], [4.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    squared = reals(squared, "the matrix of squared distances")
    if squared.ndim != 2 or squared.shape[0] != squared.shape[1] or not squared.size:
        raise InputError(
            f"the matrix of squared distances has shape {squared.shape}; pass m x m numbers."
        )
    row = squared.mean(axis=1)
    gram: NDArray[np.float64] = squared - row[:, None]
    gram -= (row - row.mean())[None, :]
    gram *= -0.5
    return mirrored(gram)
