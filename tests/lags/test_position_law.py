"""Documents that begin in phase: the period of their law of positions, and none where none is."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.lags.kernel import lag_kernel, position_kernel
from gnomon.lags.modes import dependence, position_periods
from gnomon.lags.token_line import join_documents, lag_range


def drawn(rng, laws, documents):
    """Documents whose token at each position has the law of that position."""
    edges = laws.cumsum(axis=1)
    made = (rng.random((documents, len(laws), 1)) > edges).sum(axis=2)
    return made.clip(max=laws.shape[1] - 1)


def found_in(documents, lags=1024):
    line = join_documents(documents, folds=16, seed=0)
    return position_periods(position_kernel(line, lag_range(line, lags)))


def brute(documents, folds, lag):
    """Equal pairs of documents of different folds at a lag, less those at any positions."""
    there, anywhere = [], []
    for a, x in enumerate(documents):
        for b, y in enumerate(documents):
            if folds[a] != folds[b]:
                there += [x[i] == y[i + lag] for i in range(min(len(x), len(y) - lag))]
                anywhere += [one == other for one in x for other in y]
    return np.mean(there) - np.mean(anywhere)


def test_the_kernel_is_that_of_counting_every_pair_with_and_without_a_fold(rng):
    line = join_documents(
        [rng.integers(4, size=size) for size in (9, 12, 7, 12, 10)], folds=3, seed=0
    )
    documents = np.split(line.tokens, line.starts[1:-1])
    found = position_kernel(line, lag_range(line, 5))
    wanted = [brute(documents, line.fold, lag) for lag in found.lags]
    np.testing.assert_allclose(found.values, wanted, atol=1e-12)
    for fold, row in enumerate(found.replicates):
        kept = [one for one, own in zip(documents, line.fold, strict=True) if own != fold]
        folds = line.fold[line.fold != fold]
        wanted = [brute(kept, folds, lag) for lag in found.lags]
        np.testing.assert_allclose(row, wanted, atol=1e-12)


@pytest.mark.parametrize(("period", "types"), [(3, 4), (10, 8), (16, 20), (41, 8)])
def test_a_period_that_documents_begin_with_is_one_of_positions_and_no_dependence(
    period, types, rng
):
    laws = rng.dirichlet(np.full(types, 0.5), size=period)[np.arange(400) % period]
    documents = drawn(rng, laws, 60)
    found = found_in(documents)
    assert found.periods == (pytest.approx(period, rel=1e-3),)
    assert dependence(lag_kernel(documents)).modes == ()


@pytest.mark.parametrize("seed", range(3))
def test_a_period_that_documents_begin_anywhere_in_is_none_of_positions(seed):
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.full(8, 0.5), size=10)
    starts = rng.integers(10, size=80)
    documents = [drawn(rng, laws[(s + np.arange(300)) % 10], 1)[0] for s in starts]
    assert found_in(documents).modes == ()


def law(kind, rng, length, types):
    """Laws of positions that have no period."""
    if kind == "the same":
        return np.tile(rng.dirichlet(np.full(types, 0.8)), (length, 1))
    if kind == "drawn anew":
        return rng.dirichlet(np.full(types, 0.4), size=length)
    if kind == "drifting":
        logs = 0.3 * np.cumsum(rng.normal(size=(length, types)), axis=0)
        return np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    edges = np.sort(rng.choice(length, size=4, replace=False))
    return rng.dirichlet(np.full(types, 0.4), size=5)[np.searchsorted(edges, np.arange(length))]


@pytest.mark.parametrize("kind", ["the same", "drawn anew", "drifting", "in stretches"])
def test_laws_without_a_period_have_none(kind):
    """Thirty small corpora of each kind."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        types, length = int(rng.choice([2, 4, 12])), int(rng.choice([60, 120, 300]))
        documents = drawn(rng, law(kind, rng, length, types), int(rng.choice([20, 40, 80])))
        assert found_in(documents).modes == (), seed


@pytest.mark.wide
def test_intervals_of_periods_of_positions_hold_them():
    """Of 60, 51 or more: fewer have a chance of 0.1 %."""
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        period = int(rng.integers(3, 45))
        laws = rng.dirichlet(np.full(8, 0.4), size=period)[np.arange(400) % period]
        first = found_in(drawn(rng, laws, 60)).families[0][0]
        low, high = (first.harmonic * end for end in first.period_interval)
        held += low <= period <= high
    assert held >= 51
