"""Linearity is asked of short and of long vectors: clipping, caps and steps lie in between."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon

D = 8
RATES = 10000.0 ** (-np.arange(4) / 4)


def turned(x, at):
    phases = np.asarray(at, dtype=float)[:, None] * RATES
    a, b = x[:, :4], x[:, 4:]
    cosine, sine = np.cos(phases), np.sin(phases)
    return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1)


def logits(q, k, t, s):
    return turned(q, t) @ turned(k, s).T


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("most", [2.0, 6.0, 8.0, 20.0, 50.0])
def test_vectors_that_are_clipped_are_not_linear(most, seed):
    clipped = lambda x, at: turned(np.clip(x, -most, most), at)
    found = gnomon.verify(clipped, dimension=D, seed=seed)
    assert not found.laws["linearity"].holds
    assert found.level.startswith("L2")
    assert not found.holds


@pytest.mark.parametrize("cap", [np.clip, lambda z, _, high: high * np.tanh(z / high)])
@pytest.mark.parametrize("most", [6.0, 50.0, 500.0])
def test_logits_that_are_capped_are_not_linear_and_of_no_fixed_features(most, cap):
    found = gnomon.verify(lambda *asked: cap(logits(*asked), -most, most), dimension=D, logits=True)
    assert not found.laws["linearity"].holds
    assert found.level.startswith("L7")


def test_vectors_that_are_rounded_to_steps_are_not_linear():
    grid = lambda x, at: turned(np.round(x * 2.0**20) / 2.0**20, at)
    assert not gnomon.verify(grid, dimension=D, tolerance=1e-5).laws["linearity"].holds


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_linear_maps_of_any_type_are_linear_at_all_sizes(dtype):
    found = gnomon.verify(lambda x, at: turned(x, at).astype(dtype), dimension=D, reach=64)
    assert found.laws["linearity"].holds
    assert found.laws["affine"].holds
    low, one, high = found.asked.sizes
    assert low < one < high
    assert f"linearity at vectors times {low:.4g}, 1 and {high:.4g}" in found.text()


def test_a_mask_that_is_a_number_bounds_how_long_vectors_are():
    def windowed(q, k, t, s):
        lag = np.asarray(t)[:, None] - np.asarray(s)[None, :]
        return np.where((lag >= 0) & (lag < 128), logits(q, k, t, s), -1e4)

    found = gnomon.verify(windowed, dimension=D, logits=True, causal=True)
    assert found.level == "L0 strict group"
    assert 1.0 < found.asked.sizes[-1] < 1e3


def infinite_at(lag):
    def made(q, k, t, s):
        at = np.asarray(t)[:, None] - np.asarray(s)[None, :]
        return np.where(at == lag, np.inf, logits(q, k, t, s))

    return made


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lag", [0, 1, 3, 100, 1234])
def test_a_lag_that_is_infinite_takes_the_group_away_and_makes_no_traceback(lag, causal):
    found = gnomon.verify(infinite_at(lag), dimension=D, logits=True, whole=True, causal=causal)
    assert found.level.startswith("L5")
    assert not found.holds


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(-10, 300, "below -10 "), (-100, 200, "below -100 "), (-300, 10, "above 10 ")],
)
def test_windows_that_see_more_of_one_side_are_judged_up_to_the_shorter(low, high, said, seed):
    def windowed(q, k, t, s):
        lag = np.asarray(t)[:, None] - np.asarray(s)[None, :]
        return np.where((lag >= low) & (lag <= high), logits(q, k, t, s), -np.inf)

    found = gnomon.verify(windowed, dimension=D, logits=True, seed=seed)
    assert (found.level, found.rank) == ("L0 strict group", 8)
    assert said in found.warnings[0]


def test_nan_at_one_pair_is_placed_and_the_advice_is_of_use():
    def broken(q, k, t, s):
        away = (np.asarray(t)[:, None] == 0) & (np.asarray(s)[None, :] == 0)
        return np.where(away, np.nan, logits(q, k, t, s))

    with pytest.raises(
        gnomon.GnomonError, match="NaN for a query at 0 and a key at 0, and numbers"
    ):
        gnomon.verify(broken, dimension=D, logits=True, whole=True)
