"""Alignment: planted laws, turned rows, and a ceiling that is known from outside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from gnomon.errors import LabError
from gnomon.lab.tasks.alignment import LAWS, Alignment, likelihoods


@pytest.mark.parametrize("law", LAWS)
def test_aligned_rows_have_the_planted_law_at_every_slot(law):
    task = Alignment(law=law, length=12, symbols=5, concentration=1.0)
    rows = task.rows(np.random.default_rng(0), 20_000, 12)
    for slot, wanted in enumerate(task.laws()):
        found = np.bincount(rows[:, slot] - 1, minlength=5)
        common = wanted > 1e-3
        assert chisquare(found[common], found[common].sum() * wanted[common] / wanted[common].sum()
                         ).pvalue > 1e-5  # fmt: skip


def test_laws_change_as_they_are_called():
    regimes = Alignment(law="regimes", length=9).laws()
    assert [len(np.unique(regimes[k : k + 3], axis=0)) for k in (0, 3, 6)] == [1, 1, 1]
    assert len(np.unique(regimes, axis=0)) == 3
    periodic = Alignment(law="periodic", length=12, period=4).laws()
    np.testing.assert_array_equal(periodic[:4], periodic[4:8])
    drift = Alignment(law="drift", length=9).laws()
    np.testing.assert_allclose(np.diff(drift, n=2, axis=0), 0.0, atol=1e-15)


def test_turned_rows_are_turned_within_their_length_and_by_a_quarter_at_least():
    class Counted(Alignment):
        def rows(self, rng, size, width):  # noqa: ARG002 - of the shared signature
            return np.tile(1 + np.arange(width), (size, 1))

    task = Counted(length=16, symbols=16, shortest=8)
    batch = task.batch(np.random.default_rng(0), 600)
    for tokens, target, mask in zip(batch.tokens, batch.targets, batch.mask, strict=True):
        length = int(mask.sum())
        turn = int(tokens[0]) - 1
        np.testing.assert_array_equal(tokens[:length], 1 + (np.arange(length) + turn) % length)
        if target == 1:
            assert turn == 0
        else:
            assert length // 4 <= turn <= length - length // 4


def test_the_ceiling_of_a_period_is_what_turns_by_whole_periods_leave():
    """Laws far apart tell every turn but those by 8, 16 and 24 of 17: they look aligned."""
    task = Alignment(law="periodic", length=32, concentration=0.01, symbols=64)
    ceiling = task.ceiling()
    low, high = ceiling.interval
    assert low - 0.01 < 1 - 0.5 * 3 / 17 < high + 0.01
    assert (ceiling.prior, ceiling.how) == (0.5, "estimated")


@pytest.mark.parametrize("law", LAWS)
def test_an_observer_of_bags_and_lengths_is_right_half_of_the_time(law):
    linear = pytest.importorskip("sklearn.linear_model")
    task = Alignment(law=law, length=24, shortest=12)
    sets = []
    for seed in range(2):
        batch = task.batch(np.random.default_rng(seed), 4000)
        counts = np.stack([np.bincount(row, minlength=task.vocabulary) for row in batch.tokens])
        sets.append((np.column_stack([counts, batch.mask.sum(axis=1)]), batch.targets))
    blind = linear.LogisticRegression(max_iter=2000).fit(*sets[0]).score(*sets[1])
    assert abs(blind - 0.5) < 4 * np.sqrt(0.25 / 4000)


def test_likelihoods_are_products_over_slots():
    laws = np.array([[0.9, 0.1], [0.2, 0.8]])
    found = np.exp(likelihoods(laws, np.array([[1, 2]]), np.array([0, 1])))
    np.testing.assert_allclose(found, [[0.9 * 0.8, 0.2 * 0.1]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"law": "regime"}, "task alignment: law is 'regime'; did you mean 'regimes'?"),
        ({"symbols": 1}, "symbols is 1; it must be a whole number of 2 or more"),
        ({"concentration": 0.0}, "concentration is 0.0; it must be a positive number"),
        ({"period": 1}, "period is 1; it must be a whole number of 2 or more"),
        ({"length": 3}, "length is 3; it must be a whole number of 4 or more"),
    ],
)
def test_what_can_not_be_drawn_is_refused(given, message):
    with pytest.raises(LabError) as refused:
        Alignment(**given)
    assert message in str(refused.value)
