r"""Naive observers: what simple counting reaches on real rows, with order and without.

    bag    argmax_c log P(c) + sum_t log P(x_t | c)          the order of tokens is not used
    slots  argmax_c log P(c) + sum_t log P(x_t | c, t)       one law per slot, tokens independent

with one added to every count (naive Bayes). The ceiling of a real task is not known; it lies
between what the better observer reaches on held-out rows and what contradictions allow: equal rows
with different labels can not all be answered. The share of the prior is what the bag reaches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gnomon.lab.ceilings import Ceiling
from gnomon.lab.tasks.base import Batch

if TYPE_CHECKING:
    from gnomon.lab.tasks.real.documents import Labelled

ROWS = 6000
Floats = NDArray[np.float64]


def observed(task: Labelled) -> Ceiling:
    """Return the ceiling of a task by counting on its training rows; some tenths of a second."""
    train = task.batch(np.random.default_rng(0), ROWS)
    test = task.held_out().batch(np.random.default_rng(1), ROWS)
    classes, vocabulary = int(task.classes or 0), task.vocabulary
    seen = np.bincount(train.targets, minlength=classes)
    constant = float((test.targets == seen.argmax()).mean())
    bag = bag_accuracy(train, test, classes=classes, vocabulary=vocabulary)
    slots = slot_accuracy(train, test, classes=classes, vocabulary=vocabulary)
    most = consistent_share(test)
    return Ceiling(
        measure="accuracy",
        value=most,
        prior=max(bag, constant),
        constant=constant,
        how="estimated",
        interval=(max(bag, slots, constant), most),
        note="from what naive Bayes reaches on held-out rows to what equal rows with different "
        "labels allow; the prior is naive Bayes on bags of tokens",
    )


def bag_accuracy(train: Batch, test: Batch, *, classes: int, vocabulary: int) -> float:
    """Return the accuracy of naive Bayes on bags of tokens."""
    counts = np.ones((classes, vocabulary))
    rows, slots = np.nonzero(train.mask)
    np.add.at(counts, (train.targets[rows], train.tokens[rows, slots]), 1.0)
    laws = np.log(counts / counts.sum(axis=1, keepdims=True))
    scores = np.where(test.mask[..., None], laws.T[test.tokens], 0.0).sum(axis=1)
    return _accuracy(scores + _priors(train, classes), test)


def slot_accuracy(train: Batch, test: Batch, *, classes: int, vocabulary: int) -> float:
    """Return the accuracy of naive Bayes with one law per slot."""
    width = max(train.tokens.shape[1], test.tokens.shape[1])
    scores = np.zeros((test.size, classes)) + _priors(train, classes)
    for slot in range(min(width, train.tokens.shape[1], test.tokens.shape[1])):
        counts = np.ones((classes, vocabulary))
        kept = train.mask[:, slot]
        np.add.at(counts, (train.targets[kept], train.tokens[kept, slot]), 1.0)
        laws = np.log(counts / counts.sum(axis=1, keepdims=True))
        scores += np.where(test.mask[:, slot, None], laws.T[test.tokens[:, slot]], 0.0)
    return _accuracy(scores, test)


def consistent_share(batch: Batch) -> float:
    """Return the share of rows that a function of the tokens can answer.

    >>> rows = np.array([[1, 2], [1, 2], [1, 3]])
    >>> round(consistent_share(Batch(tokens=rows, targets=np.array([0, 1, 0]), mask=rows > 0)), 3)
    0.667
    """
    _, which = np.unique(batch.tokens, axis=0, return_inverse=True)
    table = np.zeros((int(which.max()) + 1, int(batch.targets.max()) + 1))
    np.add.at(table, (which.reshape(-1), batch.targets), 1.0)
    return float(table.max(axis=1).sum() / len(batch.targets))


def _priors(train: Batch, classes: int) -> Floats:
    seen = np.bincount(train.targets, minlength=classes) + 1.0
    priors: Floats = np.log(seen / seen.sum())
    return priors


def _accuracy(scores: Floats, test: Batch) -> float:
    return float((scores.argmax(axis=1) == test.targets).mean())
