"""The words of the project: each term of the glossary is used, and no room has a banned synonym."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon.report.page.glossary import WORDS

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "gnomon"
GLOSSARY = ROOT / "docs" / "glossary.md"
TERM = re.compile(r"^\| \*\*(.+?)\*\* \|", re.MULTILINE)
USUAL = frozenset({"told", "trusted", "turned", "reconciled", "law", "laws", "whole"})
"""Words that are said otherwise: significant, debiased, rotated, common, distribution, integer."""
BANNED = {
    "report": USUAL,
    "cli": USUAL,
    "files.py": USUAL,
    "fronts.py": USUAL,
    "options.py": USUAL,
    "reading.py": USUAL,
    "results.py": USUAL,
    "sources.py": USUAL,
}
"""Room or module -> words that none of its names has."""
OWN = {
    "cli/verify.py": {"whole", "Whole"},  # the option --whole, and the parameter it is handed to
}
"""Names of other rooms or of the command line that a module has to use."""
PLAIN = ("report", "cli", "files.py", "fronts.py", "options.py", "reading.py", "results.py")
"""Where everything that is written, messages and comments too, says `cannot`."""


def modules(place: str) -> list[Path]:
    path = SOURCE / place
    return [path] if path.suffix else sorted(path.rglob("*.py"))


def names(path: Path) -> Iterator[str]:
    """Names that a module gives: functions, classes, parameters and variables."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def banned(path: Path, words: frozenset[str]) -> list[str]:
    place = path.relative_to(SOURCE).as_posix()
    return sorted(
        name
        for name in set(names(path)) - OWN.get(place, set())
        if words & set(name.lower().strip("_").split("_"))
    )


def terms() -> list[str]:
    return TERM.findall(GLOSSARY.read_text("utf-8"))


def test_every_term_of_the_glossary_is_used() -> None:
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path != GLOSSARY]
    sources = SOURCE.rglob("*.py")
    text = "\n".join(path.read_text("utf-8").lower() for path in [*pages, *sources])
    found = terms()
    assert len(found) == len(set(found)) > 30
    assert [term for term in found if not re.search(rf"\b{re.escape(term)}", text)] == []


def test_the_words_of_the_page_are_in_the_glossary() -> None:
    """All but the names of two algorithms, a letter, and a phrase that the page explains itself."""
    rest = {"mds", "smacof", "sigma", "filled by frequency class"}
    assert set(WORDS) - rest <= set(terms())


@pytest.mark.parametrize("place", BANNED)
def test_no_name_has_a_banned_synonym(place: str) -> None:
    found = {path.name: banned(path, BANNED[place]) for path in modules(place)}
    assert {name: words for name, words in found.items() if words} == {}


def test_a_banned_name_would_be_found(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("def measure(what_was_told):\n    the_law = what_was_told\n", "utf-8")
    assert {"what_was_told", "the_law"} <= set(names(path))


@pytest.mark.parametrize("place", PLAIN)
def test_cannot_is_one_word(place: str) -> None:
    split = [path.name for path in modules(place) if re.search(r"\b[Cc]an not\b", path.read_text())]
    assert split == []
