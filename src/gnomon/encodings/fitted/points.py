"""Points: the coordinates that a fit found, each at its place, before they become an encoding.

A *unit* is what was counted by itself: a position, a cell of a grid, or a bin of several
positions. Units without coordinates have status FILLED; a rule gives them a row later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.distances import METHODS, double_centred, scale, spectrum
from gnomon.encodings.fitted.filling import FILLED, MEASURED
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.results import Result

GIVEN = "given"
"""The estimator of distances that came as an array."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Points(Result):
    """Coordinates of units, in order of their positions."""

    coordinates: NDArray[np.float64]
    """(units, rank); zero where the status is FILLED."""
    status: NDArray[np.uint8]
    shape: tuple[int, ...]
    """Sizes of the axes; their product is the number of positions."""
    widths: NDArray[np.int64] | None = None
    """Positions in each unit; None: one."""
    method: str
    estimator: str
    minimises: str
    warnings: tuple[str, ...] = ()
    origin: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Places(Result):
    """Where measured rows lie among all units."""

    units: NDArray[np.int64]
    """Unit of each row."""
    count: int
    shape: tuple[int, ...]
    widths: NDArray[np.int64] | None = None

    def all_units(
        self, rows: NDArray[np.float64], status: int | NDArray[np.uint8] = MEASURED
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return rows and their status for every unit: zeros, and FILLED, where there are none."""
        coordinates = np.zeros((self.count, rows.shape[1]))
        every = np.full(self.count, FILLED, dtype=np.uint8)
        coordinates[self.units], every[self.units] = rows, status
        return coordinates, every


def places_of(geometry: Any) -> Places:
    """Return where the rows of a geometry, or of an array of distances, lie.

    A geometry of bins knows where each begins and not where the last one ends: it is taken to hold
    one position.
    """
    if not hasattr(geometry, "distances"):
        shape = np.shape(geometry)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise EncodingError(
                f"The distances have shape {shape}; pass a square array or a geometry."
            )
        return Places(units=np.arange(shape[0]), count=shape[0], shape=(shape[0],))
    units, axes = np.asarray(geometry.positions), geometry.axes
    count = len(units) + len(geometry.masked)
    first = np.asarray(geometry.coordinates)
    if axes is not None and len(axes) > 1:
        return Places(units=units, count=count, shape=tuple(int(size) for size in axes))
    if np.array_equal(first[:, 0], units):
        return Places(units=units, count=count, shape=(count,))
    starts = first[:, 0]
    units = np.arange(len(starts))  # masked bins are between these, or not known at all
    widths = np.diff([*starts, starts[-1] + 1])
    widths[0] += starts[0]
    return Places(
        units=units, count=len(units), shape=(int(widths.sum()),), widths=widths.astype(np.int64)
    )


def points_of_distances(
    geometry: Any,
    *,
    method: str = "classical",
    dimension: int,
    rank: int | None = None,
    places: Places | None = None,
) -> Points:
    """Return points whose distances fit those of a geometry, or of a square array.

    Without a rank, as many directions as there are, up to the dimension.
    """
    checks.one_of("method", method, METHODS)
    checks.whole("dimension", dimension, least=1)
    where = places_of(geometry) if places is None else places
    most = max(len(where.units) - 1, 1)  # a centred Gram matrix has no more directions
    kept = min(dimension, most) if rank is None else rank
    what = f"{len(where.units)} positions span {most} directions"
    check_rank(kept, dimension=dimension, most=most, what=what)
    found = scale(geometry, method, dimension=kept)
    coordinates, status = where.all_units(np.asarray(found.vectors, dtype=np.float64))
    return Points(
        coordinates=coordinates,
        status=status,
        shape=where.shape,
        widths=where.widths,
        method=method,
        estimator=str(getattr(geometry, "estimator", GIVEN)),
        minimises=str(found.minimises),
        origin={"metric": getattr(geometry, "metric", None)},
    )


def directions(geometry: Any) -> int:
    """Return how many directions the distances of a geometry, or of an array, span."""
    gram = getattr(geometry, "gram", None)
    gram = double_centred(np.square(geometry)) if gram is None else gram
    return int(spectrum(gram).rank_numerical)


def check_rank(rank: int, *, dimension: int, most: int, what: str) -> None:
    """Refuse a rank that the dimension can not hold or the geometry does not have."""
    checks.whole("rank", rank, least=1)
    if rank > dimension:
        raise EncodingError(f"rank is {rank} and dimension {dimension}; pass a rank up to it.")
    if rank > most:
        raise EncodingError(f"rank is {rank}, and {what}; pass a rank up to {most}.")
