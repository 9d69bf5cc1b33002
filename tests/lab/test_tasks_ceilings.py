"""Ceilings and priors, by enumeration, by simulation, and by the observers they are about."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from gnomon.errors import LabError
from gnomon.lab.tasks import TASKS as KINDS
from gnomon.lab.tasks import task
from gnomon.lab.tasks.base import Ceiling, Drawn
from gnomon.lab.tasks.sequences import commonest_share

EXACT = [k for k in KINDS.values() if issubclass(k, Drawn) and k.name != "alignment"]


@pytest.mark.parametrize(("drawn", "symbols"), [(1, 1), (1, 5), (3, 2), (4, 3), (5, 3), (6, 4)])
def test_the_commonest_share_is_that_of_all_rows_enumerated(drawn, symbols):
    rows = list(product(range(symbols), repeat=drawn))
    mean = np.mean([Counter(row).most_common(1)[0][1] / drawn for row in rows])
    assert commonest_share(drawn, symbols) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(("drawn", "symbols"), [(10, 16), (31, 31), (300, 7)])
def test_the_commonest_share_is_that_of_drawn_counts(drawn, symbols):
    counts = np.random.default_rng(0).multinomial(drawn, np.full(symbols, 1 / symbols), 100_000)
    shares = counts.max(axis=1) / drawn
    error = shares.std() / np.sqrt(len(shares))
    assert commonest_share(drawn, symbols) == pytest.approx(shares.mean(), abs=4 * error)


def test_the_commonest_share_of_long_rows_neither_overflows_nor_leaves_its_bounds():
    assert 1 / 31 < commonest_share(1000, 31) < 2 / 31


def test_the_commonest_of_nothing_is_refused():
    with pytest.raises(LabError, match="the commonest of 0 tokens out of 3 is not defined"):
        commonest_share(0, 3)


@pytest.mark.parametrize("name", ["lag", "reversal"])
def test_naming_the_commonest_other_token_reaches_the_prior(name):
    made = task(name, length=12, shortest=6, symbols=4)
    batch = made.batch(np.random.default_rng(0), 6000)
    right = total = 0
    for tokens, targets, weights in zip(batch.tokens, batch.targets, batch.weights, strict=True):
        for slot in np.flatnonzero(weights):
            others = np.delete(tokens, slot)
            best = np.bincount(others[others > 0]).argmax()
            right += best == targets[slot] + 1
            total += 1
    prior = made.ceiling().prior
    # Answers of one row share their bag, so rows count, not answers.
    assert right / total == pytest.approx(prior, abs=4 * np.sqrt(prior * (1 - prior) / 6000))


def test_naming_the_commonest_value_reaches_the_prior_of_recall():
    made = task("recall")
    batch = made.batch(np.random.default_rng(0), 8000)
    told = batch.tokens[:, :-4]
    values = [np.bincount(row[row >= made.values_from]).argmax() for row in told]
    right = (np.array(values)[:, None] - made.values_from == batch.targets[:, -4:]).mean()
    assert right == pytest.approx(made.ceiling().prior, abs=0.02)


@pytest.mark.parametrize(("length", "shortest"), [(32, None), (12, 5)])
def test_the_best_guess_of_decay_without_order_explains_the_prior(length, shortest):
    """A least squares fit per slot on the own value and the mean of the earlier ones."""
    made = task("decay", length=length, shortest=shortest)
    batch = made.batch(np.random.default_rng(0), 20_000)
    values = np.where(batch.mask, made.values_of(batch.tokens), 0.0)
    missed = 0.0
    for slot in range(batch.tokens.shape[1]):
        kept = batch.mask[:, slot]
        columns = [values[kept, slot]]
        if slot:
            columns.append(values[kept, :slot].mean(axis=1))
        seen, wanted = np.stack(columns, axis=1), batch.targets[kept, slot].astype(float)
        missed += float(np.linalg.lstsq(seen, wanted)[1][0]) if slot else 0.0
    total = float((batch.targets[batch.mask].astype(float) ** 2).sum())
    assert 1.0 - missed / total == pytest.approx(made.ceiling().prior, abs=0.01)


def test_one_own_token_explains_the_documented_share_of_decay():
    """R2 0.42 at 32 slots, 1 / (1 + b + ...) with b = 0.6 for long rows."""
    batch = task("decay").batch(np.random.default_rng(0), 4000)
    values = task("decay").values_of(batch.tokens).astype(float)
    missed = (batch.targets - values) ** 2
    assert 1 - missed.sum() / (batch.targets.astype(float) ** 2).sum() == pytest.approx(
        0.42, abs=0.01
    )


@pytest.mark.parametrize("length", [8, 11])
def test_modular_guesses_the_commonest_residue(length):
    made = task("modular", length=length, modulus=4)
    targets = made.batch(np.random.default_rng(0), 1).targets[0]
    assert made.ceiling().prior == np.bincount(targets).max() / length


@pytest.mark.parametrize("kind", EXACT, ids=lambda kind: kind.name)
def test_constant_prior_and_ceiling_are_in_order(kind):
    ceiling = kind().ceiling()
    assert 0 <= ceiling.constant <= ceiling.prior <= ceiling.value == 1
    assert ceiling.constant < ceiling.value
    assert ceiling.measure == ("r2" if kind().regression else "accuracy")
    assert ceiling.how == "exact"


def test_a_share_is_0_at_the_constant_answer_and_1_at_the_ceiling():
    ceiling = Ceiling(measure="accuracy", value=0.9, prior=0.5, constant=0.5)
    assert ceiling.share(0.5) == 0.0
    assert ceiling.share(0.9) == 1.0
    assert ceiling.share(0.7) == pytest.approx(0.5)
