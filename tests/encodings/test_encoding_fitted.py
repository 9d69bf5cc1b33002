"""Encodings fitted to distances: exact where they must be, and ending where they end."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from gnomon.diagnostics.stress_report import stress
from gnomon.encodings.fitted import fit
from gnomon.encodings.registry import encoding
from gnomon.errors import EncodingError

SIMPLEX = np.sqrt(2.0) * (1.0 - np.eye(3))


@pytest.fixture
def distances(rng):
    laws = rng.dirichlet(np.full(30, 0.3), size=12)
    return squareform(pdist(np.sqrt(laws)))


@pytest.mark.parametrize("dimension", [11, 12, 40])
def test_classical_mds_is_exact_from_n_minus_one_dimensions_on(distances, dimension):
    made = fit(distances, dimension=dimension)
    vectors = made.vectors(np.arange(12))
    assert vectors.shape == (12, dimension)
    np.testing.assert_allclose(squareform(pdist(vectors)), distances, atol=1e-12)
    assert stress(made, distances).raw < 1e-24


def test_three_one_hot_laws_in_one_dimension_cost_a_sixth_and_a_ninth():
    """Classical MDS minimises strain, SMACOF stress: the two differ here."""
    assert stress(fit(SIMPLEX, dimension=1), SIMPLEX).raw == pytest.approx(1 / 6)
    assert stress(encoding("smacof", geometry=SIMPLEX, dimension=1), SIMPLEX).raw == pytest.approx(
        1 / 9
    )
    assert fit(SIMPLEX, dimension=1).minimises == "strain"
    assert fit(SIMPLEX, method="smacof", dimension=1).minimises == "stress"


def test_low_rank_is_classical_mds_of_that_rank_in_a_larger_space(distances):
    low = encoding("mds-low-rank", geometry=distances, dimension=20, rank=3)
    flat = fit(distances, dimension=3)
    at = np.arange(12)
    np.testing.assert_allclose(low.vectors(at)[:, :3], flat.vectors(at))
    np.testing.assert_array_equal(low.left @ low.right, low.vectors(at))
    assert np.linalg.matrix_rank(low.vectors(at)) == 3
    assert low.parameters["stored"] == 3 * (12 + 20)
    assert flat.parameters["stored"] == 12 * 3


def test_a_geometry_hands_over_its_own_positions(rng):
    from gnomon.distances.geometry import measure

    counts = rng.integers(1, 50, size=(9, 20))
    counts[4] = 0
    geometry = measure(counts)
    made = fit(geometry, dimension=8)
    assert stress(made, geometry).raw < 1e-24
    with pytest.raises(
        EncodingError, match=r"Position 4 was masked, and this encoding refuses those"
    ):
        made.vectors([4])


def test_positions_past_the_end_are_refused(distances):
    with pytest.raises(
        EncodingError,
        match=r"Position 12 is past the end of this encoding, whose last position is 11",
    ):
        fit(distances, dimension=2).vectors([0, 12])


def test_what_can_not_be_fitted_is_refused(distances):
    with pytest.raises(EncodingError, match=r"method is 'pca'; pass one of: classical, smacof\."):
        fit(distances, method="pca", dimension=2)
    with pytest.raises(EncodingError, match=r"rank is 3 and dimension 2; pass a rank up to it\."):
        fit(distances, dimension=2, rank=3)
    with pytest.raises(
        EncodingError, match=r"12 positions span 11 directions; pass a rank up to 11\."
    ):
        fit(distances, dimension=20, rank=12)
    with pytest.raises(EncodingError, match=r"dimension is 0; pass a whole number from 1 on\."):
        fit(distances, dimension=0)
    with pytest.raises(EncodingError, match=r"The distances have shape \(2, 3\); pass a square"):
        fit(np.zeros((2, 3)), dimension=1)


def test_classical_vectors_are_those_of_scikit_bio(distances):
    """Up to the sign of each column."""
    from skbio.stats.ordination import pcoa

    theirs = pcoa(distances, dimensions=4).samples.to_numpy()
    ours = fit(distances, dimension=4).vectors(np.arange(12))
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-9)


def test_parts_that_do_not_belong_together_are_refused(distances):
    from dataclasses import replace

    with pytest.raises(EncodingError, match=r"are no encoding of dimension 3; pass parts that"):
        replace(fit(distances, dimension=3), shape=(13,))


def test_the_numbers_of_an_encoding_can_not_be_changed(distances):
    made = fit(distances, dimension=3)
    for part in (made.left, made.right, made.status):
        assert not part.flags.writeable
