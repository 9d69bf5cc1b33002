"""Positional matrices by brute force: all logits of every unit vector, at given points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnomon.encodings.base import Encoding


def positional_matrices(known: Encoding, at: np.ndarray) -> np.ndarray:
    """Return tr A(t) / d of a transform, or the bias, for every head and pair of points."""
    n, heads = len(at), (known.head_count or 1)
    if known.kinds == ("bias",):
        return np.asarray(known.bias(at)).reshape(-1, n, n)
    d = known.query_width
    made = np.zeros((heads, n, n))
    for unit in np.eye(d):
        rows = np.broadcast_to(unit, (heads, n, d))
        made += np.asarray(known.scores(rows, rows, at)).reshape(made.shape) / d
    return made


@pytest.fixture
def by_brute_force() -> Callable[[Encoding, np.ndarray], np.ndarray]:
    """The positional matrix of every head, (heads, n, n)."""
    return positional_matrices
