"""Pages that a script writes are what the script writes today."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.sources import SOURCES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
RECORDS = ROOT / "benchmarks" / "records"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def script(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def judged() -> dict[str, dict]:
    found = {path.stem: json.loads(path.read_text("utf-8")) for path in RECORDS.glob("*.json")}
    said = {name: record for name, record in found.items() if "verdicts" in record}
    return {name: one for name, one in said.items() if one["source"] == "cirrincione2026"}


def test_the_page_of_verdicts_is_what_the_records_say(tmp_path: Path) -> None:
    page = tmp_path / "verdicts.md"
    shutil.copy(DOCS / "verdicts.md", page)
    done = script("verdict_page.py", page)
    assert done.returncode == 0, done.stderr
    assert page.read_text("utf-8") == (DOCS / "verdicts.md").read_text("utf-8")


def test_every_verdict_of_every_record_is_on_the_page_with_its_command() -> None:
    text = (DOCS / "verdicts.md").read_text("utf-8")
    records = judged()
    assert records
    for record in records.values():
        assert record["provenance"]["command"] in text
        for verdict in record["verdicts"]:
            assert f"**{verdict['claim']}**: {verdict['holds']}." in text


def test_the_page_of_verdicts_names_its_document_and_folds_every_record() -> None:
    text = (DOCS / "verdicts.md").read_text("utf-8")
    assert SOURCES["cirrincione2026"].partition("arXiv:")[2][:10] in text.partition("##")[0]
    assert text.count("<details") == text.count("</details>") == len(judged())


def test_a_folder_without_records_says_how_one_is_made(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- verdict_records:begin -->\n<!-- verdict_records:end -->\n", "utf-8")
    assert script("verdict_page.py", page, tmp_path).returncode == 0
    assert "`gnomon reproduce NAME --json FILE` makes one" in page.read_text("utf-8")


@pytest.mark.parametrize("name", ["verdict_page.py", "decision_page.py", "options_page.py"])
def test_a_page_without_its_place_is_left_alone(tmp_path: Path, name: str) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n", encoding="utf-8")
    done = script(name, page)
    assert done.returncode == 1
    assert "page.md has no place for" in done.stderr
    assert page.read_text("utf-8") == "nothing\n"


def test_the_tables_of_options_are_those_of_the_options(tmp_path: Path) -> None:
    for name in ("corpus", "pipeline", "encodings"):
        page = tmp_path / f"{name}.md"
        shutil.copy(DOCS / "api" / page.name, page)
        done = script("options_page.py", page)
        assert done.returncode == 0, done.stderr
        assert page.read_text("utf-8") == (DOCS / "api" / page.name).read_text("utf-8")


def test_the_list_of_decisions_names_every_record_by_its_title(tmp_path: Path) -> None:
    shutil.copytree(DOCS / "decisions", tmp_path / "decisions")
    page = tmp_path / "decisions.md"
    shutil.copy(DOCS / "decisions.md", page)
    assert script("decision_page.py", page).returncode == 0
    text = page.read_text("utf-8")
    assert text == (DOCS / "decisions.md").read_text("utf-8")
    for path in (DOCS / "decisions").glob("*.md"):
        title = path.read_text("utf-8").splitlines()[0].lstrip("# ")
        assert f"[{title}](decisions/{path.name})" in text


def test_the_notebooks_are_those_of_the_tutorials_and_hold_no_output(tmp_path: Path) -> None:
    done = script("make_notebooks.py", DOCS / "tutorials", tmp_path)
    assert done.returncode == 0, done.stderr
    made = sorted(tmp_path.glob("*.ipynb"))
    assert [path.name for path in made] == [path.name for path in NOTEBOOKS]
    assert len(made) == 3
    for fresh, kept in zip(made, NOTEBOOKS, strict=True):
        assert fresh.read_text("utf-8") == kept.read_text("utf-8"), f"{kept.name} is not current"
        cells = [c for c in json.loads(kept.read_text("utf-8"))["cells"] if "outputs" in c]
        assert cells
        assert all(not c["outputs"] and c["execution_count"] is None for c in cells)


def test_every_source_named_in_the_mathematics_is_known() -> None:
    pages = [*(DOCS / "mathematics").glob("*.md"), *(DOCS / "tutorials").glob("*.md")]
    text = "\n".join(path.read_text("utf-8") for path in pages)
    named = re.findall(r"\[([a-z]+\d{4}\w?(?:, [a-z]+\d{4}\w?)*)\]", text)
    keys = {key for group in named for key in group.split(", ")}
    assert keys
    assert keys - set(SOURCES) == set()


def test_no_measured_number_is_typed_by_hand_outside_of_blocks() -> None:
    """Decimals and per cents in prose are those of levels, constants, or quoted claims."""
    allowed = {"0.02", "0.009", "3 %", "0.1.0", "3.11", "95 %", "5 %"}
    for page in [*(DOCS / "mathematics").glob("*.md"), *(DOCS / "howto").glob("*.md"),
                 *(DOCS / "tutorials").glob("*.md"), DOCS / "index.md"]:  # fmt: skip
        slots = r"<!-- (\w+):begin -->.*?<!-- \1:end -->"
        made = rf"```.*?```|`[^`\n]+`|{slots}"
        prose = re.sub(made, "", page.read_text("utf-8"), flags=re.DOTALL)
        typed = set(re.findall(r"\d+(?:\.\d+)+|\d+ %", prose))
        assert typed <= allowed, f"{page.name}: {sorted(typed - allowed)}"
