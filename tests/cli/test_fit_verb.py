"""`gnomon fit`: what it writes, what it says, and what bad input gets."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from gnomon.encodings.fitted import Fitted


@pytest.fixture
def fitted(call, corpus: Path, tmp_path: Path):
    """Fit the small corpus and return what was said and what was written."""

    def fitting(*arguments: object, source: Path = corpus):
        file = tmp_path / "e.safetensors"
        called = call("fit", source, "--dimension", 16, "--out", file, *arguments)
        assert called.code == 0, called
        return called, Fitted.load(file)

    return fitting


def refusal(call, *arguments: object) -> str:
    called = call("fit", *arguments)
    assert (called.code, called.out) == (2, ""), called
    assert called.err.startswith("gnomon: ")
    assert called.err.count("\n") == 1
    return called.err.removeprefix("gnomon: ").rstrip("\n")


def test_a_corpus_is_fitted_and_the_card_is_put_in_words(fitted) -> None:
    called, made = fitted()
    assert f"8 positions, dimension 16, rank {made.rank}: {made.stored} numbers" in called.out
    assert "a full table has 128" in called.out
    assert "the end    positions past 7 are refused with an error" in called.out
    assert called.out.rstrip().endswith("e.safetensors")
    assert called.err == ""


def test_the_card_is_also_json(fitted) -> None:
    called, made = fitted("--json", "-")
    card = json.loads(called.out)
    assert Path(card.pop("file")).name == "e.safetensors"
    assert card == made.to_dict()


def test_what_was_declared_is_in_the_file(fitted) -> None:
    _, made = fitted("--beyond", "interpolate", "--reach", 20, "--rotation", 3, "--match", 0.02)
    assert (made.length, made.reach, made.rotation, made.scale) == (8, 20, 3, "match")
    assert np.sqrt(np.mean(made.table().astype(float) ** 2)) == pytest.approx(0.02, rel=1e-5)
    _, made = fitted("--no-rotation", "--scale", "learned", "--beyond", "clamp")
    assert (made.rotation, made.scale, made.past) == (None, "learned", "clamp")


def test_the_scale_of_an_embedding_file_is_matched(fitted, tmp_path: Path, rng) -> None:
    embedding = rng.normal(scale=0.05, size=(40, 16))
    np.save(tmp_path / "tokens.npy", embedding)
    _, made = fitted("--match", tmp_path / "tokens.npy")
    wanted = np.sqrt(np.mean(embedding**2))
    assert np.sqrt(np.mean(made.table().astype(float) ** 2)) == pytest.approx(wanted, rel=1e-5)


def test_a_survey_and_its_counts_give_what_the_survey_shipped(
    call, fitted, corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "done"
    assert call("survey", corpus, "--dimension", 16, "--out", folder, "-q").code == 0
    shipped = Fitted.load(folder / "encoding.safetensors")
    for source in (folder, folder / "counts.npz"):
        _, made = fitted(source=source)
        np.testing.assert_array_equal(made.table(), shipped.table())
    _, made = fitted(source=folder)
    assert made.origin["verdict"] == shipped.origin["verdict"]


def test_an_uninformative_corpus_is_fitted_with_a_warning(call, fitted, tmp_path: Path) -> None:
    """Done, exit code 0; the warning is in the card and on standard error, also with -q."""
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(list("abcdefgh"), 12)) for _ in range(400)]
    (tmp_path / "noise.txt").write_text("\n".join(lines) + "\n")
    called, made = fitted("-q", source=tmp_path / "noise.txt")
    assert called.out == ""
    assert called.err.count("gnomon: warning: ") == len(made.warnings) >= 2
    assert "rest on sampling noise" in called.err
    assert "rest on sampling noise" in made.warnings[0]


def test_the_encoding_can_be_measured(call, fitted, corpus: Path, tmp_path: Path) -> None:
    fitted("--estimator", "plugin", "--rank", "full")
    assert call("survey", corpus, "--out", tmp_path / "s", "-q").code == 0
    found = call(
        "stress",
        tmp_path / "e.safetensors",
        tmp_path / "s" / "counts.npz",
        "--json",
        "-",
        "--estimator",
        "plugin",
    )
    assert json.loads(found.out)["raw"] < 1e-10


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--dimension", 0), "dimension is 0; pass a whole number from 1 on."),
        (("--rank", 9, "--dimension", 8), "rank is 9 and dimension 8; pass a rank up to it."),
        (("--rank", 60), "; pass a rank up to "),
        (("--rank", "most"), "rank is 'most'; pass effective, full, or a whole number"),
        (("--seed", -1), "--seed is -1; it must be 0 or more."),
        (("--metric", "chrod"), "did you mean 'chord'?"),
        (("--scale", "match"), "there is nothing to match"),
        (("--match", "much"), "--match 'much' is neither a number nor a file of numbers"),
        (("--match", "none.npy"), "There is no file none.npy"),
        (("--beyond", "interpolate"), "(--beyond interpolate --reach N)"),
        (("--masked", "drop"), "masked is 'drop'; pass one of: continue, interpolate, refuse."),
        (("--engine", "ray"), "--engine 'ray' is unknown"),
        (("--memory", 0), "--memory is 0 GB"),
        (("--shuffles", -1), "--shuffles is -1; it must be 0 or more."),
    ],
)
def test_a_bad_option_gets_one_sentence(call, corpus, tmp_path: Path, options, found) -> None:
    file = tmp_path / "e.safetensors"
    assert found in refusal(call, corpus, "--out", file, *options)
    assert not file.exists()


def test_places_that_can_not_be_written_to_are_refused(call, corpus: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("x")
    assert "--out is missing; name the file" in refusal(call, corpus)
    assert "taken is a file" in refusal(call, corpus, "--out", taken / "e.safetensors")
    assert "is a folder; name a file in it" in refusal(call, corpus, "--out", tmp_path)
    assert "does not end in .safetensors" in refusal(call, corpus, "--out", tmp_path / "e.npy")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(call, corpus: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    assert "Permission denied" in refusal(call, corpus, "--out", closed / "e.safetensors")


def test_a_folder_whose_survey_can_not_be_read_is_refused(call, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "survey.json").write_text("{}")
    sentence = refusal(call, folder, "--out", tmp_path / "e.safetensors")
    assert "survey.json cannot be read as the result of a survey (the file itself: " in sentence


def test_counts_of_another_corpus_in_the_folder_are_refused(
    call, corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "done"
    assert call("survey", corpus, "--out", folder, "-q").code == 0
    file = folder / "survey.json"
    said = json.loads(file.read_text(encoding="utf-8"))
    said["corpus"]["digest"] = "another"
    file.write_text(json.dumps(said))
    sentence = refusal(call, folder, "--out", tmp_path / "e.safetensors")
    assert "of different corpora (digests another and " in sentence


def test_a_grid_is_not_stretched(call, tmp_path: Path) -> None:
    options = ("--beyond", "interpolate", "--reach", 99, "--out", tmp_path / "e.safetensors")
    assert "a grid of 8 x 8 has no single length" in refusal(call, "digits", *options)
