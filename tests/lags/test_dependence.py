"""What is planted comes back: periods, half-lives, and nothing where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import EncodingError, GroupError
from gnomon.lags.kernel import LagKernel, jackknife_errors, lag_kernel
from gnomon.lags.modes import dependence
from gnomon.pipeline.lag_groups import fit_group


def periodic(rng, period, *, types=20, length=400, documents=150, aligned=False):
    """Tokens whose law has a period; documents begin anywhere in it, or all at its beginning."""
    laws = rng.dirichlet(np.full(types, 0.5), size=period).cumsum(axis=1)
    made = []
    for _ in range(documents):
        start = 0 if aligned else rng.integers(period)
        rows = laws[(start + np.arange(length)) % period]
        made.append((rng.random((length, 1)) > rows).sum(axis=1).clip(max=types - 1))
    return made


def staying(rng, share, *, types=8, length=500, documents=200):
    """A token stays with a probability, or is drawn anew: dependence falls as share^lag."""
    made = []
    for _ in range(documents):
        fresh = rng.integers(types, size=length)
        last = np.maximum.accumulate(np.where(rng.random(length) < share, 0, np.arange(length)))
        made.append(fresh[last])
    return made


def brute(documents, lag):
    """K at one lag, pair by pair, both nulls by counting all pairs."""
    pairs = [(d, i) for d, x in enumerate(documents) for i in range(len(x) - lag)]
    same = np.mean([documents[d][i] == documents[d][i + lag] for d, i in pairs])
    rates = []
    for x in documents:
        equal = [x[i] == x[j] for i in range(len(x)) for j in range(len(x)) if i != j]
        rates += [np.mean(equal)] * max(len(x) - lag, 0)
    return same - np.mean(rates)


def brute_positions(documents, lag):
    """What positions add at one lag, counting all pairs of tokens of two documents."""
    across, dealt, beside = [], [], []
    for a, x in enumerate(documents):
        for b, y in enumerate(documents):
            if a == b:
                continue
            rate = np.mean([one == other for one in x for other in y])
            across += [x[i] == y[i + lag] for i in range(min(len(x), len(y) - lag))]
            dealt += [rate] * max(min(len(x), len(y) - lag), 0)
            beside += [(x[i] == y[i]) - rate for i in range(min(len(x), len(y)))]
    pairs = [max(len(x) - lag, 0) for x in documents]
    share = np.average([1.0 / (len(x) - 1) for x in documents], weights=pairs)
    return np.mean(across) - np.mean(dealt) + np.mean(beside) * share


def test_the_kernel_is_that_of_counting_every_pair(rng):
    documents = [rng.integers(4, size=size) for size in (9, 12, 7, 12)]
    found = lag_kernel(documents, lags=5, folds=2)
    wanted = [brute(documents, lag) for lag in found.lags]
    np.testing.assert_allclose(found.values, wanted, atol=1e-12)
    assert not found.across.any()  # no more than the noise of so few pairs


@pytest.mark.parametrize("rare", [False, True])
def test_what_positions_add_is_that_of_counting_every_pair(rare, rng):
    law = [np.arange(14) % 4, rng.integers(30, size=14)][rare]
    documents = [
        np.where(rng.random(size) < 0.9, law[:size], 7) for size in (9, 14, 7, 13, 14, 11, 12, 8)
    ]
    found = lag_kernel(documents, lags=5, folds=2)
    wanted = [brute_positions(documents, lag) for lag in found.lags]
    np.testing.assert_allclose(found.across, wanted, atol=1e-12)
    both = [brute(documents, lag) for lag in found.lags]
    np.testing.assert_allclose(found.values + found.across, both, atol=1e-12)


def test_topics_that_go_with_the_length_of_documents_have_no_kernel():
    """Two laws, the long documents' and the short ones': far lags have pairs of the first alone."""
    scores = []
    for seed in range(8):
        rng = np.random.default_rng([seed, 6])
        laws = rng.dirichlet(np.full(30, 0.3), size=2)
        lengths = rng.integers(40, 400, size=300)
        documents = [rng.choice(30, p=laws[int(size > 150)], size=size) for size in lengths]
        kernel = lag_kernel(documents, lags=64)
        spread = kernel.values.mean() / jackknife_errors(kernel.replicates.mean(1, keepdims=True))
        scores.append(float(spread[0]))
        assert dependence(kernel).modes == ()
    assert abs(np.mean(scores)) < 1.5


@pytest.mark.parametrize(("documents", "types"), [(150, 30), (60, 128)])
def test_documents_in_which_no_token_repeats_have_no_kernel(documents, types, rng):
    kernel = lag_kernel([rng.permutation(types) for _ in range(documents)], lags=24)
    assert not kernel.repeats
    assert not kernel.values.any()
    nothing = dependence(kernel, known=True)
    assert nothing.modes == ()
    assert nothing.fit is None


@pytest.mark.parametrize(("period", "types"), [(10, 20), (3, 4), (7, 50)])
def test_a_planted_period_comes_back_and_not_its_half(period, types, rng):
    found = dependence(lag_kernel(periodic(rng, period, types=types)))
    assert found.periods[0] == pytest.approx(period, abs=0.02 * period)
    assert len(found.periods) == 1
    (mode,) = [one for one in found.modes if one.harmonic == 1]
    low, high = mode.period_interval
    assert low - 0.01 <= period <= high + 0.01


def test_bar_and_beat_are_found_in_what_is_like_music(rng):
    """A mark at each of four beats, another one where the bar begins."""
    documents = []
    for _ in range(150):
        place = (rng.integers(16) + np.arange(400)) % 16
        free = rng.integers(2, 12, size=400)
        beat = np.where((place % 4 == 0) & (rng.random(400) < 0.8), 1, free)
        documents.append(np.where((place == 0) & (rng.random(400) < 0.8), 0, beat))
    found = dependence(lag_kernel(documents))
    assert found.periods[0] == pytest.approx(16.0, abs=0.1)
    assert found.modes[0].period == pytest.approx(4.0, abs=0.01)
    assert found.modes[0].harmonic == 4


@pytest.mark.parametrize("share", [0.6, 0.9])
def test_a_planted_decay_comes_back_with_its_interval(share, rng):
    found = dependence(lag_kernel(staying(rng, share), lags=64))
    truth = np.log(0.5) / np.log(share)
    strongest = found.modes[0]
    assert strongest.half_life == pytest.approx(truth, rel=0.1)
    assert not np.isfinite(strongest.period) or strongest.period > 10 * truth


def test_nothing_is_found_where_there_is_no_order():
    """Documents of different laws, their tokens in no order: at most one alarm in 100."""
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        laws = rng.dirichlet(np.full(12, 0.4), size=40)
        documents = [rng.choice(12, p=law, size=120) for law in laws]
        alarms += bool(dependence(lag_kernel(documents, lags=48)).rank)
    assert alarms <= 1


def test_a_law_of_positions_alone_is_no_dependence(rng):
    aligned = lag_kernel(periodic(rng, 10, aligned=True))
    assert dependence(aligned).modes == ()
    assert np.abs(aligned.across).max() > 5 * np.abs(aligned.values).max()


def known_kernel(rng, values, noise=1e-6):
    """A kernel that is known, with a little noise between its folds."""
    replicates = values + noise * rng.normal(size=(16, len(values)))
    return LagKernel(
        lags=np.arange(1, len(values) + 1),
        values=values,
        errors=jackknife_errors(replicates),
        shuffled=np.zeros_like(values),
        across=np.zeros_like(values),
        pairs=np.full(len(values), 10**6),
        replicates=replicates,
        documents=100,
    )


def test_what_falls_at_once_is_no_harmonic_of_what_lasts(rng):
    """Marks at every 41st place, and words: 19 x 2.158 is 41, yet they have no part in it."""
    lags = np.arange(1.0, 513.0)
    marks = np.where(lags % 41 == 0, 0.06, 0.0)
    words = 0.1 * 2.0 ** (-lags / 1.8) * np.cos(2.0 * np.pi * lags / (41 / 19))
    found = dependence(known_kernel(rng, marks + words), lags=128)
    broad = [mode for mode in found.modes if mode.half_life < 10.0]
    assert [mode.harmonic for mode in broad] == [1] * len(broad)
    assert broad[0].half_life == pytest.approx(1.8, rel=0.05)
    lines = [family for family in found.families if family[0].half_life > 1000.0]
    assert [family[0].fundamental for family in lines] == [pytest.approx(41.0, abs=0.02)]
    assert all(mode.half_life > 1000.0 for mode in lines[0])


def test_harmonics_that_fall_alike_are_of_one_period(rng):
    """A damped wave of 12 and its third: cos and cos of three times the turn, half-life 40."""
    lags = np.arange(1.0, 129.0)
    waves = np.cos(2.0 * np.pi * lags / 12.0) + 0.5 * np.cos(2.0 * np.pi * lags / 4.0)
    found = dependence(known_kernel(rng, 0.1 * 2.0 ** (-lags / 40.0) * waves, 1e-4))
    assert sorted(mode.harmonic for mode in found.modes) == [1, 3]
    assert found.periods == (pytest.approx(12.0, rel=1e-3),)


def test_what_alternates_has_no_interval(rng):
    lags = np.arange(1.0, 65.0)
    found = dependence(known_kernel(rng, 0.1 * (-0.9) ** lags))
    assert found.modes[0].period == 2.0
    assert found.modes[0].period_interval is None
    turns = rng.integers(2, size=(60, 1)) + np.arange(200)
    found = dependence(lag_kernel(2 * (turns % 2) + rng.integers(2, size=turns.shape)))
    assert [(mode.period, mode.period_interval) for mode in found.modes] == [(2.0, None)]


def test_the_encoding_has_the_periods_and_half_lives_that_were_found(rng):
    found = dependence(lag_kernel(staying(rng, 0.9), lags=64))
    made = fit_group(found, dimension=2)
    life = found.modes[0].half_life
    q = np.array([[1.0, 0.0]])
    near, far = (made.scores(q, q, [lag], [0.0])[0, 0] for lag in (0.0, life))
    turn = np.cos(2.0 * np.pi * life / found.modes[0].period)
    assert far / near == pytest.approx(0.5 * turn, rel=1e-6)
    assert found.generator().bounded()


@pytest.mark.parametrize(
    ("documents", "how", "sentence"),
    [
        ([[1, 2]] * 4, {}, "There are 4 documents and 16 folds; pass more documents"),
        ([[1]] * 20, {}, "No document has two tokens, so there is no lag; pass longer"),
        ([[0.5, 1.0]] * 20, {}, "Document 0 has shape .2,. and holds float64; pass token"),
        ([[1, 2, 3]] * 20, {"lags": 0}, "lags is 0; pass a whole number from 1 on"),
    ],
)
def test_documents_that_have_no_lags_are_refused(documents, how, sentence):
    with pytest.raises(GroupError, match=sentence):
        lag_kernel(documents, **how)


def test_too_few_lags_and_nothing_found_are_refused(rng):
    with pytest.raises(GroupError, match="has 5 lags, and modes are read from 16 or more"):
        dependence(lag_kernel(rng.integers(4, size=(20, 6))))
    free = np.random.default_rng(1).integers(4, size=(40, 60))
    nothing = dependence(lag_kernel(free, lags=32))
    assert nothing.modes == ()
    with pytest.raises(GroupError, match="Nothing depends on the lag here, so there is no gen"):
        nothing.generator()
    with pytest.raises(EncodingError, match="Nothing depends on the lag in these documents"):
        fit_group(nothing, dimension=8)
