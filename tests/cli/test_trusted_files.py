"""Files that Gnomon wrote itself and somebody changed since: refused with the place, never a fault.

Surveys, records of the laboratory and the token cache are read back by the next command.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnomon.cli.app import run
from gnomon.corpus import cache
from gnomon.errors import InputError, LabError
from gnomon.lab.grid import Cell
from gnomon.lab.records import Record, read_record, write_record
from gnomon.lab.table import folder_table
from gnomon.reading import UnreadableError, read_written, refuse_mismatch
from gnomon.report.figures import survey_figures
from gnomon.report.figures.encodings import _ticks
from gnomon.report.page.pages import _grid_figures
from gnomon.report.page.reading import read_surveys, refuse_mixed

WRONG = ("x", {}, [], None, 5, -1, 10**400, 10**90, 2**63, 1e300)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of everything in plain values, of lists the first."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1])
    for key, item in items:
        yield (*place, key)
        if isinstance(item, (dict, list)):
            yield from places(item, (*place, key))


def changes(whole: Any) -> Iterator[Any]:
    """Yield copies of plain values with one of them left out, renamed, or another."""
    for *parents, key in places(whole):
        for change in ("delete", "rename", *WRONG):
            made = copy.deepcopy(whole)
            inner = made
            for step in parents:
                inner = inner[step]
            if change == "delete":
                del inner[key]
            elif change == "rename":
                inner.append(inner.pop(key)) if isinstance(key, int) else inner.update(
                    odd=inner.pop(key)
                )
            else:
                inner[key] = change
            yield made


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a survey of six words in two blocks."""
    place = tmp_path_factory.mktemp("survey")
    rng = np.random.default_rng(0)
    words = np.array(list("abcdef"))
    lines = [" ".join(words[rng.integers(0, 3, 6) + np.arange(6) // 3]) for _ in range(300)]
    (place / "c.txt").write_text("\n".join(lines), encoding="utf-8")
    options = ("--shuffles", "1", "--dimension", "8", "--rank", "2", "-q", "--no-cache")
    assert run(["survey", str(place / "c.txt"), *options, "--out", str(place / "s")]) == 0
    return place / "s"


def changed(survey: Path, place: Path, *steps: Any, to: Any = None) -> Path:
    """Return a copy of a survey in which one value is another, or gone."""
    shutil.copytree(survey, place)
    contents = json.loads((place / "survey.json").read_text("utf-8"))
    inner = contents
    for step in steps[:-1]:
        inner = inner[step]
    del inner[steps[-1]]
    if to is not None:
        inner[steps[-1]] = to
    (place / "survey.json").write_text(json.dumps(contents), encoding="utf-8")
    return place


def test_a_survey_that_was_changed_anywhere_is_drawn_or_refused(
    survey: Path, tmp_path: Path
) -> None:
    """Every value in turn is left out, renamed and replaced; figures take what is let through."""
    whole = json.loads((survey / "survey.json").read_text("utf-8"))
    shutil.copy(survey / "geometry.npz", tmp_path)
    refused = drawn = 0
    for number, made in enumerate(changes(whole)):
        if number % 5:  # a fifth of some three thousand
            continue
        (tmp_path / "survey.json").write_text(json.dumps(made), encoding="utf-8")
        try:
            ((_, contents, pictures),) = read_surveys([tmp_path])
            with refuse_mixed([tmp_path]):
                survey_figures(contents, pictures)
            drawn += 1
        except InputError as error:
            assert "survey.json" in str(error) or "geometry.npz" in str(error)  # noqa: PT017
            refused += 1
    assert refused > 200
    assert drawn > 20


@pytest.mark.parametrize(
    ("steps", "to", "told"),
    [
        (("geometry", "eigenvalues"), None, "geometry: 'eigenvalues' is missing"),
        (("geometry", "rank", "effective"), 2**63, "is not as Gnomon wrote it (OverflowError"),
        (("geometry", "mean_distance"), 1e300, "it holds 1e+300"),
        (("corpus", "tokens"), 10**400, "it holds an integer of more than 100 digits"),
        (("provenance", "seed"), -1, "provenance.seed: -1 is below 0"),
    ],
)
def test_the_page_of_a_changed_survey_is_refused_with_the_place(
    call, survey: Path, tmp_path: Path, steps: tuple[Any, ...], to: Any, told: str
) -> None:
    ended = call("report", changed(survey, tmp_path / "s", *steps, to=to), "-q")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert told in ended.err
    assert "survey.json" in ended.err


def test_an_interval_that_ends_far_off_has_a_few_ticks_too() -> None:
    assert len(_ticks(1.35 * 9223372036854775808.0)) < 25
    assert _ticks(1.35) == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("gone", ["platform", "eigenvalues"])
def test_what_the_schema_leaves_open_may_be_missing(
    call, survey: Path, tmp_path: Path, gone: str
) -> None:
    used = json.loads((survey / "survey.json").read_text("utf-8"))["geometry"]["null"]["used"]
    steps = ("provenance",) if gone == "platform" else ("geometry", "null", used)
    assert call("report", changed(survey, tmp_path / "s", *steps, gone), "-q").code == 0


def test_a_fit_of_the_folder_of_a_changed_survey_is_refused_with_the_place(
    call, survey: Path, tmp_path: Path
) -> None:
    folder = changed(survey, tmp_path / "s", "verdict", "informative", to=[1])
    ended = call("fit", folder, "--out", tmp_path / "e.safetensors", "-q")
    assert ended.code == 2
    assert "verdict.informative: [1] is not boolean or null" in ended.err


LAYER = {"layer": 0, "deposit": True, "largest": 0.1, "noise_band": 0.01, "uniform": 0.5}
LAYER |= {"index": 0.5, "effective_heads": 1.5, "gini": 0.1, "null": 0.2}
DROPS = {"drops": [[0.1, 0.0]]}
WHOLE = {
    "score": 0.9,
    "area": 0.8,
    "loss": 0.2,
    "steps_to_90": 20,
    "curve": ({"step": 10, "score": 0.5, "loss": 1.0, "hessian": {"value": 3.0}},),
    "ceiling": {"value": 1.0, "constant": 0.5, "measure": "accuracy", "how": "by definition"},
    "data": {"digest": "d", "train": 300, "validation": 100, "test": 100, "one_answer": True},
    "lengths": ({"length": 12, "score": 0.9},),
    "measures": {
        "heads": {
            "zero": DROPS,
            "mean": DROPS,
            "zero_concentration": [LAYER],
            "mean_concentration": [LAYER],
        },
        "redundancy": {"excess": [[0.0, 0.1], [0.1, 0.0]], "excess_errors": [[0.0, 0.1]] * 2},
        "pairs": {"drops": [[0.1]], "coordinates": [[[0, 1]]], "reason": ""},
        "hessian": {"value": 2.0},
        "logits": {"contraction": [[0.9, 0.8]], "toeplitz_share": [[0.1, 0.2]]},
    },
    "parameters": 100,
    "versions": {"numpy": "2"},
    "wall_seconds": 1.0,
    "cpu_seconds": 1.0,
}


@pytest.fixture
def record(tmp_path: Path) -> Path:
    cell = Cell(task="lag", encoding="rope", seed=0, task_name="lag")
    path = cell.file(tmp_path / "records")
    path.parent.mkdir(parents=True)
    write_record(path, Record(cell=cell.to_dict(), status="done", **WHOLE))
    return path


def test_a_whole_record_is_read_and_drawn(call, record: Path) -> None:
    assert read_record(record).score == 0.9
    assert call("lab", "report", record.parents[2], "-q").code == 0


def test_a_record_that_was_changed_anywhere_is_drawn_or_refused(record: Path) -> None:
    """Every field in turn is left out, renamed and replaced by something else."""
    whole = json.loads(record.read_text("utf-8"))
    refused = drawn = 0
    for made in changes(whole):
        record.write_text(json.dumps(made), encoding="utf-8")
        try:
            with refuse_mismatch(str(record), "make it again"):
                _grid_figures(folder_table(record.parents[2])["rows"])
            drawn += 1
        except InputError as error:
            assert str(record) in str(error)  # noqa: PT017
            refused += 1
    assert refused > 500
    assert drawn > 50


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("cell", {}, "cell: 'task' is missing"),
        ("score", "x", "score: 'x' is not number or null"),
        ("area", True, "area: True is not number or null"),
        ("cpu_seconds", [], "cpu_seconds: [] is not number or null"),
        ("curve", 5, "curve: 5 is not array"),
        ("ceiling", "x", "ceiling: 'x' is not object"),
        ("data", [], "data: [] is not object"),
        ("lengths", {}, "lengths: {} is not array"),
        ("measures", {"heads": 5}, "measures.heads: 5 is not object"),
        ("status", None, "status: None is none of"),
    ],
)
def test_a_field_of_a_record_is_named_with_its_file(
    call, record: Path, field: str, value: Any, told: str
) -> None:
    made = json.loads(record.read_text("utf-8")) | {field: value}
    record.write_text(json.dumps(made), encoding="utf-8")
    with pytest.raises(LabError, match="is no record of the laboratory"):
        read_record(record)
    ended = call("lab", "report", record.parents[2], "-q")
    assert ended.code == 2
    assert f"{record} is no record of the laboratory ({told}" in ended.err


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e101", "-1e400", "9" * 101])
def test_what_gnomon_never_writes_is_not_read_back(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(f'{{"a": [{text}]}}', encoding="utf-8")
    with pytest.raises(UnreadableError, match="it holds"):
        read_written(tmp_path / "a.json")


@pytest.fixture
def kept(tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a cache that holds the tokens of the corpus."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GNOMON_CACHE", str(folder))
    assert run(["survey", str(corpus), *FAST]) == 0
    assert len(cache.entries()) == 1
    return folder


FAST = ("--shuffles", "0", "--dimension", "8", "--rank", "2", "-q")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("which", ["*.parquet", "secret"])
def test_a_pipe_in_the_cache_is_replaced_and_not_waited_for(
    call, kept: Path, corpus: Path, which: str
) -> None:
    (place,) = kept.glob(which)
    place.unlink()
    os.mkfifo(place, 0o600)
    ended = call("survey", corpus, *FAST)
    assert (ended.code, ended.err) == (0, "")
    assert place.is_file()
    assert len(cache.entries()) == 1


def test_a_secret_that_is_a_folder_is_named_and_the_survey_made(
    call, kept: Path, corpus: Path
) -> None:
    (kept / "secret").unlink()
    (kept / "secret").mkdir()
    ended = call("survey", corpus, *FAST, "--json", "-")
    assert ended.code == 0
    notes = json.loads(ended.out)["corpus"]["notes"]
    (note,) = [note for note in notes if "cache" in note]
    assert note == (
        f"the tokens were not kept in the cache: {kept / 'secret'} cannot be replaced "
        "(Is a directory); remove it"
    )
