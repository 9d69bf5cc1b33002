"""Sharp periods that are planted come back, each once; what is not sharp is not called so."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.lags.combs import combs
from gnomon.lags.kernel import LagKernel, jackknife_errors, lag_kernel
from gnomon.lags.modes import dependence


def letters(rng, length, types=60):
    """Letters 1, 2, ... by Zipf's law, in no order."""
    law = 1.0 / np.arange(1, types + 1)
    return rng.choice(types, p=law / law.sum(), size=length) + 1


def fixed_width(rng, width, *, documents=80, length=1500):
    """Lines of a width that end in a mark 0; documents begin anywhere in a line."""
    made = []
    for _ in range(documents):
        text, place = letters(rng, length), rng.uniform(0, width) + np.arange(length)
        text[np.floor((place + 1) / width) > np.floor(place / width)] = 0
        made.append(text)
    return made


def ragged(rng, low, high, *, documents=80, length=1500):
    """Lines of any length from low to high."""
    made = []
    for _ in range(documents):
        text = letters(rng, length)
        ends = np.cumsum(rng.integers(low, high + 1, size=length // low)) - rng.integers(low)
        text[ends[(ends >= 0) & (ends < length)]] = 0
        made.append(text)
    return made


def wrapped(rng, width, *, documents=120, length=1500):
    """Words with a blank 1 after each, broken into lines where the next word is too long."""
    made = []
    for _ in range(documents):
        text, used = [], int(rng.integers(width))
        for word in rng.integers(1, 11, size=length // 3):
            if used + word > width and text:
                text[-1], used = 0, 0
            text += [*rng.integers(2, 28, size=word).tolist(), 1]
            used += int(word) + 1
        made.append(np.array(text[:length]))
    return made


def shuffled(rng, *, documents=40, length=300):
    """Documents of different laws, their tokens in no order."""
    laws = rng.dirichlet(np.full(12, 0.4), size=documents)
    return [rng.choice(12, p=law, size=length) for law in laws]


def found_in(documents, lags=1024):
    return combs(lag_kernel(documents, lags=lags))


def interval(comb):
    """95 % of the period, from the jackknife of its frequency."""
    folds = len(comb.frequencies)
    spread = np.sqrt((folds - 1) * comb.frequencies.var())
    return 1.0 / (comb.frequency + 2.13 * spread), 1.0 / (comb.frequency - 2.13 * spread)


@pytest.mark.parametrize("width", [61.0, 80.0, 61.37])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_width_of_lines_comes_back_to_a_fiftieth_of_a_token(width, seed):
    kernel = lag_kernel(fixed_width(np.random.default_rng(seed), width), lags=1024)
    (comb,), rest = combs(kernel)
    assert 1.0 / comb.frequency == pytest.approx(width, abs=0.02)
    assert comb.rate == 0.0
    assert len(comb.harmonics) > width / 4
    assert np.abs(rest.values).max() < 0.5 * kernel.values.max()


@pytest.mark.wide
def test_intervals_of_widths_hold_them():
    """Of 60 periods that are no whole numbers, 51 or more: fewer have a chance of 0.1 %."""
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        width = float(rng.uniform(30.0, 70.0))
        (comb, *_), _ = found_in(fixed_width(rng, width, length=1000), lags=640)
        low, high = interval(comb)
        held += low <= width <= high
    assert held >= 51


def test_documents_of_two_widths_have_two_combs(rng):
    documents = fixed_width(rng, 61.0, documents=100) + fixed_width(rng, 80.0, documents=100)
    found, _ = found_in(documents)
    periods = sorted(1.0 / comb.frequency for comb in found)
    np.testing.assert_allclose(periods, [61.0, 80.0], atol=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_ragged_lines_have_no_sharp_period(seed):
    assert found_in(ragged(np.random.default_rng(seed), 40, 80))[0] == ()


def test_wrapped_words_have_the_mean_length_of_lines_and_do_not_last(rng):
    """Lines break between words: their lengths differ, so that the phase is soon forgotten."""
    documents = wrapped(rng, 61)
    found = dependence(lag_kernel(documents, lags=1024), lags=128)
    lengths = np.concatenate([np.diff(np.flatnonzero(text == 0)) for text in documents])
    slow = min(found.families, key=lambda family: abs(family[0].fundamental - lengths.mean()))[0]
    low, high = (slow.harmonic * end for end in slow.period_interval)
    assert low - 0.1 <= lengths.mean() <= high + 0.1
    assert high - low > 0.1
    assert np.isfinite(slow.half_life)


@pytest.mark.parametrize("period", [3, 7, 10, 12])
def test_a_period_is_not_taken_for_its_half_or_double(period):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        laws = rng.dirichlet(np.full(20, 0.5), size=period).cumsum(axis=1)
        rows = laws[(rng.integers(period, size=(100, 1)) + np.arange(300)) % period]
        documents = (rng.random((100, 300, 1)) > rows).sum(axis=2).clip(max=19)
        (comb,), _ = found_in(documents, lags=200)
        assert 1.0 / comb.frequency == pytest.approx(period, abs=0.02)


@pytest.mark.parametrize("period", [50, 75, 100])
def test_a_period_long_beside_the_lags_comes_back_and_not_its_parts(period):
    """Sixty documents of 600 tokens: 100 has a fundamental of 4 cells, among lines as close."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        laws = rng.dirichlet(np.full(8, 0.4), size=period).cumsum(axis=1)
        rows = laws[(rng.integers(period, size=(60, 1)) + np.arange(600)) % period]
        documents = (rng.random((60, 600, 1)) > rows).sum(axis=2).clip(max=7)
        found = dependence(lag_kernel(documents, lags=599), lags=128)
        assert found.periods == (pytest.approx(period, abs=0.05),)


def cyclic(rng, period, *, documents=150, length=400, types=16):
    laws = rng.dirichlet(np.full(types, 0.5), size=period).cumsum(axis=1)
    rows = laws[(rng.integers(period, size=(documents, 1)) + np.arange(length)) % period]
    return (rng.random((documents, length, 1)) > rows).sum(axis=2).clip(max=types - 1)


@pytest.mark.parametrize("pair", [(7, 12), (5, 9), (8, 11)])
def test_two_periods_that_are_mixed_are_those_two(pair):
    """Harmonics that both have were taken for a longer period: 14 or 28 for 7."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        one, other = (cyclic(rng, period) for period in pair)
        documents = np.where(rng.random(one.shape) < 0.5, one, other)
        found = dependence(lag_kernel(documents, lags=320), lags=128)
        np.testing.assert_allclose(sorted(found.periods), pair, rtol=0.005)


@pytest.mark.parametrize("pair", [(7, 12), (5, 8)])
def test_the_product_of_two_periods_is_said_to_be_that(pair):
    rng = np.random.default_rng(1)
    laws = np.ones((200, 600, 12))
    for period in pair:
        parts = rng.dirichlet(np.ones(12), size=period)
        laws *= parts[(rng.integers(period, size=(200, 1)) + np.arange(600)) % period]
    edges = (laws / laws.sum(axis=2, keepdims=True)).cumsum(axis=2)
    documents = (rng.random((200, 600, 1)) > edges).sum(axis=2).clip(max=11)
    found = dependence(lag_kernel(documents, lags=450), lags=128)
    np.testing.assert_allclose(sorted(found.periods), pair, rtol=0.005)
    sums = [mode for mode in found.modes if mode.product]
    assert sums
    assert all(sorted(np.rint(mode.product)) == list(pair) for mode in sums)


def test_measurements_in_turn_have_the_period_of_all_of_them():
    """Eight in turn, each with a day of 24 turns: 192 tokens, and no sideband is a period."""
    rng = np.random.default_rng(0)
    base = rng.dirichlet(np.ones(12), size=8)
    phases = rng.uniform(0.0, 2.0 * np.pi, (8, 12))
    place = rng.integers(192, size=(80, 1)) + np.arange(1500)
    angle = 2.0 * np.pi * ((place // 8) % 24) / 24
    laws = base[place % 8] * (1.0 + 0.6 * np.cos(angle[..., None] + phases[place % 8]))
    edges = (laws / laws.sum(axis=2, keepdims=True)).cumsum(axis=2)
    documents = (rng.random((80, 1500, 1)) > edges).sum(axis=2).clip(max=11)
    found = dependence(lag_kernel(documents, lags=1024), lags=128)
    assert found.periods == (pytest.approx(192.0, rel=0.005),)


@pytest.mark.parametrize("short", [3.0, 6.0, 12.0])
def test_a_longer_period_needs_harmonics_of_its_own(short):
    """Lines at 1, 2, ... of a period are it; with one of twice as long the longer is told."""
    lags = np.arange(1, 401)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        lines = np.arange(1, int(short) // 2 + 1) / short
        for extra, wanted in ((0.0, short), (0.02, 2.0 * short)):
            values = 0.02 * np.cos(2.0 * np.pi * np.outer(lags, lines)).sum(axis=1)
            values += extra * np.cos(2.0 * np.pi * lags / (2.0 * short))
            parts = values + 0.02 * rng.normal(size=(32, 400))
            left_out = (32 * parts.mean(axis=0) - parts) / 31
            kernel = LagKernel(
                lags=lags,
                values=parts.mean(axis=0),
                errors=jackknife_errors(left_out),
                shuffled=np.zeros(400),
                across=np.zeros(400),
                pairs=np.full(400, 10**6),
                replicates=left_out,
                documents=32,
            )
            (comb,), _ = combs(kernel)
            assert 1.0 / comb.frequency == pytest.approx(wanted, rel=0.005)


def test_no_comb_is_found_where_there_is_no_order():
    """At most one of 100 small corpora; a line is 5.5 standard deviations above the background."""
    alarms = [len(found_in(shuffled(np.random.default_rng(seed)), 256)[0]) for seed in range(100)]
    assert sum(alarms) <= 1


@pytest.mark.wide
def test_no_comb_is_found_in_four_hundred_corpora_without_order():
    alarms = [
        len(found_in(shuffled(np.random.default_rng(seed)), 256)[0]) for seed in range(100, 500)
    ]
    assert sum(alarms) <= 2


@pytest.mark.parametrize("share", [0.9, 0.98])
def test_what_only_falls_has_no_period(share, rng):
    """A token stays with a probability, or is drawn anew."""
    documents = []
    for _ in range(80):
        held = np.where(rng.random(1500) < share, 0, np.arange(1500))
        documents.append(rng.integers(8, size=1500)[np.maximum.accumulate(held)])
    assert found_in(documents)[0] == ()


def test_aligned_lines_are_a_law_of_positions(rng):
    """All documents begin with a line: where marks stand is known from the position alone."""
    documents = []
    for _ in range(80):
        text = letters(rng, 800)
        text[60::61] = 0
        documents.append(text)
    kernel = lag_kernel(documents, lags=512)
    assert combs(kernel)[0] == ()
    assert np.argmax(kernel.across[:100]) + 1 == 61


def test_few_lags_have_no_spectrum(rng):
    kernel = lag_kernel(fixed_width(rng, 4.0, documents=20, length=60), lags=30)
    found, rest = combs(kernel)
    assert found == ()
    assert rest is kernel


def test_the_modes_of_a_comb_are_its_harmonics_with_its_interval(rng):
    found = dependence(lag_kernel(fixed_width(rng, 61.0), lags=1024), lags=128)
    (family,) = found.families
    assert found.periods == (pytest.approx(61.0, abs=0.02),)
    for mode in family:
        assert mode.fundamental == pytest.approx(61.0, abs=0.02)
        low, high = mode.period_interval
        assert low <= mode.period <= high
        assert high - low < 0.02 / mode.harmonic
    # All marks are alike: each harmonic has the same part of the rate of marks.
    sizes = np.array([mode.amplitude for mode in family])
    assert sizes.mean() == pytest.approx(2.0 / 61**2, rel=0.1)


def smooth(rng, period, *, documents=200, length=256, types=6):
    """A law that turns with any period, in few harmonics; documents begin anywhere in it."""
    sizes = rng.normal(size=(2, types)) * 1.5
    turns = rng.random((documents, 1)) + np.arange(length) / period
    waves = np.stack([np.cos(2.0 * np.pi * turns), np.sin(2.0 * np.pi * turns)], axis=-1)
    laws = np.exp(waves @ sizes)
    laws /= laws.sum(axis=-1, keepdims=True)
    drawn = (rng.random((documents, length, 1)) > laws.cumsum(axis=-1)).sum(axis=-1)
    return drawn.clip(max=types - 1)


@pytest.mark.parametrize("period", [5.3, 6.2, 7.5])
def test_a_smooth_period_is_named_and_not_the_whole_one_it_divides(period):
    """Two periods of 7.5 tokens are 15, which has every line of it."""
    for seed in range(6):
        documents = smooth(np.random.default_rng([seed, 3]), period)
        found = dependence(lag_kernel(documents, lags=192), lags=64)
        assert found.periods[0] == pytest.approx(period, rel=0.004)
        assert not any(abs(one / period - k) < 0.02 for one in found.periods for k in (2, 3, 4, 5))


@pytest.mark.parametrize(("one", "other"), [(5.3, 14.1), (6.2, 17.9), (7.3, 22.4), (9.4, 26.1)])
def test_two_smooth_periods_are_named_and_not_a_longer_one_of_both(one, other):
    """8 / 42.4 and 3 / 42.4 are 1 / 5.3 and 1 / 14.1 within errors; 3 / 17.9 is beside 1 / 6.2."""
    for seed in range(4):
        rng = np.random.default_rng([seed, 2])
        first, second = smooth(rng, one), smooth(rng, other) + 10
        mixed = np.where(rng.random(first.shape) < 0.5, first, second)
        found = dependence(lag_kernel(mixed, lags=192), lags=64)
        assert sorted(found.periods[:2]) == pytest.approx([one, other], rel=0.005)
        assert not any(abs(named / one - 2.0) < 0.02 for named in found.periods)
        assert not any(abs(named / other - 3.0) < 0.02 for named in found.periods)
        lives = [mode.half_life_interval or (0.0, np.inf) for mode in found.modes]
        assert all(np.isinf(high) for _, high in lives)  # both last
