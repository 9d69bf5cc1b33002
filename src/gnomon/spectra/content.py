r"""Drawn content: queries and keys with and without a mean that all positions share.

    q_i = mu m + x_i,   k_i = mu m' + y_i,   x, y, m, m' ~ N(0, 1) in every coordinate,

*tied* with k = q, so that A = q q^T is the Gram matrix of the theorems. What turns damp is the
rank-one part mu^2 m m'^T that all positions have in common: with mu = 0 pairs are independent and
there is nothing to contract on average (`gnomon.spectra.contractions`). With means drawn apart m.m'
may be small by cancellation between pairs, which turns undo: norms then grow as often as they fall.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import SpectrumError
from gnomon.spectra.checks import real, whole

Floats = NDArray[np.float64]
LARGEST = 1e6
"""The largest shared mean: a logit is its square, and float64 has 16 digits."""


def drawn_vector(dimension: int) -> Floats:
    """Return the one vector that decides the kernel of a rule on content: N(0, 1/2), seed 0."""
    return np.random.default_rng(0).normal(scale=np.sqrt(0.5), size=dimension)


def checked_mean(mean: Any) -> float:
    """Return the size of a shared mean."""
    size = real("mean", mean, "0 or more: its size against the spread", least=0.0)
    if size > LARGEST:
        raise SpectrumError(
            f"mean is {mean!r}; pass {LARGEST:g} at most: beyond, rounding leaves nothing of the "
            "spread in a logit."
        )
    return size


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
    length, dimension = (
        whole(name, value, least=1)
        for name, value in (("length", length), ("dimension", dimension))
    )
    mean = checked_mean(mean)
    stream = np.random.default_rng(0) if rng is None else rng
    shared = stream.standard_normal((2, 1, dimension))
    spread = stream.standard_normal((2, length, dimension))
    q, k = mean * shared + spread
    return (q, q.copy()) if tied else (q, k)
