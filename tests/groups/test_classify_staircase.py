"""The staircase: block sizes, chains and commuting matrices of planted nilpotent matrices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import block_diag

from gnomon.groups.jordan import (
    centraliser_basis,
    conjugate,
    jordan_chains,
    schur_of,
    split,
    staircase,
)

PARTITIONS = [(1,), (3,), (2, 2), (3, 1), (3, 2, 2, 1), (1, 1, 1), (5, 3, 1)]


def shifts(sizes: tuple[int, ...]) -> np.ndarray:
    return block_diag(*[np.eye(m, k=1) for m in sizes])


def placed(form: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(len(form))
    basis = rng.standard_normal(form.shape) + 2 * np.eye(len(form))
    return basis @ form @ np.linalg.inv(basis)


@pytest.mark.parametrize("sizes", PARTITIONS)
def test_sizes_are_read_from_nullities_of_powers(sizes):
    """Against ranks of powers by NumPy, which are exact enough for planted blocks."""
    x = placed(shifts(sizes))
    ranks = [np.linalg.matrix_rank(np.linalg.matrix_power(x, j), tol=1e-8) for j in range(8)]
    found = staircase(x, threshold=1e-10)
    drops = [a - b for a, b in pairwise(ranks) if a > b]
    assert list(found.weyr) == drops
    assert found.sizes == sizes
    np.testing.assert_allclose(found.exact, x, atol=1e-12 * np.linalg.norm(x))


@pytest.mark.parametrize("sizes", PARTITIONS)
def test_chains_turn_the_matrix_into_shifts(sizes):
    x = placed(shifts(sizes))
    chains = jordan_chains(staircase(x, threshold=1e-10))
    np.testing.assert_allclose(x @ chains, chains @ shifts(sizes), atol=1e-11 * np.linalg.norm(x))
    assert np.linalg.matrix_rank(chains) == len(x)


@pytest.mark.parametrize("sizes", PARTITIONS)
def test_commuting_matrices_commute_and_are_all_there_is(sizes):
    """The kernel of Kronecker's C -> JC - CJ, less the identity, which has a trace."""
    form = shifts(sizes)
    basis = centraliser_basis(sizes)
    one = np.eye(len(form))
    operator = np.kron(form, one) - np.kron(one, form.T)
    kernel = len(form) ** 2 - np.linalg.matrix_rank(operator)
    assert len(basis) == kernel - 1
    assert np.abs(basis @ form - form @ basis).max(initial=0.0) == 0.0
    assert np.abs(np.trace(basis, axis1=1, axis2=2)).max(initial=0.0) < 1e-15
    assert (
        np.linalg.matrix_rank(basis.reshape(len(basis), -1)) == len(basis) if len(basis) else True
    )


def test_a_matrix_that_is_not_nilpotent_has_no_staircase():
    assert staircase(np.eye(3), threshold=1e-3) is None


def test_conjugate_partitions_are_conjugate_twice():
    for sizes in PARTITIONS:
        assert conjugate(conjugate(sizes)) == sizes


def test_clusters_fall_apart_at_the_longest_edge_and_stay_symmetric():
    points = np.array([0.0, 0.1, 1.0 + 1j, 1.0 - 1j, 1.05 + 1j, 1.05 - 1j])
    parts = [sorted(part.tolist()) for part in split(points)]
    assert sorted(parts) == [[0, 1], [2, 4], [3, 5]]


def test_eigenvalues_of_a_real_matrix_are_conjugate_exactly():
    x = np.random.default_rng(4).standard_normal((9, 9))
    found = schur_of(x)
    np.testing.assert_array_equal(
        np.sort_complex(found.eigenvalues), np.sort_complex(found.eigenvalues.conj())
    )
    np.testing.assert_allclose(np.diag(found.form), found.eigenvalues, atol=1e-13)
    np.testing.assert_allclose(found.vectors @ found.form @ found.vectors.conj().T, x, atol=1e-13)
