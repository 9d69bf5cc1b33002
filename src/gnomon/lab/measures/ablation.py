r"""Head importance: what a model loses without one of its heads, on rows it was not trained on.

    a_(l,h) = score(model) - score(model without head h of layer l)

"Without" means that the output of the head, before the output projection, is replaced by zero, or
by its mean over rows and slots, which removes what the head tells without removing what it always
adds [michel2019]. Weights are never written: the model scales its heads while it is used. A
published ablation [gu2025] wrote weights, and left the last head of every layer switched off.

Scores with and without are of the same rows, so a drop has a paired standard error.

Heads that stand in for one another hide their importance: the loss of a pair less the sum of its
single losses is its *excess*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import LabError
from gnomon.lab.measures.rows import answers_of, row_margins, row_scores
from gnomon.lab.tasks.base import Batch
from gnomon.results import Result

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Importance(Result):
    """Losses by layer and head; `ablation` is "zero" or "mean"."""

    ablation: str
    score: float
    """Score of the whole model."""
    drops: Floats
    """(layers, heads): score lost."""
    errors: Floats
    """(layers, heads): standard error of every drop."""
    margins: Floats | None
    """(layers, heads): margin lost; None where numbers are asked for."""
    rows: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Redundancy(Result):
    """Losses of pairs of heads of one layer; the diagonal holds the single losses."""

    layer: int
    drops: Floats
    """(heads, heads): score lost without both."""
    excess: Floats
    """(heads, heads): score lost beyond the sum of the single losses; 0 on the diagonal."""
    errors: Floats
    """(heads, heads): standard error of every drop."""
    excess_errors: Floats
    """(heads, heads): standard error of every excess, from the same rows."""


def zero_ablation(model: Any, batch: Batch) -> Importance:
    """Return what is lost where a head is replaced by zero; one pass of the batch per head."""
    return _importance(model, batch, None, "zero")


def mean_ablation(model: Any, batch: Batch) -> Importance:
    """Return what is lost where a head is replaced by its mean over rows and slots."""
    from gnomon.lab.scoring import head_means

    return _importance(model, batch, head_means(model, batch), "mean")


def _importance(model: Any, batch: Batch, means: Any, ablation: str) -> Importance:
    shape = (model.layers_count, model.heads_count)
    drops, errors, margins = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    whole = answers_of(model, batch)
    scores, sure = row_scores(whole, batch), row_margins(whole, batch)
    for place in np.ndindex(shape):
        without = _without(model, batch, [place], means)
        drops[place], errors[place] = paired(scores, row_scores(without, batch))
        less = row_margins(without, batch)
        margins[place] = 0.0 if sure is None or less is None else float((sure - less).mean())
    return Importance(
        ablation=ablation,
        score=float(scores.mean()),
        drops=drops,
        errors=errors,
        margins=None if sure is None else margins,
        rows=batch.size,
    )


def pair_ablation(model: Any, batch: Batch, *, layer: int) -> Redundancy:
    """Return what is lost without every two heads of one layer (zero-ablation)."""
    heads = model.heads_count
    if not 0 <= layer < model.layers_count:
        raise LabError(
            f"there is no layer {layer} in a model of {model.layers_count} layers; pass one of "
            f"0..{model.layers_count - 1}."
        )
    scores = row_scores(answers_of(model, batch), batch)
    lost = np.zeros((heads, heads, len(scores)))
    for first, second in combinations_with_replacement(range(heads), 2):
        without = _without(model, batch, [(layer, first), (layer, second)], None)
        lost[first, second] = lost[second, first] = scores - row_scores(without, batch)
    single = lost[range(heads), range(heads)]
    beyond = lost - single[:, None] - single[None, :]
    beyond[range(heads), range(heads)] = 0.0
    drops, errors = mean_of_rows(lost)
    excess, excess_errors = mean_of_rows(beyond)
    return Redundancy(
        layer=layer, drops=drops, excess=excess, errors=errors, excess_errors=excess_errors
    )


def _without(model: Any, batch: Batch, places: list[tuple[int, ...]], means: Any) -> Floats:
    factors = np.ones((model.layers_count, model.heads_count))
    for place in places:
        factors[place] = 0.0
    with model.heads_scaled(factors, means):
        return answers_of(model, batch)


def paired(before: Floats, after: Floats) -> tuple[float, float]:
    """Return the mean of before - after over rows, and its standard error.

    >>> paired(np.array([1.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0, 0.0]))[0]
    0.5
    """
    lost, error = mean_of_rows(before - after)
    return float(lost), float(error)


def mean_of_rows(values: Floats) -> tuple[Floats, Floats]:
    """Return the mean over the last axis, and its standard error; 0 for a single row."""
    rows = values.shape[-1]
    if rows < 2:
        return values.mean(axis=-1), np.zeros(values.shape[:-1])
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(rows)


Ablation = Callable[[Any, Batch], Importance]
