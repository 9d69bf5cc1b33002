"""Diagnostics at positions that are not 0, 1, 2, ...: only the lags count."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.diagnostics.monotonicity import violations
from gnomon.diagnostics.shift import shift_equivariance


@pytest.fixture
def distances(rng) -> np.ndarray:
    made = rng.random((12, 12))
    return np.triu(made, 1) + np.triu(made, 1).T


@pytest.mark.parametrize(("step", "first"), [(1, 5), (4, 0), (7, 3)])
def test_equal_steps_of_any_size_give_the_same_diagnostics(distances, step, first):
    """Positions 0, 4, 8 are 0, 1, 2 in another unit, cyclic lag included."""
    places = first + step * np.arange(12)
    one, other = shift_equivariance(distances), shift_equivariance(distances, places[:, None])
    assert other.toeplitz == pytest.approx(one.toeplitz, rel=1e-12)
    assert other.circulant == pytest.approx(one.circulant, rel=1e-12)
    assert violations(distances, positions=places).violations == violations(distances).violations


def test_unequal_steps_are_compared_by_their_true_lags():
    """By brute force over triples and over classes of equal lag."""
    places = np.array([0, 1, 2, 3, 5, 8, 10, 20])
    rng = np.random.default_rng(5)
    made = rng.random((8, 8))
    made = np.triu(made, 1) + np.triu(made, 1).T
    lags = np.abs(np.subtract.outer(places, places))
    triples = [
        (made[i, j] > made[i, k])
        for i in range(8)
        for j in range(8)
        for k in range(8)
        if len({i, j, k}) == 3 and lags[i, j] < lags[i, k]
    ]
    found = violations(made, positions=places)
    assert (found.triples, found.violations) == (len(triples), np.mean(triples))
    upper = np.triu_indices(8, 1)
    pairs, own = made[upper], lags[upper]
    means = np.array([pairs[own == lag].mean() for lag in own])
    wanted = 1.0 - np.sum((pairs - means) ** 2) / np.sum((pairs - pairs.mean()) ** 2)
    assert shift_equivariance(made, places[:, None]).toeplitz == pytest.approx(wanted, rel=1e-12)
