"""`gnomon reproduce` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gnomon.cli.app import run
from gnomon.errors import InputError
from gnomon.reproduce.registry import REPRODUCTIONS, reproduce

Captured = pytest.CaptureFixture[str]


def test_without_a_name_it_lists_what_there_is_in_a_line_each(capsys: Captured) -> None:
    assert run(["reproduce"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(REPRODUCTIONS)
    assert all(any(line.startswith(name) for line in lines) for name in REPRODUCTIONS)


def test_the_list_is_json_when_asked(capsys: Captured) -> None:
    assert run(["reproduce", "--json", "-"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in value["reproductions"]] == list(REPRODUCTIONS)


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, entry in REPRODUCTIONS.items()
        if not (entry.reads_models or entry.runs_grids)  # these have tests of their own
    ),
)
def test_every_reproduction_runs_and_leaves_with_0_although_claims_fail(
    name: str, capsys: Captured
) -> None:
    arguments = ["--length", "12", "--dimension", "16"] if name == "table4" else []
    assert run(["reproduce", name, "--seeds", "1", *arguments]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{name}: ")
    assert "does not hold" in out
    assert "arXiv:2604.05217" in out


def test_json_goes_to_its_file_and_quiet_prints_nothing(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "out.json"
    assert run(["reproduce", "table3", "--seeds", "1", "-q", "--json", str(path)]) == 0
    assert capsys.readouterr().out == ""
    value = json.loads(path.read_text("utf-8"))
    assert value["name"] == "table3"
    assert value["source"] == "cirrincione2026"
    assert {"claim", "holds", "reason"} == set(value["verdicts"][0])


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others() -> None:
    first, again, other = (reproduce("table3", seed=s, seeds=1).to_dict() for s in (4, 4, 5))
    assert first["rows"] == again["rows"]
    assert first["rows"] != other["rows"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tabel3"], "'tabel3' cannot be reproduced; did you mean 'table3'? Known: "),
        (
            ["table2", "x.txt"],
            "table2 draws its own three-regime corpus and was given 'x.txt'; leave",
        ),
        (
            ["table3", "--length", "5"],
            "--length changes nothing in table3, which draws its own corpus",
        ),
        (["table2", "--minimum-count", "1"], "--minimum-count changes nothing in table2"),
        (["table2", "--seeds", "0"], "--seeds is 0; it must be 1 or more."),
        (["table2", "--seed", "-1"], "--seed is -1; it must be 0 or more."),
        (["table4", "missing.txt"], "missing.txt does not exist"),
        (["table4", "three-regimes", "--dimension", "7"], "dimension is 7; pass a multiple of 2"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str], message: str, capsys: Captured
) -> None:
    assert run(["reproduce", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"gnomon: {message}")
    assert len(captured.err.splitlines()) == 1


def test_an_unknown_option_in_python_names_the_nearest() -> None:
    message = "'colum' is no option of counting; did you mean 'column'"
    with pytest.raises(InputError, match=message):
        reproduce("table4", "three-regimes", colum="x")
