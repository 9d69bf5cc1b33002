"""`gnomon stress` beside what noise gives: the dealt null, intervals, and when there is none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gnomon
from gnomon.cli.app import run
from gnomon.corpus.counts import PositionCounts
from gnomon.distances.geometry import measure
from gnomon.distances.nulls import dealt_geometry

PLUGIN = ("--estimator", "plugin")
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
    null = value_of(call, "sinusoidal", regimes, *PLUGIN)["null"]
    assert null["kind"] == "dealt"
    assert null["share"] == pytest.approx(survey["geometry"]["null"]["dealt"]["share"], rel=1e-12)


def test_where_there_is_no_signal_the_null_has_the_stress_of_the_corpus(call, alike: Path) -> None:
    """One law everywhere: dealing changes nothing but the draw, so all figures come again."""
    found = value_of(call, "sinusoidal", alike, *PLUGIN)
    assert found["null"]["share"] == pytest.approx(1.0, abs=0.1)
    assert found["null"]["stress"]["scale_free"] == pytest.approx(found["scale_free"], rel=0.2)
    assert found["null"]["stress"]["simplex"] == pytest.approx(found["simplex"], abs=0.01)
    text = call("stress", "sinusoidal", alike, *PLUGIN).out
    assert "noise: its tokens dealt at random have " in text
    assert "the same encoding has raw stress " in text


def test_the_null_keeps_masked_positions_where_they_are(call, tmp_path: Path) -> None:
    """Position 2 has no token, so dealt tokens are compared with ALiBi at 0, 1, 3 and 4."""
    counts = np.random.default_rng(1).multinomial(50, np.full(4, 0.25), size=5)
    counts[2] = 0
    PositionCounts.from_array(counts).save(tmp_path / "gap.npz")
    asked = ("alibi", tmp_path / "gap.npz", "--lift", "slope", *PLUGIN)
    found = value_of(call, *asked)["null"]["stress"]
    deal = dealt_geometry(counts, measure(counts), np.random.SeedSequence([0, 2])).distances
    pairs = [(0, 1, 1), (0, 2, 3), (0, 3, 4), (1, 2, 2), (1, 3, 3), (2, 3, 1)]
    dh = sum(lag * deal[i, j] for i, j, lag in pairs)
    dd, hh = sum(lag**2 for *_, lag in pairs), sum(deal[i, j] ** 2 for i, j, _ in pairs)
    assert found["scale_free"] == pytest.approx(1.0 - dh**2 / (dd * hh), rel=1e-9)


def test_distances_alone_have_no_null_and_say_so(call, tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", 2.0 - 2.0 * np.eye(4))
    found = value_of(call, "sinusoidal", tmp_path / "d.npy")
    assert found["null"] is None
    assert found["reasons"]["null"] == ("distances alone cannot be dealt at random; pass counts")


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
    assert (
        found["reasons"]["null"]
        == "chance alone, the tokens dealt at random, is measured for plug-in distances only"
    )
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


def test_without_an_estimator_the_noise_is_taken_out(call, regimes: Path) -> None:
    asked = value_of(call, "sinusoidal", regimes)
    named = value_of(call, "sinusoidal", regimes, "--estimator", "debiased")
    assert asked == named
    assert asked["estimator"] == "debiased"


def test_the_first_line_names_the_file_and_the_last_says_what_it_comes_to(
    call, regimes: Path, tmp_path: Path
) -> None:
    """A table of random rows has nothing of the geometry, the corpus's own encoding has all."""
    rng = np.random.default_rng(8)
    np.save(tmp_path / "antibody.npy", rng.normal(size=(40, 16)))
    lines = call("stress", tmp_path / "antibody.npy", regimes).out.splitlines()
    assert lines[0].startswith("antibody.npy under the kernel lift")
    assert "antibody.npy: position 0 is row 0 (--first-row), rows 0 to 31 of 40 are used." in lines
    assert lines[-1].endswith("it has nothing of this geometry.")
    found = value_of(call, tmp_path / "antibody.npy", regimes, "--first-row", "8")
    assert (found["encoding"], found["called"]) == ("table", "antibody.npy")
    assert (found["rows"]["first"], found["rows"]["last"]) == (8, 39)
    own = call("stress", regimes / "encoding.safetensors", regimes).out.splitlines()
    assert own[-1].endswith("it has this geometry.")


def test_a_conclusion_on_plugin_distances_says_how_much_of_them_is_noise(
    call, regimes: Path
) -> None:
    found = value_of(call, "sinusoidal", regimes, *PLUGIN)
    assert "is what dealt tokens show as well" in found["conclusion"]
    assert "--estimator debiased" in found["conclusion"]


@pytest.mark.parametrize("equal", [False, True])
def test_noise_alone_is_given_no_number_by_default(call, tmp_path: Path, *, equal: bool) -> None:
    """Plug-in distances of noise look like a simplex, and whatever is like one fits them."""
    rng = np.random.default_rng(12)
    law = np.full(400, 1 / 400) if equal else rng.dirichlet(np.full(400, 0.3))
    counts = rng.multinomial(60, law, size=(8, 30))
    PositionCounts.from_array(counts).save(tmp_path / "noise.npz")
    np.save(tmp_path / "own.npy", rng.normal(size=(30, 64)))
    called = call("stress", tmp_path / "own.npy", tmp_path / "noise.npz")
    assert called.code == 0
    assert called.out.startswith("own.npy has no debiased stress here, since ")


def test_counts_that_can_not_be_debiased_are_answered_with_the_reason(call, tmp_path: Path) -> None:
    array = np.zeros((4, 3, 5), np.int64)
    array[0] = 20  # all tokens are of one fold
    PositionCounts.from_array(array + np.eye(3, 5, dtype=np.int64)).save(tmp_path / "one.npz")
    PositionCounts.from_array(array[:2] + 1 + np.eye(3, 5, dtype=np.int64)).save(
        tmp_path / "two.npz"
    )
    found = value_of(call, "rope", tmp_path / "two.npz")
    assert found["scale_free"] is None
    assert "the counts have 2 folds" in found["reason"]


def test_a_first_row_is_for_tables_and_an_estimator_for_counts(
    call, tmp_path: Path, regimes
) -> None:
    called = call("stress", "rope", regimes, "--first-row", "1")
    assert called.code == 2
    assert "--first-row 1 is for tables, and rope is none; leave it out." in called.err
    np.save(tmp_path / "d.npy", 2.0 - 2.0 * np.eye(4))
    called = call("stress", "rope", tmp_path / "d.npy", "--estimator", "debiased")
    assert called.code == 2
    assert "holds distances as they are" in called.err
