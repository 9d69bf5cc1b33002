"""The centred Gram matrix and the certificate of its spectrum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gnomon.distances import angle, centred_gram, chord_distances
from gnomon.distances.chord import double_centred
from gnomon.distances.eigenvalues import spectrum
from gnomon.distances.geometry import measure
from gnomon.errors import CountsError, InputError

positive_counts = arrays(
    np.int64, st.tuples(st.integers(2, 8), st.integers(1, 8)), elements=st.integers(1, 60)
)


def test_gram_equals_centred_product_of_roots(route, zipf_counts):
    law = np.sqrt(zipf_counts / zipf_counts.sum(axis=1, keepdims=True))
    J = np.eye(70) - 1.0 / 70
    np.testing.assert_allclose(centred_gram(zipf_counts), J @ law @ law.T @ J, atol=1e-14)


def test_gram_equals_double_centred_squared_chords(route, zipf_counts):
    squared = np.square(chord_distances(zipf_counts))
    np.testing.assert_allclose(double_centred(squared), centred_gram(zipf_counts), atol=1e-14)


def test_gram_is_symmetric_exactly_and_sums_to_zero_by_rows(route, zipf_counts):
    gram = centred_gram(zipf_counts)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(gram.sum(axis=1), 0.0, atol=1e-13)


@given(counts=positive_counts)
@settings(deadline=None, max_examples=80)
def test_chord_gram_is_positive_semidefinite_of_rank_below_positions_and_tokens(counts):
    found = spectrum(centred_gram(counts) + np.eye(counts.shape[0]))
    assert found.eigenvalues.min() >= 1.0 - 1e-13
    rank = np.count_nonzero(found.eigenvalues > 1.0 + 1e-12)
    assert rank <= min(counts.shape[0] - 1, counts.shape[1])


def test_laws_on_one_arc_are_a_line_in_the_angle_metric():
    """(1, 0), (1, 1)/2 and (0, 1) lie at angles 0, pi/4, pi/2 of one circle."""
    arc = angle(chord_distances([[1, 0], [1, 1], [0, 1]]))
    found = spectrum(double_centred(np.square(arc)))
    assert (found.rank_numerical, found.isometric_from_dimension) == (1, 1)


def test_angle_gram_of_four_laws_is_indefinite_by_hand():
    """A and B at right angles, M half way between, C at a right angle to all three.

    With b = pi/2 and x = (1, 1, -2, 0): x^T D^2 x = 0, yet J D^2 x = b^2/8 (1, 1, 1, -3) is not 0.
    A semidefinite form that vanishes at x sends x to 0, so the Gram matrix is indefinite.
    """
    chords = chord_distances([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    squared = np.square(angle(chords))
    x, b = np.array([1.0, 1.0, -2.0, 0.0]), np.pi / 2
    image = squared @ x
    assert x @ image == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(image - image.mean(), b**2 / 8 * np.array([1, 1, 1, -3]), rtol=1e-12)
    found = spectrum(double_centred(squared))
    assert not found.positive_semidefinite
    assert found.isometric_from_dimension is None
    assert spectrum(double_centred(np.square(chords))).positive_semidefinite


def test_angle_gram_of_random_laws_has_negative_eigenvalues_and_says_so(rng):
    counts = rng.multinomial(1000, rng.dirichlet(np.full(6, 0.3), size=40))
    found = spectrum(double_centred(np.square(angle(chord_distances(counts)))))
    values = np.linalg.eigvalsh(double_centred(np.square(angle(chord_distances(counts)))))
    assert not found.positive_semidefinite
    assert found.isometric_from_dimension is None
    share = -values[values < 0].sum() / np.abs(values).sum()
    assert found.negative_share == pytest.approx(share, rel=1e-9)
    assert found.negative_share > 1e-3


def test_spectrum_of_three_one_hot_laws_is_known_by_hand():
    """I - 11^T/3 has eigenvalues 1, 1, 0; two equal ones have participation 2."""
    found = spectrum(centred_gram(np.eye(3, dtype=int)))
    np.testing.assert_allclose(found.eigenvalues, [1.0, 1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(found.cumulative_share, [0.5, 1.0, 1.0], rtol=1e-14)
    assert found.participation == pytest.approx(2.0, rel=1e-14)
    assert (found.rank_numerical, found.isometric_from_dimension) == (2, 2)
    assert found.positive_semidefinite


def test_sum_of_eigenvalues_is_the_trace_and_all_are_there(zipf_counts):
    gram = centred_gram(zipf_counts)
    found = spectrum(gram)
    assert found.eigenvalues.size == 70
    assert (np.diff(found.eigenvalues) <= 0).all()
    assert found.eigenvalues.sum() == pytest.approx(np.trace(gram), rel=1e-12)


def test_sampled_counts_have_full_rank_whatever_the_corpus(zipf_counts):
    """All positions have one law; the rank is m - 1 all the same, from sampling noise."""
    assert spectrum(centred_gram(zipf_counts)).rank_numerical == 69


@pytest.mark.parametrize("copies", [3, 50, 333])
def test_identical_laws_have_rank_zero_although_centring_rounds(copies):
    found = measure(np.outer(np.arange(1, copies + 1), [3, 7, 11])).spectrum
    assert found.rank_numerical == 0
    assert found.isometric_from_dimension == 0
    assert found.participation == 0.0
    assert found.positive_semidefinite


def test_row_without_tokens_is_named():
    with pytest.raises(CountsError, match=r"row 1 of the counts holds no token \(1 such rows\)"):
        centred_gram([[1, 2], [0, 0]])


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (np.zeros((2, 3)), r"shape \(2, 3\) is not square"),
        (np.zeros((0, 0)), r"shape \(0, 0\) is not square"),
        (np.array([[0.0, np.nan], [0.0, 0.0]]), r"holds nan at \[0, 1\]"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), r"not symmetric: \[0, 1\] and \[1, 0\] differ by 1"),
    ],
)
def test_matrix_that_is_no_gram_is_refused_with_its_place(matrix, sentence):
    with pytest.raises(InputError, match=sentence):
        spectrum(matrix)
