r"""Bases and skew matrices that are learned.

orthonormal   vectors made orthonormal one after the other, each twice for rounding
cayley        (I - S)(I + S)^(-1), orthogonal for skew S [schenck2025 sec. 3]
skew_of       U - U^T of the numbers above a diagonal
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.numeric.exponential import identity

if TYPE_CHECKING:
    from gnomon.encodings.arrays import Array, Namespace


def orthonormal(vectors: Array, *, xp: Namespace) -> Array:
    """Return vectors (..., k, d) made orthonormal one after the other, each twice for rounding.

    >>> import numpy as np
    >>> orthonormal(np.array([[2.0, 0.0], [1.0, 3.0]]), xp=np).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    made: Any = None
    for place in range(vectors.shape[-2]):
        one = vectors[..., place : place + 1, :]
        for _ in range(0 if made is None else 2):
            one = one - xp.matmul(xp.matmul(one, xp.matrix_transpose(made)), made)
        one = one / xp.sqrt(xp.sum(one * one, axis=-1, keepdims=True))
        made = one if made is None else xp.concat([made, one], axis=-2)
    return made


def cayley(skew: Array, *, xp: Namespace) -> Array:
    """Return (I - S)(I + S)^(-1) of skew matrices (..., d, d)."""
    one = identity(skew.shape[-1], skew, xp=xp)
    return xp.linalg.solve(one + skew, xp.broadcast_to(one, skew.shape) - skew)


def skew_of(raw: Array, *, xp: Namespace) -> Array:
    """Return the skew matrix of the numbers above the diagonal: U - U^T."""
    upper: Any = xp.triu(raw, k=1)
    return upper - xp.matrix_transpose(upper)
