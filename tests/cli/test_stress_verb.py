"""`gnomon stress`: one encoding against counts or distances, and what bad ones get."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gnomon.corpus.counts import PositionCounts, load_counts, save_counts
from gnomon.errors import CountsError

PLUGIN = ("--estimator", "plugin")


@pytest.fixture
def surveyed(call, corpus: Path, tmp_path: Path) -> Path:
    """The folder of a finished survey."""
    assert call("survey", corpus, "--out", tmp_path / "done", "-q").code == 0
    return tmp_path / "done"


def refusal(call, *arguments: object) -> str:
    called = call("stress", *arguments)
    assert (called.code, called.out) == (2, ""), called
    assert called.err.startswith("gnomon: ")
    assert called.err.count("\n") == 1
    return called.err.removeprefix("gnomon: ").rstrip("\n")


def test_the_stress_of_a_survey_is_found_again_from_its_counts(call, surveyed: Path) -> None:
    """Two routes to one number: the survey, and the verb on the file that the survey left."""
    found = json.loads((surveyed / "survey.json").read_text(encoding="utf-8"))
    alone = json.loads(call("stress", "sinusoidal", surveyed, *PLUGIN, "--json", "-").out)
    inside = found["encodings"][0]["stress"]["plugin"]
    assert inside["raw"] == pytest.approx(alone["raw"], rel=1e-12)
    assert inside["nonmetric"] == pytest.approx(alone["nonmetric"], rel=1e-12)


def test_the_encoding_that_a_survey_wrote_can_be_measured(call, surveyed: Path) -> None:
    """Its line in the survey and the file beside it are one encoding; a member is also a table."""
    found = json.loads((surveyed / "survey.json").read_text(encoding="utf-8"))
    line = next(e for e in found["encodings"] if e["label"].startswith("mds, debiased"))
    for name in ("encoding.safetensors", "encoding.safetensors:left"):  # float32 on disk
        alone = json.loads(call("stress", surveyed / name, surveyed, *PLUGIN, "--json", "-").out)
        assert alone["raw"] == pytest.approx(line["stress"]["plugin"]["raw"], rel=1e-5)


def test_the_stress_against_distances_follows_the_closed_form(call, tmp_path: Path) -> None:
    """Points -1, 0, 1 against an equilateral triangle of side 2: raw 1/6, scale-free 1/9."""
    np.save(tmp_path / "triangle.npy", 2.0 - 2.0 * np.eye(3))
    np.save(tmp_path / "line.npy", np.array([[-1.0], [0.0], [1.0]]))
    called = call("stress", tmp_path / "line.npy", tmp_path / "triangle.npy", "--json", "-")
    found = json.loads(called.out)
    assert found["raw"] == pytest.approx(1 / 6, abs=1e-15)
    assert found["scale_free"] == pytest.approx(1 / 9, abs=1e-15)


def test_an_unknown_encoding_is_answered_with_the_nearest(call, surveyed: Path) -> None:
    sentence = refusal(call, "sinusoid", surveyed)
    assert "'sinusoid'" in sentence
    assert "did you mean 'sinusoidal'? Known: alibi, " in sentence


def test_an_unknown_lift_is_answered_with_those_there_are(call, surveyed: Path) -> None:
    sentence = refusal(call, "rope", surveyed, "--lift", "kernels")
    assert sentence == "The encoding 'rope' has no lift 'kernels'; it has: kernel, probe."


def test_an_unknown_metric_is_answered_with_the_nearest(call, surveyed: Path) -> None:
    assert "did you mean 'angle'?" in refusal(call, "rope", surveyed, "--metric", "angel")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--dimension", "0"), "0"),
        (("--seed", "-1"), "--seed is -1"),
        (("--minimum-count", "-1"), "--minimum-count is -1"),
        (("--parameter", "heads"), "--parameter 'heads' has no '='; write it like heads=12."),
        (("--parameter", "bse=3"), "'bse'"),
    ],
)
def test_wrong_options_are_refused(
    call, surveyed: Path, options: tuple[str, str], found: str
) -> None:
    assert found in refusal(call, "sinusoidal", surveyed, *options)


def test_missing_counts_are_named(call, tmp_path: Path) -> None:
    assert "there is no file" in refusal(call, "rope", tmp_path / "none.npz")


@pytest.mark.parametrize("kept", [0, 10, 300, 2000])
def test_a_damaged_counts_file_is_called_that(call, surveyed: Path, kept: int) -> None:
    path = surveyed / "counts.npz"
    path.write_bytes(path.read_bytes()[:kept])
    assert "counts.npz is damaged or holds no counts of Gnomon (" in refusal(call, "rope", path)


def test_pickled_counts_are_never_loaded(call, tmp_path: Path) -> None:
    path = tmp_path / "counts.npz"
    np.savez(path, metadata=np.array([{"format": 1}], dtype=object))
    assert "holds no counts of Gnomon (it holds no plain numbers)" in refusal(call, "rope", path)


def test_a_counts_file_with_a_negative_count_is_refused(call, tmp_path: Path) -> None:
    """A file that was written by hand; the counts in it are not believed."""
    counts = PositionCounts.from_array(np.full((3, 4), 9))
    save_counts(counts, tmp_path / "counts.npz")
    with np.load(tmp_path / "counts.npz", allow_pickle=False) as stored:
        arrays = dict(stored)
    data = arrays["fold_000_data"].astype(np.int64)
    data[5] = -7
    np.savez(tmp_path / "counts.npz", **(arrays | {"fold_000_data": data}))
    sentence = refusal(call, "rope", tmp_path / "counts.npz")
    assert "fold 0 of the counts file is damaged (it holds a count that is negative" in sentence


@pytest.mark.parametrize(
    ("value", "word"),
    [(np.nan, "not a number"), (np.inf, "not a number"), (-2.0, "negative"), (0.5, "not whole")],
)
def test_counts_that_are_none_are_refused_with_their_place(value: float, word: str) -> None:
    array = np.ones((3, 4))
    array[1, 2] = value
    with pytest.raises(CountsError, match=rf"^counts\[1, 2\] is {word}; "):
        PositionCounts.from_array(array)


def test_distances_that_are_none_are_refused(call, tmp_path: Path) -> None:
    np.save(tmp_path / "wide.npy", np.ones((3, 4)))
    assert "(3, 4)" in refusal(call, "rope", tmp_path / "wide.npy")
    broken = np.ones((3, 3)) - np.eye(3)
    broken[0, 1] = np.nan
    np.save(tmp_path / "nan.npy", broken)
    sentence = refusal(call, "rope", tmp_path / "nan.npy")
    assert "The target distances hold nan at row 0, column 1" in sentence
    (tmp_path / "text.npy").write_text("no array", encoding="utf-8")
    assert "text.npy cannot be read as a .npy file (it holds no plain numbers)" in refusal(
        call, "rope", tmp_path / "text.npy"
    )


def test_counts_are_saved_and_loaded_by_their_own_methods(tmp_path: Path) -> None:
    counts = PositionCounts.from_array(np.arange(24).reshape(2, 3, 4))
    counts.save(tmp_path / "counts.npz")
    loaded = PositionCounts.load(str(tmp_path / "counts.npz"))
    assert (loaded.folds, loaded.digest) == (2, counts.digest)
    np.testing.assert_array_equal(loaded.matrix.toarray(), np.arange(12).reshape(3, 4) * 2 + 12)
    with pytest.raises(CountsError, match="there is no file"):
        PositionCounts.load(tmp_path / "nowhere.npz")


def test_saved_counts_are_loaded_equal(surveyed: Path, corpus: Path) -> None:
    """Against counts made in three lines from the text itself."""
    rows = [line.split() for line in corpus.read_text(encoding="utf-8").splitlines()]
    names = sorted({word for row in rows for word in row})
    expected = [[sum(row[p] == word for row in rows) for word in names] for p in range(8)]
    loaded = load_counts(surveyed / "counts.npz")
    assert loaded.vocabulary.tokens == tuple(names)
    np.testing.assert_array_equal(loaded.matrix.toarray(), expected)
