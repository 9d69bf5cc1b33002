"""Scalings of rotary encodings against their formulas in plain Python, and what they refuse."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.encodings.frequencies import (
    KNOWN,
    DynamicNtk,
    Llama3,
    LongRope,
    Yarn,
    magnitude,
    scaling,
)
from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.rope import Rope
from gnomon.encodings.rotary.variants import Proportional
from gnomon.errors import EncodingError

LISTS = {"short_factor": [1.0, 1.5], "long_factor": [2.0, 4.0], "original_length": 100}
ONE_OF_EACH = {
    "unscaled": {},
    "linear": {"factor": 4.0},
    "ntk": {"factor": 4.0},
    "dynamic": {"factor": 2.0, "original_length": 100, "length": 300},
    "yarn": {"factor": 4.0, "original_length": 4096},
    "longrope": LISTS,
    "llama3": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_length": 8192,
    },
}


def plain(dimension, base=10000.0):
    return [base ** (-2 * k / dimension) for k in range(dimension // 2)]


@settings(deadline=None, max_examples=40)
@given(pairs=st.integers(2, 64), factor=st.floats(1.0, 100.0), base=st.floats(10.0, 1e7))
def test_ntk_keeps_the_fastest_pair_and_slows_the_slowest_by_its_factor(pairs, factor, base):
    ours = encoding("rope-ntk", dimension=2 * pairs, base=base, factor=factor).frequencies[:, 0]
    unscaled = plain(2 * pairs, base)
    assert ours[0] == 1.0
    assert math.isclose(ours[-1], unscaled[-1] / factor, rel_tol=1e-12)
    assert (ours <= np.array(unscaled) * (1 + 1e-12)).all()


def test_linear_scaling_is_the_plain_encoding_at_positions_divided_by_the_factor(rng):
    q, k = rng.normal(size=(2, 9, 16))
    positions = np.arange(9)
    scaled = encoding("rope-linear", dimension=16, factor=3.0).scores(q, k, positions)
    wanted = encoding("rope", dimension=16).scores(q, k, positions / 3.0)
    np.testing.assert_allclose(scaled, wanted, atol=1e-12)


def test_dynamic_scaling_is_ntk_of_the_factor_that_the_length_asks_for():
    for length in (150, 1000):
        grown = 2.0 * length / 100 - 1.0
        made = {"dimension": 16, "factor": 2.0, "original_length": 100}
        ours = encoding("rope-dynamic", **made).at_length(length).frequencies
        wanted = encoding("rope-ntk", dimension=16, factor=grown).frequencies
        np.testing.assert_allclose(ours, wanted, rtol=1e-13)


def test_dynamic_scaling_changes_nothing_up_to_the_trained_length():
    made = encoding("rope-dynamic", dimension=16, factor=2.0, original_length=100)
    for given_length in (made, made.at_length(1), made.at_length(100)):
        np.testing.assert_array_equal(
            given_length.frequencies, encoding("rope", dimension=16).frequencies
        )


def test_cached_keys_of_dynamic_scaling_go_stale_and_its_card_says_so(rng):
    """A key turned at one length does not meet a query turned at a longer one."""
    q, k = rng.normal(size=(2, 1, 64))
    made = encoding("rope-dynamic", dimension=64, factor=2.0, original_length=100)
    early, late = made.at_length(150), made.at_length(400)
    _, cached = early.transform(q, k, [140])
    query, fresh = late.transform(q, k, [390], [140])
    assert abs(query @ cached.T - query @ fresh.T).max() > 0.1
    assert not made.card.cacheable


@pytest.mark.parametrize("truncate", [True, False])
def test_yarn_blends_each_pair_by_its_turns_within_the_trained_length(truncate):
    dimension, base, factor, trained = 64, 10000.0, 4.0, 2048
    made = encoding(
        "rope-yarn",
        dimension=dimension,
        base=base,
        factor=factor,
        original_length=trained,
        truncate=truncate,
    )
    low, high = (
        dimension * math.log(trained / (2 * math.pi * turns)) / (2 * math.log(base))
        for turns in (32, 1)
    )
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    for k, w in enumerate(plain(dimension, base)):
        ramp = min(1.0, max(0.0, (k - low) / (high - low)))
        wanted = w / factor * ramp + w * (1 - ramp)
        assert math.isclose(made.frequencies[k, 0], wanted, rel_tol=1e-13)


def test_pairs_of_yarn_with_many_turns_are_kept_and_with_less_than_one_are_slowed():
    made = Rope(dimension=128, scaling=Yarn(factor=8.0, original_length=4096))
    ratios = made.frequencies[:, 0] / np.array(plain(128))
    turns = 4096 * np.array(plain(128)) / (2 * math.pi)
    # One pair of slack on each side: the ends of the ramp are rounded outwards.
    np.testing.assert_allclose(ratios[turns > 40.0], 1.0, rtol=1e-12)
    np.testing.assert_allclose(ratios[turns < 0.8], 1 / 8.0, rtol=1e-12)
    assert (np.diff(ratios) <= 1e-12).all()


def test_the_attention_factor_multiplies_logits_by_its_square(rng):
    q, k = rng.normal(size=(2, 5, 16))
    made = {"dimension": 16, "factor": 4.0, "original_length": 64}
    plain_factor = encoding("rope-yarn", **made, attention=1.0).scores(q, k, range(5))
    with_factor = encoding("rope-yarn", **made).scores(q, k, range(5))
    np.testing.assert_allclose(
        with_factor, plain_factor * (0.1 * math.log(4.0) + 1.0) ** 2, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, 0.1 * math.log(40) + 1),
        ({"mscale": 1.0, "mscale_all_dim": 1.0}, 1.0),
        (
            {"mscale": 2.0, "mscale_all_dim": 0.5},
            (0.2 * math.log(40) + 1) / (0.05 * math.log(40) + 1),
        ),
        ({"mscale": 0.0, "mscale_all_dim": 1.0}, 0.1 * math.log(40) + 1),
        ({"attention": 0.7}, 0.7),
    ],
)
def test_magnitudes_of_yarn_follow_the_paper_or_deepseek(given, wanted):
    made = Yarn(factor=40.0, original_length=4096, **given)
    assert math.isclose(made.attention_factor, wanted, rel_tol=1e-15)


def test_a_magnitude_of_no_growth_is_one():
    assert magnitude(1.0, 5.0) == magnitude(0.5) == 1.0


def test_longrope_divides_each_pair_by_its_own_factor_and_switches_after_the_trained_length():
    made = Rope(dimension=4, base=100.0, scaling=LongRope(**LISTS))
    for length, factors in ((None, (1.0, 1.5)), (100, (1.0, 1.5)), (101, (2.0, 4.0))):
        at = made if length is None else made.at_length(length)
        np.testing.assert_allclose(
            at.frequencies[:, 0], [1.0 / factors[0], 0.1 / factors[1]], rtol=1e-15
        )


def test_the_attention_factor_of_longrope_grows_with_the_root_of_logarithms():
    made = LongRope(**LISTS, factor=16.0)
    assert math.isclose(made.attention_factor, math.sqrt(1 + math.log(16) / math.log(100)))
    assert LongRope(**LISTS).attention_factor == 1.0
    assert LongRope(**LISTS, factor=0.5).attention_factor == 1.0
    assert LongRope(**LISTS, factor=16.0, attention=1.3).attention_factor == 1.3


def test_llama3_keeps_short_wavelengths_and_slows_long_ones():
    trained, low, high, factor = 8192, 1.0, 4.0, 8.0
    made = Llama3(
        factor=factor, low_freq_factor=low, high_freq_factor=high, original_length=trained
    )
    ours = Rope(dimension=128, base=500000.0, scaling=made).frequencies[:, 0]
    for w, found in zip(plain(128, 500000.0), ours, strict=True):
        wavelength = 2 * math.pi / w
        if wavelength < trained / high:
            wanted = w
        elif wavelength > trained / low:
            wanted = w / factor
        else:
            share = (trained / wavelength - low) / (high - low)
            wanted = (1 - share) * w / factor + share * w
        assert math.isclose(found, wanted, rel_tol=1e-13)
    assert len({round(float(r), 6) for r in ours / np.array(plain(128, 500000.0))}) > 2


def test_proportional_turns_the_fast_pairs_of_the_whole_ladder_and_leaves_the_rest(rng):
    made = Proportional(dimension=64, base=1e6, fraction=0.25, layout="half")
    frequencies = made.frequencies[:, 0]
    np.testing.assert_allclose(frequencies[:8], plain(64, 1e6)[:8], rtol=1e-14)
    np.testing.assert_array_equal(frequencies[8:], 0.0)
    q = rng.normal(size=(1, 64))
    turned, _ = made.transform(q, q, [12345])
    still = np.r_[8:32, 40:64]
    np.testing.assert_array_equal(turned[0, still], q[0, still])
    assert (np.abs(turned - q)[0, :8] > 1e-6).any()


def test_proportional_with_all_pairs_is_linear_scaling():
    ours = Proportional(dimension=64, fraction=1.0, factor=4.0).frequencies
    np.testing.assert_array_equal(
        ours, encoding("rope-linear", dimension=64, factor=4.0).frequencies
    )


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_scaling_written_down_is_read_back_as_the_same_value(name):
    value = scaling(name, **ONE_OF_EACH[name])
    assert scaling(**value.parameters) == value
    assert hash(scaling(**value.parameters)) == hash(value)
    dimension = 4 if name == "longrope" else 64
    made = Rope(dimension=dimension, scaling=value)
    again = Rope(**made.parameters)
    np.testing.assert_array_equal(made.frequencies, again.frequencies)
    assert again.scaling == value


@pytest.mark.parametrize("name", sorted(set(KNOWN) - {"unscaled", "longrope"}))
def test_a_scaling_acts_on_the_ladder_of_each_axis(name):
    value = scaling(name, **ONE_OF_EACH[name])
    line = Rope(dimension=32, scaling=value).frequencies
    grid = Rope(dimension=64, axes=2, scaling=value).frequencies
    np.testing.assert_array_equal(grid[:16, :1], line)
    np.testing.assert_array_equal(grid[16:, 1:], line)
    assert not grid[:16, 1].any()
    assert not grid[16:, 0].any()


@pytest.mark.parametrize("name", sorted(set(KNOWN) - {"unscaled"}))
def test_a_scaled_encoding_has_the_name_and_card_of_its_entry(name):
    dimension = 4 if name == "longrope" else 64
    made = Rope(dimension=dimension, scaling=scaling(name, **ONE_OF_EACH[name]))
    flat = encoding(f"rope-{name}", dimension=dimension, **ONE_OF_EACH[name])
    assert made.name == flat.name == f"rope-{name}"
    assert made.card.formula == flat.card.formula != encoding("rope", dimension=4).card.formula
    np.testing.assert_array_equal(made.frequencies, flat.frequencies)


def test_lists_of_factors_may_be_arrays():
    made = LongRope(**{**LISTS, "long_factor": np.array([2.0, 4.0])})
    assert made == LongRope(**LISTS)


def test_scalings_are_values_that_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DynamicNtk(factor=2.0, original_length=4).length = 8


REFUSED = [
    ({"name": "yaarn"}, r"There is no scaling 'yaarn': did you mean 'yarn'\?"),
    ({"name": "linear"}, r"The scaling 'linear' needs factor; pass factor=\.\.\. \."),
    (
        {"name": "linear", "factor": 2.0, "betafast": 1},
        r"The scaling 'linear' has no parameter 'betafast'",
    ),
    ({"name": "linear", "factor": 0}, r"factor is 0; pass a finite number above 0\."),
    ({"name": "ntk", "factor": math.nan}, r"factor is nan; pass a finite number above 0\."),
    (
        {"name": "dynamic", "factor": 2.0, "original_length": 0},
        r"original_length is 0; pass a whole number from 1 on\.",
    ),
    (
        {"name": "dynamic", "factor": 2.0, "original_length": 8, "length": 2.5},
        r"length is 2\.5; pass a whole number from 1 on\.",
    ),
    (
        {"name": "yarn", "factor": 2.0, "original_length": 8, "truncate": "no"},
        r"truncate is 'no'; pass True or False\.",
    ),
    (
        {"name": "yarn", "factor": 2.0, "original_length": 8, "beta_fast": 1, "beta_slow": 2},
        r"beta_fast is 1 and beta_slow 2; pass a beta_fast from beta_slow on",
    ),
    (
        {"name": "yarn", "factor": 2.0, "original_length": 8, "mscale": 0.7},
        r"mscale is 0\.7 and would be ignored, since mscale_all_dim is None; pass both or neither",
    ),
    (
        {"name": "yarn", "factor": 2.0, "original_length": 8, "attention": -1.0},
        r"attention is -1\.0; pass a finite number above 0\.",
    ),
    (
        {"name": "longrope", **LISTS, "short_factor": [1.0, 0.0]},
        r"short_factor\[1\] is 0\.0; pass a finite number above 0\.",
    ),
    (
        {"name": "longrope", **LISTS, "long_factor": 3.0},
        r"long_factor is 3\.0; pass a list of factors, one for each pair\.",
    ),
    (
        {"name": "longrope", **LISTS, "original_length": 1},
        r"original_length is 1; pass a whole number from 2 on\.",
    ),
    (
        {"name": "llama3", **ONE_OF_EACH["llama3"], "high_freq_factor": 0.5},
        r"low_freq_factor is 1 and high_freq_factor 0\.5; pass a high_freq_factor from low",
    ),
]


@pytest.mark.parametrize(("written", "sentence"), REFUSED)
def test_a_scaling_that_can_not_be_is_refused_in_words(written, sentence):
    with pytest.raises(EncodingError, match=sentence):
        Rope(dimension=4, scaling=written)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: Rope(dimension=2, scaling={"name": "ntk", "factor": 2.0}),
            r"2 coordinates turn on each axis, and the base of NTK scaling grows by the power",
        ),
        (
            lambda: Rope(dimension=8, scaling=LongRope(**LISTS)),
            r"short_factor holds 2 factors, but 4 pairs turn; pass one factor for each pair\.",
        ),
        (
            lambda: Rope(dimension=8, base=1.0, scaling=Yarn(factor=2.0, original_length=8)),
            r"base is 1, and YaRN counts turns along a ladder that falls; pass a base above 1\.",
        ),
        (
            lambda: Rope(dimension=8, scaling="yarn"),
            r"scaling is 'yarn'; pass a value such as Yarn\(\.\.\.\)",
        ),
        (
            lambda: Proportional(dimension=7),
            r"dimension is 7; pass a multiple of 2, they turn in pairs\.",
        ),
        (
            lambda: Proportional(dimension=8, fraction=1.5),
            r"fraction is 1\.5, with which 6 of 4 pairs turn; pass a number up to 1",
        ),
        (
            lambda: Proportional(dimension=8, fraction=0.1),
            r"fraction is 0\.1, with which 0 of 4 pairs turn",
        ),
        (
            lambda: Proportional(dimension=8, axes=2),
            r"axes is 2, and proportional rotary encoding has one axis; use rope for several\.",
        ),
        (
            lambda: encoding("rope-yarn", dimension=8, factor=2.0),
            r"The encoding 'rope-yarn' needs original_length; pass original_length=",
        ),
        (
            lambda: encoding("rope-linear", dimension=8, factor=2.0, scaling={}),
            r"The encoding 'rope-linear' has no parameter 'scaling'",
        ),
    ],
)
def test_an_encoding_that_its_scaling_does_not_fit_is_refused_in_words(make, sentence):
    with pytest.raises(EncodingError, match=sentence):
        make()
