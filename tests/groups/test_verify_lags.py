"""Certificates look at many lags: far ones, bands, octants, one entry of a table, and state."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon
from gnomon.groups.ranks import coefficients, unmet

D = 8
RATES = 10000.0 ** (-np.arange(4) / 4)
BASES = (1e4, 50.0, 7.0)


def turned(x, phases):
    a, b = x[:, :4], x[:, 4:]
    cosine, sine = np.cos(phases), np.sin(phases)
    return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1)


def rotary(x, at):
    at = at.reshape(len(at), -1)
    phases = [at[:, [j]] * BASES[j] ** (-np.arange(4) / 4) for j in range(at.shape[1])]
    return turned(x, sum(phases))


def lags(t, s):
    return t[:, None] - s[None, :]


def scaled(wrong):
    """Logits of rotary encoding, half as large again at some lags."""
    return lambda q, k, t, s: rotary(q, t) @ rotary(k, s).T * np.where(wrong(lags(t, s)), 1.5, 1.0)


def added(bias):
    return lambda q, k, t, s: rotary(q, t) @ rotary(k, s).T + bias(np.abs(lags(t, s)))


def asked(function, **how):
    return gnomon.verify(function, dimension=D, logits=True, **how)


FAR = {
    "beyond 30000": ({"reach": 40000}, lambda n: np.abs(n) > 30000),
    "the last quarter": ({}, lambda n: np.abs(n) > 3072),
    "the last half, from a power of two on": ({}, lambda n: np.abs(n) > 2047.99),
    "the last half of keys that come later": ({}, lambda n: n < -2047.99),
    "the last quarter, causal": ({"causal": True}, lambda n: n > 3072),
    "the last quarter, whole": ({"whole": True}, lambda n: np.abs(n) > 3072),
    "one lag": ({"whole": True, "causal": True}, lambda n: n == 1234),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("which", FAR)
def test_what_is_wrong_at_far_lags_is_no_group(which, seed):
    how, wrong = FAR[which]
    found = asked(scaled(wrong), seed=seed, **how)
    assert (found.level[:2], "group" in found.broken) == ("L5", True)


@pytest.mark.parametrize("seed", range(8))
def test_a_band_of_lags_that_is_wrong_is_found(seed):
    start = float(np.random.default_rng(seed).uniform(20.0, 4000.0))
    found = asked(scaled(lambda n: (np.abs(n) > start) & (np.abs(n) < start + 82.0)), seed=seed)
    assert found.level[:2] == "L5"


@pytest.mark.parametrize("seed", range(3))
def test_an_octant_of_lags_that_is_wrong_is_found(seed):
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=3)
    found = asked(scaled(lambda n: np.all(n * signs > 0.0, axis=-1)), axes=3, seed=seed)
    assert found.level[:2] == "L5"


@pytest.mark.parametrize("seed", range(3))
def test_lags_that_are_wrong_where_both_axes_are_far_are_found(seed):
    found = asked(scaled(lambda n: np.all(np.abs(n) > 2000.0, axis=-1)), axes=2, seed=seed)
    assert found.level[:2] == "L5"


def test_a_lag_that_is_clipped_far_away_is_no_group():
    def clipped(q, k, t, s):
        phases = np.minimum(lags(t, s), 2900.0)[..., None] * RATES
        along = q[:, None, :4] * k[None, :, :4] + q[:, None, 4:] * k[None, :, 4:]
        across = q[:, None, 4:] * k[None, :, :4] - q[:, None, :4] * k[None, :, 4:]
        return (along * np.cos(phases) + across * np.sin(phases)).sum(axis=-1)

    assert asked(clipped, causal=True, whole=True).level[:2] == "L5"


LATE = {
    "a step": lambda n: np.where(n < 512, 0.0, -5.0),
    "a step in slopes": lambda n: -0.05 * n - np.where(n < 512, 0.0, 5.0),
    "another slope": lambda n: -0.05 * n - 0.05 * np.maximum(n - 700.0, 0.0),
    "one entry": lambda n: -0.05 * n + (n == 1234),
}


@pytest.mark.parametrize("how", [{}, {"whole": True}])
@pytest.mark.parametrize("which", LATE)
def test_a_bias_that_changes_far_away_is_of_no_finite_rank(which, how):
    if which == "one entry" and not how:
        return  # a set of measure 0 among real lags
    found = asked(added(LATE[which]), causal=True, **how)
    assert found.level[:2] == "L5"
    assert not found.laws["rank"].holds


@pytest.mark.parametrize("how", [{}, {"whole": True}])
def test_a_bias_that_is_a_slope_stays_of_finite_rank(how):
    found = asked(added(lambda n: -0.05 * n), causal=True, **how)
    assert (found.level[:2], found.rank) == ("L1", 10)


@pytest.mark.parametrize("seed", range(3))
def test_the_recurrence_of_a_step_holds_of_what_it_makes_and_of_nothing_else(seed):
    rng = np.random.default_rng(seed)
    step = np.diag([1.0, 0.99]) + 0.1 * np.eye(2, k=1)
    values = np.array(
        [[1.0, 1.0] @ np.linalg.matrix_power(step, n) @ [0.5, 2.0] for n in range(400)]
    )
    assert unmet(values[None], step, floor=1e-4) < 1e-12
    values[int(rng.integers(10, 390))] += 1e-3 * np.abs(values).max()
    assert unmet(values[None], step, floor=1e-4) > 1e-4
    assert np.abs(coefficients(step)).max() == 1.0


def test_a_mask_of_ten_thousand_is_spoken_of_and_a_steep_slope_is_none():
    masked = asked(added(lambda n: np.where(n < 512, 0.0, -1e4)), causal=True)
    assert any("taken for a mask" in said for said in masked.warnings)
    steep = asked(added(lambda n: -4.0 * n), causal=True)
    assert not steep.warnings
    assert steep.level[:2] == "L1"


REAL = {
    "all but multiples of 1/64": lambda n: np.abs(64 * n - np.round(64 * n)) > 0.01,
    "two percent beside a third": lambda n: np.abs(n % 1 - 0.37) < 0.01,
    "one percent at an irrational period": lambda n: np.abs(n) * np.pi % 1 < 0.01,
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("which", REAL)
def test_a_fault_between_the_lags_of_a_lattice_is_no_group_and_of_no_rank(which, seed):
    """Before, lags were multiples of 1/64, and a fault between them was a level L1."""
    assert asked(scaled(REAL[which]), seed=seed).level[:2] == "L5"
    biased = asked(added(lambda n: -0.05 * n + 0.5 * REAL[which](n)), causal=True, seed=seed)
    assert biased.level[:2] == "L5"


GRIDS = {2: (31.0, [5, -9]), 3: (11.0, [2, -3, 1])}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("axes", GRIDS)
def test_one_lag_off_the_axes_of_a_small_grid_is_found(axes, causal):
    reach, lag = GRIDS[axes]
    lag = np.abs(lag) if causal else lag
    wrong = scaled(lambda n: (n == lag).all(axis=-1))
    found = asked(wrong, axes=axes, whole=True, reach=reach, causal=causal)
    assert "group" in found.broken


PLANES = {
    "tokens of one frame": lambda n: (n[..., 0] == 0) & (n[..., 1] != 0) & (n[..., 2] != 0),
    "tokens of one column": lambda n: (n[..., 2] == 0) & (n[..., 0] != 0) & (n[..., 1] != 0),
    "tokens of text": lambda n: (np.ptp(n, axis=-1) == 0) & (n[..., 0] != 0),
}


@pytest.mark.parametrize("which", PLANES)
def test_lags_in_planes_of_two_axes_and_on_diagonals_are_asked(which):
    assert {"group", "shift"} & set(asked(scaled(PLANES[which]), axes=3).broken)


def test_random_lags_are_uniform_and_on_no_lattice():
    """So many of them miss a share s with probability (1 - s)^n, as the certificate says."""
    seen = []

    def spy(q, k, t, s):
        seen.append(np.abs(lags(t, s)).ravel())
        return rotary(q, t) @ rotary(k, s).T

    found = asked(spy, causal=True).to_dict()["asked"]
    at = np.unique(np.concatenate(seen))
    between = at[(at * 2.0**14) % 1 != 0]
    assert len(between) >= found["random_lags"] == 512
    assert found["missed"]["lags"] == pytest.approx(0.99**512)
    assert found["missed"]["share"] == 0.01


@pytest.mark.parametrize("seed", range(20))
def test_a_fault_of_one_percent_is_missed_no_more_often_than_stated(seed):
    """Below 0.6 %: not once in 20 seeds, for bands anywhere in positions and in lags."""
    start = np.random.default_rng(seed).uniform(0.0, 4000.0)
    band = lambda n: (np.abs(n) > start) & (np.abs(n) < start + 41.0)
    assert "group" in asked(scaled(band), seed=seed).broken
    wrong = lambda x, at: np.where(band(at)[:, None], np.roll(x, 1, axis=1), rotary(x, at))
    assert "shift" in gnomon.verify(wrong, dimension=D, seed=seed).broken


def test_a_certificate_says_at_how_many_lags_and_how():
    found = gnomon.verify("rope")
    shown = found.to_dict()["asked"]
    assert shown["lags"] > 1000
    assert shown["farthest"] == 4095
    assert shown["negative"] is False
    line = (
        f"laws of the lag at {shown['lags']:,} lags up to 4095; none below 0, {shown['rows']} rows"
    )
    assert line in found.text()
    assert (
        "may be missed: a fault in 1% of positions with probability below 0.006, in 1% of lags "
        "with probability below 0.006, and one at a single point, lag or pair"
    ) in found.text()


def test_where_all_places_and_lags_were_asked_only_pairs_may_be_missed():
    found = gnomon.verify(rotary, dimension=D, whole=True, reach=512.0)
    assert found.asked.every
    assert found.asked.random_lags is None
    assert found.to_dict()["asked"]["missed"] is None
    assert found.text().count("may be missed") == 1
    assert "may be missed: a fault of single pairs" in found.text()


class Sticky:
    """Frequencies that change for good once a long position was seen."""

    longest = 0.0

    def __call__(self, x, at):
        self.longest = max(self.longest, float(at.max()))
        return turned(x, at[:, None] * RATES * (1.0 if self.longest < 2048 else 0.5))


class Alternating:
    count = 0

    def __call__(self, x, at):
        self.count += 1
        return turned(x, (at[:, None] + 0.5 * (self.count % 2)) * RATES)


class WarmingUp:
    count = 0

    def __call__(self, x, at):
        self.count += 1
        return turned(x, at[:, None] * RATES * (0.5 if self.count < 3 else 1.0))


@pytest.mark.parametrize("kind", [Sticky, Alternating, WarmingUp])
def test_answers_that_depend_on_earlier_calls_are_refused(kind):
    with pytest.raises(gnomon.GnomonError, match="depend on what was asked before"):
        gnomon.verify(kind(), dimension=D)


def test_positions_that_overflow_beyond_the_reach_get_advice_that_helps():
    def halved(x, at):
        with np.errstate(over="ignore", invalid="ignore"):
            return turned(x, at.astype(np.float16)[:, None].astype(np.float64) * RATES)

    with pytest.raises(gnomon.GnomonError, match="pass a reach below 4095"):
        gnomon.verify(halved, dimension=D, reach=4096)
    assert gnomon.verify(halved, dimension=D, reach=4094).level[:2] == "L6"
