"""`gnomon report` and the page that `gnomon survey --out` writes: what they name and refuse."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnomon.cli.app import run

Refused = Callable[..., str]


@pytest.fixture
def refused(capfd: pytest.CaptureFixture[str]) -> Refused:
    """Call `gnomon report` with bad input: one sentence, exit code 2, nothing printed."""

    def refusing(*arguments: object) -> str:
        assert run(["report", *map(str, arguments)]) == 2
        seen = capfd.readouterr()
        assert seen.out == ""
        (line,) = seen.err.splitlines()
        return line.removeprefix("gnomon: ")

    return refusing


@pytest.fixture
def copied(regimes: Path, tmp_path: Path) -> Path:
    """A survey that may be damaged."""
    return Path(shutil.copytree(regimes, tmp_path / "copied"))


def changed(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """Change survey.json in a folder."""
    path = folder / "survey.json"
    contents = json.loads(path.read_text("utf-8"))
    change(contents)
    path.write_text(json.dumps(contents), encoding="utf-8")
    return folder


def test_a_survey_with_out_ends_by_naming_its_page(tmp_path: Path, capfd) -> None:
    text = tmp_path / "t.txt"
    text.write_text("\n".join(["a b c", "b c a", "c a b"] * 40), encoding="utf-8")
    assert run(["survey", str(text), "--dimension", "4", "--out", str(tmp_path / "out")]) == 0
    seen = capfd.readouterr()
    page = tmp_path / "out" / "report.html"
    assert seen.out.splitlines()[-1] == f"page: {page}"
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert sorted(p.name for p in page.parent.iterdir()) == [
        "counts.npz", "encoding.safetensors", "geometry.npz", "report.html", "survey.json",
    ]  # fmt: skip


def test_the_built_in_corpora_end_with_one_page_of_all(tmp_path: Path, capfd) -> None:
    options = ["--length", "16", "--dimension", "8", "--shuffles", "1", "--out", str(tmp_path)]
    assert run(["survey", *options]) == 0
    whole = tmp_path / "report.html"
    assert capfd.readouterr().out.splitlines()[-1] == f"page: {whole}"
    text = whole.read_text("utf-8")
    for name in ("three-regimes", "digits", "python-stdlib"):
        assert (tmp_path / name / "report.html").is_file()
        assert f"{name}/encoding.safetensors" in text
        assert f'">{name}' in text
    assert text.count("plotly.js v") == 1


def test_a_page_made_again_from_its_folder_is_the_page_of_the_survey(copied: Path, capfd) -> None:
    """What survey.json and geometry.npz hold is all that a page needs."""
    before = (copied / "report.html").read_text("utf-8")
    (copied / "report.html").unlink()
    assert run(["report", str(copied)]) == 0
    assert capfd.readouterr().out == f"page: {copied / 'report.html'}\n"
    assert (copied / "report.html").read_text("utf-8") == before


def test_several_surveys_make_one_page_where_asked(
    regimes: Path, digits: Path, tmp_path: Path, capfd
) -> None:
    page = tmp_path / "both.html"
    files = [str(regimes), str(digits / "survey.json")]
    assert run(["report", *files, "--out", str(page), "--json", "-"]) == 0
    said = json.loads(capfd.readouterr().out)
    assert said["page"] == str(page)
    assert said["bytes"] == page.stat().st_size
    assert [one["label"] for one in said["surveys"]] == ["three-regimes", "digits (scikit-learn)"]


def test_the_same_corpus_twice_has_two_names(regimes: Path, copied: Path, capfd) -> None:
    page = copied / "both.html"
    assert run(["report", str(regimes), str(copied), "--out", str(page), "--json", "-"]) == 0
    labels = [one["label"] for one in json.loads(capfd.readouterr().out)["surveys"]]
    assert labels == [f"three-regimes, {regimes.name}", "three-regimes, copied"]


def test_without_geometry_the_figures_that_need_it_say_so(copied: Path, capfd) -> None:
    (copied / "geometry.npz").unlink()
    assert run(["report", str(copied)]) == 0
    text = (copied / "report.html").read_text("utf-8")
    assert 'data-figure="s0-counts"' in text
    assert 'data-figure="s0-distances"' not in text
    assert "without geometry.npz" in text
    capfd.readouterr()


def test_several_surveys_without_a_place_are_refused(refused: Refused, regimes: Path) -> None:
    assert refused(regimes, regimes) == (
        "2 surveys make one page, and it needs a place: name the file with --out."
    )


def test_a_folder_or_another_kind_of_file_as_page_is_refused(
    refused: Refused, regimes: Path, tmp_path: Path
) -> None:
    assert "is a folder; name a file with --out, such as" in refused(regimes, "--out", tmp_path)
    said = refused(regimes, "--out", tmp_path / "page.pdf")
    assert said.endswith("page.pdf is no HTML file; give it a name that ends in .html.")


def test_a_page_under_a_file_is_refused(refused: Refused, regimes: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    assert "could not be written" in refused(regimes, "--out", tmp_path / "taken" / "page.html")


def test_a_folder_without_a_survey_is_refused(refused: Refused, tmp_path: Path) -> None:
    assert refused(tmp_path).startswith(f"there is no {tmp_path / 'survey.json'}; name a folder")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is damaged or no JSON (line 1)"),
        ('{"a": NaN}', "is damaged or no JSON (it holds NaN)"),
        ('{"a": 1e999}', "is damaged or no JSON (it holds 1e999)"),
        ("[" * 100_000, "is damaged or no JSON"),
        ("[1]", "is JSON but no survey; name a folder"),
        ('{"schema_version": 2}', "has schema version 2, and this Gnomon reads 1; update it"),
        ('{"schema_version": 1}', "(the file itself: 'corpus' is missing); run the"),
    ],
)
def test_a_file_that_is_no_survey_is_refused(
    refused: Refused, tmp_path: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "survey.json"
    path.write_text(text, encoding="utf-8")
    said = refused(path)
    assert said.startswith(str(path))
    assert sentence in said


def test_a_binary_file_is_refused(refused: Refused, regimes: Path) -> None:
    assert "is damaged or no JSON" in refused(regimes / "counts.npz")


def test_a_survey_with_a_foreign_type_is_refused_with_its_place(
    refused: Refused, copied: Path
) -> None:
    changed(copied, lambda contents: contents["encodings"][0].update(label=["x"]))
    assert "encodings.0.label: ['x'] is not string" in refused(copied)


def test_geometry_of_another_survey_is_refused(
    refused: Refused, copied: Path, digits: Path
) -> None:
    shutil.copy(digits / "geometry.npz", copied / "geometry.npz")
    assert "geometry.npz belongs to another survey than the survey.json" in refused(copied)


def test_damaged_geometry_is_refused(refused: Refused, copied: Path) -> None:
    whole = (copied / "geometry.npz").read_bytes()
    (copied / "geometry.npz").write_bytes(whole[: len(whole) // 2])
    assert "geometry.npz is damaged" in refused(copied)


def test_pickled_geometry_is_not_loaded(refused: Refused, copied: Path) -> None:
    np.savez(copied / "geometry.npz", metadata=np.array([{"a": 1}], dtype=object))
    assert "geometry.npz is damaged" in refused(copied)
