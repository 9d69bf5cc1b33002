"""Random vectors: normal, independent, and a function of seed and position alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gnomon.encodings.registry import encoding
from gnomon.encodings.starting import mix
from gnomon.errors import EncodingError


def test_a_row_does_not_depend_on_the_other_rows():
    made = encoding("random", dimension=7, seed=3)
    whole = made.vectors(np.arange(100))
    np.testing.assert_array_equal(made.vectors([50, 99, 0]), whole[[50, 99, 0]])
    np.testing.assert_array_equal(made.vectors(12), whole[12])


def test_mix_is_splitmix64():
    """First outputs of the reference generator for seed 0, as published with it."""
    golden = 0x9E3779B97F4A7C15
    states = np.array([golden, (2 * golden) % 2**64, (3 * golden) % 2**64], dtype=np.uint64)
    wanted = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert mix(states).tolist() == wanted


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_coordinates_are_normal_with_the_stated_sigma(seed):
    values = encoding("random", dimension=64, sigma=0.02, seed=seed).vectors(np.arange(1000))
    assert stats.kstest(values.ravel() / 0.02, "norm").pvalue > 1e-3
    assert values.std() == pytest.approx(0.02, rel=0.01)


def test_rows_columns_and_seeds_are_uncorrelated():
    """Of 64,000 products the mean has standard error 0.004."""
    one = encoding("random", dimension=64, seed=0).vectors(np.arange(1001))
    other = encoding("random", dimension=64, seed=1).vectors(np.arange(1001))
    assert abs(np.mean(one[1:] * one[:-1])) < 0.02
    assert abs(np.mean(one[:, :32] * one[:, 32:])) < 0.03
    assert abs(np.mean(one * other)) < 0.02


def test_distances_tend_to_sigma_times_sqrt_two_d():
    """BERT's start: sigma 0.02, d = 768, mean distance 0.784."""
    rows = encoding("random", dimension=768, sigma=0.02).vectors(np.arange(64))
    gaps = np.linalg.norm(rows[:32] - rows[32:], axis=1)
    assert gaps.mean() == pytest.approx(0.784, abs=0.01)


def test_positions_on_two_axes_have_rows_of_their_own():
    made = encoding("random", dimension=4, axes=2)
    rows = made.vectors([[0, 1], [1, 0], [1, 1]])
    assert len({tuple(row) for row in rows.tolist()}) == 3


def test_a_position_between_two_rows_is_refused():
    with pytest.raises(EncodingError, match=r"Position 0.5 is not a whole number, and a random ta"):
        encoding("random", dimension=4).vectors([0, 0.5])


def test_a_negative_sigma_is_refused():
    with pytest.raises(EncodingError, match=r"sigma is -1; pass a finite number from 0 on\."):
        encoding("random", dimension=4, sigma=-1)
