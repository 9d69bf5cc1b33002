"""`gnomon lab report` and `gnomon reproduce` on a grid: run, judged, drawn, and taken up again."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.cli.app import run

pytest.importorskip("torch")

GRID = """
question = "Which is learned?"
[model]
dimension = 16
heads = 2
layers = 1
[training]
steps = 3
batch = 4
held_out = 16
[report]
seeds = [0, 1]
[tasks.lag]
length = 12
lag = 2
[encodings.rope]
[encodings.alibi]
symmetric = true
[encodings.jordan]
name = "jordan-scaled"
both_directions = true
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A grid that was run and judged once."""
    folder = tmp_path_factory.mktemp("records")
    (folder / "jordan.toml").write_text(GRID, encoding="utf-8")
    record = folder / "jordan.json"
    arguments = ["--records", str(folder), "--workers", "1", "--json", str(record), "-q"]
    assert run(["reproduce", "jordan", *arguments]) == 0
    return folder, record


def test_a_reproduction_of_a_grid_keeps_its_numbers_and_evidence(judged):
    record = json.loads(judged[1].read_text("utf-8"))
    laboratory = record["corpora"]["laboratory"]
    assert [row["encoding"] for row in laboratory["grids"]["jordan"]["rows"]] == [
        "rope",
        "alibi",
        "jordan",
    ]
    assert [verdict["claim"] for verdict in record["verdicts"]] == list(laboratory["evidence"])
    assert len(record["rows"]) == 3
    assert record["source"] == "puranik2026"


def test_a_grid_that_was_judged_is_not_trained_again(judged):
    folder, record = judged
    files = {file: file.stat().st_mtime_ns for file in folder.glob("jordan/*/*/*.json")}
    again = record.with_name("again.json")
    arguments = ["--records", str(folder), "--workers", "1", "--json", str(again), "-q"]
    assert run(["reproduce", "jordan", *arguments]) == 0
    assert {file: file.stat().st_mtime_ns for file in folder.glob("jordan/*/*/*.json")} == files
    first, second = (json.loads(file.read_text("utf-8")) for file in (record, again))
    assert first["verdicts"] == second["verdicts"]
    assert first["corpora"] == second["corpora"]


def test_a_page_is_made_of_a_grid_of_its_folder_and_of_its_record(judged, capsys):
    folder, record = judged
    for place, page in (
        (folder / "jordan.toml", folder / "jordan" / "report.html"),
        (folder / "jordan", folder / "jordan" / "report.html"),
        (record, folder / "jordan.html"),
    ):
        page.unlink(missing_ok=True)
        assert run(["lab", "report", str(place)]) == 0
        assert capsys.readouterr().out == f"page: {page}\n"
        assert "Score at the end" in page.read_text("utf-8")
    assert "What becomes of the claims" in page.read_text("utf-8")
    other = folder / "other.html"
    assert run(["lab", "report", str(folder / "jordan"), "--out", str(other), "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["page"], told["rows"]) == (str(other), 3)
    assert told["bytes"] == other.stat().st_size


def test_records_of_other_settings_are_on_no_page(judged, tmp_path, capsys):
    """The folder has a record of four steps beside those of three; the grid has none of it."""
    records = tmp_path / "records"
    shutil.copytree(judged[0] / "jordan", records)
    file = next(records.glob("lag/rope/report-0-*.json"))
    other = json.loads(file.read_text("utf-8"))
    other["cell"]["training"]["steps"] = 4
    file.with_name("report-0-0000000000000000.json").write_text(json.dumps(other), "utf-8")
    assert run(["lab", "report", str(records)]) == 2
    error = capsys.readouterr().err
    assert "encoding 'rope' with training.steps 4 and 3; name their grid" in error
    page = records / "report.html"
    page.unlink(missing_ok=True)
    grid = str(judged[0] / "jordan.toml")
    assert run(["lab", "report", grid, "--records", str(records), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 3
    assert page.is_file()


def test_the_page_of_the_documentation_is_written_from_records(judged, tmp_path):
    page, root = tmp_path / "page.md", Path(__file__).resolve().parents[2]
    page.write_text("<!-- lab_records:begin -->\n<!-- lab_records:end -->\n", encoding="utf-8")
    script = root / "scripts" / "lab_results.py"
    subprocess.run([sys.executable, str(script), str(page), str(judged[0])], check=True)
    text = page.read_text("utf-8")
    assert "### jordan: non-semisimple groups" in text
    assert "| a Jordan block learns lag better than RoPE |" in text
    assert re.search(r"^\| lag \| rope \| [\d.]+ \| 2 \|", text, re.MULTILINE)
    figure = (tmp_path / "figures" / "lab-jordan.svg").read_text("utf-8")
    assert figure.count("<circle") == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lab", "report", "nowhere"], "nowhere does not exist; name a grid, the folder"),
        (["lab", "report", "{empty}"], "holds no records of reported runs; run the grid first"),
        (["lab", "report", "{other}", "--records", "x"], "no grid, which --records is for; name"),
        (["lab", "report", "{other}"], "other.json is no record of a grid (it has no 'corpora'"),
        (["lab", "report", "{record}", "--out", "x.txt"], "--out x.txt is no HTML file"),
        (["lab", "report", "{record}", "--out", "{empty}"], "is a folder; name a file with --out"),
        (["reproduce", "jordan", "x.txt"], "jordan trains on its own tasks and was given 'x.txt'"),
        (["reproduce", "deposit", "--length", "9"], "--length changes nothing in deposit, which"),
        (["reproduce", "table2", "--workers", "2"], "--workers changes nothing in table2; leave"),
        (["reproduce", "table2", "--data", "d"], "--data changes nothing in table2; leave it out"),
    ],
)
def test_bad_input_of_grids_is_one_sentence_and_exit_code_2(
    judged, tmp_path, arguments, message, capsys
):
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    places = {"empty": tmp_path, "other": tmp_path / "other.json", "record": judged[1]}
    assert run([argument.format(**places) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("gnomon: ")
    assert message in error
    assert error.count("\n") == 1
