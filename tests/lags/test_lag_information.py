"""Mutual information by lag: closed forms, brute force, and nothing where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from gnomon.lags.information import BINS, lag_information, neighbours
from gnomon.lags.kernel import lag_kernel
from gnomon.lags.token_line import equal_pairs, join_documents, lag_range, null_tables, pair_tables


def chain(rng, steps, *, documents=200, length=300):
    """Documents of a Markov chain in its stationary law, and that law."""
    values, vectors = np.linalg.eig(steps.T)
    law = np.real(vectors[:, np.argmax(values.real)])
    law = law / law.sum()
    made = np.empty((documents, length), dtype=int)
    made[:, 0] = rng.choice(len(steps), p=law, size=documents)
    for place in range(1, length):
        rows = steps.cumsum(axis=1)[made[:, place - 1]]
        made[:, place] = (rng.random((documents, 1)) > rows).sum(axis=1).clip(max=len(steps) - 1)
    return list(made), law


def sticky(rng, stay, types=5):
    return stay * np.eye(types) + (1.0 - stay) * rng.dirichlet(np.ones(types), size=types)


def closed_form(steps, law, lags):
    """I(tau) of a stationary chain: the joint law is law(u) P^tau(u, v)."""
    found = []
    for lag in lags:
        joint = law[:, None] * np.linalg.matrix_power(steps, int(lag))
        found.append(float((joint * np.log2(joint / np.outer(law, law))).sum()))
    return np.array(found)


def test_a_markov_chain_has_the_information_of_its_closed_form(rng):
    steps = sticky(rng, 0.7)
    documents, law = chain(rng, steps)
    found = lag_information(documents, lags=24)
    truth = closed_form(steps, law, found.lags)
    scores = (found.values - truth) / found.errors
    assert np.abs(scores).max() < 4.5
    assert np.sqrt((scores**2).mean()) < 2.0
    assert found.detected[:8].all()
    assert truth[found.reach :].max() < 0.01 * truth[0]


def test_information_as_counted_is_that_of_entropies(rng):
    """H(X) + H(Y) - H(X, Y) by scipy, over all pairs at a lag."""
    documents = [rng.integers(4, size=size) for size in rng.integers(20, 60, size=24)]
    found = lag_information(documents, lags=3, folds=4)
    for lag, value in zip(found.lags, found.plugin, strict=True):
        pairs = np.concatenate([np.stack([x[:-lag], x[lag:]], axis=1) for x in documents])
        joint = np.zeros((4, 4))
        np.add.at(joint, (pairs[:, 0], pairs[:, 1]), 1.0)
        parts = (joint.sum(axis=1), joint.sum(axis=0), joint.ravel())
        rows, columns, both = (entropy(part, base=2) for part in parts)
        assert value == pytest.approx(rows + columns - both, abs=1e-12)


def test_the_known_bias_of_counting_is_taken_off():
    """Independent tokens: (K - 1)^2 / (2 N ln 2) bits as counted, 0 after the correction."""
    runs = [
        lag_information(np.random.default_rng(seed).integers(10, size=(32, 100)), lags=4)
        for seed in range(12)
    ]
    counted, corrected = (
        np.array([getattr(one, name) for one in runs]) for name in ("plugin", "values")
    )
    bias = 81 / (2 * np.log(2.0) * 32 * (100 - np.arange(1, 5)))
    np.testing.assert_allclose(counted.mean(axis=0), bias, rtol=0.15)
    assert abs(corrected.mean()) < 0.1 * bias.mean()


def test_nothing_is_detected_where_there_is_no_order():
    """Documents of different laws; at 5 % over all lags, 7 or more of 40 have a chance of 0.3 %."""
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        laws = rng.dirichlet(np.full(8, 0.4), size=32)
        documents = [rng.choice(8, p=law, size=80) for law in laws]
        found = lag_information(documents, lags=24)
        alarms += found.reach > 0
        assert found.shuffled.min() > 0.1
    assert alarms <= 6


def test_dependence_that_has_ended_is_not_detected_later():
    """Pairs of a chain are fewer than they seem, and shuffles hold what near tokens depend."""
    late = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        documents, _ = chain(rng, sticky(rng, 0.7), documents=48, length=150)
        late += lag_information(documents, lags=64).reach > 30
    assert late <= 4


def test_a_law_of_positions_alone_is_no_information(rng):
    laws = rng.dirichlet(np.full(6, 0.5), size=10)
    documents = [[rng.choice(6, p=laws[i % 10]) for i in range(80)] for _ in range(64)]
    found = lag_information(documents, lags=24)
    assert found.reach == 0
    assert found.across.max() > 0.1
    assert abs(found.values.mean()) < 0.05 * found.across.mean()
    assert np.abs(found.values / found.errors).max() < 4.5


def test_laws_of_positions_in_short_documents_are_no_dependence():
    """Three regimes of ten positions: shuffling a document moves no token to where it stands."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng([7, seed])
        laws = np.repeat(rng.dirichlet(np.full(6, 0.5), size=3), 10, axis=0)
        draws = rng.random((300, 30, 1)) > laws.cumsum(axis=1)[None]
        found = lag_information(list(draws.sum(axis=2).clip(max=5)), lags=24, seed=seed)
        assert np.abs(found.across).max() > 0.02  # positions tell something
        alarms += found.reach > 0
    assert alarms <= 4  # at 5 % each, five or more in 20 have a chance of 0.3 %


