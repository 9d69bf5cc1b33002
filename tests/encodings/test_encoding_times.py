"""Encodings of times: periods, half-lives and linear vectors, at uneven and at large times."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from gnomon import oracle
from gnomon.encodings.additive import Ctlpe
from gnomon.encodings.biases.linear import DecayTime
from gnomon.encodings.positions import UNITS, unit_of
from gnomon.encodings.registry import encoding
from gnomon.encodings.rotary.axes import RopeTime
from gnomon.errors import EncodingError

DAY = 86400.0
EVENTS = 1.7e9 + np.array([0.0, 0.125, 1.5, 61.75, 3600.5, 86399.25, 2.5e6, 3.1e7 + 0.375])
"""Uneven times within a year, in seconds since 1970; their fractions are exact in binary."""


def test_periods_of_the_usual_ladder_give_rotary_encoding(rng):
    """base^(-2k/d), k < d/2, are the frequencies of periods from 2 pi to 2 pi base^((d-2)/d)."""
    d, base = 8, 10000.0
    made = RopeTime(dimension=d, shortest=2 * math.pi, longest=2 * math.pi * base ** ((d - 2) / d))
    q, k = rng.normal(size=(2, 30, d))
    for found, wanted in zip(
        made.transform(q, k, np.arange(30)),
        encoding("rope", dimension=d, base=base).transform(q, k, np.arange(30)),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_events_whole_periods_apart_are_turned_alike(rng):
    made = RopeTime(dimension=4, shortest=1.0, longest=7.0, unit="day")
    x = rng.normal(size=(3, 4))
    week = np.array([0.0, 1.0, 52.0]) * 7 * DAY
    first, _ = made.transform(x, x, EVENTS[:3])
    later, _ = made.transform(x, x, EVENTS[:3] + week)
    np.testing.assert_allclose(later, first, rtol=0, atol=1e-9)
    half, _ = made.transform(x, x, EVENTS[:3] + 0.5 * DAY)
    np.testing.assert_allclose(half[:, :2], -first[:, :2], rtol=0, atol=1e-9)


def test_scores_depend_on_the_time_between_events_alone(rng):
    for made in (
        RopeTime(dimension=8, shortest=1.0, longest=365.0, unit="day"),
        DecayTime(heads=1, shortest=2.0, longest=9.0, unit="day"),
    ):
        q, k = rng.normal(size=(2, 1, len(EVENTS), 8))
        near, far = (made.scores(q, k, EVENTS - origin) for origin in (1.7e9, 0.0))
        np.testing.assert_allclose(far, near, rtol=1e-8, atol=1e-8)


def in_every_library(made, call, *arrays):
    """The same call in NumPy, PyTorch and JAX, the last without float64; as NumPy arrays."""
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    limbs = pytest.importorskip("gnomon.jax").split
    narrow = [x.astype(np.float32) for x in arrays]
    found = {"numpy": call(made, *arrays, EVENTS)}
    found["torch"] = call(made, *(torch.asarray(x) for x in narrow), torch.asarray(EVENTS))
    found["jax"] = call(made, *(jnp.asarray(x) for x in narrow), limbs(EVENTS))
    return {library: np.asarray(value, dtype=np.float64) for library, value in found.items()}


def test_timestamps_turn_as_60_digits_do(rng):
    """Float64 to 1e-9 for a period of half an hour; float32 vectors to their last bits."""
    pytest.importorskip("mpmath")
    made = RopeTime(dimension=8, shortest=0.5, longest=24 * 365.0, unit="hour")
    x = rng.normal(size=(len(EVENTS), 8)).astype(np.float32).astype(np.float64)
    wanted = [
        [float(v) for v in oracle.apply(made, row, at)] for row, at in zip(x, EVENTS, strict=True)
    ]
    found = in_every_library(made, lambda e, y, at: e.transform(y, y, at)[0], x)
    for library, tolerance in (("numpy", 1e-8), ("torch", 1e-6), ("jax", 3e-6)):
        np.testing.assert_allclose(found[library], wanted, rtol=0, atol=tolerance)


def test_timestamps_decay_as_60_digits_do():
    pytest.importorskip("mpmath")
    made = DecayTime(heads=3, shortest=1.0, longest=400.0, unit="minute")
    wanted = [
        [[float(oracle.bias(made, i, j, head=h)) for j in EVENTS] for i in EVENTS] for h in range(3)
    ]
    found = in_every_library(made, lambda e, at: e.bias(at))
    for library, tolerance in (("numpy", 1e-15), ("torch", 1e-15), ("jax", 3e-7)):
        np.testing.assert_allclose(found[library], wanted, rtol=tolerance, atol=0)


def test_a_key_one_half_life_older_has_half_of_the_weight():
    made = DecayTime(half_lives=(1.0, 30.0), unit="day")
    for head, days in enumerate((1.0, 30.0)):
        bias = made.bias([1.7e9], [1.7e9 - 5.0, 1.7e9 - 5.0 - days * DAY])[head, 0]
        assert math.isclose(math.exp(bias[1] - bias[0]), 0.5, rel_tol=1e-12)


def test_half_lives_of_the_published_slopes_give_alibi():
    alibi = encoding("alibi", heads=5)
    lives = tuple(math.log(2.0) / slope for slope in alibi.slopes)
    at = np.arange(40)
    np.testing.assert_allclose(DecayTime(half_lives=lives).bias(at), alibi.bias(at), rtol=1e-14)
    both = DecayTime(half_lives=lives, symmetric=True)
    wanted = encoding("alibi", heads=5, symmetric=True).bias(at)
    np.testing.assert_allclose(both.bias(at), wanted, rtol=1e-14)


def test_factors_of_rank_two_give_the_decay_at_timestamps():
    made = DecayTime(heads=3, shortest=1.0, longest=30.0, unit="day")
    at = EVENTS[:, None]
    sides = [
        made.bias_factors(at, made.numbers, side=side, reference=1.7e9, xp=np) for side in "qk"
    ]
    assert sides[0].shape == (3, len(EVENTS), made.bias_rank)
    found = sides[0] @ np.swapaxes(sides[1], -1, -2)
    np.testing.assert_allclose(found, made.bias(EVENTS), rtol=1e-12, atol=1e-12)
    symmetric = DecayTime(heads=3, shortest=1.0, longest=30.0, symmetric=True)
    assert symmetric.bias_rank is None
    with pytest.raises(EncodingError, match=r"symmetric 'decay-time' has no finite rank; pass sym"):
        symmetric.bias_factors(at, symmetric.numbers, side="q", xp=np)


def test_ladders_are_geometric_between_their_ends():
    made = DecayTime(heads=4, shortest=3.0, longest=81.0)
    np.testing.assert_allclose(made.lives, [3.0, 9.0, 27.0, 81.0], rtol=1e-15)
    assert DecayTime(heads=1, shortest=3.0, longest=81.0).lives == (3.0,)
    periods = RopeTime(dimension=6, shortest=2.0, longest=50.0, unit=10).periods
    np.testing.assert_allclose(periods, [20.0, 100.0, 500.0], rtol=1e-15)


def test_equal_times_apart_are_equal_vectors_apart():
    made = Ctlpe(dimension=5, origin=1.7e9, unit="hour", seed=2)
    at = np.array([0.0, 900.0, 1800.0, 86400.0]) + 1.7e9
    vectors = made.vectors(at)
    np.testing.assert_allclose(vectors[2] - vectors[1], vectors[1] - vectors[0], rtol=1e-12)
    np.testing.assert_allclose(vectors[3] - vectors[0], 24 * made.slope, rtol=1e-12)
    np.testing.assert_array_equal(vectors[0], made.offset)


def test_units_are_those_of_the_calendar():
    """A Gregorian cycle of 400 years has 146097 days."""
    assert UNITS["year"] * 400 == 146097 * UNITS["day"]
    assert unit_of("week") == 7 * 24 * unit_of("hour")
    assert unit_of("minute") == 60 * unit_of("second")


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        (
            "rope-time",
            {"unit": "days"},
            r"There is no unit 'days': did you mean 'day'\? Known: day,",
        ),
        ("rope-time", {"unit": 0}, r"unit is 0; pass a finite number above 0\."),
        ("rope-time", {"shortest": 9.0}, r"shortest is 9\.0 and longest 8\.0; pass a longest that"),
        ("rope-time", {"shortest": 0.0}, r"shortest is 0\.0; pass a finite number above 0\."),
        ("rope-time", {"dimension": 7}, r"dimension is 7; pass a multiple of 2, two per pair\."),
        ("rope-time", {"axes": 2}, r"'rope-time' has positions on one axis; pass axes=1"),
        ("decay-time", {"longest": None}, r"needs half-lives; pass half_lives=\(...\), or heads,"),
        ("decay-time", {"half_lives": (1.0,)}, r"heads is 2 and half_lives has 1 entries; pass on"),
        ("decay-time", {"half_lives": (1.0, 2.0)}, r"half_lives are given, and a shortest or long"),
        ("decay-time", {"half_lives": (1.0, -2.0)}, r"half_lives is -2\.0; pass a finite number a"),
        ("ctlpe", {"origin": math.nan}, r"origin is nan; pass a finite number\."),
        ("ctlpe", {"slope": [1.0]}, r"slope has shape \(1,\); pass finite numbers of shape \(6"),
    ],
)
def test_times_that_make_no_sense_are_refused(name, given, said):
    usual = {
        "rope-time": {"dimension": 6, "shortest": 1.0, "longest": 8.0},
        "decay-time": {"heads": 2, "shortest": 1.0, "longest": 8.0},
        "ctlpe": {"dimension": 6},
    }
    with pytest.raises(EncodingError, match=said):
        encoding(name, **{**usual[name], **given})


def test_the_symmetric_decay_sees_keys_on_both_sides_and_the_causal_one_does_not(rng):
    q, k = rng.normal(size=(2, 1, 4, 2))
    at = np.array([0.0, 1.0, 5.0, 6.0])
    both = encoding("decay-time", half_lives=(2.0,), symmetric=True)
    assert not both.card.causal_only
    apart = np.abs(np.subtract.outer(at, at))
    wanted = q[0] @ k[0].T - math.log(2.0) * apart / 2.0
    np.testing.assert_allclose(both.scores(q, k, at)[0], wanted, rtol=1e-13, atol=1e-13)
    causal = encoding("decay-time", half_lives=(2.0,)).scores(q, k, at)[0]
    np.testing.assert_array_equal(np.isneginf(causal), np.triu(np.ones((4, 4)), 1) > 0)


@pytest.mark.parametrize("name", ["rope-time", "xpos", "jordan", "rope"])
def test_scores_at_epoch_seconds_keep_the_precision_of_lags(name, rng):
    """Times that float64 holds exactly; the same logits from an origin near them, by the oracle."""
    more = {"unit": "second", "shortest": 0.01, "longest": 1e6} if name == "rope-time" else {}
    which = encoding(name, dimension=8, **more)
    times = np.array([0.0, 0.125, 1.5, 360.25, 864.0625])
    q, k = rng.normal(size=(2, 5, 8))
    wanted = np.array(oracle.scores(which, q, k, times), dtype=float)
    for found in (
        which.scores(q, k, 1.7e9 + times),
        which.scores(torch.tensor(q), torch.tensor(k), torch.tensor(1.7e9 + times)).numpy(),
    ):
        seen = np.isfinite(wanted)
        np.testing.assert_array_equal(np.isfinite(found), seen)
        np.testing.assert_allclose(found[seen], wanted[seen], atol=1e-8)


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        (np.array([1.7e9, 1.7e9 + 1], dtype=np.float32), "1.7e\\+09 as float32, .* up to 16777216"),
        (torch.tensor([300.0, 301.0], dtype=torch.bfloat16), "300 as torch.bfloat16, .* up to 256"),
    ],
)
def test_positions_that_their_type_has_rounded_are_refused(positions, said):
    q = positions.repeat(4).reshape(2, 4) * 0 + 1
    with pytest.raises(EncodingError, match=said):
        encoding("rope", dimension=4).scores(q, q, positions)
