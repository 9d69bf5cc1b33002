"""The tables of the texts are written by a script from surveys, never by hand, and are current."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gnomon

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "fill_docs.py"
SLOT = "<!-- encodings:begin -->\n<!-- encodings:end -->\n"
SURVEY = {
    "corpus": {
        "source": "three-regimes",
        "rows": 2000,
        "groups": 1999,
        "tokens": 64000,
        "axes": [4, 8],
    },
    "geometry": {
        "mean_distance": 0.85844,
        "null": {"dealt": {"share": 0.0589}},
        "rank": {"numerical": 31},
        "participation": 2.10849,
        "monotonicity": {"violations": 0.37981, "ties": 0.0},
        "shift_equivariance": None,
    },
    "encodings": [
        {
            "label": "random, sigma 1",
            "lift": "kernel",
            "dimension": None,
            "stress": {
                "plugin": {"raw": 29.12345, "best_scale": 0.147, "scale_free": 2e-30, "skill": None}
            },
            "monotonicity": {"violations": 0.0},
        }
    ],
}


def fill(folder: Path, *texts: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(folder), *map(str, texts)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def prepared(tmp_path: Path, text: str) -> Path:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "survey.json").write_text(json.dumps(SURVEY), encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_every_slot_holds_the_figures_of_the_survey_and_the_rest_stays(tmp_path: Path) -> None:
    corpora = "<!-- corpora:begin -->\nold\n<!-- corpora:end -->\n"
    page = prepared(tmp_path, f"a\n{SLOT}b\n{corpora}c\n")
    done = fill(tmp_path, page)
    assert done.returncode == 0, done.stderr
    lines = page.read_text(encoding="utf-8").splitlines()
    assert "| random, sigma 1 | kernel | - | 29.12 | 0.147 | < 1e-12 | - | 0 |" in lines
    sizes, figures = (
        "2,000 | 1,999 | 64,000 | 4 x 8",
        "0.8584 | 0.0589 | 31 | 2.108 | 0.3798 | 0 | -",
    )
    assert f"| three-regimes | {sizes} | {figures} |" in lines
    assert [line for line in lines if line in "abc"] == ["a", "b", "c"]
    assert "old" not in lines


def test_filling_twice_changes_nothing(tmp_path: Path) -> None:
    page = prepared(tmp_path, SLOT)
    fill(tmp_path, page)
    once = page.read_bytes()
    assert b"sigma 1" in once
    fill(tmp_path, page)
    assert page.read_bytes() == once


@pytest.mark.parametrize("text", ["no slot\n", SLOT.replace("encodings", "unknown")])
def test_a_text_that_can_not_be_filled_is_left_alone(tmp_path: Path, text: str) -> None:
    page = prepared(tmp_path, text)
    done = fill(tmp_path, page)
    assert done.returncode == 1
    assert "page.md has no slot that can be filled" in done.stderr
    assert page.read_text(encoding="utf-8") == text


def test_a_folder_without_surveys_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.touch()
    done = fill(tmp_path, page)
    assert done.returncode == 1
    assert "No survey.json is below" in done.stderr


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_the_table_in_the_text_is_what_a_survey_measures_today(name: str) -> None:
    """To three digits: the last ones may differ between linear algebra libraries."""
    text = (ROOT / name).read_text(encoding="utf-8")
    table = re.search(r"<!-- encodings:begin -->\n(.*?)<!-- encodings:end -->", text, re.DOTALL)
    assert table is not None
    rows = [line.strip("| ").split(" | ") for line in table[1].splitlines()[2:]]
    found = gnomon.survey("three-regimes").entries
    assert [tuple(row[:2]) for row in rows] == [(one.label, one.lift) for one in found]
    for row, one in zip(rows, found, strict=True):
        wanted = (one.stress.raw, one.stress.best_scale, one.stress.scale_free, one.stress.skill)
        for written, value in zip(row[3:7], wanted, strict=True):
            assert float(written.removeprefix("< ")) == pytest.approx(value, rel=2e-3, abs=1e-3)
