"""Encodings that need data: tables, fitted vectors, and numbers that were learned or given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import gnomon
from gnomon import oracle
from gnomon.encodings.registry import encoding
from gnomon.encodings.tables import Table
from gnomon.errors import EncodingError
from gnomon.oracle.definition import sample, words

pytest.importorskip("mpmath")


def as_floats(rows):
    """Numbers of the oracle, rounded."""
    return np.array([[float(value) for value in row] for row in rows])


def test_rows_of_a_table_are_taken_exactly(rng):
    table = Table(values=rng.normal(size=(5, 3)))
    found = as_floats(oracle.vectors(table, range(5)))
    np.testing.assert_array_equal(found, table.vectors(np.arange(5)))
    with pytest.raises(EncodingError, match=r"Position 5 is outside of the table's rows 0 to 4"):
        oracle.vectors(table, [5])


@pytest.mark.parametrize("options", [{}, {"rank": 2, "rotation": 3}], ids=["whole", "factored"])
def test_fitted_vectors_are_the_exact_products_of_their_factors(options, rng):
    points = rng.normal(size=(12, 3))
    fitted = gnomon.fit(cdist(points, points), dimension=8, **options)
    grid = replace(fitted, shape=(3, 4), axes=2, gain=1.5)
    line = as_floats(oracle.vectors(fitted, range(12)))
    np.testing.assert_allclose(line, fitted.vectors(np.arange(12)), rtol=0, atol=1e-14)
    places = [(row, column) for row in range(3) for column in range(4)]
    np.testing.assert_allclose(as_floats(oracle.vectors(grid, places)), 1.5 * line, rtol=1e-15)


def test_a_fitted_encoding_ends_or_clamps_as_it_was_declared(rng):
    points = rng.normal(size=(6, 2))
    fitted = gnomon.fit(cdist(points, points), dimension=4)
    clamped = replace(fitted, beyond="clamp")
    assert oracle.vectors(clamped, [9]) == oracle.vectors(fitted, [5])
    with pytest.raises(EncodingError, match=r"Position 9 is outside of 0 to 5; ask within it"):
        oracle.vectors(replace(fitted, beyond="refuse"), [9])


def test_learned_rows_stand_for_the_ones_it_started_from(rng):
    values = rng.normal(size=(4, 3))
    learned = encoding("learned", rows=4, dimension=3).with_numbers(values=values)
    np.testing.assert_array_equal(as_floats(oracle.vectors(learned, range(4))), values)


def test_a_learned_table_of_buckets_is_taken_exactly(rng):
    table = rng.normal(size=(8, 2))
    t5 = encoding("t5", heads=2, buckets=8, largest_lag=20).with_numbers(table=table)
    at = np.arange(0, 60, 7)
    for head in range(2):
        exact = [[float(oracle.bias(t5, i, j, head=head)) for j in at] for i in at]
        np.testing.assert_array_equal(t5.bias(at)[head], exact)


def test_slopes_before_and_after_the_query_are_told_apart():
    two = encoding("alibi", slopes=(0.5,), slopes_after=(0.125,))
    assert oracle.bias(two, 10, 6) == -2
    assert oracle.bias(two, 6, 10) == -0.5
    np.testing.assert_array_equal(two.bias([6, 10])[0], [[0.0, -0.5], [-2.0, 0.0]])


def test_given_decays_stand_for_the_published_ones():
    given = encoding("retnet", dimension=2, heads=2, gammas=(0.5, 1.0))
    assert abs(oracle.score(given, [1, 0], [1, 0], 3, 3) - 1) < 1e-60
    ratio = oracle.score(given, [1, 0], [1, 0], 3, 1) / oracle.score(
        given, [1, 0], [1, 0], 3, 1, head=1
    )
    assert abs(ratio - 0.25) < 1e-60


def test_a_sample_of_places_has_those_of_the_least_words():
    drawn = words(12345, 50)
    assert len(set(drawn)) == 50
    assert sample(50, 50, 7) == list(range(50))
    made = encoding("randomised", inner={"name": "nope"}, largest=200, length=9, seed=7)
    assert sample(200, 9, 7) == made.places.tolist()
