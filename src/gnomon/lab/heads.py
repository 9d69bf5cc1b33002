r"""What the heads of a trained model do: what is lost without each, and how that is concentrated.

    a_(l,h) = score(model) - score(model without head h of layer l),    on rows not trained on

The output of a head is replaced by zero, or by its mean over rows and slots [michel2019]; a rotary
pair is taken out of the logits of all heads of a layer (`gnomon.torch.ablate`). Which coordinates a
pair has is asked of the layer (`gnomon.lab.encode`): what is not rotated is no rotary pair and is
left in, and a model that rotates none has no such importance.

Heads that stand in for one another hide their importance: the loss of a pair less the sum of its
single losses is its *excess*.

Scores are taken row by row, so that two ways of using a model can be compared on the same rows:

    accuracy   1 where the answer is right, for tokens the weighted share of right ones
    R2         1 - (y - t)^2 / var(t), whose mean over rows is R2
    margin     score of the right class less that of the best other; its weighted mean for tokens

Rows of token tasks are weighted by how many answers they hold, so that a mean over rows is the mean
over answers.

Concentration of importance on few heads of a layer, with a+ = max(a, 0) of drops a_1 ... a_H:

    deposit index     max_h a+_h / sum_h a+_h            1 / H if uniform, 1 if one head does it all
    effective heads   (sum_h a+_h)^2 / sum_h a+_h^2      H if uniform, 1 if one head does it all
    Gini              sum_(i,j) |a+_i - a+_j| / (2 H sum_h a+_h)     0 if uniform, 1 - 1/H if one

All three are shares of something that may be noise. A layer has a *deposit* only where

    1. its largest drop is above the noise band, z_(1 - alpha / 2H) standard errors (Bonferroni over
       heads), and
    2. its index is above what H equal heads would show: the 1 - alpha quantile of the index where
       every drop is the mean of the layer plus its own normal error.

The measure is that of [gu2025], which plots accuracies without a band; the noise of a single drop
there is several points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import LabError
from gnomon.lab.tasks.base import Batch
from gnomon.numeric.checks import reals
from gnomon.results import Result

Floats = NDArray[np.float64]
DRAWS = 2000
ALPHA = 0.05
NO_PAIRS = "nothing in the model turns pairs of coordinates"


@dataclass(frozen=True, kw_only=True, eq=False)
class Heads(Result):
    """Zero- and mean-ablation of one model on one batch, and their concentration by layer."""

    zero: Importance
    mean: Importance
    zero_concentration: tuple[Concentration, ...]
    mean_concentration: tuple[Concentration, ...]


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


def head_report(model: Any, batch: Batch) -> Heads:
    """Return both ablations of a model; 2 layers x heads + 3 passes over held-out rows."""
    zero, mean = zero_ablation(model, batch), mean_ablation(model, batch)
    layers = range(model.layers_count)
    return Heads(
        zero=zero,
        mean=mean,
        zero_concentration=tuple(concentration(zero, layer=layer) for layer in layers),
        mean_concentration=tuple(concentration(mean, layer=layer) for layer in layers),
    )


def zero_ablation(model: Any, batch: Batch) -> Importance:
    """Return what is lost where a head is replaced by zero; one pass of the batch per head."""
    return _importance(model, batch, model.heads(), "zero")


def mean_ablation(model: Any, batch: Batch) -> Importance:
    """Return what is lost where a head is replaced by its mean over rows and slots."""
    from gnomon.lab.scoring import head_means

    return _importance(model, batch, model.heads().fill_with(head_means(model, batch)), "mean")


def _importance(model: Any, batch: Batch, heads: Any, ablation: str) -> Importance:
    from gnomon.torch import ablate

    found = ablate(heads, _scorer(model, batch, row_scores, row_margins))
    has_margins = found.drops.shape[2] == 2
    return Importance(
        ablation=ablation,
        score=float(found.score[0]),
        drops=found.drops[..., 0],
        errors=found.errors[..., 0],
        margins=found.drops[..., 1] if has_margins else None,
        rows=batch.size,
    )


def _scorer(model: Any, batch: Batch, *scores: Callable[..., Any]) -> Callable[[], Floats]:
    """Return what asks a model for its answers and scores them by row, (scores, rows)."""

    def score() -> Floats:
        answers = answer_rows(model, batch)
        made = [one(answers, batch) for one in scores]
        return np.stack([one for one in made if one is not None])

    return score


def pair_ablation(model: Any, batch: Batch, *, layer: int) -> Redundancy:
    """Return what is lost without every two heads of one layer (zero-ablation)."""
    from gnomon.torch import mean_of_rows

    every = model.heads()
    layers, heads = every.shape
    _check_layer(layer, layers, "a model")
    scores = row_scores(answer_rows(model, batch), batch)
    lost = np.zeros((heads, heads, len(scores)))
    for first, second in combinations_with_replacement(range(heads), 2):
        with every.without((layer, first), (layer, second)):
            without = row_scores(answer_rows(model, batch), batch)
        lost[first, second] = lost[second, first] = scores - without
    single = lost[range(heads), range(heads)]
    beyond = lost - single[:, None] - single[None, :]
    beyond[range(heads), range(heads)] = 0.0
    drops, errors = mean_of_rows(lost)
    excess, excess_errors = mean_of_rows(beyond)
    return Redundancy(
        layer=layer, drops=drops, excess=excess, errors=errors, excess_errors=excess_errors
    )


def pair_importance(model: Any, batch: Batch) -> PairImportance:
    """Return what is lost without every pair, all heads of a layer that rotate it at once."""
    from gnomon.torch import ablate

    pairs = _ModelPairs(model)
    found = ablate(pairs, _scorer(model, batch, row_scores))
    return PairImportance(
        score=float(found.score[0]),
        drops=found.drops[..., 0],
        errors=found.errors[..., 0],
        coordinates=pairs.coordinates,
        reason="" if pairs.shape[1] else NO_PAIRS,
    )


class _ModelPairs:
    """The rotary pairs of a model of the laboratory, as parts that can be taken out."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.coordinates = tuple(one.coordinates for one in model.rotary_pairs())
        self.shape = len(self.coordinates), max(map(len, self.coordinates), default=0)

    def places(self) -> Iterable[tuple[int, int]]:
        """Yield every pair of every layer."""
        return ((at, k) for at, own in enumerate(self.coordinates) for k in range(len(own)))

    def without(self, *places: tuple[int, int]) -> Any:
        """Return a context in which the model works without pairs, in all heads that have them."""
        factors = np.ones((self._model.layers_count, self._model.heads_count, self.shape[1]))
        for layer, pair in places:
            factors[layer, :, pair] = 0.0
        return self._model.scale_pairs(factors)


