"""Where modes do not fit, a sharp period is kept that is found again, and others are not."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.lags.kernel import lag_kernel
from gnomon.lags.modes import dependence


def cyclic(rng, period, *, documents, length, types=12):
    """A law for each place of a period; documents begin anywhere in it."""
    laws = rng.dirichlet(np.full(types, 0.5), size=period).cumsum(axis=1)
    places = (rng.integers(period, size=(documents, 1)) + np.arange(length)) % period
    return (rng.random((documents, length, 1)) > laws[places]).sum(axis=2).clip(max=types - 1)


def phrases(rng, low, high, *, documents, count=50):
    """Measures of low to high tokens that return after two or three of them, never after one."""
    made = []
    for _ in range(documents):
        measures = [rng.integers(10, size=rng.integers(low, high + 1)) for _ in range(3)]
        for _ in range(count - 3):
            again = measures[-2] if rng.random() < 0.5 else measures[-3]
            fresh = rng.integers(10, size=len(again))
            measures.append(np.where(rng.random(len(again)) < 0.7, again, fresh))
        made.append(np.concatenate(measures))
    return made


def marked(rng, width, *, documents, length):
    """Lines of a width that end in a mark 0; documents begin anywhere in a line."""
    law = 1.0 / np.arange(1, 61)
    made = []
    for _ in range(documents):
        text = rng.choice(60, p=law / law.sum(), size=length) + 1
        text[int(rng.integers(width)) :: width] = 0
        made.append(text)
    return made


def blocks(rng, low, high, *, documents, length):
    """Each document repeats a block of its own length."""
    made = []
    for _ in range(documents):
        block = rng.integers(20, size=rng.integers(low, high + 1))
        text = block[(rng.integers(len(block)) + np.arange(length)) % len(block)]
        made.append(np.where(rng.random(length) < 0.6, text, rng.integers(20, size=length)))
    return made


def woven(rng, one, other):
    """Each place has the token of one document or that of another."""
    made = []
    for left, right in zip(one, other, strict=True):
        size = min(len(left), len(right))
        made.append(np.where(rng.random(size) < 0.5, left[:size], right[:size] + 1000))
    return made


@pytest.mark.parametrize("seed", [1, 2])
def test_lines_beside_music_keep_their_period(seed):
    rng = np.random.default_rng([seed, 61])
    music = [one + 200 for one in phrases(rng, 8, 8, documents=60)]
    found = gnomon.dependence(marked(rng, 61, documents=80, length=900) + music, cache=False).found
    assert found.fit.poor
    assert 61.0 in found.periods
    assert all(one == 61.0 or one % 8.0 == 0.0 for one in found.periods)


@pytest.mark.parametrize("period", [10, 20])
def test_a_period_woven_into_loose_phrases_is_kept_and_none_of_theirs(period):
    for seed in range(2):
        rng = np.random.default_rng([seed, period])
        documents = woven(
            rng, cyclic(rng, period, documents=120, length=350), phrases(rng, 6, 9, documents=120)
        )
        found = gnomon.dependence(documents, cache=False).found
        assert found.fit.poor
        assert found.periods == (period,)


def test_periods_that_no_tokens_near_have_are_not_confirmed():
    """Blocks of 30 to 45 tokens have a line at a sixth of a turn, and nothing alike at lag 6."""
    doubted = []
    for seed in range(3):
        rng = np.random.default_rng([seed, 30])
        documents = blocks(rng, 30, 45, documents=150, length=400)
        found = gnomon.dependence(documents, cache=False).found
        assert found.fit.poor
        assert all(one >= 29.9 for one in found.periods)
        doubted += found.unconfirmed
        assert found.fit.withheld >= len(found.unconfirmed)
    assert doubted
    assert {one.reason for one in doubted} <= {"not one period on", "not at most multiples"}
    assert all(one.period_interval[0] < one.period < one.period_interval[1] for one in doubted)


def test_intervals_hold_what_modes_do_not_explain():
    """Lines of 44, 57 and 83 tokens: combs move each other by more than noise does."""
    kept, held = 0, 0
    for seed in range(3):
        rng = np.random.default_rng([seed, 44])
        documents = [
            one for width in (44, 57, 83) for one in marked(rng, width, documents=70, length=1000)
        ]
        found = gnomon.dependence(documents, cache=False).found
        for family in found.families:
            first = family[0]
            wide = np.array(first.period_interval) * first.harmonic
            true = min((44, 57, 83), key=lambda width: abs(width - first.fundamental))
            kept, held = kept + 1, held + bool(wide[0] <= true <= wide[1])
    assert kept >= 6
    assert held >= 0.9 * kept


def test_harmonics_that_fall_alike_are_one_period_of_closed_form(rng):
    """x_i is x_(i-13) with chance 0.6: poles z^13 = 0.6, all with one half-life."""
    tokens = rng.integers(20, size=(150, 760))
    for place in range(13, 760):
        again = rng.random(150) < 0.6
        tokens[:, place] = np.where(again, tokens[:, place - 13], tokens[:, place])
    found = dependence(lag_kernel(tokens[:, 260:], lags=128))
    assert len(found.periods) == 1
    assert found.periods[0] == pytest.approx(13.0, rel=0.005)
    lives = [mode.half_life for mode in found.modes]
    assert lives == pytest.approx([13.0 * np.log(0.5) / np.log(0.6)] * len(lives), rel=0.1)
