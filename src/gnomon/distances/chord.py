"""Distances between laws: the chord, and the angle it spans.

    chord  d_ij = |sqrt p_i - sqrt p_j| in [0, sqrt 2],   d_ij^2 = g_ii + g_jj - 2 g_ij,
    angle  a_ij = arccos BC = 2 arcsin(d_ij / 2) in [0, pi/2];   Fisher-Rao = 2 a_ij.

The chord is Hellinger's distance [hellinger1909] without halving, the straight line between two
points of the unit sphere; the angle [bhattacharyya1943] is the way along the sphere.
They agree to first order only.

g cancels where a pair is much nearer than its distance from the mean law, so such pairs are
measured again by direct difference (`gnomon.distances.near`). Together: relative error of d below
1e-11 at any distance, and exactly zero for rows in the same proportion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.distances.gram import BLOCK_BYTES, upper_gram, whole_laws
from gnomon.distances.near import direct_squared
from gnomon.errors import InputError
from gnomon.numeric.checks import reals
from gnomon.numeric.parallel import map_threads, stripes, use_numba

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.distances.laws import Laws

NEAR_SHARE = 1e-4
"""A pair is near when d^2 is below this share of g_ii or g_jj: four digits would cancel ..."""
NEAR_FLOOR = 1e-10
"""... or when d^2 < NEAR_FLOOR, where the rounding of the roots themselves begins to show."""
ROWS = 64


def chord_distances(counts: Any, *, block_bytes: int = BLOCK_BYTES) -> NDArray[np.float64]:
    """Return |sqrt p_i - sqrt p_j| for all pairs of rows of counts: symmetric, zero diagonal.

    >>> chord_distances([[1, 0], [0, 1], [0, 7]]).round(4)
    array([[0.    , 1.4142, 1.4142],
           [1.4142, 0.    , 0.    ],
           [1.4142, 0.    , 0.    ]])
    """
    return gram_and_chords(whole_laws(counts), block_bytes=block_bytes)[1]


def gram_and_chords(
    law: Laws, *, block_bytes: int = BLOCK_BYTES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centred Gram matrix and the chord distances, both whole and symmetric."""
    gram, uncentred = upper_gram(law, block_bytes=block_bytes)
    near = NEAR_SHARE * (gram.diagonal() + uncentred)
    distances = np.empty_like(gram)
    if use_numba():
        from gnomon.distances.kernels import finish_rows

        def rows(first: int, last: int) -> None:
            finish_rows(gram, distances, near, NEAR_FLOOR, first, last)
    else:

        def rows(first: int, last: int) -> None:
            _finish_rows(gram, distances, near, first, last)

    map_threads(rows, stripes(0, law.positions, ROWS))
    _measure_near_pairs(law, distances)
    return gram, distances


def _finish_rows(
    gram: NDArray[np.float64],
    distances: NDArray[np.float64],
    near: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    """Do with NumPy what the compiled `finish_rows` does."""
    own = gram.diagonal()
    for i in range(first, last):
        after = slice(i + 1, None)
        squared = own[i] + own[after] - 2.0 * gram[i, after]
        cancels = squared < np.maximum(NEAR_FLOOR, np.maximum(near[i], near[after]))
        row = np.where(cancels, -1.0, np.sqrt(np.maximum(squared, 0.0)))
        gram[after, i] = gram[i, after]
        distances[i, after] = row
        distances[after, i] = row
        distances[i, i] = 0.0


def _measure_near_pairs(law: Laws, distances: NDArray[np.float64]) -> None:
    """Replace the distances marked -1 by the direct difference of their two laws."""
    rows, columns = np.nonzero(distances < 0.0)
    above = rows < columns
    rows, columns = rows[above], columns[above]
    if rows.size:
        near = np.sqrt(direct_squared(law, rows, columns))
        distances[rows, columns] = near
        distances[columns, rows] = near


def angle(chord: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return arccos BC = 2 arcsin(chord / 2), in [0, pi/2]; exact digits for small chords.

    >>> angle(np.array([0.0, np.sqrt(2.0)]))
    array([0.        , 1.57079633])
    """
    chord = reals(chord, "chord")
    if chord.size and not (chord.min() >= 0.0 and chord.max() <= np.sqrt(2.0) * (1 + 1e-12)):
        raise InputError(
            f"chords lie in [0, sqrt 2], and these run from {chord.min():.6g} to "
            f"{chord.max():.6g}; pass chord distances, without halving."
        )
    angles: NDArray[np.float64] = 2.0 * np.arcsin(np.minimum(0.5 * chord, np.sqrt(0.5)))
    return angles
