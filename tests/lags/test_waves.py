"""Damped waves: each stands by itself, no two are one, and a model that does not fit has none."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.lags.kernel import lag_kernel
from gnomon.lags.modes import dependence
from gnomon.lags.waves import waves_of
from support.lag_kernels import kernel_of_folds


def noisy(values, rng, *, noise=0.01, shared=0.0, folds=32):
    """A kernel whose errors at neighbouring lags are alike by `shared`, from so many folds."""
    lags = len(values)
    fresh = rng.normal(size=(folds, lags))
    for lag in range(1, lags):
        fresh[:, lag] = shared * fresh[:, lag - 1] + np.sqrt(1 - shared**2) * fresh[:, lag]
    parts = values + noise * np.sqrt(folds) * fresh
    return kernel_of_folds(parts)


def turning(rng, period, *, documents=300, length=128, types=12, size=0.6):
    """A law that turns smoothly with a period: one wave and no harmonics."""
    base = rng.dirichlet(np.full(types, 3.0))
    phases = rng.uniform(0.0, 2.0 * np.pi, types)
    place = rng.uniform(0.0, period, (documents, 1)) + np.arange(length)
    laws = base * (1.0 + size * np.cos(2.0 * np.pi * place[..., None] / period + phases))
    edges = (laws / laws.sum(axis=-1, keepdims=True)).cumsum(axis=-1)
    return (rng.random((documents, length, 1)) > edges).sum(axis=-1).clip(max=types - 1)


@pytest.mark.parametrize("period", [24.0, 17.3, 31.0])
def test_one_wave_is_one_period(period):
    """Twenty-four tokens in documents of 128 were 24 and 17.9, which cancelled."""
    for seed in range(4):
        found = dependence(lag_kernel(turning(np.random.default_rng(seed), period), lags=112))
        (own,) = found.periods
        assert own == pytest.approx(period, rel=0.01)
        assert found.fit.chi2_per_dof < 2.0
        assert found.fit.explained > 0.9
        assert not found.fit.poor


@pytest.mark.parametrize("shared", [0.0, 0.8, 0.95])
def test_noise_that_lags_share_has_no_modes(shared):
    """Errors at neighbouring lags that go together look like slow waves."""
    alarms = sum(
        len(waves_of(noisy(np.zeros(96), np.random.default_rng(seed), shared=shared)).steps) > 0
        for seed in range(40)
    )
    assert alarms <= 1


@pytest.mark.parametrize("life", [2.0, 12.0, 40.0])
def test_an_exponential_is_one_decay_with_its_half_life(life):
    lags = np.arange(1, 129)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        found = waves_of(noisy(0.5 * 2.0 ** (-lags / life) - 0.1, rng, shared=0.8))
        (step,) = found.steps
        assert step.imag == 0.0
        assert -np.log(2.0) / step.real == pytest.approx(life, rel=0.15)
        assert found.constant == pytest.approx(-0.1, abs=0.04)


def test_two_modes_that_lags_do_not_tell_apart_are_refused():
    lags = np.arange(1, 97)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        near = np.cos(2.0 * np.pi * lags / 24.0) * (1.0 + 0.2 * np.cos(2.0 * np.pi * lags / 300.0))
        found = waves_of(noisy(0.1 * near, rng, noise=0.004))
        turns = np.sort(found.steps.imag)
        assert np.all(np.diff(turns) >= 0.74 * 2.0 * np.pi / len(lags))


def test_a_mode_has_its_sign(rng):
    """Near tokens that avoid each other: a decay below 0."""
    lags = np.arange(1, 97)
    found = dependence(noisy(-0.1 * 2.0 ** (-lags / 5.0), rng, noise=0.002))
    (mode,) = found.modes
    assert mode.weight == pytest.approx(-mode.amplitude)
    np.testing.assert_allclose(mode.at(lags)[:10], -0.1 * 2.0 ** (-lags[:10] / 5.0), atol=0.01)


def test_modes_are_withheld_where_they_do_not_fit(rng):
    """Peaks at 16 and 24 and less than nothing at 8: no few turns and decays make that."""
    values = np.zeros(96)
    values[[15, 23, 31, 39]] = 0.36, 0.1, 0.13, 0.09
    values[7] = -0.07
    found = dependence(noisy(values, rng, noise=0.004))
    assert found.fit.poor
    assert found.fit.withheld > 0
    assert found.periods == ()
    assert all(mode.amplitude >= 2.0 * found.largest_error for mode in found.modes)
