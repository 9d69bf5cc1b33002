"""`gnomon stress` beside what noise gives: the dealt null, intervals, and when there is none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.cli.app import run
from gnomon.corpus.counts import PositionCounts
from gnomon.geometry.measure import measure
from gnomon.geometry.nulls import dealt_geometry

NUMBERS = ("raw", "scale_free", "interval", "squared", "squared_interval", "skill", "simplex")


@pytest.fixture(scope="module")
def regimes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey of the built-in corpus, which is drawn from three known laws."""
    folder = tmp_path_factory.mktemp("regimes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNOMON_CACHE", str(folder / "cache"))
        assert run(["survey", "three-regimes", "--out", str(folder / "out"), "-q"]) == 0
    return folder / "out"


@pytest.fixture
def alike(tmp_path: Path) -> Path:
    """Counts of one law at every position: three hundred draws of it in each of eight folds."""
    rng = np.random.default_rng(3)
    law = rng.dirichlet(np.full(200, 1.0))
    PositionCounts.from_array(rng.multinomial(300, law, size=(8, 24))).save(tmp_path / "alike.npz")
    return tmp_path / "alike.npz"


def value_of(call, *arguments: object) -> dict:
    called = call("stress", *arguments, "--json", "-")
    assert called.code == 0, called
    found: dict = json.loads(called.out)
    return found


def test_the_null_of_the_plugin_is_the_survey_s_own(call, regimes: Path) -> None:
    survey = json.loads((regimes / "survey.json").read_text(encoding="utf-8"))
    null = value_of(call, "sinusoidal", regimes)["null"]
    assert null["kind"] == "dealt"
    assert null["share"] == pytest.approx(survey["geometry"]["null"]["dealt"]["share"], rel=1e-12)


def test_where_there_is_no_signal_the_null_has_the_stress_of_the_corpus(call, alike: Path) -> None:
    """One law everywhere: dealing changes nothing but the draw, so all figures come again."""
    found = value_of(call, "sinusoidal", alike)
    assert found["null"]["share"] == pytest.approx(1.0, abs=0.1)
    assert found["null"]["stress"]["scale_free"] == pytest.approx(found["scale_free"], rel=0.2)
    assert found["null"]["stress"]["simplex"] == pytest.approx(found["simplex"], abs=0.01)
    text = call("stress", "sinusoidal", alike).out
    assert "noise: its tokens dealt at random have " in text
    assert "the same encoding has raw stress " in text


def test_the_null_keeps_masked_positions_where_they_are(call, tmp_path: Path) -> None:
    """Position 2 has no token, so dealt tokens are compared with ALiBi at 0, 1, 3 and 4."""
    counts = np.random.default_rng(1).multinomial(50, np.full(4, 0.25), size=5)
    counts[2] = 0
    PositionCounts.from_array(counts).save(tmp_path / "gap.npz")
    found = value_of(call, "alibi", tmp_path / "gap.npz", "--lift", "slope")["null"]["stress"]
    deal = dealt_geometry(counts, measure(counts), np.random.SeedSequence([0, 2])).distances
    pairs = [(0, 1, 1), (0, 2, 3), (0, 3, 4), (1, 2, 2), (1, 3, 3), (2, 3, 1)]
    dh = sum(lag * deal[i, j] for i, j, lag in pairs)
    dd, hh = sum(lag**2 for *_, lag in pairs), sum(deal[i, j] ** 2 for i, j, _ in pairs)
    assert found["scale_free"] == pytest.approx(1.0 - dh**2 / (dd * hh), rel=1e-9)


