"""The sums over pairs from which every stress is made, by rows or by lags.

With D the distances of the encoding and h the target, over pairs i < j: sum D^2, sum D h, sum h^2,
sum (D - h)^2, sum (a D - h)^2 at the best scale a = sum D h / sum D^2, and sum (h - mean h)^2. The
residuals are summed as they stand, not as differences of large sums, so a stress of 1e-30 is
found as such.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics.lagsums import lag_sums

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Residuals:
    """Sums over the pairs i < j."""

    pairs: int
    target_squares: float
    target_spread: float
    encoding_squares: float
    best_scale: float
    raw: float
    best: float


def residuals_by_row(encoding: Floats, target: Floats) -> Residuals:
    """Return the sums for any two matrices of distances: two passes, O(n^2), no copies."""
    size = len(target)
    pairs = size * (size - 1) // 2
    sums = np.zeros(5)
    for row in range(size - 1):
        made, wanted = encoding[row, row + 1 :], target[row, row + 1 :]
        gap = made - wanted
        sums += (made @ made, made @ wanted, wanted @ wanted, wanted.sum(), gap @ gap)
    squares, products, target_squares, total, raw = sums.tolist()
    scale = products / squares if squares > 0.0 else 0.0
    best = spread = 0.0
    for row in range(size - 1):
        made, wanted = encoding[row, row + 1 :], target[row, row + 1 :]
        gap = scale * made - wanted
        centred = wanted - total / pairs
        best += float(gap @ gap)
        spread += float(centred @ centred)
    return Residuals(pairs, target_squares, spread, squares, scale, raw, best)


def residuals_by_lag(profile: Floats, target: Floats) -> Residuals:
    """Return the same sums for distances profile[|i-j|]: one pass over the target."""
    sums = lag_sums(target)
    made, pairs, means = profile[1:], sums.pairs, sums.means
    within, count = float(sums.spreads.sum()), float(pairs.sum())
    squares = float(pairs @ (made * made))
    products = float((pairs * made) @ means)
    scale = products / squares if squares > 0.0 else 0.0
    mean = float(pairs @ means) / count

    def around(centre: Floats | float) -> float:
        return within + float(pairs @ np.square(means - centre))

    return Residuals(
        pairs=int(count),
        target_squares=around(0.0),
        target_spread=around(mean),
        encoding_squares=squares,
        best_scale=scale,
        raw=around(made),
        best=around(scale * made),
    )