@dataclass(frozen=True, kw_only=True, eq=False)
class Concentration(Result):
    """How a layer's importance is shared; a number that is None has its reason in `reason`."""

    layer: int
    index: float | None
    effective_heads: float | None
    gini: float | None
    largest: float
    """The largest drop."""
    head: int
    """The head with the largest drop."""
    noise_band: float
    uniform: float
    """1 / H."""
    null: float | None
    """95 % quantile of the index where all heads are equally important."""
    deposit: bool
    reason: str | None = None


def deposit_index(drops: Any) -> float | None:
    """Return max a+ / sum a+, None where no drop is positive.

    >>> deposit_index([0.5, 0.25, 0.25, -0.1])
    0.5
    """
    positive = _positive(drops)
    total = positive.sum()
    return float(positive.max() / total) if total > 0.0 else None


def effective_heads(drops: Any) -> float | None:
    """Return (sum a+)^2 / sum a+^2, None where no drop is positive.

    >>> effective_heads([0.2, 0.2, 0.0, 0.0])
    2.0
    """
    positive = _positive(drops)
    squares = float(positive @ positive)
    return float(positive.sum() ** 2 / squares) if squares > 0.0 else None


def gini(drops: Any) -> float | None:
    """Return the Gini coefficient of a+, None where no drop is positive; O(H log H).

    >>> gini([1.0, 0.0, 0.0, 0.0])
    0.75
    """
    ordered = np.sort(_positive(drops))
    total, count = ordered.sum(), len(ordered)
    if not total > 0.0:
        return None
    ranks = 2.0 * np.arange(1, count + 1) - count - 1.0
    return float(ranks @ ordered / (count * total))


