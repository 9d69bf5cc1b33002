"""Split halves: roots of laws from one half of the folds, multiplied with those of the other.

A halving puts the folds at random into two halves a and b. With s_i^a the roots of the observed
shares of position i in half a,

    C_ij = (<s_i^a, s_j^b> + <s_j^a, s_i^b>) / 2,      d2_ij = C_ii + C_jj - 2 C_ij,

averaged over ten halvings. A document lies in one fold, so it is never on both sides of a product
and its noise never meets itself. What remains is the bias of the root: E sqrt(x / N) is less than
sqrt p, by much for rare types, and C_ii loses more of it than C_ij where N_i < N_j; d2 is then too
large between positions counted unequally, which looks like a drift along a corpus of falling
counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

HALVINGS = 10
_WIDTH = 4096
"""Types multiplied at a time."""


def split_half_squares(
    blocks: csr_array, folds: int, rng: np.random.Generator, halvings: int = HALVINGS
) -> NDArray[np.float64]:
    """Return d2 for counts with rows i * folds + g, m x m, zero diagonal; it may be negative.

    Every position must have tokens in more than half of the folds (see `measurable`).
    """
    m = blocks.shape[0] // folds
    gram = np.zeros((m, m))
    for _ in range(halvings):
        first = np.zeros(folds, bool)
        first[rng.permutation(folds)[: folds // 2]] = True
        gram += _cross(_roots(blocks, first), _roots(blocks, ~first))
    gram = (gram + gram.T) / (2.0 * halvings)
    own = np.diag(gram)
    squares: NDArray[np.float64] = own[:, None] + own[None, :] - 2.0 * gram
    return squares


def measurable(blocks: csr_array, folds: int) -> NDArray[np.bool_]:
    """Say which positions have tokens in both halves of every halving."""
    tokens = np.asarray(blocks.sum(axis=1)).reshape(-1, folds)
    enough: NDArray[np.bool_] = np.count_nonzero(tokens, axis=1) > folds - folds // 2
    return enough


def _roots(blocks: csr_array, half: NDArray[np.bool_]) -> csc_array:
    """Return the roots of the observed shares in a half of the folds, positions x types."""
    rows, folds = blocks.shape[0], half.size
    chosen = np.flatnonzero(np.tile(half, rows // folds))
    shape = (rows // folds, rows)
    pooling = csr_array((np.ones(chosen.size), (chosen // folds, chosen)), shape=shape)
    pooled = csr_array(pooling @ blocks)
    tokens = np.asarray(pooled.sum(axis=1)).ravel()
    pooled.data = np.sqrt(pooled.data / np.repeat(tokens, np.diff(pooled.indptr)))
    return csc_array(pooled)


def _cross(left: csc_array, right: csc_array) -> NDArray[np.float64]:
    """Return left right^T over dense blocks of types."""
    gram = np.zeros((left.shape[0], right.shape[0]))
    for start in range(0, left.shape[1], _WIDTH):
        types = slice(start, start + _WIDTH)
        gram += left[:, types].toarray() @ right[:, types].toarray().T
    return gram
