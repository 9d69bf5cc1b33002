"""FIRE: where it is relative and where not, what its network reads, and what it can represent."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnomon.encodings.biases.kernels import KerpleLog
from gnomon.encodings.biases.learned import Fire, quotients
from gnomon.errors import EncodingError


def read(made, at):
    """What the network is given."""
    points = np.asarray(at, dtype=float)[:, None]
    threshold = abs(made.multiplier) * made.threshold
    rate = np.asarray(made.rate)
    return quotients(points, points, rate, threshold, epsilon=made.epsilon, xp=np)


def test_keys_before_their_query_are_read_between_0_and_1():
    made = Fire(heads=1, threshold=16.0, rate=-0.7)
    at = [0, 1, 5, 16, 17, 300, 10**6]
    before = np.tril(read(made, at))
    assert before.min() == 0.0
    assert 0.99 < before.max() < 1.0  # the first token, seen from the last


def test_a_network_that_copies_its_input_shows_the_quotient():
    made = Fire(
        heads=2,
        hidden=1,
        weights_in=[[1.0]],
        biases_in=[0.0],
        weights_out=[[1.0, -3.0]],
        biases_out=[0.0, 2.0],
    )
    wanted = math.log(1 + 0.1 * 700) / (math.log(1 + 0.1 * 1000) + 1e-6)
    found = made.bias([1000], [300])[:, 0, 0]
    np.testing.assert_allclose(found, [wanted, 2.0 - 3.0 * wanted], rtol=1e-14)


def test_queries_below_the_threshold_share_one_scale():
    made = Fire(heads=2, threshold=100.0)
    at = np.arange(50)
    np.testing.assert_array_equal(made.bias(at), made.bias(at + 50))
    assert not np.allclose(made.bias(at), made.bias(at + 500), rtol=1e-3)


def test_the_multiplier_moves_the_threshold():
    at = np.arange(200)
    half = Fire(heads=2, threshold=100.0, multiplier=-0.5)
    np.testing.assert_array_equal(half.bias(at), Fire(heads=2, threshold=50.0).bias(at))


def test_up_to_the_threshold_it_represents_kerple():
    """The authors' claim, made with one hidden unit: -s times the scale is the slope."""
    scale, rate, length = 0.8, 0.3, 64.0
    slope = -scale * (math.log1p(rate * length) + 1e-6)
    fire = Fire(
        heads=1,
        hidden=1,
        rate=rate,
        threshold=length,
        weights_in=[[1.0]],
        biases_in=[0.0],
        weights_out=[[slope]],
        biases_out=[0.0],
    )
    at = np.arange(64)
    kerple = KerpleLog(heads=1, scale=scale, rate=rate)
    np.testing.assert_allclose(fire.bias(at), kerple.bias(at), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threshold": 0.0}, r"threshold is 0\.0; pass a finite number above 0\."),
        ({"rate": math.inf}, r"rate is inf; pass a finite number\."),
        ({"hidden": 0}, r"hidden is 0; pass a whole number from 1 on\."),
        ({"weights_in": [1.0]}, r"weights_in has shape \(1,\); .* of shape \(1, 32\)"),
        (
            {"biases_out": [0.0, math.nan]},
            r"biases_out holds nan at \[1\]; pass finite numbers of sh",
        ),
        ({"axes": 2}, r"axes is 2, and the encoding 'fire' has positions on one axis; pass axes=1"),
    ],
)
def test_what_does_not_fit_is_refused(given, said):
    with pytest.raises(EncodingError, match=said):
        Fire(heads=2, **given)
