"""Sandwich against sums of cosines, the sinusoid it is made of, and its rank."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnomon.encodings.biases.kernels import Sandwich
from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


def test_a_head_is_the_sum_of_cosines_over_its_c():
    made = Sandwich(heads=3, vector_dimension=6, base=100.0)
    for lag in (0, 1, -5, 33, 2.5):
        total = sum(math.cos(lag * 100.0 ** (-2 * k / 6)) for k in range(3))
        for head in range(3):
            found = made.bias([7.0], [7.0 - lag])[head, 0, 0]
            assert math.isclose(found, total / (8 * (head + 1) / 3), rel_tol=1e-13)


def test_a_head_is_the_gram_matrix_of_the_sinusoid():
    at = np.arange(0, 400, 7)
    vectors = encoding("sinusoidal", dimension=128).vectors(at)
    found = Sandwich(heads=12).bias(at)
    for head in (0, 11):
        ratio = (head + 1) * 8 / 12
        np.testing.assert_allclose(found[head], vectors @ vectors.T / ratio, rtol=1e-13, atol=1e-12)


def test_factors_of_the_stated_rank_give_the_bias(rng):
    made = Sandwich(heads=2, vector_dimension=8)
    at_q, at_k = rng.uniform(0, 1e6, size=(2, 20))
    sides = [
        made.bias_factors(at[:, None], made.numbers, side=side, xp=np)
        for at, side in ((at_q, "q"), (at_k, "k"))
    ]
    assert sides[0].shape[-1] == made.bias_rank == 8
    found = sides[0] @ np.swapaxes(sides[1], -1, -2)
    np.testing.assert_allclose(found, made.bias(at_q, at_k), rtol=1e-12, atol=1e-12)
    assert np.linalg.matrix_rank(made.bias(at_q, at_k)[0], tol=1e-6) == 8


def test_it_falls_off_with_the_lag_from_its_largest_value():
    """The shape that its authors show: highest at lag 0, lower on average the farther."""
    bias = Sandwich(heads=8).bias([4096], 4096 - np.arange(4097))[0, 0]
    assert bias[0] == bias.max() == 64.0
    means = [bias[low : 2 * low].mean() for low in (1, 8, 64, 512)]
    assert means == sorted(means, reverse=True)


def test_its_lift_is_that_of_its_bias():
    made, at = Sandwich(heads=3, vector_dimension=8), np.arange(0, 90, 2)
    kernel = made.bias(at).mean(axis=0)
    squares = np.add.outer(np.diag(kernel), np.diag(kernel)) - 2 * kernel
    found = lift(made, at).distances
    np.testing.assert_allclose(found**2, squares, rtol=1e-9, atol=1e-12)


def test_sizes_that_make_no_pairs_are_refused():
    with pytest.raises(EncodingError, match=r"vector_dimension is 7; pass a multiple of 2, two pe"):
        Sandwich(heads=2, vector_dimension=7)
    with pytest.raises(EncodingError, match=r"'sandwich' has positions on one axis; pass axes=1"):
        Sandwich(heads=2, axes=2)
    made = Sandwich(heads=2)
    with pytest.raises(EncodingError, match=r"side is 'v'; pass one of: q, k"):
        made.bias_factors(np.zeros((3, 1)), made.numbers, side="v", xp=np)
    with pytest.raises(EncodingError, match=r"a single position was given; pass positions of shap"):
        made.bias(3)
