"""PositionalMDS: scikit-learn's checks, other libraries' coordinates, planted laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator

import gnomon
from gnomon.encodings.fitted import Fitted
from gnomon.errors import InputError
from gnomon.sklearn import PositionalMDS

KINDS = [
    PositionalMDS(),
    PositionalMDS(estimator="plugin"),
    PositionalMDS(metric="angle"),
    PositionalMDS(metric="precomputed"),
    PositionalMDS(method="smacof"),
]
CHECKS = [
    pytest.param(estimator, check, id=f"{estimator}-{getattr(check, 'func', check).__name__}")
    for kind in KINDS
    for estimator, check in estimator_checks_generator(kind)
]


@pytest.mark.filterwarnings("ignore:SCIPY_ARRAY_API is not set")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learns_own_checks_pass(estimator: Any, check: Any) -> None:
    """All of them: there is no list of exceptions."""
    check(estimator)


@pytest.fixture
def counts(rng: np.random.Generator) -> np.ndarray:
    """Ten positions, 40 types, laws that all differ, 400 tokens each."""
    return rng.multinomial(400, rng.dirichlet(np.ones(40), size=10))


def chords(counts: Any) -> np.ndarray:
    """Distances between the roots of shares, by SciPy."""
    return squareform(pdist(np.sqrt(counts / counts.sum(axis=1, keepdims=True))))


# -- against other libraries ------------------------------------------------------------------


def test_given_distances_are_scaled_as_scikit_bio_does(counts: np.ndarray) -> None:
    from skbio import DistanceMatrix
    from skbio.stats.ordination import pcoa

    distances = chords(counts)
    truth = pcoa(DistanceMatrix(distances), method="eigh")
    found = PositionalMDS(n_components=3, metric="precomputed").fit(distances)
    peers = truth.samples.to_numpy()[:, :3]
    assert np.allclose(np.abs(found.embedding_), np.abs(peers), rtol=0, atol=1e-10)
    assert np.allclose(found.eigenvalues_[:9], truth.eigvals.to_numpy()[:9], rtol=1e-9, atol=1e-12)
    assert (found.estimator_, found.warnings_) == ("given", ())


@pytest.mark.parametrize("metric", ["chord", "angle"])
def test_plug_in_coordinates_have_the_distances_of_the_shares(
    counts: np.ndarray, metric: str
) -> None:
    found = PositionalMDS(n_components=12, metric=metric, estimator="plugin").fit(counts)
    truth = chords(counts)
    truth = 2 * np.arcsin(truth / 2) if metric == "angle" else truth
    assert np.allclose(squareform(pdist(found.embedding_)), truth, rtol=0, atol=1e-9)
    assert (found.rank_, found.estimator_, found.n_features_in_) == (9, "plugin", 40)
    assert found.stress_ < 1e-18
    assert not found.embedding_[:, 9:].any()


def test_shares_are_taken_as_they_are_and_that_is_said(counts: np.ndarray) -> None:
    shares = counts / counts.sum(axis=1, keepdims=True)
    found = PositionalMDS(n_components=9).fit(shares)
    assert np.allclose(squareform(pdist(found.embedding_)), chords(counts), rtol=0, atol=1e-9)
    assert found.estimator_ == "plugin"
    assert "not whole" in found.warnings_[0]


def test_stress_is_what_it_says(counts: np.ndarray) -> None:
    """Over pairs, by SciPy; SMACOF has no more of it than classical scaling."""
    made = {}
    for method in ("classical", "smacof"):
        found = PositionalMDS(estimator="plugin", method=method).fit(counts)
        wanted, have = pdist(np.sqrt(counts / 400)), pdist(found.embedding_)
        assert found.stress_ == pytest.approx(((have - wanted) ** 2).sum() / (wanted**2).sum())
        made[method] = found.stress_
    assert made["smacof"] < made["classical"]


@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_sparse_counts_are_dense_counts(counts: np.ndarray, kind: Any) -> None:
    dense, sparse = PositionalMDS().fit(counts), PositionalMDS().fit(kind(counts))
    assert np.array_equal(dense.embedding_, sparse.embedding_)
    halves = PositionalMDS().fit(kind(counts / 2))
    assert np.allclose(halves.embedding_, PositionalMDS().fit(counts / 2).embedding_)


# -- noise ------------------------------------------------------------------------------------


def planted(rng: np.random.Generator, tokens: int = 3000) -> tuple[np.ndarray, float]:
    """Counts of two laws, twelve positions each, and the distance between the laws."""
    first = rng.dirichlet(np.full(300, 0.5))
    second = np.roll(first, 1) * 0.3 + first * 0.7
    laws = np.repeat([first, second], 12, axis=0)
    return rng.multinomial(tokens, laws), float(np.linalg.norm(np.sqrt(first) - np.sqrt(second)))


def test_two_planted_laws_are_one_direction_at_their_distance(rng: np.random.Generator) -> None:
    """Debiased by default; plug-in has the noise of 3000 tokens in every pair."""
    counts, distance = planted(rng)
    found = PositionalMDS(n_components=4).fit(counts)
    assert (found.rank_, found.estimator_) == (1, "debiased")
    apart = found.embedding_[:12].mean(axis=0) - found.embedding_[12:].mean(axis=0)
    assert np.linalg.norm(apart) == pytest.approx(distance, rel=0.1)
    within = pdist(found.embedding_[:12]).mean()
    noisy = PositionalMDS(n_components=23, estimator="plugin").fit(counts)
    assert within < 0.3 * distance < pdist(noisy.embedding_[:12]).mean()


def test_counts_of_one_law_are_said_to_be_noise(rng: np.random.Generator) -> None:
    counts = rng.multinomial(2000, rng.dirichlet(np.ones(50)), size=12)
    found = PositionalMDS().fit(counts)
    assert any("noise" in text for text in found.warnings_)
    assert found.estimator_ == "plugin"


def test_what_was_assumed_of_the_tokens_is_said(rng: np.random.Generator) -> None:
    assert any("no documents" in text for text in PositionalMDS().fit(planted(rng)[0]).warnings_)


def test_the_fit_of_the_same_counts_has_the_same_distances(rng: np.random.Generator) -> None:
    """`gnomon.fit` and the estimator are two ways into one computation."""
    counts, _ = planted(rng)
    state = np.random.RandomState(5)
    seed = np.random.RandomState(5).randint(2**31 - 1)
    found = PositionalMDS(n_components=8, random_state=state).fit(counts)
    held = gnomon.PositionCounts.from_array(counts, minimum_count=1)
    other = gnomon.fit(held, dimension=8, seed=int(seed)).vectors(np.arange(24))
    assert np.allclose(pdist(found.embedding_), pdist(other), rtol=0, atol=1e-9)


def test_the_same_random_state_gives_the_same_coordinates(rng: np.random.Generator) -> None:
    counts, _ = planted(rng)
    made = [PositionalMDS(random_state=state).fit_transform(counts) for state in (3, 3, 4)]
    assert np.array_equal(made[0], made[1])
    assert not np.array_equal(made[0], made[2])


def test_real_places_have_a_geometry() -> None:
    """The 64 places of scikit-learn's digits by the images that put ink there."""
    found = PositionalMDS(n_components=3).fit(load_digits().data.T)
    assert found.embedding_.shape == (64, 3)
    assert found.estimator_ == "debiased"
    assert found.rank_ >= 3


