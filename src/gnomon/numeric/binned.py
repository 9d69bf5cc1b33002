"""Sums by row: what the array standard lacks, with each library's own way to add at places.

    sums[..., r] = sum over j with rows[..., j] = r of values[..., j]

The array standard has no addition at repeated places [array-api]; libraries have, and gradients
flow through theirs.
"""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

Array = Any
Namespace = Any


def sums_by_row(values: Array, rows: Array, count: int, *, xp: Namespace) -> Array:
    """Return the sums (..., count) of values (..., m) whose rows, whole numbers below count, agree.

    >>> sums_by_row(np.array([[1.0, 2.0, 4.0]]), np.array([[2, 0, 2]]), 3, xp=np)
    array([[2., 0., 5.]])
    """
    rows = xp.broadcast_to(rows, values.shape)
    if array_api_compat.is_torch_namespace(xp):
        none = values.new_zeros((*values.shape[:-1], count))
        return none.scatter_add(-1, xp.astype(rows, xp.int64), values)
    leading = xp.meshgrid(*(xp.arange(size) for size in values.shape[:-1]), indexing="ij")
    places = (*(index[..., None] for index in leading), rows)
    if array_api_compat.is_jax_namespace(xp):
        return xp.zeros((*values.shape[:-1], count), dtype=values.dtype).at[places].add(values)
    sums = np.zeros((*values.shape[:-1], count), dtype=values.dtype)
    np.add.at(sums, places, values)
    return sums
