"""A rotation into d dimensions: orthonormal rows, so that no distance changes.

    W = Q^T,  Z = Q R,  Z of shape (d, r) with independent normal entries,  diag R > 0:

with the signs of R fixed, Q is uniform (Haar) among the d x r matrices with orthonormal columns
[mezzadri2007]. Without a seed W = [I 0]: the fitted directions are the first r coordinates, and a
model that treats coordinates unlike each other sees position in those alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PURPOSE = 11
"""Keeps this stream apart from others of the same seed."""


def orthonormal_rows(rank: int, dimension: int, seed: int | None) -> NDArray[np.float64]:
    """Return W of shape (rank, dimension) with W W^T = I; [I 0] without a seed.

    >>> orthonormal_rows(1, 3, None)
    array([[1., 0., 0.]])
    """
    if seed is None:
        return np.eye(rank, dimension)
    normal = np.random.default_rng([seed, PURPOSE]).normal(size=(dimension, rank))
    axes, triangle = np.linalg.qr(normal)
    signs = np.where(np.diagonal(triangle) < 0.0, -1.0, 1.0)
    rows: NDArray[np.float64] = np.ascontiguousarray((axes * signs).T)
    return rows
