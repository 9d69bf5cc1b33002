"""Leaks: what an order-blind observer, given the bag of tokens and the length, can know.

The observers are logistic regressions of scikit-learn on counts of tokens, the length, and, where
an answer is read at a token, that token. They must not beat the prior that a task declares.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency, f_oneway

from gnomon.lab.tasks import TASKS as KINDS
from gnomon.lab.tasks import task
from gnomon.lab.tasks.base import Batch, Drawn
from gnomon.lab.tasks.triggers import Order

EXACT = [k for k in KINDS.values() if issubclass(k, Drawn) and k.name != "alignment"]

SHORTEST = {"recall": 14, "distance": 20, "phase": 20}
TASKS = {
    kind.name: task(kind.name, length=24, shortest=SHORTEST.get(kind.name, 10)) for kind in EXACT
}
LABELS = ["distance", "order", "first-occurrence", "last-occurrence"]
TOKENS = ["lag", "reversal", "modular", "recall"]
SIZE = 4000


def bags(batch: Batch, vocabulary: int):
    counts = np.stack([np.bincount(row, minlength=vocabulary) for row in batch.tokens])
    return np.column_stack([counts[:, 1:], batch.mask.sum(axis=1)]).astype(float)


def blind_accuracy(made, seed=0):
    """Accuracy of a logistic regression on bags, on rows it has not seen."""
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(seed)
    sets = []
    for _ in range(2):
        batch = made.batch(rng, SIZE)
        features, targets = bags(batch, made.vocabulary), batch.targets
        if made.output == "tokens":
            slots = np.array([rng.choice(np.flatnonzero(row)) for row in batch.weights])
            rows = np.arange(SIZE)
            own = np.eye(made.vocabulary)[batch.tokens[rows, slots]]
            features, targets = np.hstack([features, own]), targets[rows, slots]
        spread = features.std(axis=0).clip(1e-9)
        sets.append(((features - features.mean(axis=0)) / spread, targets))
    observer = linear.LogisticRegression(max_iter=60).fit(*sets[0])
    return float(observer.score(*sets[1]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", LABELS)
def test_an_order_blind_observer_of_a_label_sits_at_the_prior(name):
    prior = TASKS[name].ceiling().prior
    error = np.sqrt(prior * (1 - prior) / SIZE)
    assert abs(blind_accuracy(TASKS[name]) - prior) < 4 * error


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", TOKENS)
def test_an_order_blind_observer_of_tokens_does_not_beat_the_prior(name):
    """One answer per row here, so that lengths weigh alike: the prior of the shortest is safe."""
    made = TASKS[name]
    prior = task(name, length=made.shortest).ceiling().prior
    error = np.sqrt(prior * (1 - prior) / SIZE)
    assert made.ceiling().constant - 4 * error < blind_accuracy(made) < prior + 4 * error


class Leaky(Order):
    """Order with a filler that gives the answer away in half of the rows."""

    def draw(self, rng, mask):
        drawn = super().draw(rng, mask)
        told = rng.random(len(mask)) < 0.5
        free = (drawn.tokens >= 3).argmax(axis=1)
        tokens = drawn.tokens.copy()
        tokens[told, free[told]] = 3 + drawn.targets[told]
        return Batch(tokens=tokens, targets=drawn.targets, mask=mask)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_planted_leak_is_seen_by_the_observer():
    assert blind_accuracy(Leaky(length=24, shortest=10)) > 0.5 + 4 * np.sqrt(0.25 / SIZE)


@pytest.mark.parametrize("name", [*LABELS, "counting"])
def test_labels_are_independent_of_length(name):
    batch = TASKS[name].batch(np.random.default_rng(5), 20_000)
    table = np.zeros((TASKS[name].classes, TASKS[name].length + 1))
    np.add.at(table, (batch.targets, batch.mask.sum(axis=1)), 1)
    assert chi2_contingency(table[:, table.any(axis=0)]).pvalue > 1e-3


@pytest.mark.parametrize("name", ["phase", "decay"])
def test_numbers_are_independent_of_length(name):
    batch = TASKS[name].batch(np.random.default_rng(5), 20_000)
    answers = batch.targets if batch.targets.ndim == 1 else batch.targets[:, 0]
    lengths = batch.mask.sum(axis=1)
    groups = [answers[lengths == n] for n in np.unique(lengths)]
    assert f_oneway(*groups).pvalue > 1e-3


def test_the_place_of_the_first_trigger_says_nothing_of_the_distance():
    batch = task("distance").batch(np.random.default_rng(6), 40_000)
    table = np.zeros((16, 16))
    np.add.at(table, (batch.targets, (batch.tokens == 1).argmax(axis=1)), 1)
    assert chi2_contingency(table).pvalue > 1e-3


def test_every_distance_and_every_count_is_equally_likely():
    for name in ("distance", "counting"):
        made = task(name)
        seen = np.bincount(made.batch(np.random.default_rng(7), 33_000).targets)
        expected = 33_000 / made.classes
        assert len(seen) == made.classes
        assert (abs(seen - expected) < 5 * np.sqrt(expected)).all()
