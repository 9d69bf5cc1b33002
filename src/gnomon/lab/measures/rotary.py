"""Importance of rotary pairs: what a model loses where one pair is taken out of the logits.

A rotary logit is a sum over pairs k of q_k^T R(w_k lag) k_k. Pair k of a head is taken out by
scaling the turned query by 0 in its two coordinates, so that both what the pair tells of content
and what it tells of position are gone. `pair_importance` takes the pair out of all heads of one
layer at once; weights are never written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import LabError
from gnomon.lab.measures.ablation import paired
from gnomon.lab.measures.rows import answers_of, row_scores
from gnomon.lab.tasks.base import Batch
from gnomon.results import Result

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class PairImportance(Result):
    """Score lost by layer and pair, with standard errors."""

    score: float
    drops: Floats
    """(layers, pairs): score lost."""
    errors: Floats
    """(layers, pairs): standard error of every drop."""


def pair_importance(model: Any, batch: Batch, *, pairs: int) -> PairImportance:
    """Return what is lost without every pair, all heads of a layer at once."""
    if pairs < 1:
        raise LabError(f"{pairs} pairs can not be taken out; pass 1 or more.")
    shape = (model.layers_count, pairs)
    drops, errors = np.zeros(shape), np.zeros(shape)
    scores = row_scores(answers_of(model, batch), batch)
    for layer, pair in np.ndindex(shape):
        factors = np.ones((model.layers_count, model.heads_count, pairs))
        factors[layer, :, pair] = 0.0
        with model.pairs_scaled(factors):
            without = row_scores(answers_of(model, batch), batch)
        drops[layer, pair], errors[layer, pair] = paired(scores, without)
    return PairImportance(score=float(scores.mean()), drops=drops, errors=errors)
