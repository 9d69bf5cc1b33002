"""SMACOF: stress never rises, and ends where scikit-learn's ends or lower."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from scipy.spatial.distance import pdist, squareform

from gnomon.distances import classical_mds
from gnomon.distances.geometry import measure
from gnomon.distances.scaling import guttman, smacof
from gnomon.errors import InputError


def raw_stress(vectors, distances):
    target = squareform(distances, checks=False)
    return np.square(pdist(vectors) - target).sum() / np.square(target).sum()


def random_distances(rng, points):
    return squareform(rng.uniform(0.5, 2.0, size=points * (points - 1) // 2))


def test_three_one_hot_laws_on_a_line_end_at_one_ninth(route):
    """From (-1, 0, 1)/sqrt 2, stress 1/6, to (-2, 0, 2) sqrt 2/3, stress 1/9."""
    distances = measure(np.eye(3, dtype=int)).distances
    start = np.array([[-1.0], [0.0], [1.0]]) / np.sqrt(2.0)
    assert raw_stress(start, distances) == pytest.approx(1 / 6, rel=1e-13)
    found = smacof(distances, 1, start=start)
    assert found.objective == pytest.approx(1 / 9, rel=1e-13)
    np.testing.assert_allclose(
        found.vectors[:, 0], np.array([-2, 0, 2]) * np.sqrt(2) / 3, atol=1e-14
    )
    assert smacof(distances, 1).objective == pytest.approx(1 / 9, rel=1e-13)
    assert found.converged


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_stress_never_rises(route, rng, dimension):
    distances = random_distances(rng, 40)
    stresses = [smacof(distances, dimension, iterations=k).objective for k in range(25)]
    assert (np.diff(stresses) <= 0).all()
    assert stresses[-1] < stresses[0]


@given(pairs=arrays(np.int64, 15, elements=st.integers(0, 300)), dimension=st.integers(1, 6))
@settings(deadline=None, max_examples=60)
def test_smacof_is_never_worse_than_classical_scaling(pairs, dimension):
    distances = squareform(pairs / 100.0)
    if not distances.any():
        return
    found = smacof(distances, dimension, iterations=60)
    assert found.objective <= smacof(distances, dimension, iterations=0).objective
    J = np.eye(6) - 1 / 6
    B = -0.5 * J @ distances**2 @ J
    sizes = np.append(np.sort(np.linalg.eigvalsh(B))[::-1], 0.0)
    if np.isclose(sizes[dimension - 1], sizes[dimension], atol=1e-9 * sizes[0]):
        return  # classical scaling is not one: rounding decides which of equal directions it keeps
    classical = classical_mds(B, dimension).vectors
    assert raw_stress(found.vectors, distances) <= raw_stress(classical, distances) + 1e-9


def test_objective_is_the_raw_stress_of_the_points_returned(route, rng):
    distances = random_distances(rng, 30)
    for iterations in (0, 1, 7, 300):
        found = smacof(distances, 3, iterations=iterations)
        assert found.objective == pytest.approx(raw_stress(found.vectors, distances), rel=1e-10)
        assert found.iterations <= iterations


def test_guttman_transform_equals_its_definition(route, rng):
    distances, points = random_distances(rng, 70), rng.normal(size=(70, 4))
    length = squareform(pdist(points))
    B = -np.divide(distances, length, out=np.zeros_like(length), where=length > 0)
    np.fill_diagonal(B, -B.sum(axis=1))
    stress, moved = guttman(distances, points)
    np.testing.assert_allclose(moved, B @ points / 70, atol=1e-13)
    assert stress == pytest.approx(np.square(length - distances).sum(), rel=1e-12)


def test_result_is_a_stationary_point_of_stress(rng):
    """A quasi-Newton search from the result, written for this test, finds nothing lower."""
    distances = random_distances(rng, 12)
    found = smacof(distances, 2, iterations=5000, tolerance=1e-14)
    assert found.converged

    def stress(flat):
        return raw_stress(flat.reshape(12, 2), distances)

    better = minimize(stress, found.vectors.ravel(), method="BFGS", options={"gtol": 1e-9})
    assert found.objective == pytest.approx(better.fun, rel=1e-6)


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_stress_matches_scikit_learn_from_the_same_start(zipf_counts, dimension):
    peer = pytest.importorskip("sklearn.manifold")
    geometry = measure(zipf_counts[:30])
    start = classical_mds(geometry.gram, dimension).vectors
    points, _ = peer.smacof(
        geometry.distances,
        metric=True,
        n_components=dimension,
        init=start.copy(),
        n_init=1,
        max_iter=3000,
        eps=1e-12,
        normalized_stress=False,
    )
    ours = smacof(geometry.distances, dimension, iterations=3000, tolerance=1e-12)
    theirs = raw_stress(points, geometry.distances)
    assert ours.objective <= theirs * (1 + 1e-3)


def test_exact_distances_have_stress_zero_at_their_dimension(route, rng):
    points = rng.normal(size=(50, 3))
    found = smacof(squareform(pdist(points)), 3)
    assert found.objective < 1e-24
    assert found.converged
    assert found.rank == 3


def test_coinciding_points_that_should_differ_are_moved_apart():
    distances = squareform(np.full(6, 1.0))
    found = smacof(distances, 2, start=np.zeros((4, 2)))
    assert pdist(found.vectors).min() > 0.1
    # The best flat picture of a regular tetrahedron is a square; its stress, with side s,
    # (4 (s - 1)^2 + 2 (s sqrt 2 - 1)^2) / 6, is least at s = (4 + 2 sqrt 2) / 8.
    s = (4 + 2 * np.sqrt(2)) / 8
    assert found.objective <= (4 * (s - 1) ** 2 + 2 * (s * np.sqrt(2) - 1) ** 2) / 6 + 1e-6


@pytest.mark.parametrize("unit", [2.0**-900, 2.0**-1070, 2.0**900])
def test_unit_of_the_distances_does_not_matter(rng, unit):
    distances = np.round(random_distances(rng, 12) * 8)
    plain, scaled = smacof(distances, 2), smacof(unit * distances, 2)
    assert scaled.objective == plain.objective
    if unit > 1e-300:
        np.testing.assert_array_equal(scaled.vectors, unit * plain.vectors)


def test_all_distances_zero_gives_all_points_equal(route):
    found = smacof(np.zeros((4, 4)), 2)
    assert not found.vectors.any()
    assert (found.objective, found.converged, found.rank) == (0.0, True, 0)


def test_same_input_gives_the_same_bits_twice(rng):
    distances = random_distances(rng, 100)
    np.testing.assert_array_equal(smacof(distances, 3).vectors, smacof(distances, 3).vectors)


def test_compiled_and_numpy_routes_end_in_the_same_stress(monkeypatch, rng):
    distances = random_distances(rng, 90)
    found = []
    for switch in ("1", "0"):
        monkeypatch.setenv("GNOMON_NUMBA", switch)
        found.append(smacof(distances, 3, iterations=20))
    np.testing.assert_allclose(found[0].vectors, found[1].vectors, atol=1e-10)


@pytest.mark.parametrize(
    ("distances", "sentence"),
    [
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), "distances start at -1"),
        (np.array([[1.0, 1.0], [1.0, 0.0]]), "with up to 1 on the diagonal"),
        (np.zeros((2, 3)), r"a matrix of distances of shape \(2, 3\) is not square"),
    ],
)
def test_what_can_not_be_distances_is_refused_in_one_sentence(distances, sentence):
    with pytest.raises(InputError, match=sentence):
        smacof(distances, 1)


def test_start_of_the_wrong_shape_is_refused():
    with pytest.raises(
        InputError, match=r"the start has shape \(3, 1\).*pass 2 x 1 finite numbers"
    ):
        smacof(np.array([[0.0, 1.0], [1.0, 0.0]]), 1, start=np.zeros((3, 1)))
