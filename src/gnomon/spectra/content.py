r"""Drawn content: queries and keys with and without a mean that all positions share.

    q_i = mu m + x_i,   k_i = mu m' + y_i,   x, y, m, m' ~ N(0, 1) in every coordinate,

*tied* with k = q, so that A = q q^T is the Gram matrix of the theorems. What turns damp is the
rank-one part mu^2 m m'^T that all positions have in common: with mu = 0 pairs are independent and
there is nothing to contract on average (`gnomon.spectra.contraction`). With means drawn apart m.m'
may be small by cancellation between pairs, which turns undo: norms then grow as often as they fall.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import SpectrumError

Floats = NDArray[np.float64]


def drawn_content(
    length: int,
    dimension: int,
    *,
    mean: float = 0.0,
    tied: bool = True,
    rng: np.random.Generator | None = None,
) -> tuple[Floats, Floats]:
    """Return q and k (n, d).

    >>> q, k = drawn_content(4, 2)
    >>> q.shape, bool((q == k).all())
    ((4, 2), True)
    """
    if not np.isfinite(mean) or mean < 0.0:
        raise SpectrumError(f"mean is {mean!r}; pass 0 or more: its size against the spread.")
    stream = np.random.default_rng(0) if rng is None else rng
    shared = stream.standard_normal((2, 1, dimension))
    spread = stream.standard_normal((2, length, dimension))
    q, k = mean * shared + spread
    return (q, q.copy()) if tied else (q, k)
