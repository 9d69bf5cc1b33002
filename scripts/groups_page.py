"""Write where each entry of the catalogue sits, how well matrices are named, and draw the blocks.

    python scripts/groups_page.py docs/mathematics/groups.md

Tables stand between <!-- certificates:begin --> and <!-- certificates:end -->, and likewise for the
study; the figure goes to figures/groups.svg beside the page's folder.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from svg import BLUE, GREEN, GREY, PALE, RED, Axes, Sheet

ROOT = Path(__file__).resolve().parents[1]
PANELS = {
    "order 1, 0: constant": {},
    "+-0.3i: a turn": {"frequency": 0.3},
    "-0.05: decay": {"decay": -0.05},
    "-0.05 +-0.3i: damped turn": {"decay": -0.05, "frequency": 0.3},
    "0, order 2: a slope": {"order": 2},
    "-0.05, order 3: a hump": {"decay": -0.05, "order": 3},
    "-0.05 +-0.3i, order 2": {"decay": -0.05, "frequency": 0.3, "order": 2},
    "0.02: growth": {"decay": 0.02},
}
"""Blocks that are drawn, by the words above their panel."""
LAST = 100
COLOURS = (BLUE, RED, GREEN, GREY)
"""Of the entries of a row: first those without a power of the lag."""


def why(found: Any) -> str:
    """Return the laws that decide a level, in words."""
    level = found.level.partition(" ")[0]
    if level == "L0":
        where = " on the first axis" if found.on_axes else ""
        return f"linear, and a group: {blocks(found.structure)}{where}"
    if level == "L3" and found.laws["context"].holds:
        return "in the time of its clock, a group or finite rank"
    words = {
        "L1": "linear but for a bias, whose lags have finite rank",
        "L2": "not linear; fixed features of query and key are multiplied",
        "L3": "the tokens between decide, in any order",
        "L4": "the tokens between decide, in their order",
        "L5": "depends on the lag; no finite rank found",
        "L6": "a common shift is seen",
        "L7": "not linear in the query, and no fixed features",
    }
    return words[level]


def blocks(structure: Any) -> str:
    """Return how many blocks of each kind a generator has; kinds of one sort are counted."""
    counts: dict[str, int] = {}
    for one in structure.structure:
        name = f"jordan of order {one.order}" if one.kind == "jordan" else one.kind
        counts[name] = counts.get(name, 0) + one.count
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def table() -> str:
    """Return one row for each entry that is made from its parameters."""
    from gnomon.encodings.certified import certificate
    from gnomon.encodings.registry import ENTRIES, encoding

    rows = ["| entry | level | why |", "|---|---|---|"]
    for name, entry in ENTRIES.items():
        if entry.examples:
            found = certificate(encoding(name, **entry.examples[0]))
            rows.append(f"| {name} | {found.level} | {why(found)} |")
    return "\n".join(rows)


def study() -> str:
    """Return the random study of `classify`, from its record."""
    record = json.loads((ROOT / "benchmarks/records/classify.json").read_text(encoding="utf-8"))
    rows = [
        "| noise | right, by default | right, stated | told, both | eigenvalues, by default |",
        "|---|---|---|---|---|",
    ]
    noises = dict.fromkeys(row["noise"] for row in record["rows"])
    for noise in noises:
        of = {row["tolerance_is"]: row for row in record["rows"] if row["noise"] == noise}
        told = min(row["right_or_told"] for row in of.values())
        default, stated = of["default"], of["stated"]
        cells = (default["right"], stated["right"], told, default["reading"])
        rows.append(f"| {noise:g} | " + " | ".join(f"{100 * cell:.3g} %" for cell in cells) + " |")
    head = f"{record['structures']:,} structures, seed {record['seed']}:"
    return "\n".join([head, "", *rows, "", silences(record)])


def silences(record: dict[str, Any]) -> str:
    """Return in a sentence how many answers of the second study were wrong without a word."""
    totals: dict[str, dict[str, int]] = {}
    for row in record["silences"]:
        total = totals.setdefault(row["tolerance_is"], {"right": 0, "told": 0, "silent": 0})
        for answer in total:
            total[answer] += row[answer]
    names = {"default": "By default", "stated": "stated", "advised": "where a warning advises one"}
    parts = [
        f"{words} {totals[name]['right']:,} are right, {totals[name]['told']:,} told and "
        f"{totals[name]['silent']:,} wrong without a word"
        for name, words in names.items()
    ]
    return (
        f"{record['chains']:,} matrices with chains of order up to 4, many of them slow turns, "
        f"have noise from 1e-12 to 1e-6. {'; '.join(parts)}."
    )


def filled(text: str, slot: str, content: str) -> str:
    """Return a page with the content of one slot."""
    pattern = rf"<!-- {slot}:begin -->\n.*?<!-- {slot}:end -->"
    made = f"<!-- {slot}:begin -->\n\n{content}\n\n<!-- {slot}:end -->"
    return re.sub(pattern, lambda _: made, text, flags=re.DOTALL)


def drawn(path: Path) -> None:
    """Draw the first row of exp(tX) for each kind of block, its largest entry scaled to 1."""
    from gnomon.groups.generator import Block

    sheet = Sheet(860, 420, "Kinds of blocks", "; ".join(PANELS))
    lags = np.linspace(0.0, LAST, 401)
    for place, (words, parameters) in enumerate(PANELS.items()):
        left, top = 20 + 212 * (place % 4), 40 + 196 * (place // 4)
        values = Block(**parameters).exp(lags)[:, 0, :]
        values = values / np.abs(values).max(axis=0)
        axes = Axes(sheet, left, top, 180, 120, (0, LAST), (-1.08, 1.08))
        sheet.text(left, top - 10, words, weight="bold", size="13")
        for height in (-1.0, 0.0, 1.0):
            axes.rule((left, axes.up(height)), (left + 180, axes.up(height)), PALE)
        for column, colour in zip(values.T, COLOURS, strict=False):
            axes.line(lags, column, colour)
        sheet.text(left, top + 138, "lag 0", size="12", fill=GREY)
        sheet.text(left + 180, top + 138, str(LAST), anchor="end", size="12", fill=GREY)
    sheet.save(path)


def main() -> None:
    """Fill the slot of the page, and draw the figure beside it."""
    page = Path(sys.argv[1])
    text = page.read_text(encoding="utf-8")
    text = filled(filled(text, "study", study()), "certificates", table())
    page.write_text(text, encoding="utf-8", newline="\n")
    drawn(page.parents[1] / "figures" / "groups.svg")


if __name__ == "__main__":
    main()
