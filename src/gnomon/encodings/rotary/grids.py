"""What rotary encodings of grids share: points of a grid, and equal shares of a head's coordinates.

Points are listed with the last axis fastest, as pixels and patches are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def grid_of(lines: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return all points with these coordinates on each axis, the last axis fastest.

    >>> grid_of([np.array([0.0, 1.0]), np.array([5.0])]).tolist()
    [[0.0, 5.0], [1.0, 5.0]]
    """
    crossed = np.meshgrid(*lines, indexing="ij")
    return np.stack(crossed, axis=-1).reshape(-1, len(lines))


def check_share(dimension: int, fraction: float, axes: int) -> int:
    """Return how many coordinates of a head turn with each axis, or say which numbers do not fit.

    >>> check_share(64, 0.5, 2)
    16
    """
    checks.real("fraction", fraction, above=0.0)
    if fraction > 1.0:
        raise EncodingError(f"fraction is {fraction:g}; pass a number above 0, up to 1.")
    turned = int(dimension * fraction)
    if turned == 0 or turned % (2 * axes):
        name = "dimension" if fraction == 1.0 else "fraction"
        raise EncodingError(
            f"dimension is {dimension} and {turned} of its coordinates turn; pass a {name} with "
            f"which a multiple of {2 * axes} turn, two per axis."
        )
    return turned // axes
