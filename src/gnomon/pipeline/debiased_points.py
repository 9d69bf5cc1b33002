"""The debiased geometry as points: core positions by the low rank, the others projected into it.

The coordinates a_ik of the core (`gnomon.distances.debiased.lowrank`) are centred and turned to
their principal axes, so that the first k of them are the best k; positions outside the core are
carried along as far as their tokens allow (`projection`). Other targets than chords at full rank
(angles, least stress) are fitted to the distances between these points.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gnomon.distances import Debiased, angle, outside_core, projected, scale
from gnomon.encodings import Fitted, Places, Points
from gnomon.numeric.rows import distances_between

Floats = NDArray[np.float64]
STRAIN = "strain of the debiased Gram matrix"


def debiased_points(
    found: Debiased,
    places: Places,
    *,
    rank: int,
    method: str = "classical",
    metric: str = "chord",
) -> Points:
    """Return the estimated positions as points of that rank; `places` says where units lie."""
    whole = coordinates_of(found)
    status = np.full(len(whole), Fitted.PROJECTED, dtype=np.uint8)
    status[found.core] = Fitted.MEASURED
    rows, minimises = whole[:, :rank], STRAIN
    if (method, metric) != ("classical", "chord"):
        made = scale(_distances(whole, metric), method, dimension=rank)
        rows, minimises = made.vectors, f"{made.minimises} of debiased distances"
    coordinates, every = replace(places, units=found.positions).all_units(rows, status)
    return Points(
        coordinates=coordinates,
        status=every,
        shape=places.shape,
        widths=places.widths,
        method=method,
        estimator="debiased",
        minimises=minimises,
        origin={"metric": metric},
    )


def coordinates_of(found: Debiased) -> Floats:
    """Return all estimated positions in the principal axes of the core, its mean at the origin."""
    left = np.zeros((len(found.positions), found.rank))
    left[found.core] = found.low_rank.coordinates
    left[outside_core(found)] = projected(found)
    centred = left - left[found.core].mean(axis=0)
    axes = np.linalg.svd(centred[found.core], full_matrices=False)[2]
    turned: Floats = centred @ axes.T
    # The largest entry is positive; of entries equal to rounding, the first decides.
    size = np.abs(turned)
    first = np.argmax(size >= size.max(axis=0) * (1.0 - 1e-8), axis=0)
    signs = np.where(turned[first, np.arange(found.rank)] < 0.0, -1.0, 1.0)
    return turned * signs


def _distances(points: Floats, metric: str) -> Floats:
    distances = distances_between(points)
    if metric == "chord":
        return distances
    return angle(np.minimum(distances, np.sqrt(2.0)))  # no two laws are farther apart
