r"""Are equal documents copies of one another, or equal by chance?

Equal documents are one group, since a text that stands twice in a corpus was most likely copied.
Short documents are equal by chance: of two tokens each, many are. To hold these together takes
independence away where there was some. Among n_l documents of l tokens, drawn independently at each
position i from its law p_i, the number of equal pairs is expected to be

    E = sum_l n_l (n_l - 1) / 2  prod_{i < l} sum_v p_iv^2,

each sum of squares estimated from tokens of different folds, sum_v (x^2 - sum_g x_g^2) over
N^2 - sum_g N_g^2: copies of one document are in one fold, and say nothing of chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gnomon.corpus.counts import PositionCounts

LEAST = 0.01
"""Share of documents that equal another one below which nothing is asked."""
ENOUGH = 0.5
"""Pairs that chance gives for each document too many, from which chance made them."""


HELD_TOGETHER = (
    "equal documents are held together as copies, and about as many are equal as chance gives: "
    "estimates are pulled down; count with --group rows"
)


def equal_by_chance(counts: PositionCounts) -> bool:
    """Say whether documents that equal others are so by chance."""
    again = counts.rows - counts.groups.estimate()
    if again < max(1.0, LEAST * counts.rows) or counts.window != "start" or counts.bins is not None:
        return False
    return equal_pairs(counts) >= ENOUGH * again


def equal_pairs(counts: PositionCounts) -> float:
    """Return how many pairs of documents are equal by chance."""
    folds = [counts.fold(g).astype(np.float64) for g in range(counts.folds)]
    whole = counts.matrix.tocsr().astype(np.float64)
    again = _squares(whole) - np.sum([_squares(fold) for fold in folds], axis=0)
    tokens = [np.asarray(one.sum(axis=1)).ravel() for one in (whole, *folds)]
    pairs = tokens[0] ** 2 - np.square(tokens[1:]).sum(axis=0)
    alike = np.divide(again, pairs, out=np.zeros_like(again), where=pairs > 0.0)
    ended = tokens[0] - np.append(tokens[0][1:], 0.0)
    return float((0.5 * ended * (ended - 1.0).clip(0.0) * np.cumprod(alike)).sum())


def _squares(matrix: Any) -> NDArray[np.float64]:
    return np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64).ravel()
