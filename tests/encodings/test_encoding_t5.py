"""T5's buckets: their law written out, and every wrong parameter answered in words."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from gnomon.encodings.biases.learned import bucket_bounds
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError


@pytest.mark.parametrize(
    ("buckets", "largest"), [(16, 128), (32, 128), (7, 40), (2, 2), (64, 10**6)]
)
def test_bounds_are_where_the_exact_power_law_passes_them(buckets, largest):
    """floor((c-e) ln(n/e) / ln(L/e)) reaches b at n, not at n - 1: powers of exact fractions."""
    exact = buckets // 2
    bounds = bucket_bounds(buckets, largest)
    assert len(bounds) == buckets
    assert bounds[: exact + 1] == tuple(range(exact + 1))
    for step, bound in enumerate(bounds[exact + 1 :], start=1):
        power = Fraction(largest, exact) ** step
        assert Fraction(bound, exact) ** (buckets - exact) >= power
        assert Fraction(bound - 1, exact) ** (buckets - exact) < power


def test_keys_after_their_query_have_the_second_half_of_the_buckets():
    table = np.arange(8.0)[:, None]
    made = encoding("t5", heads=1, buckets=8, largest_lag=16, table=table)
    lags = np.array([0, 1, 2, 5, 6, 100, -1, -2, -6, -100])
    wanted = [0, 1, 2, 2, 3, 3, 5, 6, 7, 7]  # halves of 4: 0, 1, 2-5, from 6 = ceil(2 sqrt 8) on
    np.testing.assert_array_equal(made.bias([0], -lags)[0, 0], wanted)


def test_in_one_direction_later_keys_have_bucket_0_and_must_be_masked():
    table = np.arange(8.0)[:, None]
    made = encoding("t5", heads=1, buckets=8, largest_lag=16, bidirectional=False, table=table)
    assert made.card.causal_only
    assert not encoding("t5", heads=1).card.causal_only
    np.testing.assert_array_equal(made.bias([0], [0, 1, 50])[0, 0], [0, 0, 0])
    assert np.isneginf(made.scores(np.ones((1, 2)), np.ones((1, 2)), [0], [1])).all()


def test_a_lag_between_whole_ones_has_the_bucket_of_the_one_below():
    made = encoding("t5", heads=1, table=np.arange(32.0)[:, None])
    places = np.array([0.0, 2.9, 3.0, 11.99, 12.0, 90.99, 91.0])
    np.testing.assert_array_equal(made.bias(places, [0])[0, :, 0], [0, 2, 3, 8, 9, 14, 15])


def test_heads_come_before_queries_and_keys(rng):
    table = rng.normal(size=(32, 3))
    bias = encoding("t5", heads=3, table=table).bias(np.zeros((5, 2)), np.zeros((5, 4)))
    np.testing.assert_array_equal(bias, np.broadcast_to(table[0][:, None, None], (5, 3, 2, 4)))


def test_an_untrained_table_has_the_stated_spread_and_follows_its_seed():
    start, other = (encoding("t5", heads=400, seed=seed).numbers["table"] for seed in (0, 1))
    assert start.std() == pytest.approx(512**-0.5, rel=0.03)  # four times the error of 12,800 draws
    assert np.abs(start - other).min() > 0


def test_learned_tables_are_taken_over(rng):
    table = rng.normal(size=(32, 2))
    made = encoding("t5", heads=2).with_numbers(table=table)
    np.testing.assert_array_equal(made.bias([5], [5])[:, 0, 0], table[0])


def test_distances_of_both_directions_are_those_of_the_mean_of_both(rng):
    from gnomon.encodings.lifts import lift

    made = encoding("t5", heads=3, table=rng.normal(size=(32, 3)))
    bias = made.bias(np.arange(20)).mean(axis=0)
    squares = 2.0 * bias[0, 0] - bias - bias.T
    np.testing.assert_allclose(lift(made, np.arange(20)).distances ** 2, np.maximum(squares, 0.0))
    assert lift(made, np.arange(20)).negative_share == np.mean(squares[np.triu_indices(20, 1)] < 0)


def test_bad_parameters_of_t5_are_refused():
    cases = {
        r"heads is 0; pass a whole number from 1 on\.": {"heads": 0},
        r"buckets is 31; pass a multiple of 2, half for each direction\.": {"buckets": 31},
        r"buckets is 2; pass a whole number from 4 on\.": {"buckets": 2},
        r"largest_lag is 8, but the first 8 lags have a bucket each; pass a larger": {
            "largest_lag": 8
        },
        r"table has shape \(2, 2\) and this encoding has \(32, 2\); pass numbers of": {
            "table": np.eye(2)
        },
        r"axes is 2, and the encoding 't5' has positions on one axis; pass axes=1\.": {"axes": 2},
    }
    for sentence, parameters in cases.items():
        with pytest.raises(EncodingError, match=sentence):
            encoding("t5", **{"heads": 2, **parameters})
