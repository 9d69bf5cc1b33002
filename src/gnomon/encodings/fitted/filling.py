"""A row for every position: those that could not be measured follow a declared rule.

On a sequence, with T the positions that can be trusted,

* *continue*: the row of the nearest earlier position of T; before the first of T, that one;
* *interpolate*: the line between the two neighbours in T; outside T its nearest end;
* *refuse*: no row (NaN); asking for it is refused.

On a grid *continue* is the nearest cell of T, and *interpolate* is linear over the triangles of T,
with the nearest cell outside their hull. A status goes with every row: measured, projected, filled.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Status = NDArray[np.uint8]

FILLED, PROJECTED, MEASURED = 0, 1, 2
"""How a row came to be: by the rule for masked positions, by projection, from its own counts."""
MASKED_RULES = ("continue", "interpolate", "refuse")


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
