"""Products and eigenvalues of Toeplitz matrices, against SciPy, NumPy and known closed forms."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import matmul_toeplitz, toeplitz
from scipy.optimize import brentq

from gnomon.errors import SpectrumError
from gnomon.spectra.eigenvalues import rank_and_condition
from gnomon.spectra.modes import cosine_eigenvalues, dirichlet, most_rank
from gnomon.spectra.symbol import cut_symbol, inner_ends
from gnomon.spectra.toeplitz import (
    Toeplitz,
    all_eigenvalues,
    extreme_eigenvalues,
    halves,
    nearest_circulant,
)

COLUMNS = st.lists(st.floats(-10.0, 10.0), min_size=1, max_size=40).map(np.array)


@settings(max_examples=40, deadline=None)
@given(COLUMNS, st.integers(0, 2**31))
def test_products_are_those_of_scipy(column: np.ndarray, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((len(column), 3))
    wanted = matmul_toeplitz(column, x)
    scale = np.abs(column).sum() * np.abs(x).max() + 1.0
    np.testing.assert_allclose(Toeplitz(column) @ x, wanted, atol=1e-14 * scale)
    np.testing.assert_allclose(Toeplitz(column) @ x[:, 0], wanted[:, 0], atol=1e-14 * scale)
    np.testing.assert_array_equal(Toeplitz(column).dense(), toeplitz(column))


@settings(max_examples=40, deadline=None)
@given(COLUMNS)
def test_two_halves_have_the_eigenvalues_of_the_whole(column: np.ndarray) -> None:
    wanted = np.linalg.eigvalsh(toeplitz(column))[::-1]
    np.testing.assert_allclose(
        all_eigenvalues(column), wanted, atol=1e-13 * (1.0 + np.abs(column).sum())
    )


def test_even_vectors_see_the_even_half_alone() -> None:
    """T (x, Jx) = (T_even x, J T_even x), and (x, -Jx) by the odd half, at an even length."""
    column = np.random.default_rng(0).standard_normal(12)
    even, odd = halves(column)
    x = np.random.default_rng(1).standard_normal(6)
    for half, sign in ((even, 1.0), (odd, -1.0)):
        made = toeplitz(column) @ np.concatenate([x, sign * x[::-1]])
        np.testing.assert_allclose(made[:6], half @ x, atol=1e-14)


@pytest.mark.parametrize("end", ["largest", "smallest"])
@pytest.mark.parametrize("length", [5, 300])
def test_extreme_eigenvalues_are_those_of_a_dense_solver(end: str, length: int) -> None:
    lags = np.arange(length)
    for column in (-0.1 * lags, np.cos(0.3 * lags) - 0.2 * np.sqrt(lags)):
        dense = np.linalg.eigvalsh(toeplitz(column))
        found = extreme_eigenvalues(column, 1, end=end, steps=400)
        assert found.found
        wanted = dense[-1] if end == "largest" else dense[0]
        assert found.values[0] == pytest.approx(wanted, abs=1e-9 * np.abs(dense).max())
        assert found.residual < 1e-9


def test_what_does_not_converge_is_not_returned() -> None:
    """The foot of e^(-t/50) is crowded: a few restarts cannot tell its eigenvalues apart."""
    column = np.exp(-np.arange(3000) / 50.0)
    found = extreme_eigenvalues(column, 4, end="smallest", steps=2)
    assert not found.found


def path_distances(length: int) -> np.ndarray:
    """Eigenvalues of |i-j| after Ruzieh and Powers 1990, by the roots of their equations."""
    n = length
    odd = [-1.0 / (2.0 * np.sin((2 * k - 1) * np.pi / (2 * n)) ** 2) for k in range(1, n // 2 + 1)]
    top = brentq(lambda x: np.tanh(x / 2) * np.tanh(n * x / 2) - 1.0 / n, 1e-9, 3.0, xtol=1e-15)
    found = [*odd, 1.0 / (np.cosh(top) - 1.0)]

    def even(x: float) -> float:  # tan(x/2) tan(nx/2) = -1/n, its poles multiplied away
        return np.sin(x / 2) * np.sin(n * x / 2) + np.cos(x / 2) * np.cos(n * x / 2) / n

    grid = np.linspace(1e-6, np.pi - 1e-9, 200 * n)
    values = even(grid)
    for k in np.flatnonzero(values[:-1] * values[1:] < 0.0):
        root = brentq(even, grid[k], grid[k + 1], xtol=1e-15)
        found.append(1.0 / (np.cos(root) - 1.0))
    return np.sort(found)[::-1]


@pytest.mark.parametrize("length", [2, 7, 40])
def test_distances_on_a_line_have_the_published_eigenvalues(length: int) -> None:
    wanted = path_distances(length)
    assert len(wanted) == length
    np.testing.assert_allclose(all_eigenvalues(np.arange(float(length))), wanted, rtol=1e-9)


def kac_murdock_szego(rho: float, length: int) -> np.ndarray:
    """Eigenvalues of rho^|i-j|: the symbol at the roots of their equation, one in k pi / (n+1)."""
    n = length

    def equation(x: float) -> float:
        return np.sin((n + 1) * x) - 2 * rho * np.sin(n * x) + rho**2 * np.sin((n - 1) * x)

    ends = np.arange(n + 1) * np.pi / (n + 1)
    ends[0] = 1e-9
    roots = [brentq(equation, ends[k], ends[k + 1], xtol=1e-15) for k in range(n)]
    x = np.array(roots)
    return (1 - rho**2) / (1 - 2 * rho * np.cos(x) + rho**2)


def test_a_decay_has_the_eigenvalues_of_kac_murdock_and_szego() -> None:
    wanted = kac_murdock_szego(0.9, 60)
    np.testing.assert_allclose(all_eigenvalues(0.9 ** np.arange(60)), wanted, rtol=1e-9)


@pytest.mark.parametrize("length", [3, 10, 64, 65])
def test_cosines_have_the_eigenvalues_of_their_dense_matrix(length: int) -> None:
    rng = np.random.default_rng(length)
    places = np.concatenate([[0.0, np.pi, 1e-7], np.sort(rng.uniform(0.01, 3.1, 9))])
    weights = rng.uniform(0.1, 2.0, len(places))
    column = np.cos(np.outer(np.arange(length), places)) @ weights
    wanted = np.linalg.eigvalsh(toeplitz(column))[::-1]
    found = cosine_eigenvalues(places, weights, length)
    kept = min(length, most_rank(places, length))
    np.testing.assert_allclose(found[:kept], wanted[:kept], atol=1e-12 * wanted[0])
    np.testing.assert_allclose(wanted[kept:], 0.0, atol=1e-12 * wanted[0])


@pytest.mark.parametrize("length", [3, 10, 64, 65])
def test_cosines_with_weights_of_both_signs_have_those_of_their_dense_matrix(length: int) -> None:
    rng = np.random.default_rng(length)
    places = np.concatenate([[0.0, np.pi, 1e-7], np.sort(rng.uniform(0.01, 3.1, 9))])
    weights = rng.standard_normal(len(places))
    column = np.cos(np.outer(np.arange(length), places)) @ weights
    wanted = np.linalg.eigvalsh(toeplitz(column))[::-1]
    found = cosine_eigenvalues(places, weights, length)
    whole = np.concatenate([found, np.zeros(length - len(found))])
    size = np.abs(wanted).max() + np.abs(weights).sum() * length
    np.testing.assert_allclose(np.sort(whole)[::-1], wanted, atol=1e-12 * size)


def test_cosines_at_a_length_that_no_matrix_has() -> None:
    """At n = 2^40 every gap of frequencies holds many turns: eigenvalues are n times the masses."""
    length, masses = 2**40, np.array([0.5, 0.3, 0.2])
    found = cosine_eigenvalues([0.0, 0.5, np.pi], masses, length) / length
    np.testing.assert_allclose(found, [0.5, 0.2, 0.15, 0.15], rtol=1e-9)


def test_dirichlets_kernel_is_the_sum_of_exponentials_also_next_to_two_pi() -> None:
    for length in (6, 7):
        places = np.arange(length) - 0.5 * (length - 1)
        for x in (0.0, 1e-12, 1e-5, 0.7, np.pi, 2 * np.pi - 1e-12, 2 * np.pi - 1e-5, 2 * np.pi):
            wanted = np.cos(places * x).sum()
            assert dirichlet(np.array(x), length) == pytest.approx(wanted, abs=1e-10), (length, x)


def test_the_cut_symbol_is_the_sum_of_cosines() -> None:
    column = np.random.default_rng(2).standard_normal(9)
    found = cut_symbol(column, points=64)
    angles = np.linspace(0.0, np.pi, len(found))
    waves = np.cos(np.outer(angles, np.arange(1, 9)))
    np.testing.assert_allclose(found, column[0] + 2.0 * waves @ column[1:], atol=1e-13)


def test_windows_meet_the_ends_of_a_smooth_symbol_from_inside() -> None:
    rho, n = 0.9, 2000
    wanted = kac_murdock_szego(rho, n)
    low, high = inner_ends(rho ** np.arange(n))
    assert (1 - rho) / (1 + rho) <= wanted[-1] <= low
    assert high <= wanted[0] <= (1 + rho) / (1 - rho)
    assert (low, high) == (pytest.approx(wanted[-1], rel=1e-5), pytest.approx(wanted[0], rel=1e-3))


@settings(max_examples=30, deadline=None)
@given(COLUMNS)
def test_the_circulant_is_the_mean_of_wrapped_diagonals_and_lies_within(column: np.ndarray) -> None:
    n, matrix, found = len(column), toeplitz(column), nearest_circulant(column)
    i = np.arange(n)
    means = [matrix[(i + j) % n, i].mean() for j in range(n)]
    near = np.array([[means[(a - b) % n] for b in i] for a in i])
    np.testing.assert_allclose(found.column, means, atol=1e-12)
    np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(near)[::-1], atol=1e-10)
    size = np.linalg.norm(matrix)
    if size > 1e-6:
        assert found.residual == pytest.approx(np.linalg.norm(matrix - near) / size, abs=1e-7)
    whole = np.linalg.eigvalsh(matrix)
    assert whole[0] - 1e-10 <= found.eigenvalues[-1]
    assert found.eigenvalues[0] <= whole[-1] + 1e-10


def test_rank_and_condition_are_those_of_numpy_on_the_range() -> None:
    rng = np.random.default_rng(3)
    factor = rng.standard_normal((20, 6))
    matrix = factor @ factor.T
    found = rank_and_condition(np.linalg.eigvalsh(matrix), 20)
    assert found.rank == np.linalg.matrix_rank(matrix) == 6
    assert found.condition_on_range == pytest.approx(np.linalg.cond(factor) ** 2)
    assert found.negative == 0
    assert rank_and_condition(np.ones(7), 7).effective_rank == pytest.approx(7.0)
    assert rank_and_condition([], 3).condition_on_range is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Toeplitz([[1.0]]), "pass real numbers for lags 0, 1, ..., n-1"),
        (lambda: Toeplitz([1.0, np.inf]), "The kernel is inf at lag 1"),
        (lambda: extreme_eigenvalues([1.0, 2.0], end="top"), "pass 'largest' or 'smallest'"),
        (lambda: extreme_eigenvalues([1.0, 2.0], 3), "pass a whole number from 1 to 2"),
        (lambda: cosine_eigenvalues([1.0], [np.inf], 4), "Mode 0 has frequency 1 and weight inf"),
        (lambda: cosine_eigenvalues([4.0], [1.0], 4), "Mode 0 has frequency 4 and weight 1"),
        (lambda: cosine_eigenvalues([1.0], [1.0], 2.5), "length is 2.5; pass a whole number"),
        (lambda: cosine_eigenvalues([1.0], [1.0, 2.0], 4), "1 frequencies and 2 weights"),
        (lambda: cosine_eigenvalues([1.0], [1.0], 0), "length is 0"),
        (lambda: rank_and_condition([1.0, 2.0], 1), "2 eigenvalues of a matrix with 1 rows"),
        (lambda: rank_and_condition([1.0], 1, tolerance=2.0), "tolerance is 2.0"),
        (
            lambda: rank_and_condition([1.0], 1, tolerance="x"),
            "tolerance is 'x'; pass a number from 0",
        ),
        (lambda: rank_and_condition([np.nan, 1.0], 2), "values holds numbers that are not finite"),
        (lambda: rank_and_condition([1j], 2), "values holds complex128; pass eigenvalues"),
        (lambda: rank_and_condition([[1.0], [1.0, 2.0]], 2), "values holds rows of unequal length"),
        (lambda: rank_and_condition([1.0], 1.5), "length is 1.5; pass a whole number from 1 on"),
        (lambda: Toeplitz([2.0, 1.0, 0.0]) @ np.arange(9.0), "have shape (9,) and hold float64"),
        (lambda: Toeplitz([2.0, 1.0, 0.0]) @ np.ones(2), "pass real numbers (3,) or (3, m)"),
        (lambda: Toeplitz([2.0, 1.0, 0.0]) @ np.ones((1, 3)), "have shape (1, 3)"),
        (
            lambda: Toeplitz([2.0, 1.0, 0.0]) @ (1j * np.ones(3)),
            "hold complex numbers (complex128)",
        ),
        (lambda: Toeplitz([2.0, 1.0, 0.0]) @ np.ones((3, 1, 1)), "have shape (3, 1, 1)"),
    ],
)
def test_bad_matrices_are_refused_in_words(call, sentence: str) -> None:
    with pytest.raises(SpectrumError, match=re.escape(sentence)):
        call()
