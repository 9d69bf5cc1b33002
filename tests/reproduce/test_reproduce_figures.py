"""Figures 1, 2 and 4 and Remark 8 on the three-regime corpus, against truths from outside."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import svdvals
from scipy.spatial.distance import cdist, squareform

from gnomon.cli.app import run
from gnomon.corpus.counting import count_with
from gnomon.corpus.options import CountOptions
from gnomon.corpus.reading.builtin import three_regimes
from gnomon.reproduce.claims import Reproduction, Row, Spread
from gnomon.reproduce.figure1 import cumulative_share, largest_drop
from gnomon.reproduce.registry import REPRODUCTIONS, reproduce

NAMES = ("figure1", "figure2", "figure4", "remark8")
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def found() -> dict[str, Reproduction]:
    return {name: reproduce(name, seeds=2) for name in NAMES}


@pytest.fixture(scope="module")
def roots() -> np.ndarray:
    """Square roots of the laws of seed 0, by hand: 32 points whose distances are the chords."""
    counts = count_with(three_regimes(seed=0), CountOptions(seed=0)).matrix.toarray()
    return np.sqrt(counts / counts.sum(axis=1, keepdims=True))


def row(report: Reproduction, what: str) -> Row:
    return next(one for one in report.rows if one.what == what)


def mean(value: Any) -> float:
    return value.mean if isinstance(value, Spread) else float(value)


def holds(report: Reproduction) -> dict[str, str]:
    return {verdict.claim: verdict.holds for verdict in report.verdicts}


def test_they_are_listed_with_a_line_each(capsys: Captured) -> None:
    assert run(["reproduce"]) == 0
    listed = capsys.readouterr().out
    assert all(re.search(rf"^{name} ", listed, re.MULTILINE) for name in NAMES)
    assert all(REPRODUCTIONS[name].reads_corpora for name in NAMES)


# -- figure 1 ------------------------------------------------------------------------------------


def test_figure1_has_the_eigenvalues_of_the_centred_roots(roots: np.ndarray) -> None:
    """The Gram matrix of chords is that of the centred roots: its eigenvalues are s^2."""
    report = reproduce("figure1", seeds=1)
    truth = svdvals(roots - roots.mean(axis=0)) ** 2
    ours = [mean(row(report, f"eigenvalue {k + 1}").ours["eigenvalue"]) for k in range(8)]
    assert np.allclose(ours, truth[:8], rtol=1e-9)
    shares = [mean(row(report, f"eigenvalue {k + 1}").ours["share so far"]) for k in range(8)]
    assert np.allclose(shares, np.cumsum(truth)[:8] / truth.sum(), rtol=1e-9)


def test_figure1_has_the_mean_squared_distances_between_regimes(roots: np.ndarray) -> None:
    report = reproduce("figure1", seeds=1)
    squares, regime = cdist(roots, roots) ** 2, 3 * np.arange(32) // 32
    between = squares[np.ix_(regime == 0, regime == 2)].mean()
    within = squareform(squares[np.ix_(regime == 1, regime == 1)], checks=False).mean()
    assert row(report, "initial - terminal").ours["plug-in"] == pytest.approx(between, rel=1e-9)
    assert row(report, "medial - medial").ours["plug-in"] == pytest.approx(within, rel=1e-9)


def test_figure1_finds_no_distance_within_a_regime_once_noise_is_out(
    found: dict[str, Reproduction],
) -> None:
    """In the population positions of one regime have one law; plug-in says 0.04."""
    inner = row(found["figure1"], "medial - medial").ours
    assert mean(inner["plug-in"]) > 0.03
    assert abs(mean(inner["debiased"])) < 0.002


def test_figure1_verdicts_on_the_synthetic_corpus(found: dict[str, Reproduction]) -> None:
    """Three laws span a plane; chords have an exact embedding, so nothing is clipped."""
    assert list(holds(found["figure1"]).values()) == ["holds", "holds", "does not hold"]


def test_the_share_of_directions_is_that_of_principal_components(rng: np.random.Generator) -> None:
    points = rng.normal(size=(12, 4)) * [5.0, 3.0, 1.0, 0.5]
    values = svdvals(points - points.mean(axis=0)) ** 2
    assert cumulative_share(cdist(points, points) ** 2, 2) == pytest.approx(
        values[:2].sum() / values.sum()
    )


def test_the_largest_drop_is_not_the_one_to_zero_at_the_end() -> None:
    assert largest_drop(np.array([9.0, 3.0, 2.9, 2.8, 1e-3, 0.0])) == 1


# -- figure 2 ------------------------------------------------------------------------------------


def test_figure2_map_is_the_plane_of_principal_components(roots: np.ndarray) -> None:
    report = reproduce("figure2", seeds=1)
    kept = report.corpora["three-regimes"]["map"]["plugin"]
    ours = np.stack([kept["first"], kept["second"]], axis=1)
    left, size, _ = np.linalg.svd(roots - roots.mean(axis=0), full_matrices=False)
    truth = left[:, :2] * size[:2]
    assert np.allclose(cdist(ours, ours), cdist(truth, truth), atol=5e-4)  # four digits are kept


def test_figure2_keeps_the_published_heights_and_says_where_from(
    found: dict[str, Reproduction],
) -> None:
    bars = [row(found["figure2"], name).published for name in ("mds", "sinusoidal", "random")]
    assert [bar.value for bar in bars] == [0.009, 2.248, 24.805]
    assert {bar.reason for bar in bars} == {"from Table 3, which the lost bars are taken to show"}


def test_figure2_verdicts_on_the_synthetic_corpus(found: dict[str, Reproduction]) -> None:
    """Random is not far above the sinusoid once scale is out; regimes are apart in the plane."""
    assert list(holds(found["figure2"]).values()) == ["depends", "holds", "holds", "does not hold"]


# -- figure 4 ------------------------------------------------------------------------------------


def test_figure4_sinusoid_has_the_stress_of_its_formula(roots: np.ndarray) -> None:
    """D^2 = 4 sum sin^2(w t / 2), written out here."""
    report = reproduce("figure4", seeds=1)
    chords = cdist(roots, roots)[np.triu_indices(32, 1)]
    lags = np.abs(np.subtract.outer(np.arange(32), np.arange(32)))[np.triu_indices(32, 1)]
    for d in (8, 1024):
        w = 10_000.0 ** (-np.arange(0, d, 2) / d)
        made = np.sqrt(4 * (np.sin(np.outer(lags, w) / 2) ** 2).sum(axis=1))
        raw = ((made - chords) ** 2).sum() / (chords**2).sum()
        assert mean(row(report, f"d = {d}").ours["sinusoid raw"]) == pytest.approx(raw, rel=1e-9)


def test_figure4_mds_is_exact_at_the_rank_and_not_before(found: dict[str, Reproduction]) -> None:
    report = found["figure4"]
    assert mean(row(report, "d = 31").ours["MDS raw"]) < 1e-25
    assert mean(row(report, "d = 30").ours["MDS raw"]) > 1e-9


def test_figure4_mds_is_nearest_to_the_debiased_distances_in_the_plane(
    found: dict[str, Reproduction],
) -> None:
    """The population has two directions: every further one of plug-in MDS is noise."""
    curve = {
        int(one.what.removeprefix("d = ")): mean(one.ours["MDS debiased"])
        for one in found["figure4"].rows
    }
    assert min(curve, key=curve.__getitem__) == 2
    assert curve[31] > 100 * curve[2]


def test_figure4_verdicts_on_the_synthetic_corpus(found: dict[str, Reproduction]) -> None:
    expected = ["holds", "does not hold", "does not hold", "depends", "does not hold"]
    assert list(holds(found["figure4"]).values()) == expected


# -- remark 8 ------------------------------------------------------------------------------------


def test_remark8_counts_parameters_as_published_and_as_degrees_of_freedom(
    found: dict[str, Reproduction],
) -> None:
    """480 and 4,960 are r (n + d); a 32 x 128 matrix of rank r has r (n + d - r) freedoms."""
    report = found["remark8"]
    assert [row(report, f"rank {r}").ours["r(n+d)"] for r in (3, 31)] == [480, 4960]
    assert [row(report, f"rank {r}").ours["r(n+d-r)"] for r in (3, 31)] == [471, 3999]
    assert row(report, "rank 3").published.value == 480
    assert row(report, "rank 3").published.reason is None


def test_the_degrees_of_freedom_are_the_rank_of_the_jacobian(rng: np.random.Generator) -> None:
    """U W moves in r (n + d - r) directions: brute force at n = 5, d = 4, r = 2."""
    left, right = rng.normal(size=(5, 2)), rng.normal(size=(2, 4))
    moved = [np.outer(a, right[k]).ravel() for k in range(2) for a in np.eye(5)]
    moved += [np.outer(left[:, k], b).ravel() for k in range(2) for b in np.eye(4)]
    assert np.linalg.matrix_rank(np.array(moved)) == 2 * (5 + 4 - 2)


def test_remark8_variance_of_two_directions_is_known_without_noise(
    found: dict[str, Reproduction],
) -> None:
    """Plug-in 96 %; three laws span a plane, so without noise two directions hold all."""
    two = row(found["remark8"], "rank 2").ours
    assert mean(two["variance"]) == pytest.approx(0.96, abs=0.01)
    assert mean(two["variance debiased"]) == pytest.approx(1.0, abs=1e-9)


def test_remark8_rank_grows_with_length_and_directions_with_regimes(
    found: dict[str, Reproduction],
) -> None:
    """The first quarter has one law (no direction), the first half two (one direction)."""
    ranks = [row(found["remark8"], f"n = {n}").ours for n in (8, 16, 32)]
    assert [one["rank(B)"] for one in ranks] == [7, 15, 31]
    assert [one["effective rank"] for one in ranks] == [0, 1, 2]


def test_remark8_verdicts_on_the_synthetic_corpus(found: dict[str, Reproduction]) -> None:
    assert list(holds(found["remark8"]).values()) == [
        *["does not hold"] * 2,
        "depends",
        *["holds"] * 3,
    ]


# -- all of them ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_no_published_number_is_invented(name: str, found: dict[str, Reproduction]) -> None:
    """A value as published is one that survives, or follows from those that do."""
    known = {0.009, 2.248, 24.805, 160, 320, 480, 1120, 4960}
    for one in found[name].rows:
        assert one.published.value in known | {None}
        assert one.published.value is not None or one.published.reason


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_record(name: str, found: dict[str, Reproduction]) -> None:
    again = reproduce(name, seeds=2).to_dict()
    assert again["rows"] == found[name].to_dict()["rows"]
    assert again["corpora"] == found[name].to_dict()["corpora"]


@pytest.mark.parametrize("name", NAMES)
def test_a_corpus_of_noise_has_no_debiased_figures_and_says_why(
    name: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Tokens drawn from one law at every position: the rank is full, and means nothing."""
    path = tmp_path / "noise.txt"
    words = np.array(list("abcdefghijklmnopqrst"))
    path.write_text("\n".join(" ".join(rng.choice(words, 12)) for _ in range(400)) + "\n")
    report = reproduce(name, path, seeds=1, **({"dimension": 16} if "2" in name else {}))
    details = next(iter(report.corpora.values()))
    assert details["plugin"]["rank"] == 11
    assert details["debiased"]["rank"] == 0
    lines = [one for one in report.rows if one.reasons]
    assert lines
    assert all(
        "effective rank 0" in str(reason) for one in lines for reason in one.reasons.values()
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_grid_can_be_given(name: str) -> None:
    report = reproduce(name, "digits", seeds=1)
    assert json.dumps(report.to_dict(), allow_nan=False)
    assert report.headings[report.rows[0].group].startswith("digits (scikit-learn): 64 positions")


def test_two_corpora_stand_beside_each_other() -> None:
    report = reproduce("figure1", ["three-regimes", "three-regimes"], seeds=1)
    assert list(report.corpora) == ["three-regimes", "three-regimes (2)"]
    assert report.verdicts[0].reason.startswith("three-regimes: the largest drop")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["figure1", "--length", "9"],
            "--length changes nothing in figure1, which draws its own corpus; leave it out, or",
        ),
        (
            ["figure4", "three-regimes", "--dimension", "9"],
            "--dimension changes nothing in figure4, which has dimensions of its own; leave it",
        ),
        (["remark8", "--dimension", "3"], "--dimension is 3, and remark8 has a matrix of rank 3"),
        (["figure2", "--dimension", "7"], "dimension is 7; pass a multiple of 2"),
        (["figure1", "missing.txt"], "missing.txt does not exist"),
    ],
)
def test_bad_input_of_figures_is_one_sentence(
    arguments: list[str], message: str, capsys: Captured
) -> None:
    assert run(["reproduce", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"gnomon: {message}")
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c\nb c a\n", "has 3 positions with enough tokens, and figure1 needs 4 or more; use"),
        ("a a a a a\n", "have the same law, so that figure1 has nothing to show; pass a corpus"),
    ],
)
def test_a_corpus_that_shows_nothing_is_refused(
    text: str, message: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "odd.txt"
    path.write_text(text * 20, encoding="utf-8")
    assert run(["reproduce", "figure1", str(path)]) == 2
    assert message in capsys.readouterr().err
