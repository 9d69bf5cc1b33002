r"""Concentration of importance on few heads of a layer, from drops a_1 ... a_H.

With a+ = max(a, 0):

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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import LabError
from gnomon.lab.measures.ablation import Importance
from gnomon.numeric.checks import reals
from gnomon.results import Result

Floats = NDArray[np.float64]
DRAWS = 2000
ALPHA = 0.05


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
    if not 0 <= layer < len(importance.drops):
        raise LabError(
            f"there is no layer {layer} in an ablation of {len(importance.drops)} layers; pass one "
            f"of 0..{len(importance.drops) - 1}."
        )
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
