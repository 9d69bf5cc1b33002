"""Importance of rotary pairs: what a model loses where one pair is taken out of the logits.

A rotary logit is a sum over pairs k of q_k^T R(w_k lag) k_k. Pair k of a head is taken out by
scaling the turned query by 0 in its two coordinates, so that both what the pair tells of content
and what it tells of position are gone. `pair_importance` takes the pair out of all heads of one
layer that turn it at once; weights are never written.

Which coordinates a pair has is asked of the layer (`gnomon.lab.turned`): what is not turned is no
rotary pair and is left in, and a model that turns none has no such importance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.lab.measures.ablation import paired
from gnomon.lab.measures.rows import answers_of, row_scores
from gnomon.lab.tasks.base import Batch
from gnomon.results import Result

NONE = "nothing in the model turns pairs of coordinates"
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class PairImportance(Result):
    """Score lost by layer and pair, with standard errors."""

    score: float
    drops: Floats
    """(layers, pairs): score lost; nan where a layer has fewer pairs than another."""
    errors: Floats
    """(layers, pairs): standard error of every drop."""
    coordinates: tuple[tuple[tuple[int, int], ...], ...]
    """The two coordinates of every pair, by layer."""
    reason: str = ""
    """Why there are none, where there are none."""


def pair_importance(model: Any, batch: Batch) -> PairImportance:
    """Return what is lost without every pair, all heads of a layer that turn it at once."""
    found = tuple(one.coordinates for one in model.turned_pairs())
    pairs = max(map(len, found), default=0)
    drops = np.full((len(found), pairs), np.nan)
    errors = drops.copy()
    scores = row_scores(answers_of(model, batch), batch)
    for layer, own in enumerate(found):
        for pair in range(len(own)):
            factors = np.ones((model.layers_count, model.heads_count, pairs))
            factors[layer, :, pair] = 0.0
            with model.pairs_scaled(factors):
                without = row_scores(answers_of(model, batch), batch)
            drops[layer, pair], errors[layer, pair] = paired(scores, without)
    return PairImportance(
        score=float(scores.mean()),
        drops=drops,
        errors=errors,
        coordinates=found,
        reason="" if pairs else NONE,
    )
