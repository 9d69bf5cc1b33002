"""What rotary encodings of grids share: points of a grid, and equal shares of a head's coordinates.

Points are listed with the last axis fastest, as pixels and patches are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
