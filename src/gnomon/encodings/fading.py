"""Distances of groups that fade: their kernel is known, mirrored, and so is every distance.

    k(t) = sum_k e_k e^(a_k |t|) cos(w_k t),   a_k <= 0
    D(t)^2 = 2 (k(0) - k(t)) = 2 sum_k e_k ((1 - e^(a|t|)) + e^(a|t|) 2 sin^2(w t / 2))

No term is negative, so nothing cancels. The kernel is that of content with unit pairs, the causal
half mirrored [sun2022 sec. 3.2 for the kernel].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings.base import LagDistances

Floats = NDArray[np.float64]
_CHUNK = 2**20
"""Lags times rates that are held at a time."""


def fading_distances(rates: Floats, frequencies: Floats, weights: Floats) -> LagDistances:
    """Return the distances at lags (..., 1) for flat arrays of rates, frequencies and weights e."""

    def distances(lags: Floats) -> Floats:
        sizes = np.abs(lags[..., 0]).reshape(-1)
        squares = np.empty(len(sizes))
        step = max(1, _CHUNK // len(rates))
        for start in range(0, len(sizes), step):
            t = sizes[start : start + step, None]
            turned = np.exp(t * rates) * 2.0 * np.square(np.sin(0.5 * t * frequencies))
            squares[start : start + step] = 2.0 * (turned - np.expm1(t * rates)) @ weights
        found: Floats = np.sqrt(squares).reshape(lags.shape[:-1])
        return found

    return distances
