"""Every survey.json keeps to the schema that ships with it, and never holds NaN."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import gnomon
from gnomon.cli.app import run
from gnomon.pipeline.survey_file import survey_schema

VALIDATOR = jsonschema.Draft202012Validator(survey_schema())


def strict(text: str) -> Any:
    """Parse JSON, refusing the constants that JSON does not have."""

    def constant(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    return json.loads(text, parse_constant=constant)


def printed(capfd: pytest.CaptureFixture[str], *arguments: object) -> Any:
    """Return what `gnomon survey ... --json -` prints."""
    assert run(["survey", *map(str, arguments), "--json", "-"]) == 0
    seen = capfd.readouterr()
    assert seen.err == ""
    return strict(seen.out)


def check(found: Any) -> None:
    faults = [f"{e.json_path}: {e.message}" for e in VALIDATOR.iter_errors(found)]
    assert not faults, "\n".join(faults)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Documents of one to six words: the last positions have few tokens."""
    rng = np.random.default_rng(11)
    rows = [" ".join(rng.choice(list("abcd"), 1 + i % 6)) for i in range(90)]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(survey_schema())


@pytest.mark.parametrize(
    "name", ["three-regimes", "digits", pytest.param("python-stdlib", marks=pytest.mark.wide)]
)
def test_the_built_in_corpora_keep_to_the_schema(capfd: Any, name: str) -> None:
    found = printed(capfd, name)
    check(found)
    assert found["corpus"]["source"].startswith(name)


def test_all_built_in_corpora_at_once_keep_to_the_schema(capfd: Any) -> None:
    found = printed(capfd, "--length", 16, "--dimension", 8)
    assert set(found["surveys"]) == {"three-regimes", "digits", "python-stdlib"}
    for one in found["surveys"].values():
        check(one)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--metric", "angle"),
        ("--minimum-count", 40),
        ("--minimum-count", 60),
        ("--top-k", 1),
        ("--dimension", 1),
        ("--length", 2),
        ("--window", "end"),
        ("--window", "sliding", "--length", 2, "--stride", 1),
        ("--window", "packed", "--length", 4),
        ("--tokenizer", "bytes"),
    ],
)
def test_a_text_keeps_to_the_schema_whatever_the_options(
    capfd: Any, text: Path, options: tuple[object, ...]
) -> None:
    check(printed(capfd, text, *options))


def test_masked_positions_are_named_with_their_reason(capfd: Any, text: Path) -> None:
    """Position p is held by the documents longer than p: 90, 75, 60, 45, 30, 15."""
    found = printed(capfd, text, "--minimum-count", 40)
    assert [p["tokens"] for p in found["positions"]] == [90, 75, 60, 45, 30, 15]
    masked = [p["index"] for p in found["positions"] if p["status"] == "masked"]
    assert masked == [4, 5]
    assert all(p["reason"] for p in found["positions"] if p["distinct"] is None)


def test_a_grid_keeps_to_the_schema(capfd: Any, tmp_path: Path) -> None:
    path = tmp_path / "grid.npy"
    np.save(path, np.random.default_rng(0).integers(0, 5, (60, 3, 4)))
    found = printed(capfd, path)
    check(found)
    assert found["corpus"]["axes"] == [3, 4]


def test_a_table_of_zeros_has_reasons_for_what_it_lacks(
    capfd: Any, text: Path, tmp_path: Path
) -> None:
    """All its distances are 0: scale-free stress 1, best scale 0, no stress-1, no correlation."""
    np.save(tmp_path / "zeros.npy", np.zeros((6, 4)))
    found = printed(capfd, text, "--table", tmp_path / "zeros.npy")
    check(found)
    zeros = next(e for e in found["encodings"] if e["name"] == "table")
    plugin = zeros["stress"]["plugin"]
    assert (plugin["raw"], plugin["scale_free"], plugin["best_scale"]) == (1.0, 1.0, 0.0)
    assert plugin["kruskal"] is zeros["pearson"] is zeros["spearman"] is None
    assert "kruskal: all distances of the encoding are 0" in plugin["reason"]
    assert "all distances of the encoding are equal" in zeros["reason"]


def test_the_file_the_output_and_the_library_hold_the_same_numbers(
    capfd: Any, text: Path, tmp_path: Path
) -> None:
    shown = printed(capfd, text, "--dimension", 8, "--out", tmp_path / "out", "--seed", 3)
    written = strict((tmp_path / "out" / "survey.json").read_text(encoding="utf-8"))
    found = gnomon.survey(str(text), dimension=8, seed=3)
    check(written)
    for key in ("positions", "geometry", "encodings", "dimensions"):
        assert shown[key] == written[key] == found.to_dict()[key]
    assert shown["geometry"]["mean_distance"] == found.geometry.mean_distance
    assert shown["geometry"]["eigenvalues"] == found.geometry.spectrum.eigenvalues.tolist()
    for entry, line in zip(found.entries, shown["encodings"], strict=True):
        assert line["stress"]["plugin"]["raw"] == entry.stress.raw


def paths(schema: dict[str, Any], value: Any, place: tuple[Any, ...] = ()) -> Any:
    """Yield the place of every key that the schema requires, as far as the value goes."""
    schema = survey_schema()["$defs"][schema["$ref"].split("/")[-1]] if "$ref" in schema else schema
    if isinstance(value, list):
        if value and "items" in schema:
            yield from paths(schema["items"], value[0], (*place, 0))
        return
    for key in schema.get("required", ()):
        yield (*place, key)
        inner = schema["properties"][key]
        if isinstance(value[key], (dict, list)):
            yield from paths(inner, value[key], (*place, key))


def test_a_survey_without_one_of_the_promised_keys_fails_the_schema() -> None:
    """The schema can fail: every required key, taken away in turn, is missed."""
    whole = gnomon.survey("three-regimes", dimension=8, length=6).to_dict()
    places = list(paths(survey_schema(), whole))
    assert len(places) > 60
    for *parents, key in places:
        broken = copy.deepcopy(whole)
        inner = broken
        for step in parents:
            inner = inner[step]
        del inner[key]
        assert not VALIDATOR.is_valid(broken), (*parents, key)


def test_a_null_without_its_reason_fails_the_schema() -> None:
    """One document, many times over, is one group: nothing can be debiased or tested."""
    whole = gnomon.survey(["a b c d"] * 20, tokenizer="words", dimension=4, shuffles=0).to_dict()
    assert VALIDATOR.is_valid(whole)
    for parents in (
        ("geometry", "mean_squared"),
        ("geometry", "head"),
        ("geometry", "null", "shuffled"),
        ("geometry",),
        ("encodings", 0, "stress", "debiased"),
        ("positions", 0),
    ):
        broken = copy.deepcopy(whole)
        inner = broken
        for step in parents:
            inner = inner[step]
        del inner["reason"]
        assert not VALIDATOR.is_valid(broken), parents
