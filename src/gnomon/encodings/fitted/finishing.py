"""From the points that a fit found to an encoding: filled, stretched, scaled and rotated.

A *unit* is what was counted by itself: a position, a cell of a grid, or a bin of several positions.
Units without coordinates have status FILLED; a rule gives them a row. In this order:

1. Every position of a bin gets the row of its bin; masked positions follow their rule. On a
   sequence, with T the positions that can be trusted, *continue* takes the row of the nearest
   earlier position of T, before the first that one; *interpolate* the line between the two
   neighbours in T, outside T its nearest end; *refuse* no row (NaN), and asking for it is refused.
   On a grid *continue* is the nearest cell of T, and *interpolate* is linear over the triangles of
   T, with the nearest cell outside their hull. A status goes with every row: measured, projected,
   filled.
2. Past the end: with *interpolate* n positions are stretched to `reach` rows, now and not later.
3. Scale: *corpus* keeps the distances of the corpus; *match* makes the root mean square of all
   entries that of a token embedding, so that neither drowns the other when they are added;
   *learned* leaves the last word to a trainable factor that starts at 1.
4. W, with orthonormal rows, carries r coordinates into d dimensions: W = Q^T, Z = Q R, Z (d, r)
   with independent normal entries and diag R > 0. With the signs of R fixed, Q is uniform (Haar)
   among the d x r matrices with orthonormal columns [mezzadri2007]. Without a seed W = [I 0]: the
   fitted directions are the first r coordinates, and a model that treats coordinates unlike each
   other sees position in those alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.distances import METHODS, double_centred, scale, spectrum
from gnomon.encodings.fitted.fitted import (
    BEYOND,
    FILLED,
    MASKED_RULES,
    MEASURED,
    PROJECTED,
    SCALES,
    Fitted,
)
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


Floats = NDArray[np.float64]
_MOST_NUMBERS = 2**29
"""Of both factors together: 4 GB while they are made."""


@dataclass(frozen=True, kw_only=True)
class Finish:
    """How points become an encoding; the words are those of the command line."""

    dimension: int
    masked: str = "refuse"
    beyond: str = "refuse"
    reach: int | None = None
    scale: str | None = None
    """None: match where there is something to match, else corpus."""
    match: Any = None
    """A token embedding, or the root mean square of its entries."""
    rotation: int | None = None

    def __post_init__(self) -> None:
        """Refuse what no points could satisfy."""
        checks.whole("dimension", self.dimension, least=1)
        checks.one_of("masked", self.masked, MASKED_RULES)
        checks.one_of("beyond", self.beyond, BEYOND)
        if self.rotation is not None:
            checks.whole("rotation", self.rotation, least=0)
        if self.scale is not None:
            checks.one_of("scale", self.scale, SCALES)
        self._check_match()
        if (self.beyond == "interpolate") != (self.reach is not None):
            raise EncodingError(
                f"beyond is {self.beyond!r} and reach is {self.reach}; interpolation needs how "
                "many positions to reach (--beyond interpolate --reach N), and nothing else does."
            )

    def _check_match(self) -> None:
        if self.scale == "match" and self.match is None:
            raise EncodingError(
                "scale is 'match', and there is nothing to match; pass the token embedding, or "
                "the root mean square of its entries, as match (--match FILE[:TENSOR] or 0.02)."
            )
        if self.scale == "corpus" and self.match is not None:
            raise EncodingError(
                "scale is 'corpus', which matches nothing, and match is given; leave one of them "
                "out."
            )

    @property
    def chosen_scale(self) -> str:
        """Return corpus, match or learned."""
        return self.scale or ("corpus" if self.match is None else "match")


def finish(points: Points, how: Finish, *, factored: bool | None = None) -> Fitted:
    """Return the encoding of points; `factored` None: where that takes fewer numbers."""
    _check_size(points, how)
    rows, status = _every_position(points, how.masked)
    shape, length = points.shape, len(rows)
    origin = {**points.origin, "masked": runs(status == FILLED)}
    origin["projected"] = runs(status == PROJECTED)
    if how.reach is not None:
        rows, status = _reaching(rows, status, shape, how.reach)
        shape = (how.reach,)
    rank = rows.shape[1]
    factor = _factor(rows, how)
    if factored is None:
        factored = rank * (len(rows) + how.dimension) < len(rows) * how.dimension
    low = factored and points.method == "classical"
    return Fitted(
        axes=len(shape),
        family="mds-low-rank" if low else {"classical": "mds"}.get(points.method, points.method),
        method=points.method,
        estimator=points.estimator,
        minimises=points.minimises,
        dimension=how.dimension,
        rank=rank,
        factored=factored,
        left=rows * factor,
        right=orthonormal_rows(rank, how.dimension, how.rotation),
        shape=shape,
        status=status,
        masked_rule=how.masked,
        beyond=how.beyond,
        length=length,
        scale=how.chosen_scale,
        factor=factor,
        rotation=how.rotation,
        warnings=points.warnings,
        origin=origin,
    )


def _check_size(points: Points, how: Finish) -> None:
    """Refuse what no model has and no memory holds, before it is asked for."""
    rank, rows = points.coordinates.shape[1], how.reach or prod(points.shape)
    if rank * (rows + how.dimension) > _MOST_NUMBERS:
        raise EncodingError(
            f"{rows:,} positions and dimension {how.dimension:,} at rank {rank} are more than "
            f"{_MOST_NUMBERS:,} numbers; pass a smaller dimension, rank or reach (--dimension, "
            "--rank, --reach)."
        )


def _every_position(points: Points, rule: str) -> tuple[Floats, NDArray[np.uint8]]:
    rows, status = points.coordinates, points.status
    if points.widths is not None:
        rows = np.repeat(rows, points.widths, axis=0)
        status = np.repeat(status, points.widths)
    return filled(rows, status, points.shape, rule), status


def _reaching(
    rows: Floats, status: NDArray[np.uint8], shape: tuple[int, ...], reach: int
) -> tuple[Floats, NDArray[np.uint8]]:
    if len(shape) > 1:
        raise EncodingError(
            f"beyond is 'interpolate', and a grid of {' x '.join(map(str, shape))} has no single "
            "length to stretch; pass refuse or clamp (--beyond)."
        )
    checks.whole("reach", reach, least=len(rows))
    return stretched(rows, status, reach)


def matched(fitted: Fitted, match: Any) -> Fitted:
    """Return the encoding with the root mean square of a token embedding; see `Fitted.matched`."""
    rows = fitted.left if fitted.right is None else fitted.left @ fitted.right
    factor = _matching(fitted.gain * rows, match, fitted.dimension)
    scale = fitted.scale if fitted.scale == "learned" else "match"
    return replace(fitted, left=fitted.left * factor, factor=fitted.factor * factor, scale=scale)


def _factor(rows: Floats, how: Finish) -> float:
    """Return what the coordinates are multiplied by; the rows of W have unit length."""
    return 1.0 if how.match is None else _matching(rows, how.match, how.dimension)


def _matching(rows: Floats, match: Any, dimension: int) -> float:
    """Return the factor that gives d entries a row the wanted root mean square."""
    wanted = root_mean_square(match)
    measured = rows[np.isfinite(rows).all(axis=1)]
    found = float(np.sqrt(np.square(measured).sum() / (len(measured) * dimension)))
    if found == 0.0:
        raise EncodingError(
            "All fitted vectors are 0, so no factor gives them the scale of a token embedding; "
            "leave out match (--match)."
        )
    kind = np.finfo(np.float32)
    largest = np.sqrt(len(measured) * dimension)  # an entry may be, where all others are 0
    if not float(kind.tiny) < wanted < float(kind.max) / largest:
        raise EncodingError(
            f"match is {wanted:g}, which float32 can not hold; pass the root mean square of a "
            "token embedding (--match)."
        )
    return wanted / found


def root_mean_square(match: Any) -> float:
    """Return a number as it is; of an array, the root mean square of its entries.

    >>> root_mean_square([[1.0, -7.0], [-7.0, 1.0]])
    5.0
    """
    own = getattr(match, "weight", match)  # of a layer
    if hasattr(own, "detach"):  # a parameter that is in training, perhaps in bfloat16 elsewhere
        own = own.detach().cpu().double().numpy()
    values = np.asarray(own)
    if values.dtype.kind not in "iuf" or not values.size:
        raise EncodingError(
            f"match holds {values.size} values of type {values.dtype}; pass the numbers of a token "
            "embedding, or the root mean square of its entries."
        )
    wide = values.astype(np.float64)
    found = float(wide) if wide.ndim == 0 else float(np.sqrt(np.mean(np.square(wide))))
    if not 0.0 < found < np.inf:
        raise EncodingError(
            f"match has the root mean square {found:g}; pass one that is finite and above 0."
        )
    return found


Status = NDArray[np.uint8]


def filled(rows: Floats, status: Status, shape: tuple[int, ...], rule: str) -> Floats:
    """Return rows of which those of status FILLED are made by the rule; there must be others.

    >>> rows = np.array([[0.0], [1.0], [9.0], [3.0]])
    >>> filled(rows, np.array([2, 2, 0, 1], np.uint8), (4,), "interpolate").ravel().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    missing = status == FILLED
    made = rows.copy()
    if not missing.any():
        return made
    if rule == "refuse":
        made[missing] = np.nan
    elif rule == "continue":
        made = rows[_nearest(missing, shape) if len(shape) > 1 else _earlier(missing)]
    elif len(shape) > 1:
        made[missing] = _over_triangles(rows, missing, shape)
    else:
        at = np.arange(len(rows))
        for column in made.T:
            column[missing] = np.interp(at[missing], at[~missing], column[~missing])
    return made


