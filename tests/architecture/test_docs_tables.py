"""The tables of the texts are written by a script from surveys, never by hand, and are current."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import gnomon
from gnomon.sources import SOURCES

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
                "plugin": {
                    "raw": 29.12345,
                    "best_scale": 0.147,
                    "scale_free": 2e-30,
                    "skill": None,
                },
                "debiased": {"scale_free": 0.20703, "interval": [0.0049, 0.20911]},
            },
            "monotonicity": {"violations": 0.0},
        }
    ],
}


@cache
def three_regimes() -> Any:
    """Survey once for all texts."""
    return gnomon.survey("three-regimes")


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
    plugin, debiased = "29.12 | 0.147 | < 1e-12 | -", "0.207 | [0.0049, 0.209]"
    assert f"| random, sigma 1 | kernel | - | {plugin} | {debiased} | 0 |" in lines
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


def test_the_table_in_the_text_is_what_a_survey_measures_today() -> None:
    """To three digits: the last ones may differ between linear algebra libraries."""
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    table = re.search(r"<!-- encodings:begin -->\n(.*?)<!-- encodings:end -->", text, re.DOTALL)
    assert table is not None
    rows = [line.strip("| ").split(" | ") for line in table[1].splitlines()[2:]]
    found = three_regimes().entries
    assert [tuple(row[:2]) for row in rows] == [(one.label, one.lift) for one in found]
    for row, one in zip(rows, found, strict=True):
        wanted = (one.stress.raw, one.stress.best_scale, one.stress.scale_free, one.stress.skill)
        for written, value in zip(row[3:7], wanted, strict=True):
            assert float(written.removeprefix("< ")) == pytest.approx(value, rel=2e-3, abs=1e-3)
        assert one.debiased is not None
        assert float(row[7].removeprefix("< ")) == pytest.approx(one.debiased.scale_free, abs=2e-3)


NUMBER = re.compile(r"<!--= (\S+) (\S+) -->([^<]*)<!--/-->")
NOISE = ROOT / "docs" / "noise.md"
FIGURES = sorted((ROOT / "docs" / "figures").glob("*.svg"))


def test_a_number_in_a_sentence_is_taken_from_survey_or_program(tmp_path: Path) -> None:
    written = "<!--= three-regimes.corpus.tokens , -->1<!--/-->"
    constant = "<!--= gnomon.pipeline.noise.HEAD d --><!--/-->"
    page = prepared(tmp_path, f"{SLOT}has {written} tokens, {constant} types\n")
    done = fill(tmp_path, page)
    assert done.returncode == 0, done.stderr
    last = page.read_text(encoding="utf-8").splitlines()[-1]
    assert NUMBER.sub(r"\3", last) == "has 64,000 tokens, 500 types"


@pytest.mark.parametrize("path", ["three-regimes.corpus.absent", "gnomon.pipeline.noise.ABSENT"])
def test_a_number_that_is_nowhere_is_named(tmp_path: Path, path: str) -> None:
    page = prepared(tmp_path, f"{SLOT}<!--= {path} d -->7<!--/-->\n")
    done = fill(tmp_path, page)
    assert done.returncode == 1
    assert f"page.md asks for the number {path} (d), and there is none" in done.stderr
    assert page.read_text(encoding="utf-8").endswith("-->7<!--/-->\n")


def test_a_record_that_was_not_made_is_replaced_by_its_command() -> None:
    found = subprocess.run(
        [sys.executable, "-c", MISSING],
        capture_output=True,
        text=True,
        check=True,
        cwd=SCRIPT.parent,
    )
    assert found.stdout.count("There is no record of this yet") == 4


MISSING = """
from pathlib import Path
from doc_tables import TABLES, Facts
nothing = Facts([], Path("no such folder"))
print(*(TABLES[name](nothing) for name in ("accuracy", "alarms", "claims", "planted")))
"""


def test_the_numbers_of_the_noise_page_are_those_of_its_figures() -> None:
    figures = json.loads((ROOT / "docs" / "figures" / "figures.json").read_text("utf-8"))
    found = [one for one in NUMBER.findall(NOISE.read_text("utf-8")) if one[0][:4] != "gnom"]
    compared = 0
    for path, form, written in found:
        first, *rest = path.split(".")
        value = figures.get(first)
        for part in rest if value is not None else ():
            value = value[part]
        if value is not None:
            assert written == format(value, form), path
            compared += 1
    assert compared > 10


def test_no_measured_number_of_the_noise_page_is_typed_by_hand() -> None:
    """Outside of slots there is no decimal and no per cent, but for the two levels of testing."""
    text = re.sub(
        r"<!-- (\w+):begin -->.*?<!-- \1:end -->", "", NOISE.read_text("utf-8"), flags=re.DOTALL
    )
    typed = re.findall(r"\d+\.\d+|\d+ %", NUMBER.sub("", text))
    assert set(typed) <= {"95 %", "5 %"}


def test_every_source_named_on_the_noise_page_is_known() -> None:
    named = re.findall(r"\[([a-z]+\d{4}\w?(?:, [a-z]+\d{4}\w?)*)\]", NOISE.read_text("utf-8"))
    keys = {key for group in named for key in group.split(", ")}
    assert keys
    assert keys - set(SOURCES) == set()


def test_figures_are_small_and_keep_their_text_as_text() -> None:
    named = ["counts", "edge", "groups", "no-signal", "scaling-smollm2-gutenberg", "spectra"]
    assert [path.stem for path in FIGURES if not path.stem.startswith("lab-")] == named
    holders = ["noise.md", "real-models.md", "mathematics/groups.md", "mathematics/spectra.md"]
    holders.append("laboratory.md")
    pages = "".join((NOISE.parent / name).read_text("utf-8") for name in holders)
    for path in FIGURES:
        assert path.stat().st_size < 200_000
        tree = ET.parse(path)
        kinds = [node.tag.rpartition("}")[2] for node in tree.iter()]
        assert kinds.count("text") > 10
        assert {"title", "desc"} <= set(kinds)
        assert "image" not in kinds
        assert f"figures/{path.name})" in pages