def test_information_halves_the_period_that_covariances_show(rng):
    """With P(1) = (1 + cos) / 2 of a phase, k is a cosine of lag, and I falls to 0 twice in it."""
    phases = rng.integers(10, size=(100, 1)) + np.arange(200)
    documents = (rng.random((100, 200)) < 0.5 + 0.4 * np.cos(2 * np.pi * phases / 10)).astype(int)
    information, kernel = lag_information(documents, lags=40), lag_kernel(documents, lags=40)
    for values, period in ((information.values, 5), (kernel.values, 10)):
        power = np.abs(np.fft.rfft(values - values.mean())) ** 2
        assert np.argmax(power) == 40 // period


def test_rare_types_are_merged_and_said_to_be(rng):
    documents = [rng.zipf(1.5, size=200).clip(max=500) for _ in range(32)]
    found = lag_information(documents, lags=4)
    tokens = np.concatenate(documents)
    counts = np.unique(tokens, return_counts=True)[1]
    rare = counts[counts**2 < len(tokens)]
    assert found.types == len(counts) - len(rare) + found.bins
    assert 1 <= found.bins <= BINS
    assert found.merged == pytest.approx(rare.sum() / len(tokens))


@pytest.mark.parametrize("types", [300, 2000])
def test_what_rare_types_depend_on_is_seen_though_all_are_merged(types, rng):
    """Half of all tokens repeat the one ten places before; no type is frequent."""
    tokens = rng.integers(types, size=(60, 200))
    for place in range(10, 200):
        tokens[:, place] = np.where(rng.random(60) < 0.5, tokens[:, place - 10], tokens[:, place])
    found = lag_information(tokens, lags=12)
    assert found.merged == 1.0
    assert found.types == found.bins == BINS
    assert found.lags[found.detected].tolist() == [10]


def test_merging_types_can_only_lower_information(rng):
    documents, _ = chain(rng, sticky(rng, 0.8, types=6), documents=64)
    whole = lag_information(documents, lags=4)
    merged = lag_information([np.minimum(x, 2) for x in documents], lags=4)
    assert (merged.plugin < whole.plugin).all()


@pytest.mark.parametrize("which", ["itself", "next", "previous"])
def test_expected_pairs_are_those_of_all_ways_to_pair(which, rng):
    documents = [rng.integers(3, size=size) for size in (9, 12, 7, 12, 5, 30, 1, 2)]
    line = join_documents(documents, folds=2, seed=0)
    after = neighbours(line)
    partner = {"itself": np.arange(8), "next": after, "previous": np.argsort(after)}[which]
    steps = lag_range(line, 14)
    for step, table in zip(steps, null_tables(line, partner, steps), strict=True):
        wanted = np.zeros((2, 3, 3))
        for d, other in enumerate(partner):
            x = line.tokens[line.starts[d] : line.starts[d + 1]]
            y = line.tokens[line.starts[other] : line.starts[other + 1]]
            ways = [(i, j) for i in range(len(x)) for j in range(len(y)) if i != j]
            for i, j in ways:
                number = max(min(len(x), len(y) - step), 0)
                wanted[line.fold[d], x[i], y[j]] += number / len(ways)
        np.testing.assert_allclose(table, wanted, atol=1e-12)


def test_pairs_are_counted_alike_by_both_routes_and_by_hand(rng, monkeypatch):
    documents = [rng.integers(4, size=size) for size in (9, 12, 7, 12, 5, 1)]
    line = join_documents(documents, folds=3, seed=0)
    after, steps = neighbours(line), lag_range(line, 8)
    fast = [pair_tables(line, after, 2), equal_pairs(line, steps)]
    monkeypatch.setenv("GNOMON_NUMBA", "0")
    slow = [pair_tables(line, after, 2), equal_pairs(line, steps)]
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, other)
    wanted = np.zeros((3, 4, 4))
    for d, other in enumerate(after):
        x = line.tokens[line.starts[d] : line.starts[d + 1]]
        y = line.tokens[line.starts[other] : line.starts[other + 1]]
        for u, v in zip(x, y[2:], strict=False):
            wanted[line.fold[d], u, v] += 1
    np.testing.assert_array_equal(slow[0], wanted)


def test_a_fold_of_one_document_has_no_pairs_across(rng):
    """Sixteen documents in sixteen folds: their own pairs are not taken for pairs across."""
    documents, _ = chain(rng, sticky(rng, 0.8), documents=16, length=400)
    found = lag_information(documents, lags=4)
    np.testing.assert_array_equal(found.across, 0.0)
    assert found.detected.all()