def test_distances_alone_have_no_null_and_say_so(call, tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", 2.0 - 2.0 * np.eye(4))
    found = value_of(call, "sinusoidal", tmp_path / "d.npy")
    assert found["null"] is None
    assert found["reasons"]["null"] == ("distances alone can not be dealt at random; pass counts")


def test_debiased_distances_are_told_apart_from_plugin_ones(call, regimes: Path) -> None:
    """The built-in corpus is drawn from three known laws, so the true stress is known, too."""
    laws = np.random.default_rng([0, 0]).dirichlet(np.full(200, 0.2), size=3)
    roots = np.sqrt(laws)[3 * np.arange(32) // 32]
    chords = np.sqrt(np.maximum(2.0 - 2.0 * roots @ roots.T, 0.0))
    np.fill_diagonal(chords, 0.0)
    truth = gnomon.stress(gnomon.encoding("sinusoidal", dimension=128), chords).scale_free
    values = {
        name: value_of(call, "sinusoidal", regimes, "--estimator", name)
        for name in ("plugin", "debiased")
    }
    assert all(values[name]["estimator"] == name for name in values)
    gaps = {name: abs(value["scale_free"] - truth) for name, value in values.items()}
    assert gaps["debiased"] < 0.02
    assert gaps["plugin"] > 0.05


def test_the_debiased_stress_of_a_survey_is_found_again_with_its_interval(
    call, regimes: Path
) -> None:
    survey = json.loads((regimes / "survey.json").read_text(encoding="utf-8"))
    inside = survey["encodings"][0]["stress"]["debiased"]
    alone = value_of(call, "sinusoidal", regimes, "--estimator", "debiased")
    for key in ("scale_free", "interval", "squared", "squared_interval", "skill"):
        assert alone[key] == pytest.approx(inside[key], rel=1e-6), key
    assert alone["interval"][0] < alone["scale_free"] < alone["interval"][1]
    text = call("stress", "sinusoidal", regimes, "--estimator", "debiased").out
    assert "] sampling only" in text
    assert "noise: taken out on 32 core positions" in text
    assert "effective rank 2" in text


def test_what_is_fitted_to_debiased_distances_fits_them(call, regimes: Path) -> None:
    """Two directions hold three laws: rank 2 leaves almost nothing, rank 1 a lot."""
    fitted = [
        value_of(
            call, "mds-low-rank", regimes, "--estimator", "debiased", "--parameter", f"rank={r}"
        )["scale_free"]
        for r in (1, 2)
    ]
    assert fitted[1] < 0.01
    assert fitted[0] > 5.0 * fitted[1]


def test_without_signal_there_is_one_sentence_and_null_with_its_reason(call, alike: Path) -> None:
    called = call("stress", "sinusoidal", alike, "--estimator", "debiased")
    why = "no direction exceeds the noise edge (effective rank 0)"
    assert called.code == 0
    assert called.out == f"sinusoidal has no debiased stress here, since {why}.\n"
    found = value_of(call, "sinusoidal", alike, "--estimator", "debiased")
    assert all(found[key] is None for key in NUMBERS)
    assert found["reason"] == why
    assert found["rank"] == 0


def test_a_mean_under_four_errors_has_no_stress(call, tmp_path: Path) -> None:
    """One position of twelve differs: a direction is seen, and the mean is still mostly error."""
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.full(40, 1.0))
    other = 0.6 * law + 0.4 * rng.dirichlet(np.full(40, 1.0))
    laws = np.array([other] + [law] * 11)
    array = np.array([[rng.multinomial(150, one) for one in laws] for _ in range(4)])
    PositionCounts.from_array(array).save(tmp_path / "weak.npz")
    found = value_of(call, "rope", tmp_path / "weak.npz", "--estimator", "debiased")
    assert found["rank"] == 1
    assert found["scale_free"] is None
    assert "is under 4 of its sampling errors" in found["reason"]


def test_without_a_geometry_wrong_names_and_lifts_are_refused_all_the_same(
    call, alike: Path
) -> None:
    for arguments, word in (
        (("sinusoid", alike), "did you mean 'sinusoidal'?"),
        (("rope", alike, "--lift", "kernels"), "has no lift 'kernels'"),
    ):
        called = call("stress", *arguments, "--estimator", "debiased")
        assert (called.code, called.out) == (2, "")
        assert word in called.err


@pytest.mark.parametrize("name", ["u", "null-subtracted", "split-half"])
def test_every_estimator_is_passed_through(call, regimes: Path, name: str) -> None:
    """The same measure in Python, whose distances the same encoding is compared with."""
    counts = PositionCounts.load(regimes / "counts.npz")
    geometry = measure(counts, estimator=name, rng=np.random.default_rng([0, 3]))
    expected = gnomon.stress(gnomon.encoding("sinusoidal", dimension=128), geometry.distances)
    found = value_of(call, "sinusoidal", regimes, "--estimator", name)
    assert found["estimator"] == name
    assert found["reasons"]["null"] == "the dealt null is that of plug-in distances"
    assert found["scale_free"] == pytest.approx(expected.scale_free, rel=1e-9)
    assert found["negative_squares"] == geometry.negative_squares


def test_an_unknown_estimator_is_answered_with_the_nearest(call, alike: Path) -> None:
    called = call("stress", "sinusoidal", alike, "--estimator", "debias")
    assert called.code == 2
    assert "did you mean 'debiased'?" in called.err


def test_counts_without_folds_are_dealt_to_folds_as_in_a_survey(call, tmp_path: Path) -> None:
    """A plain matrix holds no documents: its tokens are dealt to folds, and can be debiased."""
    rng = np.random.default_rng(4)
    laws = rng.dirichlet(np.full(30, 0.5), size=2)[np.arange(10) // 5]
    array = np.array([rng.multinomial(5000, law) for law in laws])
    PositionCounts.from_array(array).save(tmp_path / "plain.npz")
    found = value_of(call, "alibi", tmp_path / "plain.npz", "--estimator", "debiased")
    assert found["rank"] == 1  # two laws
    roots = np.sqrt(laws)
    chords = np.sqrt(np.maximum(2.0 - 2.0 * roots @ roots.T, 0.0))
    np.fill_diagonal(chords, 0.0)
    truth = gnomon.stress(gnomon.encoding("alibi", heads=8), chords).scale_free
    assert found["scale_free"] == pytest.approx(truth, abs=0.02)
