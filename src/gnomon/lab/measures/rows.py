"""Scores row by row, so that two ways of using a model can be compared on the same rows.

    accuracy   1 where the answer is right, for tokens the weighted share of right ones
    R2         1 - (y - t)^2 / var(t), whose mean over rows is R2
    margin     score of the right class less that of the best other; its weighted mean for tokens

A difference of two scores has the standard error of the mean of its rows, which is smaller than
that of either score where the same rows are hard for both [student1908].

Rows of token tasks are weighted by how many answers they hold, so that a mean over rows is the
mean over answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.lab.tasks.base import Batch

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]


def answers_of(model: Any, batch: Batch) -> Floats:
    """Return the answers of a model as float64."""
    from gnomon.lab.scoring import outputs

    made: Tensor = outputs(model, batch)
    return made.detach().cpu().double().numpy()


def row_scores(answers: Floats, batch: Batch) -> Floats:
    """Return one score per row; their mean is the accuracy, or R2.

    >>> rows = Batch(tokens=np.ones((2, 1), int), targets=np.array([0, 1]), mask=np.ones((2, 1)))
    >>> row_scores(np.array([[1.0, 0.0], [1.0, 0.0]]), rows).tolist()
    [1.0, 0.0]
    """
    if not np.issubdtype(batch.targets.dtype, np.floating):
        return _meaned((answers.argmax(axis=-1) == batch.targets).astype(np.float64), batch)
    targets, weights = batch.targets.astype(np.float64), _weights(batch)
    mean = (weights * targets).sum() / weights.sum()
    spread = (weights * (targets - mean) ** 2).sum() / weights.sum()
    return _meaned(1.0 - (answers - targets) ** 2 / spread, batch)


def row_margins(answers: Floats, batch: Batch) -> Floats | None:
    """Return one margin per row; None where numbers are asked for."""
    if np.issubdtype(batch.targets.dtype, np.floating):
        return None
    chosen = batch.targets[..., None]
    right = np.take_along_axis(answers, chosen, axis=-1)[..., 0]
    others = answers.copy()
    np.put_along_axis(others, chosen, -np.inf, axis=-1)
    return _meaned(right - others.max(axis=-1), batch)


def _weights(batch: Batch) -> Floats:
    if batch.targets.ndim == 1:
        return np.ones(batch.targets.shape)
    return (batch.mask if batch.weights is None else batch.weights).astype(np.float64)


def _meaned(values: Floats, batch: Batch) -> Floats:
    if values.ndim == 1:
        return values
    weights = _weights(batch)
    return (weights * values).sum(axis=1) / weights.sum() * len(weights)
