"""gnomon.fit: the geometry that was planted comes back, and what rests on noise says so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import gnomon
from gnomon.corpus.counts import PositionCounts
from gnomon.encodings.fitted import Fitted
from gnomon.errors import EncodingError, InputError
from gnomon.pipeline.fitting import fit_survey
from gnomon.pipeline.survey_file import save_survey

FOLDS, TYPES = 16, 30


def planted(laws: np.ndarray, tokens: int | np.ndarray, seed: int = 5, **more) -> PositionCounts:
    """Counts drawn from known laws, in folds that are independent of each other."""
    rng = np.random.default_rng(seed)
    each = np.broadcast_to(np.asarray(tokens) // FOLDS, len(laws))
    drawn = [[rng.multinomial(n, p) for n, p in zip(each, laws, strict=True)] for _ in range(FOLDS)]
    return PositionCounts.from_array(np.array(drawn), **more)


@pytest.fixture(scope="module")
def laws() -> np.ndarray:
    """Sixteen laws that turn once around in two directions of square-root space."""
    turn = 2 * np.pi * np.arange(16) / 16
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, TYPES))
    log = 0.5 * (np.cos(turn)[:, None] * first + np.sin(turn)[:, None] * second)
    weights = np.exp(log)
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def counts(laws) -> PositionCounts:
    return planted(laws, 16_000)


@pytest.fixture(scope="module")
def noise() -> PositionCounts:
    return planted(np.full((12, TYPES), 1 / TYPES), 3_200)


def test_the_planted_distances_come_back(laws, counts) -> None:
    made = gnomon.fit(counts, dimension=48)
    true = pdist(np.sqrt(laws))
    found = pdist(made.vectors(np.arange(16)))
    assert (made.estimator, made.warnings) == ("debiased", ())
    assert np.abs(found - true).max() < 0.05 * true.max()


def test_the_debiased_fit_is_nearer_to_the_truth_than_the_plug_in(laws) -> None:
    """At few tokens plug-in distances are too long by their noise."""
    few = planted(laws, 1_600, seed=8)
    true = pdist(np.sqrt(laws))
    errors = {
        name: np.square(pdist(made.vectors(np.arange(16))) - true).mean()
        for name, made in (
            ("debiased", gnomon.fit(few, dimension=32)),
            ("plugin", gnomon.fit(few, dimension=32, estimator="plugin", rank="full")),
        )
    }
    assert errors["debiased"] < 0.5 * errors["plugin"]


def test_plug_in_at_full_rank_has_the_distances_of_the_observed_shares(counts) -> None:
    made = gnomon.fit(counts, dimension=20, estimator="plugin", rank="full")
    shares = counts.matrix.toarray() / counts.totals[:, None]
    np.testing.assert_allclose(
        pdist(made.vectors(np.arange(16))), pdist(np.sqrt(shares)), atol=1e-12
    )
    assert made.rank == 15
    assert made.warnings[-1].startswith("Plug-in distances hold sampling noise: ")


@pytest.mark.parametrize("rotation", [None, 0, 7])
def test_rotating_changes_no_distance(counts, rotation) -> None:
    still = gnomon.fit(counts, dimension=40, rotation=None).vectors(np.arange(16))
    turned = gnomon.fit(counts, dimension=40, rotation=rotation).vectors(np.arange(16))
    np.testing.assert_allclose(pdist(turned), pdist(still), atol=1e-12)


def test_a_lower_rank_keeps_the_best_directions(counts) -> None:
    """Of the principal axes the first ones: a projection, so that no distance grows."""
    whole, low = gnomon.fit(counts, dimension=9), gnomon.fit(counts, dimension=9, rank=1)
    at = np.arange(16)
    points = whole.vectors(at) - whole.vectors(at).mean(axis=0)
    best = np.linalg.svd(points)[1][0] ** 2
    assert np.square(low.vectors(at) - low.vectors(at).mean(axis=0)).sum() == pytest.approx(best)
    assert (pdist(low.vectors(at)) <= pdist(whole.vectors(at)) + 1e-12).all()


def test_smacof_below_the_effective_rank_has_less_stress_than_classical(counts) -> None:
    at = np.arange(16)
    target = pdist(gnomon.fit(counts, dimension=9).vectors(at))
    stress = [
        np.square(
            pdist(gnomon.fit(counts, dimension=9, rank=1, method=m).vectors(at)) - target
        ).sum()
        for m in ("classical", "smacof")
    ]
    assert stress[1] < stress[0]


def test_a_corpus_without_signal_is_fitted_and_says_so(noise) -> None:
    made = gnomon.fit(noise, dimension=8)
    assert (made.rank, made.estimator) == (3, "plugin")
    assert "effective rank 0" in made.warnings[0]
    assert "these vectors rest on sampling noise" in made.warnings[0]
    assert any(
        "Nothing of position stands out from noise in this corpus (p = " in w for w in made.warnings
    )
    assert made.origin["informative"] is False


def test_positions_of_one_law_give_zeros_and_say_so() -> None:
    same = PositionCounts.from_array(np.full((FOLDS, 5, 3), 20))
    made = gnomon.fit(same, dimension=4)
    assert made.warnings == ("All positions have the same law, so every vector is 0.",)
    assert not made.table().any()


@pytest.mark.parametrize(("rule", "expected"), [("continue", 5), ("interpolate", None)])
def test_masked_positions_follow_the_rule_and_are_listed(laws, rule, expected) -> None:
    tokens = np.full(16, 16_000)
    tokens[6:8] = 0
    made = gnomon.fit(planted(laws, tokens), dimension=8, masked=rule)
    assert made.origin["masked"] == [[6, 7]]
    assert made.status.tolist() == [2] * 6 + [0] * 2 + [2] * 8
    five, eight = made.vectors([5, 8])
    wanted = five if expected is not None else (2 * five + eight) / 3
    np.testing.assert_allclose(made.vectors([6])[0], wanted, atol=1e-12)


def test_positions_with_few_tokens_are_projected_and_listed(laws) -> None:
    """64 tokens of 30 types: sqrt(2) sqrt(30) / (4 * 64) = 0.03 exceeds the 0.02 of the core."""
    tokens = np.full(16, 16_000)
    tokens[9] = 64
    made = gnomon.fit(planted(laws, tokens), dimension=8)
    assert made.origin["projected"] == [[9, 9]]
    assert made.status[9] == 1


def test_every_position_of_a_bin_has_the_row_of_its_bin(counts) -> None:
    made = gnomon.fit(counts.binned(3), dimension=8)
    assert made.shape == (16,)
    assert made.origin["bins"]["starts"] == [0, 3, 6, 9, 12, 15]
    vectors = made.vectors(np.arange(16))
    for start in range(0, 15, 3):
        assert (vectors[start : start + 3] == vectors[start]).all()


def test_a_grid_keeps_its_axes(laws) -> None:
    made = gnomon.fit(planted(laws, 16_000, axes=(4, 4)), dimension=8)
    flat = gnomon.fit(planted(laws, 16_000), dimension=8)
    assert made.shape == (4, 4)
    np.testing.assert_allclose(made.vectors([[2, 3]]), flat.vectors([11]), atol=1e-12)


def test_a_geometry_and_its_distances_give_the_same_encoding(counts) -> None:
    measured = gnomon.geometry(counts)
    own, given = (gnomon.fit(one, dimension=15) for one in (measured, measured.distances))
    np.testing.assert_allclose(
        squareform(pdist(own.vectors(np.arange(16)))), measured.distances, atol=1e-10
    )
    np.testing.assert_allclose(
        pdist(given.vectors(np.arange(16))), pdist(own.vectors(np.arange(16))), atol=1e-10
    )
    assert own.warnings == ("Plug-in distances hold sampling noise.",)
    assert (given.warnings, given.estimator) == ((), "given")


def test_a_dimension_too_small_for_all_directions_is_said(counts) -> None:
    made = gnomon.fit(gnomon.geometry(counts), dimension=3)
    assert made.rank == 3
    assert "There are 15 directions and the dimension holds 3" in made.warnings[-1]


def test_a_rank_is_that_of_the_distances_and_no_column_is_empty(rng) -> None:
    """Twelve points in three dimensions have rank 3, whatever the dimension has room for."""
    points = rng.normal(size=(12, 3))
    distances = squareform(pdist(points))
    for method in ("classical", "smacof"):
        made = gnomon.fit(distances, dimension=9, method=method)
        assert (made.rank, made.left.shape, made.warnings) == (3, (12, 3), ())
        np.testing.assert_allclose(pdist(made.vectors(range(12))), pdist(points), atol=1e-6)
    with pytest.raises(EncodingError, match=r"rank is 4, and these distances span 3 directions; "):
        gnomon.fit(distances, dimension=9, rank=4)
    assert (
        "There are 3 directions and the dimension holds 2"
        in (gnomon.fit(distances, dimension=2).warnings[-1])
    )


def test_few_types_have_few_directions_at_full_rank() -> None:
    """Laws over three types lie on a sphere in three dimensions."""
    laws = np.random.default_rng(2).dirichlet([4, 4, 4], size=10)
    made = gnomon.fit(planted(laws, 16_000), dimension=9, estimator="plugin", rank="full")
    assert made.rank == 3


@pytest.mark.parametrize("seed", range(6))
def test_of_two_positions_at_the_same_distance_from_the_middle_the_first_is_positive(
    laws, seed: int
) -> None:
    """Which of the two is larger in the last digit must not decide the sign."""
    made = gnomon.fit(planted(laws[:2], 16_000, seed), dimension=3, rotation=None)
    first, second = made.vectors(range(2))[:, 0]
    assert first == pytest.approx(-second, rel=1e-12)
    assert first > 0


def test_equal_positions_given_as_distances_are_said_to_be_zeros() -> None:
    made = gnomon.fit(np.zeros((4, 4)), dimension=3)
    assert (made.rank, made.warnings) == (1, ("All distances are 0, so every vector is 0.",))
    assert not made.table().any()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("method", ["classical", "smacof"])
def test_the_file_does_not_depend_on_the_number_of_threads(
    counts, tmp_path: Path, threads: int, method: str
) -> None:
    from threadpoolctl import threadpool_limits

    from gnomon.encodings.files import fitted_bytes

    with threadpool_limits(threads):
        made = fitted_bytes(gnomon.fit(counts, dimension=48, method=method))
    assert made == fitted_bytes(gnomon.fit(counts, dimension=48, method=method))


def test_the_same_seed_gives_the_same_file(counts, tmp_path: Path) -> None:
    for name in "ab":
        gnomon.fit(counts, dimension=8).save(tmp_path / f"{name}.safetensors")
    first, second = ((tmp_path / f"{name}.safetensors").read_bytes() for name in "ab")
    assert first == second


def test_a_survey_ships_its_debiased_line(counts, tmp_path: Path) -> None:
    """The file beside survey.json is the encoding of the last line, but for its rotation."""
    found = gnomon.survey(counts, dimension=24)
    save_survey(found, tmp_path)
    shipped = Fitted.load(tmp_path / "encoding.safetensors")
    np.testing.assert_array_equal(shipped.table(), fit_survey(found).table())
    line = found.entries[-1]
    assert line.label == f"mds, debiased, rank {shipped.rank}"
    against = gnomon.stress(shipped, found.geometry)
    assert against.scale_free == pytest.approx(line.stress.scale_free, rel=1e-5)
    assert shipped.origin["verdict"] == found.verdict.summary
    assert shipped.origin["digest"] == found.counts.digest


def test_a_survey_is_measured_again_for_another_metric(counts) -> None:
    found = gnomon.survey(counts, dimension=8)
    made = gnomon.fit(found, dimension=8, metric="angle")
    assert made.origin["metric"] == "angle"
    assert made.origin["verdict"] == found.verdict.summary


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"dimension": 0}, r"dimension is 0; pass a whole number from 1 on\."),
        ({"rank": 14}, r"rank is 14, and the debiased geometry has effective rank \d; pass a rank"),
        ({"rank": 16, "estimator": "plugin"}, r"16 positions span 15 directions; .* up to 15\."),
        ({"rank": 9, "dimension": 8}, r"rank is 9 and dimension 8; pass a rank up to it\."),
        ({"rank": 0}, r"rank is 0; pass a whole number from 1 on\."),
        ({"rank": "most"}, r"rank is 'most'; pass effective, full, or a whole number from 1 on\."),
        ({"method": "pca"}, r"method is 'pca'; pass one of: classical, smacof\."),
        ({"estimator": "bayes"}, r"estimator is 'bayes'; pass one of: debiased"),
        ({"seed": -1}, r"seed is -1; pass a whole number from 0 on\."),
    ],
)
def test_what_can_not_be_fitted_is_refused(counts, options, sentence) -> None:
    with pytest.raises(EncodingError, match=sentence):
        gnomon.fit(counts, **({"dimension": 32} | options))


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ("corpus.txt", {}, r"of the name 'corpus\.txt'; pass gnomon\.count\(\.\.\.\)"),
        (object(), {}, r"made of \(object\) holds no real numbers .*; pass a survey, counts"),
        (np.zeros((2, 3)), {}, r"The distances have shape \(2, 3\); pass a square array"),
        (np.zeros((1, 1)), {}, r"shape \(1, 1\); pass those of two positions or more\."),
        (1e200 * (1 - np.eye(3)), {}, r"The largest distance is 1e\+200, which float32 cannot"),
        (1e-200 * (1 - np.eye(3)), {}, r"The largest distance is 1e-200, which float32 cannot"),
        (np.eye(3) < 1, {"estimator": "debiased"}, r"and these distances are given ones"),
        (np.eye(3) < 1, {"metric": "chord"}, r"these distances are what they are"),
    ],
)
def test_what_is_no_source_is_refused(source, options, sentence) -> None:
    with pytest.raises(EncodingError, match=sentence):
        gnomon.fit(source, dimension=2, **options)


@pytest.mark.parametrize("method", ["classical", "smacof"])
@pytest.mark.parametrize("distances", [np.eye(2), np.eye(2) - 1.0])
def test_distances_that_are_none_are_refused_by_both_methods(distances, method) -> None:
    with pytest.raises(InputError, match=r"pass non-negative distances that are zero there\."):
        gnomon.fit(distances, dimension=2, method=method)


@pytest.mark.data
def test_promoters_are_fitted_without_a_warning_and_near_to_the_debiased_geometry(
    data_root: Path,
) -> None:
    """Distances of the file, in float32, against those of the geometry room."""
    file = data_root / "promoters" / "hs_pos_TATA.txt"
    counts = gnomon.count(file, tokenizer="dna")
    made = gnomon.fit(counts, dimension=768)
    rng = np.random.default_rng([0, 3])
    target = gnomon.geometry(counts, estimator="debiased", rng=rng)
    at = target.positions
    found = squareform(pdist(made.table()[at].astype(float)))
    np.testing.assert_allclose(found, target.distances, atol=1e-5)
    assert made.warnings == ()
    assert made.stored == made.rank * (len(made.left) + 768) < made.table().size
    card = json.dumps(made.to_dict())
    letters = "".join(file.read_text(encoding="ascii").split()[-1:])[:12]
    assert letters not in card, "a card holds no text of the corpus"
