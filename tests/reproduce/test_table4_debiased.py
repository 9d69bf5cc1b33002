"""The debiased columns of Table 4: against known laws, another route, and what cannot be had."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.cli.app import run
from gnomon.corpus.counting import Silence
from gnomon.corpus.options import CountOptions
from gnomon.encodings.lifts import lift
from gnomon.encodings.registry import encoding
from gnomon.pipeline.measured import Measured
from gnomon.reproduce.claims import Reproduction, Row
from gnomon.reproduce.readings import DEBIASED_COLUMNS, Estimate, difference, mean_curves, stress_of
from gnomon.reproduce.registry import reproduce
from gnomon.reproduce.subjects import measure_published

DIMENSION = 64


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce("table4", "three-regimes", dimension=DIMENSION, seeds=2)


@pytest.fixture(scope="module")
def regimes() -> Measured:
    return measure_published("three-regimes", CountOptions(), Silence())


def row(report: Reproduction, what: str) -> Row:
    return next(one for one in report.rows if one.what == what)


def true_chords() -> np.ndarray:
    """The built-in corpus is drawn from three known laws."""
    laws = np.random.default_rng([0, 0]).dirichlet(np.full(200, 0.2), size=3)
    roots = np.sqrt(laws)[3 * np.arange(32) // 32]
    chords = np.sqrt(np.maximum(2.0 - 2.0 * roots @ roots.T, 0.0))
    np.fill_diagonal(chords, 0.0)
    return chords


@pytest.mark.parametrize(
    ("what", "made", "lifted"),
    [
        ("sinusoidal", encoding("sinusoidal", dimension=DIMENSION), "kernel"),
        ("alibi, best slope", encoding("alibi", slopes=(1.0,)), "slope"),
    ],
)
def test_debiased_stress_is_that_of_the_laws_the_corpus_was_drawn_from(
    found: Reproduction, what: str, made: gnomon.encodings.base.Encoding, lifted: str
) -> None:
    """Plug-in stress misses the truth by more than twice what debiased stress does."""
    truth = gnomon.stress(made, true_chords(), lift=lifted).scale_free
    ours = row(found, what).ours
    assert ours["debiased"] == pytest.approx(truth, abs=0.02)
    assert abs(ours["scale-free"].mean - truth) > 2.0 * abs(ours["debiased"] - truth)
    low, high = ours["interval"]
    assert low < ours["debiased"] < high


def test_three_laws_have_two_directions_and_the_heading_says_so(found: Reproduction) -> None:
    """After centring three points span a plane, whatever the counts' own rank is."""
    known = found.corpora["three-regimes"]
    assert known["debiased"]["rank"] == 2
    assert known["plugin"]["rank"] == 31
    assert known["informative"] is True
    assert "Effective rank 2." in found.headings["three-regimes"]
    assert "Informative: yes" in found.headings["three-regimes"]
    truth = np.square(true_chords()[np.triu_indices(32, 1)]).mean()
    plain, debiased = known["plugin"], known["debiased"]["mean_squared"]
    assert debiased["value"] == pytest.approx(truth, rel=0.1)  # so far apart, no nearer is known
    assert known["debiased"]["plugin_core"] == pytest.approx(plain["mean_squared"], rel=1e-12)


def test_the_scale_of_an_encoding_changes_no_debiased_figure(found: Reproduction) -> None:
    """A probe of ones stretches all distances by sqrt 2; sigma stretches a random table."""
    for first, second in (
        ("rope", "rope, probe of ones"),
        ("random, sigma 1", "random, sigma 0.02"),
        ("alibi, each head", "alibi, best slope"),
    ):
        for column in DEBIASED_COLUMNS:
            ours, other = (row(found, what).ours[column] for what in (first, second))
            assert ours == pytest.approx(other, rel=1e-9), (first, column)


def test_what_is_fitted_to_the_debiased_geometry_has_almost_no_debiased_stress(
    found: Reproduction,
) -> None:
    assert row(found, "mds, debiased, rank 2").ours["debiased"] < 0.01


def test_the_stress_of_one_reading_is_that_of_a_survey(regimes) -> None:
    """The survey has its own code for it; so has the closed form, pair by pair."""
    made = lift(encoding("sinusoidal", dimension=DIMENSION), regimes.geometry.coordinates).distances
    ours, theirs = mean_curves([made], regimes.target), regimes.target.stress(made)
    assert stress_of(ours.plain).interval == pytest.approx(theirs.interval, abs=1e-12)
    assert stress_of(ours.squared).interval == pytest.approx(theirs.squared_interval, abs=1e-12)
    squares = regimes.noise.debiased.low_rank.squares
    above = [(i, j) for i in range(32) for j in range(i + 1, 32)]
    dh = sum(made[i, j] * squares[i, j] ** 0.5 for i, j in above)
    dd, hh = (sum(m[i, j] ** p for i, j in above) for m, p in ((made, 2), (squares, 1)))
    assert stress_of(ours.plain).value == pytest.approx(1.0 - dh**2 / (dd * hh), abs=1e-12)


def test_several_readings_are_a_mean_fold_by_fold(regimes) -> None:
    made = [
        lift(encoding("random", dimension=8, seed=seed), regimes.geometry.coordinates).distances
        for seed in (1, 2)
    ]
    both = mean_curves(made, regimes.target).plain
    each = [mean_curves([one], regimes.target).plain for one in made]
    np.testing.assert_allclose(both, (each[0] + each[1]) / 2.0, rtol=1e-12)


