"""Write the catalogue page from the cards: the levels, a table of families, a section for each.

    python scripts/catalogue_page.py docs/catalogue.md

It stands between <!-- catalogue:begin --> and <!-- catalogue:end -->.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[1] / "src"
SLOT = re.compile(r"<!-- catalogue:begin -->\n.*?<!-- catalogue:end -->", re.DOTALL)
FAMILIES = {
    "additive": "Vectors that are added",
    "rotary": "Rotary: queries and keys are turned",
    "generator": "Groups with generators of their own",
    "bias": "Biases on logits",
    "relative": "Vectors of the lag, met by queries and keys",
    "content": "Content decides",
    "wrapper": "Wrappers: another encoding at other positions",
    "none": "None at all",
    "fitted": "Fitted to a corpus",
}
"""Headings of families, in their order; one that is not here comes last under its own name."""


def written(contents: Sequence[dict[str, Any]]) -> str:
    """Return the page's generated part."""
    parts = [_levels(contents), _listing(contents)]
    for family in _families(contents):
        cards = [one for one in contents if one["family"] == family]
        heading = f"## {FAMILIES.get(family, family)}"
        parts.append("\n\n".join([heading, *map(_section, cards)]))
    return "\n\n".join(parts)


def _families(contents: Sequence[dict[str, Any]]) -> list[str]:
    there = dict.fromkeys(one["family"] for one in contents)
    return [*(name for name in FAMILIES if name in there), *(n for n in there if n not in FAMILIES)]


def _levels(contents: Sequence[dict[str, Any]]) -> str:
    """Return the levels there are, with who is on each."""
    from gnomon.encodings.card import LEVELS, in_words

    lines = ["## Levels", "", "| level | encodings |", "|---|---|"]
    for level in LEVELS:
        names = [_link(one["name"]) for one in contents if one["level"] == in_words(level)]
        lines.append(f"| {in_words(level)} | {', '.join(names) or 'none yet'} |")
    return "\n".join(lines)


def _listing(contents: Sequence[dict[str, Any]]) -> str:
    """Return one line per encoding."""
    marks = ("relative", "learnable", "causal_only", "cacheable")
    head = ["name", "kind", *(mark.replace("_", " ") for mark in marks)]
    lines = ["## All of them", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for one in contents:
        cells = [_link(one["name"]), ", ".join(one["kind"])]
        cells += ["yes" if one[mark] else "no" for mark in marks]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _link(name: str) -> str:
    return f"[{name}](#{name})"


def _section(one: dict[str, Any]) -> str:
    """Return the card of one encoding as a section."""
    from gnomon.report.text import parameters_in_words

    level, kinds, rooms = one["level"], ", ".join(one["kind"]), ", ".join(one["frameworks"])
    proofs = [f"    - {_text(p['against'])}: `{p['test']}`" for p in one["proofs"]]
    lines = [
        f"### {one['name']}",
        "",
        f"`{one['formula']}`",
        "",
        f"- level: {level}; kind: {kinds}; frameworks: {rooms}",
        f"- source: {_text(one['citation'])}",
        f"- past the trained length: {_text(one['extrapolation'])}",
        *([f"- reading taken: {_text(one['reading'])}"] if one["reading"] else []),
        f"- parameters: `{parameters_in_words(one)}`",
        "- verified against:",
        *proofs,
    ]
    return "\n".join(lines)


def _text(text: str) -> str:
    """Return words in which Markdown finds no marks of its own."""
    return re.sub(r"([*_<>\[\]])", r"\\\1", text)


def main(page: Path) -> None:
    """Write the catalogue into the page; a page without its place is left alone."""
    if str(SOURCE) not in sys.path:
        sys.path.insert(0, str(SOURCE))
    from gnomon.encodings.registry import ENTRIES, described

    text = page.read_text(encoding="utf-8")
    if not SLOT.search(text):
        sys.exit(f"{page.name} has no place for the catalogue; put <!-- catalogue:begin --> back.")
    body = written([described(name)[0] for name in ENTRIES])
    whole = SLOT.sub(
        lambda _: f"<!-- catalogue:begin -->\n\n{body}\n\n<!-- catalogue:end -->", text
    )
    page.write_text(whole, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Argument: the page to write the catalogue to.")
    main(Path(sys.argv[1]))
