"""Kernels that are constant past a lag, as T5's and Shaw's are: a constant, and what is left.

c(t) = v + r(t) with r(t) = 0 from the middle of the lags on: the matrix of v is v times that of
ones, of rank 1 with the eigenvalue n v, and the symbol of r is a trigonometric polynomial, whatever
the length [grenander1958 sec. 5.2].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FEWEST = 8
"""Lags below which a constant half says nothing."""
_SAME = 1e-12
"""Lags of the far half that differ by less, as a part of the largest value, are constant."""


def constant_tail(column: Floats) -> float | None:
    """Return the value that the far half of the lags has, or None where they differ.

    >>> constant_tail(np.array([3.0, 2.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]))
    0.5
    """
    far, size = column[len(column) // 2 :], float(np.abs(column).max())
    if len(column) < FEWEST or np.ptp(far) > _SAME * size:
        return None
    return float(far[-1]) if abs(far[-1]) > _SAME * size else 0.0
