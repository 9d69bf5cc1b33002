"""Compiled means over the hypergeometric law; `gnomon.distances.expected_null` has the NumPy route.

The law with row sum n, column sum k and total T has its mode at floor((n + 1)(k + 1) / (T + 2)) and

    P(x + 1) / P(x) = (k - x)(n - x) / ((x + 1)(T - k - n + x + 1)),

so everything is relative to the mode and nothing underflows.
This module is imported only when the compiled route is taken: it loads numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def sum_columns(
    rows: Any,
    sizes: Any,
    total: float,
    table: Any,
    wanted: Any,
    negligible: float,
    out: Any,
    first: int,
    last: int,
) -> None:
    """Write E table[x] for the columns first:last, where it is wanted."""
    for j in range(first, last):
        for i in range(rows.size):
            if wanted[i, j]:
                out[i, j] = _mean(rows[i], sizes[j], total, table, negligible)


@njit(nogil=True, cache=True, error_model="numpy")
def _mean(n: float, k: float, total: float, table: Any, negligible: float) -> float:
    mode = np.floor((n + 1.0) * (k + 1.0) / (total + 2.0))
    start = int(mode)
    mass, mean = 1.0, table[start]
    x, term, at = mode, 1.0, start
    while True:  # a factor of zero ends it at the edge of the support
        term *= (k - x) * (n - x) / ((x + 1.0) * (total - k - n + x + 1.0))
        if not term > negligible:
            break
        x += 1.0
        at += 1
        mass += term
        mean += term * table[at]
    x, term, at = mode, 1.0, start
    while True:
        term *= x * (total - k - n + x) / ((k - x + 1.0) * (n - x + 1.0))
        if not term > negligible:
            break
        x -= 1.0
        at -= 1
        mass += term
        mean += term * table[at]
    return mean / mass
