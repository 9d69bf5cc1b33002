"""Folds for counts that have no documents: every token is dealt to a fold by itself.

Row by row the counts x_v are split by a multinomial with equal chances: given the laws of the
positions, the folds of independent tokens are independent. Where tokens came in documents they are
not: copies of one document's words then stand in several folds and look like signal.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from gnomon.corpus.counts import PositionCounts, vstack_folds

NOTE = "folds were made by dealing single tokens, as if tokens were independent of each other"


def deal_folds(counts: PositionCounts, folds: int, rng: np.random.Generator) -> PositionCounts:
    """Return counts of one fold as counts of several, their sum unchanged."""
    whole = counts.matrix
    parts = rng.multinomial(whole.data, np.full(folds, 1.0 / folds))
    blocks = [
        csr_array((part, whole.indices.copy(), whole.indptr.copy()), shape=whole.shape)
        for part in parts.T
    ]
    for block in blocks:
        block.eliminate_zeros()
    return replace(counts, blocks=vstack_folds(blocks), folds=folds, notes=(*counts.notes, NOTE))
