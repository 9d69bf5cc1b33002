"""Counts from elsewhere: every form is taken, and what is wrong is named in a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

from gnomon.corpus.counts import PositionCounts
from gnomon.errors import CountsError


@pytest.mark.parametrize("sparse", [csr_array, csc_array, coo_array, csr_matrix])
def test_a_list_of_sparse_folds_is_the_same_as_a_dense_array(sparse, rng):
    array = 1 + rng.poisson(0.7, (4, 6, 9))
    wanted = PositionCounts.from_array(array)
    found = PositionCounts.from_array([sparse(fold) for fold in array])
    assert found.folds == 4
    np.testing.assert_array_equal(found.blocks.toarray(), wanted.blocks.toarray())
    assert found.digest == wanted.digest
    mixed = PositionCounts.from_array([sparse(array[0]), *array[1:]])
    np.testing.assert_array_equal(mixed.blocks.toarray(), wanted.blocks.toarray())


def test_folds_of_nested_lists_are_taken():
    found = PositionCounts.from_array([[[1, 0], [2, 3]], [[0, 1], [1, 1]]])
    np.testing.assert_array_equal(found.matrix.toarray(), [[1, 1], [3, 4]])


def test_duplicate_entries_of_a_sparse_matrix_are_added():
    twice = coo_array((np.array([2, 3]), (np.array([0, 0]), np.array([1, 1]))), shape=(2, 2))
    assert PositionCounts.from_array(twice).matrix.toarray().tolist() == [[0, 5], [0, 0]]


ONES = np.ones((3, 4), int)
NEGATIVE = np.array([[1, 2], [3, -4]])


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (
            [ONES, np.ones((3, 5), int)],
            "fold 1 has 3 positions x 5 token types and fold 0 has 3 x 4; give all folds the same",
        ),
        ([ONES, np.ones((3, 5), int)], "same token types, with zeros where nothing was counted"),
        ([ONES, ONES, np.ones((2, 4), int)], "fold 2 has 2 positions x 4 .* the same positions"),
        ([csr_array(ONES), csr_array((3, 5), dtype=int)], "fold 1 has 3 positions x 5 token types"),
        ([csr_array(ONES), np.ones(4, int)], "fold 1 has 1 axes; give position x token"),
        ([[1, 2], [3]], "counts have 2 in row 0 and 1 in row 1; give every position the same"),
        ([[1, 2], 3], "counts have 2 in row 0 and a single number in row 1; give every position"),
        ([[[1, 2], [3]], [[1, 2], [3, 4]]], "lists of unequal lengths; give every position"),
        ([ONES, 0 * ONES], "fold 1 of 2 holds no token; leave it out, or merge it with another"),
        ([csr_array(ONES), csr_array((3, 4), dtype=int)], "fold 1 of 2 holds no token"),
        (0 * ONES, "all counts are 0; give counts of at least one token"),
        (np.stack([abs(NEGATIVE), NEGATIVE]), r"counts\[1, 1, 1\] is negative"),
        ([csr_array(abs(NEGATIVE)), csr_array(NEGATIVE)], r"counts\[1, 1, 1\] is negative"),
        (
            csr_array(NEGATIVE),
            r"counts\[1, 1\] is negative; give counts, not probabilities or logarithms",
        ),
        (csr_array(NEGATIVE / 8), r"counts\[1, 1\] is negative"),
        ([[1, np.inf]], r"counts\[0, 1\] is not a number"),
        (np.zeros((2, 0, 3)), r"counts are empty, of shape \(2, 0, 3\); give at least one"),
        ([csr_array((0, 3), dtype=int)], "counts are empty; give at least one position"),
        ([[2**63, 1]], r"counts\[0, 0\] is beyond 64 bits; .*: integers from 0 to 2\^63 - 1"),
        ([[1e30, 1]], r"counts\[0, 0\] is beyond 64 bits"),
        ([[2**70, 1]], "counts are object, not numbers; give integers"),
        ([[2**62, 2**62]], "counts sum to 9.22e[+]18, more than 64 bits hold; divide them"),
        ([None, ONES], "counts have a single number in row 0"),
        ("counts.npz", "counts have 0 axes; give position x token"),
        ([[True, False]], "counts are bool, not numbers; give integers"),
    ],
)
def test_what_is_wrong_with_given_counts_is_said_in_one_sentence(array, words):
    with pytest.raises(CountsError, match=words) as caught:
        PositionCounts.from_array(array)
    assert str(caught.value).count(". ") == 0
    assert str(caught.value).endswith(".")