def test_a_difference_is_surer_than_its_parts_where_they_move_together() -> None:
    """Two curves that differ by 0.1 in every fold: the difference has no error at all."""
    first = np.array([0.5, 0.4, 0.6, 0.5, 0.45])
    gap = difference(first, first - 0.1)
    assert (gap.low, gap.high) == pytest.approx((0.1, 0.1))
    assert stress_of(first).overlaps(stress_of(first - 0.1))


def test_the_interval_of_a_curve_is_the_jackknife_of_a_mean() -> None:
    """Fold-deleted means of five values: the textbook t interval of their mean."""
    from scipy.stats import t

    values = np.array([0.30, 0.35, 0.28, 0.40, 0.33])
    deleted = (values.sum() - values) / 4.0
    low, high = stress_of(np.array([values.mean(), *deleted])).interval
    assert (low, high) == pytest.approx(
        t.interval(0.95, 4, values.mean(), values.std(ddof=1) / np.sqrt(5.0))
    )


def test_intervals_touch_or_do_not() -> None:
    assert Estimate(0.5, 0.4, 0.6).overlaps(Estimate(0.7, 0.6, 0.8))
    assert not Estimate(0.5, 0.4, 0.6).overlaps(Estimate(0.8, 0.7, 0.9))
    assert Estimate.of(None) is None


def test_a_corpus_without_order_has_no_debiased_stress_and_says_why(tmp_path: Path) -> None:
    """Words drawn alike at every position: nothing exceeds the noise edge."""
    rng = np.random.default_rng(5)
    words = rng.choice([f"w{k}" for k in range(60)], size=(600, 10), p=None)
    path = tmp_path / "same.txt"
    path.write_text("\n".join(" ".join(line) for line in words), encoding="utf-8")
    report = reproduce("table4", path, seeds=1, dimension=16)
    known = report.corpora[report.rows[0].group]
    assert known["debiased"]["rank"] == 0
    assert known["informative"] is False
    assert known["debiased"]["noise_share"] > 0.9
    why = "no direction exceeds the noise edge (effective rank 0)"
    for one in report.rows:
        assert all(one.ours[column] is None for column in DEBIASED_COLUMNS)
        assert one.reasons is not None
        assert all(one.reasons[column] == why for column in DEBIASED_COLUMNS)
    assert f"No debiased stress, since {why}." in report.headings[report.rows[0].group]
    assert f"Debiased: none, since {why}." in report.verdicts[0].reason


def test_too_few_tokens_leave_the_columns_empty_with_the_reason(tmp_path: Path) -> None:
    """Forty rows of five hundred types are too few for any position; what is published stays."""
    rng = np.random.default_rng(6)
    words = rng.choice([f"w{k}" for k in range(500)], size=(40, 5))
    path = tmp_path / "few.txt"
    path.write_text("\n".join(" ".join(line) for line in words), encoding="utf-8")
    report = reproduce("table4", path, seeds=1, dimension=16)
    first, known = report.rows[0], next(iter(report.corpora.values()))
    assert first.ours["debiased"] is None
    assert first.ours["raw"].mean > 0.0
    assert known["debiased"] is None
    assert first.reasons is not None
    assert first.reasons["debiased"] == known["reason"]
    assert "Debiased: none, since " in report.headings[first.group]


def test_merged_positions_can_be_debiased_where_single_ones_can_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sentence names --bins, and --bins does it: forty positions in eight bins."""
    rng = np.random.default_rng(9)
    words = rng.choice([f"w{k}" for k in range(80)], size=(150, 40))
    path = tmp_path / "long.txt"
    path.write_text("\n".join(" ".join(line) for line in words), encoding="utf-8")
    arguments = ["reproduce", "table4", str(path), "--seeds", "1", "--dimension", "16"]
    assert run(arguments) == 0
    assert "merge neighbouring positions with --bins" in " ".join(capsys.readouterr().out.split())
    assert run([*arguments, "--bins", "5"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "long.txt: 8 positions" in out
    assert "Debiased: on the 8 core positions (0-39)" in out


def test_a_long_corpus_is_shuffled_at_the_length_it_is_cut_to(tmp_path: Path) -> None:
    """Without --length 64 positions are kept, and their windows are those that are shuffled."""
    rng = np.random.default_rng(8)
    words = rng.choice(list("abcdefgh"), size=(300, 70))
    path = tmp_path / "long.txt"
    path.write_text("\n".join(" ".join(line) for line in words), encoding="utf-8")
    read = measure_published(path, CountOptions(), Silence())
    assert read.counts.length == 64
    assert read.recounts.unshuffled is None
    for one in read.recounts.shuffled:
        np.testing.assert_array_equal(one.totals, read.counts.totals)
    first = np.sort(words[:, :64].ravel())
    expected = np.unique(first, return_counts=True)[1]
    np.testing.assert_array_equal(
        np.sort(read.recounts.shuffled[0].matrix.sum(axis=0)), np.sort(expected)
    )


def test_the_json_of_a_run_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "table4.json"
    arguments = ["table4", "three-regimes", "--dimension", "16", "--seeds", "1", "-q"]
    assert run(["reproduce", *arguments, "--json", str(path)]) == 0
    value = json.loads(path.read_text("utf-8"))
    known = value["corpora"]["three-regimes"]
    assert {"corpus", "plugin", "debiased", "informative", "tests"} <= set(known)
    assert known["corpus"]["tokens"] == 64_000
    for key in ("mean_squared", "head", "participation", "violations"):
        assert len(known["debiased"][key]["interval"]) == 2
    first = value["rows"][0]["ours"]
    assert first["interval"][0] <= first["debiased"] <= first["interval"][1]
    assert value["headings"]["three-regimes"].startswith("three-regimes: 32 positions")
