"""Lines that are planted come back all at once, none twice, and none where nothing repeats."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.lags.spectrum import lines_of
from support.lag_kernels import kernel_of_folds


def kernel_of(values, rng, noise):
    """A kernel that is known, with noise that 16 folds share out."""
    folds, lags = 16, len(values)
    parts = values + noise * np.sqrt(folds) * rng.normal(size=(folds, lags))
    return kernel_of_folds(parts)


def waves(frequencies, sizes, lags=512):
    turns = 2.0 * np.pi * np.outer(np.arange(1, lags + 1), frequencies)
    return np.cos(turns) @ np.asarray(sizes)


@pytest.mark.parametrize("seed", range(4))
def test_frequencies_and_sizes_are_those_that_were_planted(seed):
    rng = np.random.default_rng(seed)
    true = np.sort(rng.choice(np.arange(8, 250, 7), size=9, replace=False) + rng.random(9)) / 512
    sizes = rng.uniform(0.2, 1.0, size=9)
    found, _ = lines_of(kernel_of(waves(true, sizes), rng, 0.02), least=30.0, faint=20.0)
    order = np.argsort(found.frequencies)
    assert len(found) == 9
    assert np.all(np.abs(found.frequencies[order] - true) <= found.errors[order])
    np.testing.assert_allclose(found.sizes[order], sizes, rtol=0.1)


def test_what_stands_closer_to_a_line_than_half_a_cell_is_no_line_of_its_own(rng):
    cell = 1.0 / 448
    beside = waves([0.2, 0.2 + 0.3 * cell], [1.0, 0.3])
    found, _ = lines_of(kernel_of(beside, rng, 0.01), least=30.0, faint=20.0)
    assert np.sum(np.abs(found.frequencies - 0.2) < 2.0 * cell) == 1


def test_two_lines_of_one_sign_are_told_apart_where_they_beat_within_the_lags(rng):
    cell = 1.0 / 448
    true = np.array([0.2, 0.2 + 0.8 * cell])
    found, _ = lines_of(kernel_of(waves(true, [1.0, 0.3]), rng, 0.01), least=30.0, faint=20.0)
    near = np.sort(found.frequencies[np.abs(found.frequencies - 0.2) < 2.0 * cell])
    assert near == pytest.approx(true, abs=0.2 * cell)


def test_noise_and_what_falls_have_no_lines():
    alarms = 0
    lags = np.arange(1, 513)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = 0.5 * 2.0 ** (-lags / rng.uniform(3.0, 100.0))
        alarms += len(lines_of(kernel_of(values, rng, 0.01), least=30.0, faint=20.0)[0])
    assert alarms <= 1
