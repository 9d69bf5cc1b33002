"""Pairs for a Shepard plot: distances of an encoding beside those of the corpus.

All pairs of 512 positions are 130,816, and an eye needs no more than a few hundred. The pairs are
drawn once for a survey, without repetition, from its seed: among the core positions where there is
a debiased geometry, otherwise among all measured ones. The encoding's distances come times its best
scale a* = sum D h / sum D^2, over all pairs and not only those drawn [shepard1962].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.distances import Geometry
from gnomon.pipeline.debiased_stress import DebiasedTarget

PAIRS = 2000
_STREAM = 12
Floats = NDArray[np.float64]


def shepard_pairs(
    geometry: Geometry, target: DebiasedTarget | None, seed: int
) -> NDArray[np.int64]:
    """Return the rows (k, 2), i < j, of the pairs that are drawn, in the order they were drawn."""
    rows = np.arange(len(geometry.positions)) if target is None else target.rows
    row, column = np.triu_indices(len(rows), 1)
    rng = np.random.default_rng([seed, _STREAM])
    drawn = rng.permutation(len(row))[:PAIRS]
    return np.stack([rows[row[drawn]], rows[column[drawn]]], axis=1)


def at_pairs(matrix: Floats, pairs: NDArray[np.int64]) -> Floats:
    """Return the entries of a matrix at these pairs of rows."""
    entries: Floats = matrix[pairs[:, 0], pairs[:, 1]]
    return entries


def scaled_at_pairs(
    distances: Floats, geometry: Geometry, target: DebiasedTarget | None, seed: int
) -> Floats:
    """Return the distances of an encoding at the drawn pairs, times its best scale."""
    if target is None:
        wanted = geometry.distances[np.triu_indices(len(distances), 1)]
        made = distances[np.triu_indices(len(distances), 1)]
    else:
        among = distances[np.ix_(target.rows, target.rows)]
        wanted, made = target.targets[0], among[np.triu_indices(len(among), 1)]
    squares = float(made @ made)
    scale = float(made @ wanted) / squares if squares > 0.0 else 0.0
    return scale * at_pairs(distances, shepard_pairs(geometry, target, seed))