# -- manners ----------------------------------------------------------------------------------


def test_a_row_without_tokens_gets_the_row_before_it_and_is_marked(counts: np.ndarray) -> None:
    counts = counts.copy()
    counts[6] = 0
    for given in (counts, counts / 7.0):
        found = PositionalMDS(estimator="plugin").fit(given)
        assert np.array_equal(found.embedding_[6], found.embedding_[5])
        assert found.status_.tolist() == [2] * 6 + [0] + [2] * 3


def test_rank_leaves_the_other_coordinates_zero(counts: np.ndarray) -> None:
    found = PositionalMDS(n_components=5, rank=2, estimator="plugin").fit(counts)
    whole = PositionalMDS(n_components=5, estimator="plugin").fit(counts)
    assert np.allclose(found.embedding_[:, :2], whole.embedding_[:, :2], rtol=0, atol=1e-12)
    assert not found.embedding_[:, 2:].any()


def test_the_coordinates_are_an_encoding_to_take_away(counts: np.ndarray, tmp_path: Path) -> None:
    found = PositionalMDS(n_components=6).fit(counts)
    found.encoding_.save(tmp_path / "e.safetensors")
    again = Fitted.load(tmp_path / "e.safetensors")
    assert np.array_equal(again.vectors(np.arange(10)), found.embedding_.astype(np.float32))
    assert again.warnings == found.warnings_


def test_it_clones_and_stands_in_a_pipeline(counts: np.ndarray) -> None:
    own = PositionalMDS(n_components=3, estimator="plugin")
    pipeline = make_pipeline(FunctionTransformer(), clone(own))
    assert np.array_equal(pipeline.fit_transform(counts), own.fit_transform(counts))


@pytest.mark.parametrize(
    ("options", "given", "said"),
    [
        ({"n_components": 0}, None, r"n_components is 0; pass a whole number from 1 on"),
        ({"metric": "cosine"}, None, r"metric is 'cosine'; pass one of: chord, angle, precomp"),
        ({"method": "pca"}, None, r"method is 'pca'; pass one of: classical, smacof"),
        ({"estimator": "best"}, None, r"estimator is 'best'; pass one of: auto, debiased"),
        ({"rank": -1}, None, r"rank is -1; pass a whole number from 1 on"),
        ({"rank": 3}, None, r"rank is 3 and dimension 2; pass a rank up to it"),
        ({"minimum_count": -2}, None, r"minimum_count is -2; pass a whole number from 0 on"),
        ({"estimator": "debiased"}, np.full((3, 2), 0.5), r"counts\[0, 0\] is not whole"),
        ({}, np.eye(3)[:, :1] * 7, r"1 of 3 rows hold tokens enough .* lower minimum_count"),
        ({}, np.eye(3)[:, :1] / 2, r"1 of 3 rows hold tokens enough .* lower minimum_count"),
        ({"metric": "precomputed"}, np.ones((3, 3)), r"up to 1 on the diagonal; pass non-neg"),
        ({"metric": "precomputed"}, np.triu(np.ones((3, 3)), 1), r"is not symmetric"),
    ],
)
def test_what_can_not_be_used_is_refused_in_a_sentence(
    counts: np.ndarray, options: dict[str, Any], given: np.ndarray | None, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        PositionalMDS(**options).fit(counts if given is None else given)
