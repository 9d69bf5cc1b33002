"""Separation, correlation, shift equivariance, parameters and stress by dimension."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import pdist, squareform

from gnomon.diagnostics.pairs import correlation, separation
from gnomon.diagnostics.shift import lag_sums, shift_equivariance
from gnomon.diagnostics.stress_report import parameter_table, stress, stress_by_dimension
from gnomon.distances.chord import double_centred
from gnomon.encodings.fitted import fit
from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.errors import InputError


@pytest.fixture
def distances(rng):
    return squareform(pdist(rng.normal(size=(17, 4))))


def line(size):
    return np.abs(np.subtract.outer(np.arange(size), np.arange(size)))


# separation


def test_separation_equals_scipys_pairs(rng):
    points = rng.normal(size=(30, 5))
    found = separation(squareform(pdist(points)))
    assert found.minimum == pdist(points).min()
    assert found.mean == pytest.approx(pdist(points).mean())
    assert found.relative == pytest.approx(pdist(points).min() / pdist(points).mean())


def test_separation_of_zeros_has_no_ratio():
    found = separation(np.zeros((3, 3)))
    assert (found.minimum, found.relative, found.reason) == (0.0, None, "all distances are 0")


def test_separation_needs_two_positions():
    with pytest.raises(InputError, match=r"Separation needs two or more positions; there is 1\."):
        separation([[0.0]])


# correlation


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), levels=st.integers(2, 1000))
def test_correlations_equal_scipys_ties_included(seed, levels):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(0, levels, size=(2, 10, 10)), 1).astype(float)
    made, wanted = upper + upper.transpose(0, 2, 1)
    pairs = np.triu_indices(10, 1)
    found = correlation(made, wanted)
    if np.ptp(made[pairs]) == 0 or np.ptp(wanted[pairs]) == 0:
        assert found.pearson is None
        return
    assert found.pearson == pytest.approx(stats.pearsonr(made[pairs], wanted[pairs])[0], abs=1e-12)
    wanted_rho = stats.spearmanr(made[pairs], wanted[pairs])[0]
    assert found.spearman == pytest.approx(wanted_rho, abs=1e-12)


def test_constant_distances_have_no_correlation_and_say_so(distances):
    found = correlation(1.0 - np.eye(17), distances)
    assert found.pearson is None
    assert found.spearman is None
    assert found.reason == "all distances of the encoding are equal"
    assert correlation(distances, np.zeros((17, 17))).reason.endswith("target are equal")


def test_correlation_needs_the_same_positions(distances):
    with pytest.raises(InputError, match=r"There are 45 pairs .* one side and 136 on the other"):
        correlation(line(10), distances)


# shift equivariance


def brute_share(distances, key):
    """R^2 of class means, by a dictionary of classes."""
    size = len(distances)
    classes: dict = {}
    for i, j in itertools.combinations(range(size), 2):
        classes.setdefault(key(i, j), []).append(distances[i][j])
    values = np.concatenate(list(classes.values()))
    within = sum(np.sum((np.array(c) - np.mean(c)) ** 2) for c in classes.values())
    return 1 - within / np.sum((values - values.mean()) ** 2)


def test_shares_equal_those_of_class_means_written_out(distances):
    found = shift_equivariance(distances)
    assert found.toeplitz == pytest.approx(brute_share(distances, lambda i, j: j - i))
    cyclic = brute_share(distances, lambda i, j: min(j - i, 17 - (j - i)))
    assert found.circulant == pytest.approx(cyclic)


def test_gaps_are_compared_by_their_own_lags(distances):
    at = np.array([0, 1, 2, 5, 6, 7, 9, 10, 11, 12, 13, 20, 21, 22, 23, 24, 30])
    found = shift_equivariance(distances, at)
    assert found.toeplitz == pytest.approx(brute_share(distances, lambda i, j: at[j] - at[i]))
    cyclic = brute_share(distances, lambda i, j: min(at[j] - at[i], 31 - (at[j] - at[i])))
    assert found.circulant == pytest.approx(cyclic)


def test_on_a_grid_lags_are_vectors_up_to_sign(rng):
    grid = np.stack(np.meshgrid(np.arange(3), np.arange(5), indexing="ij"), -1).reshape(-1, 2)
    distances = squareform(pdist(rng.normal(size=(15, 3))))

    def lag(i, j):
        step = grid[j] - grid[i]
        return max(tuple(step), tuple(-step))

    def cyclic(i, j):
        step = grid[j] - grid[i]
        return max(tuple(step % (3, 5)), tuple(-step % (3, 5)))

    found = shift_equivariance(distances, grid)
    assert found.toeplitz == pytest.approx(brute_share(distances, lag))
    assert found.circulant == pytest.approx(brute_share(distances, cyclic))
    axial = lift(encoding("sinusoidal", dimension=8, axes=2), grid)
    assert shift_equivariance(axial.distances, grid).toeplitz == pytest.approx(1.0, abs=1e-14)


def test_the_order_in_which_positions_are_listed_changes_nothing(rng):
    grid = np.stack(np.meshgrid(np.arange(3), np.arange(5), indexing="ij"), -1).reshape(-1, 2)
    distances = squareform(pdist(rng.normal(size=(15, 3))))
    wanted = shift_equivariance(distances, grid)
    order = rng.permutation(15)
    found = shift_equivariance(distances[np.ix_(order, order)], grid[order])
    assert found.toeplitz == pytest.approx(wanted.toeplitz)
    assert found.circulant == pytest.approx(wanted.circulant)


def test_toeplitz_and_circulant_distances_are_told_apart():
    assert shift_equivariance(line(20)).toeplitz == 1.0
    assert shift_equivariance(line(20)).circulant < 0.5
    ring = np.minimum(line(20), 20 - line(20))
    assert shift_equivariance(ring).circulant == 1.0


def test_constant_distances_are_shift_equivariant():
    found = shift_equivariance(0.1 * (1.0 - np.eye(9)))
    assert (found.toeplitz, found.circulant) == (1.0, 1.0)


def test_positions_between_integers_are_refused(distances):
    with pytest.raises(InputError, match=r"Some coordinates are not whole numbers; shift equiv"):
        shift_equivariance(distances, np.arange(17) / 2)


@pytest.mark.parametrize("size", [2, 3, 300])
def test_both_routes_sum_the_same_lags(size, rng, monkeypatch):
    values = rng.random((size, size))
    found = []
    for route in ("0", "1"):
        monkeypatch.setenv("GNOMON_NUMBA", route)
        found.append(lag_sums(values))
    np.testing.assert_array_equal(found[0].means, found[1].means)
    np.testing.assert_array_equal(found[0].spreads, found[1].spreads)
    diagonals = [np.diagonal(values, lag) for lag in range(1, size)]
    np.testing.assert_allclose(found[0].means, [d.mean() for d in diagonals])
    np.testing.assert_allclose(found[0].spreads, [d.var() * d.size for d in diagonals], atol=1e-12)


# parameters and dimension


def test_the_published_parameter_counts():
    """Length 32, dimension 128: 480 at rank 3, 4,096 free, 4,960 at rank 31; break-even at 25.6."""
    table = parameter_table(32, 128, [1, 2, 3, 7, 31])
    assert [row.factored for row in table.rows] == [160, 320, 480, 1120, 4960]
    assert {row.free for row in table.rows} == {4096}
    assert [round(100 * row.saving, 1) for row in table.rows] == [96.1, 92.2, 88.3, 72.7, -21.1]
    assert table.break_even == pytest.approx(25.6)
    assert table.rows[2].geometry == 90
    assert table.rows[2].degrees == 3 * (32 + 128 - 3)


def test_degrees_of_freedom_are_the_rank_of_the_jacobian(rng):
    """Tangent space of U W at a random point, and of the distances of U."""
    n, d, r = 6, 5, 2
    u, w = rng.normal(size=(n, r)), rng.normal(size=(r, d))
    basis = [np.outer(e, row) for e in np.eye(n) for row in w]
    basis += [np.outer(column, e) for column in u.T for e in np.eye(d)]
    row = parameter_table(n, d, [r]).rows[0]
    assert np.linalg.matrix_rank([b.ravel() for b in basis]) == row.degrees
    moves = []
    for i, k in itertools.product(range(n), range(r)):
        change = np.zeros((n, n))
        change[i] = u[i, k] - u[:, k]
        moves.append((change + change.T)[np.triu_indices(n, 1)])
    assert np.linalg.matrix_rank(moves) == row.geometry


def test_a_rank_beyond_the_table_is_refused():
    with pytest.raises(InputError, match=r"rank is 33; a table of 32 positions .* from 0 to 32\."):
        parameter_table(32, 128, [33])
    with pytest.raises(InputError, match=r"length is 0 and dimension 4; pass whole numbers"):
        parameter_table(0, 4, [1])


def test_stress_by_dimension_equals_the_stress_of_each_truncation(rng):
    distances = squareform(pdist(np.sqrt(rng.dirichlet(np.full(30, 0.3), size=12))))
    gram = double_centred(distances**2)
    found = stress_by_dimension(gram, distances, [1, 2, 5, 11, 30])
    for index, dimension in enumerate(found.dimensions):
        report = stress(fit(distances, dimension=int(dimension)), distances)
        assert found.raw[index] == pytest.approx(report.raw, rel=1e-8, abs=1e-24)
        assert found.scale_free[index] == pytest.approx(report.scale_free, rel=1e-8, abs=1e-24)
        assert found.kruskal[index] == pytest.approx(report.kruskal, rel=1e-8, abs=1e-12)
    assert np.all(np.diff(found.raw[:4]) < 0)
    assert found.raw[-1] < 1e-24
    assert found.minimises == "strain"


def test_stress_by_dimension_refuses_dimension_zero(distances):
    with pytest.raises(InputError, match=r"dimensions are \[0, 2\]; pass whole numbers from 1 on"):
        stress_by_dimension(double_centred(distances**2), distances, [2, 0])
    with pytest.raises(InputError, match=r"All target distances are 0"):
        stress_by_dimension(np.zeros((4, 4)), np.zeros((4, 4)), [1])


def test_tables_are_dataframes(distances):
    pytest.importorskip("pandas")
    frame = parameter_table(32, 128, [1, 3]).to_dataframe()
    assert frame["factored"].tolist() == [160, 480]
    frame = stress_by_dimension(double_centred(distances**2), distances, [1, 2]).to_dataframe()
    assert frame["dimensions"].tolist() == [1, 2]
