"""Biases compiled into coordinates: every error is measured again, from coordinates alone."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from gnomon.errors import GroupError
from gnomon.groups.compilation import compile_bias

LENGTH = 8192


def kerple(r1, r2):
    return lambda lags: -r1 * np.log1p(r2 * lags)


def sandwich(dimension):
    """Sum of cos(n theta_i) and its frequencies theta_i = 10000^(-2i / d), as Sandwich has it."""
    frequencies = 10_000.0 ** (-2.0 * np.arange(dimension // 2) / dimension)
    return lambda lags: np.cos(np.outer(lags, frequencies)).sum(axis=1), frequencies


def rows(bias, made, length):
    """Return the bias of the last query to every key, by formula and by coordinates."""
    places = np.arange(length)
    q, k = made.coordinates(places[-1:], places, over=(0, length - 1))
    return bias(length - 1.0 - places), (q @ k.T)[0]


@pytest.mark.parametrize(
    ("r1", "r2"),
    [
        (1.0, 1.0),
        (2.0, 0.1),
        *(
            pytest.param(r1, r2, marks=pytest.mark.wide)
            for r1 in (0.01, 0.5, 2.0)
            for r2 in (0.01, 0.3, 1.0)
        ),
    ],
)
def test_kerple_log_is_under_2e4_over_8192_lags_with_at_most_14_modes(r1, r2):
    made = compile_bias(kerple(r1, r2), length=LENGTH)
    assert made.modes <= 14
    assert made.kind == "decays"
    assert not made.frequencies.any()
    wanted, found = rows(kerple(r1, r2), made, LENGTH)
    assert np.abs(found - wanted).max() < 2e-4
    assert np.abs(found - wanted).max() == pytest.approx(made.largest_error, abs=1e-9)
    assert made.largest_error_float32 < 2.1e-4


def test_fourteen_modes_reach_kerple_log_a_hundred_times_closer_than_asked():
    made = compile_bias(kerple(1.0, 1.0), length=LENGTH, tolerance=2.5e-6)
    assert made.modes <= 14
    wanted, found = rows(kerple(1.0, 1.0), made, LENGTH)
    assert np.abs(found - wanted).max() <= 2.5e-6


@pytest.fixture(scope="module")
def steep():
    """KERPLE-log over 600 lags: its fastest decay needs several references over that length."""
    return compile_bias(kerple(1.0, 1.0), length=600)


def test_coordinates_give_the_bias_at_every_causal_pair(steep):
    places = np.arange(600)
    q, k = steep.coordinates(places, places)
    assert q.shape[1] == k.shape[1] == steep.width(600) > steep.modes
    lags = np.subtract.outer(places, places)
    errors = np.abs(q @ k.T - kerple(1.0, 1.0)(np.abs(lags)))[lags >= 0]
    assert errors.max() == pytest.approx(steep.largest_error, abs=1e-9)
    np.testing.assert_allclose(steep.at(places), (q @ k.T)[:, 0], atol=1e-9)


def test_coordinates_in_float32_keep_the_error_and_stay_finite_where_a_mask_removes(steep):
    places = np.arange(600)
    q, k = (x.astype(np.float32) for x in steep.coordinates(places, places))
    product = q @ k.T
    assert np.all(np.isfinite(product))
    lags = np.subtract.outer(places, places)
    errors = np.abs(product - kerple(1.0, 1.0)(np.abs(lags)))[lags >= 0]
    assert errors.max() < 1.5 * steep.largest_error_float32 + 1e-6
    assert steep.largest_error_float32 < 2e-4


def test_between_blocks_there_is_one_column_per_mode_and_no_factor_above_one(steep):
    queries, keys = np.arange(10**6 + 300, 10**6 + 500), np.arange(10**6, 10**6 + 300)
    q, k = steep.coordinates(queries, keys)
    assert q.shape == (200, steep.modes)
    assert q[:, steep.polynomial.size :].max() <= 1.0
    assert np.all(np.abs(k[:, steep.polynomial.size :]) <= np.abs(steep.weights))
    wanted = kerple(1.0, 1.0)(np.subtract.outer(queries, keys))
    assert np.abs(q @ k.T - wanted).max() <= steep.largest_error + 1e-9


def test_a_key_in_a_cache_keeps_its_coordinates(steep):
    places = np.arange(600)
    _, together = steep.coordinates(places, places, over=(0, 599))
    _, alone = steep.coordinates([400], [123], over=(0, 599))
    np.testing.assert_array_equal(alone[0], together[123])


def test_an_unmodified_attention_kernel_adds_the_bias(rng):
    torch = pytest.importorskip("torch")
    length, dimension = 256, 32
    bias = kerple(1.5, 0.5)
    made = compile_bias(bias, length=length)
    q, k, v = (rng.normal(size=(1, length, dimension)).astype(np.float32) for _ in range(3))
    places = np.arange(length)
    more_q, more_k = (x.astype(np.float32)[None] for x in made.coordinates(places, places))
    scale = dimension**-0.5
    attend = torch.nn.functional.scaled_dot_product_attention
    found = attend(
        torch.asarray(np.concatenate([q, more_q / np.float32(scale)], -1)),
        torch.asarray(np.concatenate([k, more_k], -1)),
        torch.asarray(v),
        is_causal=True,
        scale=scale,
    )
    lags = np.subtract.outer(places, places)
    added = np.where(lags >= 0, bias(np.abs(lags)), -np.inf).astype(np.float32)
    wanted = attend(*map(torch.asarray, (q, k, v)), attn_mask=torch.asarray(added), scale=scale)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=5e-4)


def test_alibi_is_exact_in_two_coordinates_and_one_under_softmax():
    slope = 2.0**-3
    made = compile_bias(lambda n: -slope * n, length=LENGTH)
    assert made.kind == "polynomial"
    assert made.modes == made.width(LENGTH) == 2
    assert made.largest_error < 1e-11
    places = np.arange(64)
    q, k = made.softmax_coordinates(places, places)
    assert q.shape == k.shape == (64, 1)
    wanted = -slope * np.subtract.outer(places, places)
    apart = q @ k.T - wanted
    np.testing.assert_allclose(apart - apart[:, :1], np.zeros((64, 64)), atol=1e-11)


def test_a_constant_costs_nothing_under_softmax():
    made = compile_bias(np.full(50, 3.0), length=50)
    assert made.modes == 1
    q, k = made.softmax_coordinates([4, 5], [0, 1, 2])
    assert q.shape == (2, 0)
    assert k.shape == (3, 0)


def test_sandwich_is_found_exactly_from_its_values():
    bias, frequencies = sandwich(16)
    made = compile_bias(bias, length=LENGTH, modes=16)
    assert made.kind == "realised"
    assert made.modes == made.width(LENGTH) == 16
    np.testing.assert_allclose(np.sort(made.frequencies), np.sort(frequencies), atol=1e-12)
    np.testing.assert_allclose(made.weights, np.ones(8), atol=1e-9)
    wanted, found = rows(bias, made, LENGTH)
    assert np.abs(found - wanted).max() < 1e-10


def test_sandwich_of_64_frequencies_is_exact_when_they_are_given():
    bias, frequencies = sandwich(128)
    made = compile_bias(bias, length=LENGTH, modes=128, rates=1j * frequencies)
    assert made.kind == "given"
    wanted, found = rows(bias, made, LENGTH)
    assert np.abs(found - wanted).max() < 1e-9


def test_the_example_of_realisation_compiles_to_its_four_modes():
    made = compile_bias(lambda n: -0.3 * n + 0.9**n * np.cos(0.5 * n), length=2048)
    assert made.kind == "realised"
    assert made.modes == 4
    assert made.largest_error < 1e-9
    np.testing.assert_allclose(made.polynomial, [0.0, -0.3 * 2047], atol=1e-7)
    np.testing.assert_allclose(made.rates, np.log(0.9), atol=1e-9)
    np.testing.assert_allclose(made.frequencies, 0.5, atol=1e-9)


def test_an_alternating_bias_compiles():
    made = compile_bias((-0.9) ** np.arange(100), length=100)
    places = np.arange(100)
    q, k = made.coordinates(places, places)
    lags = np.subtract.outer(places, places)
    errors = np.abs(q @ k.T - (-0.9) ** np.abs(lags))[lags >= 0]
    assert errors.max() < 1e-9


def test_a_smooth_bump_takes_damped_turns():
    def bump(lags):
        return np.exp(-np.square(lags / 60.0))

    made = compile_bias(bump, length=1000)
    assert made.kind == "damped"
    assert made.modes <= 8
    wanted, found = rows(bump, made, 1000)
    assert np.abs(found - wanted).max() < 2e-4


def test_the_bias_of_a_network_compiles():
    """A learned bias that is smooth: the one of x-transformers, a network of the log distance."""
    torch = pytest.importorskip("torch")
    peer = pytest.importorskip("x_transformers.x_transformers")
    torch.manual_seed(0)
    network = peer.DynamicPositionBias(dim=16, heads=1, depth=2, log_distance=True).double()
    with torch.no_grad():
        values = torch.log1p(torch.arange(1024.0, dtype=torch.float64))[:, None]
        for layer in network.mlp:
            values = layer(values)
    made = compile_bias(values[:, 0].numpy(), length=1024)
    assert made.modes <= 14
    assert np.abs(made.at(np.arange(1024)) - values[:, 0].numpy()).max() < 2e-4


def numbers_of(refusal):
    """Return the error reached and the bound that a refusal states."""
    text = str(refusal.value)
    return (float(re.search(f"{words} ([0-9.e-]+)", text)[1]) for words in ("reached to", "below"))


def test_the_bucket_table_of_t5_is_refused_with_the_error_it_could_reach():
    torch = pytest.importorskip("torch")
    t5 = pytest.importorskip("transformers.models.t5.modeling_t5")
    lags = torch.arange(2048)
    buckets = t5.T5Attention._relative_position_bucket(-lags, bidirectional=False).numpy()
    table = np.random.default_rng(0).normal(size=32)
    with pytest.raises(GroupError, match="With 14 modes the bias is reached to") as refusal:
        compile_bias(table[buckets], length=2048)
    reached, bound = numbers_of(refusal)
    assert 0.05 < bound < reached < 2.0


def test_a_random_table_is_refused(rng):
    values = rng.normal(size=256)
    with pytest.raises(GroupError, match="keep it as a bias on the logits") as refusal:
        compile_bias(values, length=256)
    reached, bound = numbers_of(refusal)
    assert 0.1 < bound < reached < np.abs(values).max() + 1e-9


def test_too_few_modes_are_refused_with_the_number_the_bias_has():
    with pytest.raises(GroupError, match=r"allow more modes \(its Hankel matrix shows 16\)"):
        compile_bias(sandwich(16)[0], length=2048, modes=4)


def test_a_bias_that_grows_is_refused_with_its_eigenvalue():
    with pytest.raises(GroupError, match=r"grows as e\^\(0\.01 n\), by the eigenvalue 1\.01005"):
        compile_bias(lambda n: np.exp(0.01 * n), length=512)


def test_the_result_is_plain_json(steep):
    made = json.loads(json.dumps(steep.to_dict(), allow_nan=False))
    assert made["modes"] == steep.modes
    assert len(made["rates"]) == len(made["weights"])


@pytest.mark.parametrize(
    ("bias", "options", "message"),
    [
        (np.ones(9), {"length": 1}, "length is 1; pass the number of lags"),
        (np.ones(9), {"length": 10}, r"shape \(9,\), and 10 lags are to be compiled"),
        (np.ones((2, 9)), {"length": 9}, "one head at a time"),
        (["a"], {"length": 9}, "The bias holds no real numbers .*; pass its values"),
        (lambda n: np.log(np.where(n > 3, np.inf, 1.0)), {"length": 9}, "not finite at lag 4"),
        (np.ones(9), {"length": 9, "modes": 0}, "modes is 0; pass a whole number"),
        (np.ones(9), {"length": 9, "tolerance": 0.0}, r"tolerance is 0\.0; pass an error above"),
        (np.ones(9), {"length": 9, "tolerance": np.nan}, "tolerance is nan; pass an error above"),
        (np.ones(9), {"length": 9, "rates": [0.1 + 1j]}, r"rate 0\.1\+1j has a real part above 0"),
        (np.ones(9), {"length": 9, "rates": []}, "rates have the shape"),
        (np.ones(9), {"length": 9, "rates": [1j], "modes": 1}, "rates given take 2 modes"),
    ],
)
def test_bad_biases_are_refused_in_one_sentence(bias, options, message):
    with pytest.raises(GroupError, match=message):
        compile_bias(bias, **options)


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        (([601], [0]), "601 positions after a key, and the bias was compiled for lags below 600"),
        (([], [0]), r"positions_q has the shape \(0,\)"),
        (([1], [[0]]), r"positions_k has the shape \(1, 1\)"),
        (([np.nan], [0]), "positions_q has the shape"),
    ],
)
def test_bad_positions_are_refused(steep, positions, message):
    with pytest.raises(GroupError, match=message):
        steep.coordinates(*positions)


def test_a_range_that_does_not_hold_the_positions_is_refused(steep):
    with pytest.raises(GroupError, match=r"over is \(0, 99\), and queries begin at 50 and keys"):
        steep.coordinates([50], [120], over=(0, 99))