def concentration(
    importance: Importance, *, layer: int = 0, rng: np.random.Generator | None = None
) -> Concentration:
    """Return how the importance of one layer is shared among its heads."""
    _check_layer(layer, len(importance.drops), "an ablation")
    drops, errors = importance.drops[layer], importance.errors[layer]
    index, head = deposit_index(drops), int(np.argmax(drops))
    null = uniform_null(drops, errors, rng=rng)
    band = noise_band(float(errors[head]), len(drops))
    above = index is not None and null is not None and index > null
    return Concentration(
        layer=layer,
        index=index,
        effective_heads=effective_heads(drops),
        gini=gini(drops),
        largest=float(drops[head]),
        head=head,
        noise_band=band,
        uniform=1.0 / len(drops),
        null=null,
        deposit=bool(above and drops[head] > band),
        reason=None if index is not None else "no head's removal lowers the score",
    )


def noise_band(error: float, heads: int, *, alpha: float = ALPHA) -> float:
    """Return z standard errors, two-sided, Bonferroni over heads."""
    from scipy.stats import norm

    return float(norm.ppf(1.0 - alpha / (2.0 * heads)) * error)


def uniform_null(
    drops: Floats,
    errors: Floats,
    *,
    alpha: float = ALPHA,
    draws: int = DRAWS,
    rng: np.random.Generator | None = None,
) -> float | None:
    """Return the 1 - alpha quantile of the index of equal heads, None where the mean is not > 0."""
    mean = float(np.mean(drops))
    if not mean > 0.0:
        return None
    rng = np.random.default_rng(0) if rng is None else rng
    drawn = np.maximum(mean + rng.standard_normal((draws, len(drops))) * errors, 0.0)
    totals = drawn.sum(axis=1)
    # Where noise takes every drop below zero the index is undefined; it counts as its largest.
    indices = np.where(totals > 0.0, drawn.max(axis=1) / np.where(totals > 0.0, totals, 1.0), 1.0)
    return float(np.quantile(indices, 1.0 - alpha))


def _positive(drops: Any) -> Floats:
    values = reals(drops, "drops")
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise LabError(
            f"drops of shape {values.shape} are not one finite number per head; pass the drops of "
            "one layer."
        )
    return np.maximum(values, 0.0)


def _check_layer(layer: int, layers: int, what: str) -> None:
    if not 0 <= layer < layers:
        raise LabError(
            f"there is no layer {layer} in {what} of {layers} layers; pass one of 0..{layers - 1}."
        )


def answer_rows(model: Any, batch: Batch) -> Floats:
    """Return the answers of a model as float64."""
    from gnomon.lab.scoring import outputs

    answers: Floats = outputs(model, batch).detach().cpu().double().numpy()
    return answers


def row_scores(answers: Floats, batch: Batch) -> Floats:
    """Return one score per row; their mean is the accuracy, or R2.

    >>> rows = Batch(tokens=np.ones((2, 1), int), targets=np.array([0, 1]), mask=np.ones((2, 1)))
    >>> row_scores(np.array([[1.0, 0.0], [1.0, 0.0]]), rows).tolist()
    [1.0, 0.0]
    """
    if not np.issubdtype(batch.targets.dtype, np.floating):
        return _mean_by_row((answers.argmax(axis=-1) == batch.targets).astype(np.float64), batch)
    targets, weights = batch.targets.astype(np.float64), _weights(batch)
    mean = (weights * targets).sum() / weights.sum()
    spread = (weights * (targets - mean) ** 2).sum() / weights.sum()
    return _mean_by_row(1.0 - (answers - targets) ** 2 / spread, batch)


def row_margins(answers: Floats, batch: Batch) -> Floats | None:
    """Return one margin per row; None where numbers are asked for."""
    if np.issubdtype(batch.targets.dtype, np.floating):
        return None
    chosen = batch.targets[..., None]
    right = np.take_along_axis(answers, chosen, axis=-1)[..., 0]
    others = answers.copy()
    np.put_along_axis(others, chosen, -np.inf, axis=-1)
    return _mean_by_row(right - others.max(axis=-1), batch)


def _weights(batch: Batch) -> Floats:
    if batch.targets.ndim == 1:
        return np.ones(batch.targets.shape)
    return (batch.mask if batch.weights is None else batch.weights).astype(np.float64)


def _mean_by_row(values: Floats, batch: Batch) -> Floats:
    if values.ndim == 1:
        return values
    weights = _weights(batch)
    return (weights * values).sum(axis=1) / weights.sum() * len(weights)
