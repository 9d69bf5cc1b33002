"""Classical MDS against scikit-learn, scikit-bio, PCA and closed forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import pdist, squareform

from gnomon.distances import Coordinates, classical_mds, scale
from gnomon.distances.geometry import measure
from gnomon.errors import InputError


def cloud(rng, points, dimension):
    return rng.normal(size=(points, dimension)) * np.arange(1, dimension + 1)


@pytest.mark.parametrize("dimension", [1, 3, 16, 40])
def test_classical_mds_equals_scikit_learn_up_to_signs(zipf_counts, dimension):
    peer = pytest.importorskip("sklearn.manifold")
    found = measure(zipf_counts)
    theirs = peer.ClassicalMDS(n_components=dimension, metric="precomputed")
    points = theirs.fit_transform(found.distances)
    ours = classical_mds(found.gram, dimension).vectors
    np.testing.assert_allclose(np.abs(ours), np.abs(points), atol=1e-9)
    np.testing.assert_allclose(ours @ ours.T, points @ points.T, atol=1e-12)


def test_classical_mds_equals_scikit_bio_pcoa(zipf_counts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their imports warn; what they compute is asked below
        skbio = pytest.importorskip("skbio")
        ordination = pytest.importorskip("skbio.stats.ordination")
        found = measure(zipf_counts)
        theirs = ordination.pcoa(skbio.DistanceMatrix(found.distances.copy()), dimensions=10)
    points = np.asarray(theirs.samples)
    ours = classical_mds(found.gram, 10).vectors
    np.testing.assert_allclose(ours @ ours.T, points @ points.T, atol=1e-12)
    np.testing.assert_allclose(found.eigenvalues[:10], np.asarray(theirs.eigvals)[:10], rtol=1e-10)


def test_classical_mds_is_principal_components_of_square_roots(zipf_counts):
    law = np.sqrt(zipf_counts / zipf_counts.sum(axis=1, keepdims=True))
    left, singular, _ = np.linalg.svd(law - law.mean(axis=0), full_matrices=False)
    ours = classical_mds(measure(zipf_counts).gram, 5).vectors
    np.testing.assert_allclose(np.abs(ours), np.abs(left * singular)[:, :5], atol=1e-10)


@pytest.mark.parametrize("dimension", [69, 70, 128])
def test_distances_are_exact_from_dimension_m_minus_one_on(zipf_counts, dimension):
    found = measure(zipf_counts)
    points = scale(found, dimension=dimension)
    assert points.vectors.shape == (70, dimension)
    np.testing.assert_allclose(squareform(pdist(points.vectors)), found.distances, atol=1e-13)
    assert points.rank == 69
    assert not points.vectors[:, 69:].any()
    assert points.objective < 1e-13


def test_every_truncated_distance_is_too_short_and_grows_with_dimension(zipf_counts):
    found = measure(zipf_counts)
    before = np.zeros_like(found.distances)
    for dimension in (1, 2, 10, 17, 18, 40):
        now = squareform(pdist(classical_mds(found.gram, dimension).vectors))
        assert (now <= found.distances + 1e-12).all()
        assert (now >= before - 1e-12).all()
        before = now


def test_strain_is_the_norm_of_the_eigenvalues_left_out(zipf_counts):
    """Eckart-Young: no rank-k matrix is nearer than the tail of the spectrum."""
    found = measure(zipf_counts)
    for k in (1, 5, 30):
        tail = np.linalg.eigvalsh(found.gram)[::-1][k:]
        assert classical_mds(found.gram, k).objective == pytest.approx(
            np.linalg.norm(tail), rel=1e-10
        )


def test_no_random_configuration_has_less_strain(rng, zipf_counts):
    found = measure(zipf_counts)
    best = classical_mds(found.gram, 2)
    for size in (1e-3, 1e-2, 1e-1):
        other = best.vectors + size * rng.normal(size=best.vectors.shape)
        assert np.linalg.norm(found.gram - other @ other.T) > best.objective


def test_points_of_a_plane_are_found_again(rng):
    points = cloud(rng, 30, 2)
    distances = squareform(pdist(points))
    again = scale(distances, dimension=2)
    np.testing.assert_allclose(squareform(pdist(again.vectors)), distances, atol=1e-12)
    assert (again.rank, again.minimises, again.method) == (2, "strain", "classical")


def test_negative_eigenvalues_give_zero_columns_not_nan(rng):
    found = measure(rng.multinomial(500, rng.dirichlet(np.full(5, 0.3), size=20)), metric="angle")
    points = classical_mds(found.gram, 20)
    positive = int((np.linalg.eigvalsh(found.gram) > 1e-12).sum())
    assert positive < 19
    assert points.rank == positive
    assert np.isfinite(points.vectors).all()
    assert not points.vectors[:, positive:].any()


def test_largest_entry_of_every_column_is_positive(zipf_counts):
    vectors = classical_mds(measure(zipf_counts).gram, 20).vectors
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(20)] > 0).all()


@given(
    counts=arrays(np.int64, (6, 5), elements=st.integers(1, 30)),
    order=st.permutations(range(6)),
)
@settings(deadline=None, max_examples=50)
def test_permuting_positions_permutes_the_geometry_of_the_points(counts, order):
    order = list(order)
    plain = classical_mds(measure(counts).gram, 5).vectors
    moved = classical_mds(measure(counts[order]).gram, 5).vectors
    np.testing.assert_allclose(moved @ moved.T, (plain @ plain.T)[np.ix_(order, order)], atol=1e-13)


def test_three_one_hot_laws_on_a_line_have_stress_one_sixth_at_the_symmetric_solution():
    """Any unit vector of the double eigenvalue is a solution; ours is the symmetric one."""
    found = measure(np.eye(3, dtype=int))
    x = classical_mds(found.gram, 1).vectors[:, 0]
    np.testing.assert_allclose(sorted(x), [-np.sqrt(0.5), 0.0, np.sqrt(0.5)], atol=1e-14)
    stress = np.square(np.abs(x[:, None] - x) - found.distances).sum()
    assert stress / np.square(found.distances).sum() == pytest.approx(1 / 6, rel=1e-13)


def test_one_interface_serves_both_methods(zipf_counts):
    found = measure(zipf_counts)
    for given_geometry in (found, found.distances):
        for method, goal in (("classical", "strain"), ("smacof", "stress")):
            points = scale(given_geometry, method, dimension=2)
            assert isinstance(points, Coordinates)
            assert (points.method, points.minimises, points.dimension) == (method, goal, 2)


def test_unknown_method_is_answered_with_the_known_ones():
    with pytest.raises(InputError, match=r"'smakof' is no scaling method; did you mean 'smacof'\?"):
        scale(np.zeros((2, 2)), "smakof", dimension=1)


@pytest.mark.parametrize("dimension", [0, -3, 1.5, True, "2"])
def test_dimension_that_is_none_is_refused(dimension):
    with pytest.raises(InputError, match=r"is not a whole number of 1 or more \(--dimension\)"):
        classical_mds(np.eye(3), dimension)
