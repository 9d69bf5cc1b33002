"""Encodings from the modes and the tail of a corpus: heads, room and slopes."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.errors import EncodingError
from gnomon.lags.modes import Dependence, Mode
from gnomon.lags.tails import DecayLaw
from gnomon.pipeline.lag_groups import _apportion, _share_out, fit_group, fit_slopes, slopes_of

NONE = DecayLaw(law="none", reason="no dependence is detected at any lag")


def mode(period=float("inf"), half_life=float("inf"), amplitude=1.0):
    return Mode(
        period=period,
        period_interval=None,
        half_life=half_life,
        half_life_interval=None,
        amplitude=amplitude,
    )


def found(*modes, lags=128):
    order = sorted(modes, key=lambda one: -one.amplitude)
    return Dependence(modes=tuple(order), rank=len(modes), lags=lags, largest_error=0.0)


def test_scores_of_a_head_are_the_sum_of_its_modes():
    """With q = k = 1 on the first of each pair: sum of 2^(-t / life) cos(2 pi t / period)."""
    made = fit_group(found(mode(7.0, 20.0, 3.0), mode(half_life=5.0, amplitude=2.0)), dimension=4)
    q = np.array([[1.0, 0.0, 1.0, 0.0]])
    for lag in (0.0, 3.0, 12.0):
        wanted = 2 ** (-lag / 20) * np.cos(2 * np.pi * lag / 7) + 2 ** (-lag / 5)
        assert made.scores(q, q, [lag], [0.0])[0, 0] == pytest.approx(wanted, rel=1e-9)


def test_room_goes_to_modes_by_their_amplitudes_so_that_the_trace_is_the_kernel():
    modes = [mode(10.0, 50.0, 6.0), mode(4.0, 30.0, 3.0), mode(half_life=8.0, amplitude=1.0)]
    pairs = _apportion(modes, 20)
    numbers = [sum(one is other for one in pairs) for other in modes]
    assert numbers == [12, 6, 2]


def test_a_head_without_room_keeps_the_strongest_modes():
    modes = [mode(10.0, amplitude=1.0), mode(4.0, amplitude=3.0), mode(5.0, amplitude=2.0)]
    assert [one.period for one in _apportion(modes, 2)] == [4.0, 5.0]


def test_heads_have_bands_of_half_lives_the_shortest_first():
    modes = [mode(half_life=life) for life in (40.0, 5.0, 20.0, 10.0, 80.0, 2.0)]
    bands = [[one.half_life for one in band] for band in _share_out(modes, 3)]
    assert bands == [[2.0, 5.0], [10.0, 20.0], [40.0, 80.0]]
    made = fit_group(found(*modes), dimension=4, heads=3)
    lives = np.log(2.0) / -made.rates
    np.testing.assert_allclose(np.sort(lives, axis=1), bands, rtol=1e-9)


def test_neighbouring_heads_share_a_mode_where_there_are_few():
    bands = _share_out([mode(half_life=9.0), mode(half_life=3.0)], 5)
    assert [band[0].half_life for band in bands] == [3.0, 3.0, 3.0, 9.0, 9.0]


@pytest.mark.parametrize("heads", [None, 4])
def test_every_fitted_group_is_stable_at_any_lag(heads, rng):
    modes = [mode(61.0 / h, amplitude=1.0 / h) for h in range(1, 9)]
    made = fit_group(found(*modes), dimension=16, heads=heads)
    assert (made.rates < 0.0).all()
    q = rng.normal(size=(16,) if heads is None else (4, 1, 16)).reshape(-1, 1, 16)
    far = made.scores(q, q, [1e7], [0.0]) if heads else made.scores(q[0], q[0], [1e7], [0.0])
    assert np.abs(far).max() < 1e-100


def test_slopes_span_the_half_lives_of_the_modes_in_a_geometric_ladder():
    slopes = slopes_of(found(mode(half_life=2.0), mode(half_life=32.0)), NONE, reach=100, heads=5)
    np.testing.assert_allclose(slopes, np.log(2.0) / np.array([2.0, 4.0, 8.0, 16.0, 32.0]))


def test_slopes_of_a_power_law_are_its_rates_at_its_first_and_last_lag():
    """A logarithm of tau^(-p/2) falls by p / (2 tau) per token."""
    law = DecayLaw(law="power law", reason="", exponent=0.8, half_life=50.0, begins=2.0)
    slopes = slopes_of(found(), law, reach=100, heads=3)
    np.testing.assert_allclose(slopes, [0.2, np.sqrt(0.2 * 0.004), 0.004])


def test_slopes_of_an_exponential_are_half_the_rate_of_information_and_a_factor_of_4_wide():
    law = DecayLaw(law="exponential", reason="", exponent=2.0, half_life=5.0, begins=1.0)
    slopes = slopes_of(found(), law, reach=40, heads=3)
    np.testing.assert_allclose(slopes, np.log(2.0) / np.array([5.0, 10.0, 20.0]))
    assert slopes_of(found(), law, reach=40, heads=1) == (pytest.approx(np.log(2.0) / 10.0),)


def test_biases_have_the_slopes_and_nothing_that_falls_has_none():
    made = fit_slopes(found(mode(half_life=4.0)), NONE, reach=9, heads=2)
    slopes = slopes_of(found(mode(half_life=4.0)), NONE, reach=9, heads=2)
    np.testing.assert_allclose(made.bias([5], [3])[:, 0, 0], -2.0 * np.array(slopes))
    assert slopes_of(found(mode(10.0)), NONE, reach=9, heads=2) == ()
    with pytest.raises(EncodingError, match="Dependence does not fall with the lag in these doc"):
        fit_slopes(found(mode(10.0)), NONE, reach=9, heads=2)


def test_heads_and_dimensions_that_can_not_be_are_refused():
    with pytest.raises(EncodingError, match="dimension is 3"):
        fit_group(found(mode(10.0)), dimension=3)
    with pytest.raises(EncodingError, match="heads is 0"):
        fit_group(found(mode(10.0)), dimension=4, heads=0)
    with pytest.raises(EncodingError, match="heads is 0"):
        slopes_of(found(mode(10.0)), NONE, reach=1, heads=0)


@pytest.fixture(scope="module")
def structure():
    """Beats of four, and tokens that stay for a while."""
    rng = np.random.default_rng(0)
    documents = []
    for _ in range(48):
        held = np.maximum.accumulate(np.where(rng.random(200) < 0.8, 0, np.arange(200)))
        text = rng.integers(1, 6, size=200)[held]
        text[rng.integers(4) :: 4] = 0
        documents.append(text)
    return gnomon.dependence(documents, lags=32)


def test_a_structure_gives_groups_and_biases_by_name(structure):
    assert structure.encoding(8).card.name == "jordan"
    assert structure.encoding(8, heads=3).rates.shape == (3, 4)
    assert structure.encoding(family="alibi").slopes == pytest.approx(structure.slopes)
    assert len(structure.encoding(family="alibi", heads=3).slopes) == 3


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"family": "rope"}, "family is 'rope'; choose 'group' or 'alibi'"),
        ({}, "dimension is missing; pass the dimension of a head, an even number"),
        (
            {"family": "alibi", "dimension": 8},
            "dimension is 8 and biases of family 'alibi' have none; leave it out",
        ),
    ],
)
def test_what_no_structure_can_give_is_refused(structure, asked, sentence):
    with pytest.raises(EncodingError, match=sentence):
        structure.encoding(**asked)
