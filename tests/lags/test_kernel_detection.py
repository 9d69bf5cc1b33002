"""A kernel is told from nothing at the level that is promised, for all lags together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from gnomon.lags.kernel import LEVEL, LagKernel, is_significant, jackknife_errors


def kernel_of(parts):
    """The kernel whose parts of each fold are given: their mean, and that without each."""
    folds, lags = parts.shape
    mean = parts.mean(axis=0)
    left_out = (folds * mean - parts) / (folds - 1)
    nothing = np.zeros(lags)
    return LagKernel(
        lags=np.arange(1, lags + 1),
        values=mean,
        errors=jackknife_errors(left_out),
        shuffled=nothing,
        across=nothing,
        pairs=np.full(lags, 1000),
        replicates=left_out,
        documents=folds,
    )


def test_noise_is_told_from_nothing_as_often_as_promised(rng):
    alarms = sum(is_significant(kernel_of(rng.normal(size=(16, 64)))) for _ in range(200))
    assert alarms <= binom.ppf(0.999, 200, LEVEL)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_lag_of_either_sign_is_enough(sign, rng):
    parts = rng.normal(size=(16, 64))
    parts[:, 40] += sign * 3.0
    assert is_significant(kernel_of(parts))


def test_no_noise_and_nothing_is_nothing():
    assert not is_significant(kernel_of(np.zeros((16, 20))))
