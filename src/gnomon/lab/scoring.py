"""How good the answers of a model are: cross-entropy and accuracy, or squared error and R^2.

    accuracy = sum_i w_i [argmax y_i = t_i] / sum_i w_i
    R^2      = 1 - sum_i w_i (y_i - t_i)^2 / sum_i w_i (t_i - mean t)^2

Targets that are whole numbers are classes, others are real numbers; targets (b,) are one for each
sequence, targets (b, n) one for each token, weighted as the batch says, padding at 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from gnomon.lab.tasks.base import Batch

SLICE = 256
"""Sequences that a model answers at once where no gradient is asked for."""


def inputs(model: Any, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    """Return what a model reads of a batch: tokens, or values of patches, and what goes along."""
    reads = batch.values if getattr(model, "reads_values", False) else None
    entered = torch.from_numpy(batch.tokens if reads is None else reads)
    beside: dict[str, Tensor] = {}
    if not batch.mask.all():
        beside["mask"] = torch.from_numpy(batch.mask)
    if batch.positions is not None:
        beside["positions"] = torch.from_numpy(batch.positions)
    if getattr(model, "reads_answers", False):  # each answer is shown to those after it
        beside["answers"] = torch.from_numpy(batch.targets)
    return entered, beside


def loss(model: Any, batch: Batch) -> Tensor:
    """Return the mean loss of a batch, for training."""
    entered, beside = inputs(model, batch)
    return _mean_loss(model(entered, **beside), batch)


def outputs(model: Any, batch: Batch) -> Tensor:
    """Return the answers of a model to a batch, in slices, as it would be used."""
    made = []
    with in_use(model):
        for first in range(0, len(batch.tokens), SLICE):
            entered, beside = inputs(model, batch.rows(slice(first, first + SLICE)))
            made.append(model(entered, **beside))
    return torch.cat(made)


@contextmanager
def in_use(model: Any) -> Iterator[None]:
    """Have a model answer as it would be used, without gradients and dropout, for a while."""
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was)


def score(model: Any, batch: Batch) -> float:
    """Return the accuracy on a batch, or R^2 where targets are real numbers."""
    return score_answers(outputs(model, batch), batch)


def held_out_loss(model: Any, batch: Batch) -> float:
    """Return the mean loss on a batch, without gradients."""
    return float(_mean_loss(outputs(model, batch), batch))


def head_means(model: Any, batch: Batch) -> Tensor:
    """Return the mean output of every head on a batch, (layers, heads, width)."""
    entered, beside = inputs(model, batch)
    with in_use(model):
        means: Tensor = model.heads().measure_means(
            lambda: model(entered, **beside), mask=beside.get("mask")
        )
    return means


def score_answers(answers: Tensor, batch: Batch) -> float:
    """Return the accuracy or R^2 of answers that are there."""
    targets, weights = _targets_and_weights(batch)
    if targets.is_floating_point():
        errors = (weights * (answers - targets).square()).sum()
        mean = (weights * targets).sum() / weights.sum()
        return float(1 - errors / (weights * (targets - mean).square()).sum())
    right = (answers.argmax(dim=-1) == targets).to(weights.dtype)
    return float((weights * right).sum() / weights.sum())


def _mean_loss(answers: Tensor, batch: Batch) -> Tensor:
    targets, weights = _targets_and_weights(batch)
    if targets.is_floating_point():
        return (weights * (answers - targets).square()).sum() / weights.sum()
    if targets.ndim == 1:
        return cross_entropy(answers, targets)
    each = cross_entropy(answers.flatten(0, 1), targets.flatten(), reduction="none")
    return (weights.flatten() * each).sum() / weights.sum()


def _targets_and_weights(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return targets, and how much each of them counts."""
    targets = torch.from_numpy(batch.targets)
    if targets.ndim == 1:
        return targets, torch.ones(len(targets))
    weights = batch.mask if batch.weights is None else batch.weights
    return targets, torch.from_numpy(weights.astype(np.float32))
