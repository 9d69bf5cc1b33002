"""The page of the catalogue is what the cards say today."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from gnomon.encodings.registry import ENTRIES, catalogue
from gnomon.sources import cite

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "catalogue.md"


def script(page: Path, name: str = "catalogue_page.py") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / name), str(page)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_page_of_the_catalogue_is_what_the_cards_say(tmp_path: Path) -> None:
    page = tmp_path / "catalogue.md"
    shutil.copy(PAGE, page)
    done = script(page)
    assert done.returncode == 0, done.stderr
    assert page.read_text("utf-8") == PAGE.read_text("utf-8")


def test_every_entry_has_a_section_with_its_formula_source_and_proofs() -> None:
    text = PAGE.read_text("utf-8")
    sections = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|^<!--)", text, re.DOTALL | re.MULTILINE))
    assert set(sections) == set(ENTRIES)
    for card in catalogue():
        section = sections[card.name].replace("\\", "")
        assert f"`{card.formula}`" in section
        assert cite(card.source) in section
        assert card.level in section
        assert all(f"`{proof.test}`" in section for proof in card.proofs)


def test_the_source_of_every_entry_is_named_where_its_formula_is_explained() -> None:
    text = (ROOT / "docs" / "mathematics" / "encodings.md").read_text("utf-8")
    named = {key for group in re.findall(r"\[([^\]]+)\]", text) for key in group.split(", ")}
    data = {"table", "mds", "mds-low-rank", "smacof"}  # made of data: their page is another
    sources = {card.source for card in catalogue() if card.name not in data}
    assert sources
    assert sources - named == set()


def test_every_link_of_the_tables_leads_to_a_section() -> None:
    text = PAGE.read_text("utf-8")
    links = set(re.findall(r"\(#([^)]+)\)", text))
    assert links == set(ENTRIES)


def test_a_page_without_its_place_for_the_catalogue_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n", encoding="utf-8")
    done = script(page)
    assert done.returncode == 1
    assert (
        "page.md has no place for the catalogue; put <!-- catalogue:begin --> back." in done.stderr
    )
    assert page.read_text("utf-8") == "nothing\n"


def test_where_each_entry_sits_is_what_its_certificate_finds(tmp_path: Path) -> None:
    known = ROOT / "docs" / "mathematics" / "groups.md"
    page = tmp_path / "mathematics" / "groups.md"
    page.parent.mkdir()
    (tmp_path / "figures").mkdir()
    shutil.copy(known, page)
    done = script(page, "groups_page.py")
    assert done.returncode == 0, done.stderr
    assert page.read_text("utf-8") == known.read_text("utf-8")
    drawn, figure = (root / "figures" / "groups.svg" for root in (tmp_path, ROOT / "docs"))
    assert drawn.read_text("utf-8") == figure.read_text("utf-8")
