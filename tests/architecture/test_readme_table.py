"""The table of the README is written by a script from the surveys, never by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "fill_readme.py"
SURVEY = {
    "corpus": {"source": "three-regimes", "groups": 2000, "length": 32},
    "encodings": [
        {
            "name": "random",
            "label": "random, sigma 1",
            "lift": "kernel",
            "stress": {"plugin": {"raw": 29.12345, "scale_free": 2e-30, "kruskal": None}},
        }
    ],
}


def fill(folder: Path, readme: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(folder), str(readme)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def prepared(tmp_path: Path, text: str) -> Path:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "survey.json").write_text(json.dumps(SURVEY), encoding="utf-8")
    readme = tmp_path / "README.md"
    readme.write_text(text, encoding="utf-8")
    return readme


def test_the_table_holds_the_figures_of_the_survey_and_the_rest_stays(tmp_path: Path) -> None:
    readme = prepared(tmp_path, "a\n<!-- table:begin -->\nold\n<!-- table:end -->\nb\n")
    done = fill(tmp_path, readme)
    assert done.returncode == 0, done.stderr
    lines = readme.read_text(encoding="utf-8").splitlines()
    assert "| three-regimes | 2000 | 32 | random, sigma 1 | kernel | 29.12 | < 1e-12 | - |" in lines
    assert (lines[0], lines[-1]) == ("a", "b")
    assert "old" not in lines


def test_filling_twice_changes_nothing(tmp_path: Path) -> None:
    readme = prepared(tmp_path, "<!-- table:begin -->\n<!-- table:end -->\n")
    fill(tmp_path, readme)
    once = readme.read_bytes()
    fill(tmp_path, readme)
    assert readme.read_bytes() == once


def test_a_readme_without_the_two_comments_is_left_alone(tmp_path: Path) -> None:
    readme = prepared(tmp_path, "no slot\n")
    done = fill(tmp_path, readme)
    assert done.returncode == 1
    assert "put the two lines back" in done.stderr
    assert readme.read_text(encoding="utf-8") == "no slot\n"


def test_a_folder_without_surveys_is_named(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.touch()
    done = fill(tmp_path, readme)
    assert done.returncode == 1
    assert "No survey.json is below" in done.stderr


def test_the_readme_of_the_project_has_the_slot() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("<!-- table:begin -->") == text.count("<!-- table:end -->") == 1