def _earlier(missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for every position the nearest trusted one that is not later; else the first."""
    at = np.arange(len(missing))
    last = np.maximum.accumulate(np.where(missing, -1, at))
    return np.where(last < 0, at[~missing][0], last)


def _nearest(missing: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return for every cell the nearest trusted one, in row-major order."""
    from scipy.ndimage import distance_transform_edt

    where = distance_transform_edt(
        missing.reshape(shape), return_distances=False, return_indices=True
    )
    return np.asarray(np.ravel_multi_index(tuple(where), shape)).ravel().astype(np.int64)


def _over_triangles(rows: Floats, missing: NDArray[np.bool_], shape: tuple[int, ...]) -> Floats:
    from scipy.interpolate import LinearNDInterpolator
    from scipy.spatial import QhullError

    cells = np.stack(np.unravel_index(np.arange(len(rows)), shape), axis=1).astype(np.float64)
    nearest: Floats = rows[_nearest(missing, shape)][missing]
    try:
        linear = LinearNDInterpolator(cells[~missing], rows[~missing])(cells[missing])
    except (QhullError, ValueError):  # too few cells, or all of them on one line: no triangles
        return nearest
    return np.where(np.isnan(linear), nearest, linear)


def stretched(rows: Floats, status: Status, reach: int) -> tuple[Floats, Status]:
    """Return `reach` rows by linear interpolation at i (n - 1) / (reach - 1).

    A row between two others has the lower of their statuses. Where a position of the original is
    met exactly it is kept exactly: places are whole numbers and remainders, not rounded quotients.

    >>> stretched(np.array([[0.0], [2.0]]), np.array([2, 1], np.uint8), 3)[0].ravel().tolist()
    [0.0, 1.0, 2.0]
    """
    steps = reach - 1
    low, rest = np.divmod(np.arange(reach, dtype=np.int64) * (len(rows) - 1), steps)
    high = np.minimum(low + (rest > 0), len(rows) - 1)
    part = (rest / steps)[:, None]
    made = np.where(rest[:, None] > 0, (1.0 - part) * rows[low] + part * rows[high], rows[low])
    return made, np.minimum(status[low], status[high])


def runs(chosen: NDArray[np.bool_]) -> list[list[int]]:
    """Return first and last index of every run of true values.

    >>> runs(np.array([True, True, False, True]))
    [[0, 1], [3, 3]]
    """
    found = np.flatnonzero(chosen)
    if not found.size:
        return []
    breaks = np.flatnonzero(np.diff(found) > 1) + 1
    bounds = [0, *breaks.tolist(), found.size]
    return [[int(found[a]), int(found[b - 1])] for a, b in pairwise(bounds)]


_PURPOSE = 11
"""Keeps this stream apart from others of the same seed."""


def orthonormal_rows(rank: int, dimension: int, seed: int | None) -> NDArray[np.float64]:
    """Return W of shape (rank, dimension) with W W^T = I; [I 0] without a seed.

    >>> orthonormal_rows(1, 3, None)
    array([[1., 0., 0.]])
    """
    if seed is None:
        return np.eye(rank, dimension)
    normal = np.random.default_rng([seed, _PURPOSE]).normal(size=(dimension, rank))
    axes, triangle = np.linalg.qr(normal)
    signs = np.where(np.diagonal(triangle) < 0.0, -1.0, 1.0)
    rows: NDArray[np.float64] = np.ascontiguousarray((axes * signs).T)
    return rows
