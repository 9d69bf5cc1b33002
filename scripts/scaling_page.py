"""Write the page on real models from its records, and draw its figure.

    python scripts/scaling_page.py docs/real-models.md [benchmarks/records]

Records `scaling-*.json` come from `gnomon reproduce scaling`, the record `minilm-encodings.json`
from `scripts/minilm_encodings.py`. What they say stands between the marks scaling_records and
minilm_records of the page; the figure of each record is written to figures/ beside it.
"""

from __future__ import annotations

import json
import re
import sys
from math import exp
from pathlib import Path
from typing import Any

from svg import BLUE, GREEN, GREY, INK, PURPLE, RED, Axes, Sheet
from verdict_page import one as folded

Record = dict[str, Any]
ROOT = Path(__file__).resolve().parents[1]
SLOT = "<!-- {0}:begin -->\n.*?<!-- {0}:end -->"
LINES = {
    "unscaled": (INK, "2 3"),
    "linear": (RED, ""),
    "ntk": (GREEN, ""),
    "dynamic": (GREEN, "7 4"),
    "yarn": (BLUE, ""),
    "llama3": (PURPLE, ""),
}
"""Colour and dash of each line; every line has its name at its end as well."""
TICKS = (0.9, 1.0, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
FINE = (
    0.94,
    0.95,
    0.96,
    0.97,
    0.98,
    0.99,
    1.0,
    1.01,
    1.02,
    1.03,
    1.04,
    1.05,
    1.06,
    1.08,
    1.1,
    1.15,
)
CLOSE = 1.2
"""Lines that stay below this ratio are drawn again, larger."""
ASIDE = 0.004
"""Share of the axis by which bars of different lines stand beside each other."""
APART = 15.0
"""Units between two names, so that they do not touch."""


def ratios(record: Record, line: str) -> list[float]:
    """Return the ratio of a line in every bin."""
    return [row["ours"][line] for row in record["rows"]]


def ends(details: Record, line: str) -> tuple[list[float], list[float]]:
    """Return the smallest and the largest ratio of a line over documents, in every bin."""
    found = [
        [exp(own - cut) for own, cut in zip(one["losses"][line], one["losses"]["cut"], strict=True)]
        for one in details["documents"].values()
    ]
    return [min(values) for values in zip(*found, strict=True)], [
        max(values) for values in zip(*found, strict=True)
    ]


def drawn(record: Record, path: Path) -> None:
    """Draw ratios by position: all lines above, and below again those that stay close to 1."""
    ((name, details),) = record["corpora"].items()
    close = [line for line in LINES if max(ratios(record, line)) < CLOSE]
    words = "; ".join(f"{line} ends at {ratios(record, line)[-1]:.3g}" for line in LINES)
    title = f"Perplexity by position of {name}"
    sheet = Sheet(780, 690, title, f"Ratios to the cut model: {words}.")
    sheet.text(
        74,
        22,
        "perplexity, times that of the cut model; bars: smallest and largest document",
        weight="bold",
    )
    sheet.text(74, 352, f"the same, lines that stay below {CLOSE:g}", weight="bold")
    _panel(sheet, 36, record, details, list(LINES), joined=close)
    _panel(sheet, 366, record, details, close, joined=[])
    sheet.save(path)


def _panel(
    sheet: Sheet, top: float, record: Record, details: Record, lines: list[str], joined: list[str]
) -> None:
    """Draw some lines with bars over documents; `joined` share one name and have none."""
    bins, trained = details["bins"], details["model"]["trained_length"]
    middles, end = [(first + last + 1) / 2 for first, last in bins], bins[-1][1] + 1
    every = [v for line in lines for found in ends(details, line) for v in found] or [1.0]
    room = 1.02 if joined else 1.008
    low, high = min(*every, 1.0) / room, max(every) * room
    axes = Axes(sheet, 74, top, 570, 260, (0, end), (low, high), log_y=True)
    ticks = [tick for tick in (TICKS if joined else FINE) if low <= tick <= high]
    ticks = _legible(axes, ticks)
    axes.frame([0, *range(trained // 2, end + 1, trained // 2)], ticks, "position", "ratio")
    x = axes.across(trained)
    axes.rule((x, axes.top), (x, axes.top + axes.height), GREY, "6 4")
    sheet.text(x - 6, axes.top + 12, "trained up to here", anchor="end", fill=GREY, size="12")
    for line in lines:
        colour, dash = LINES[line]
        axes.line(middles, ratios(record, line), colour, dash)
        if line not in joined and len(details["documents"]) > 1:
            lows, highs = ends(details, line)
            beside = [x + end * ASIDE * (list(LINES).index(line) - 3) for x in middles]
            axes.bars(beside, [max(y, low) for y in lows], [min(y, high) for y in highs], colour)
    last = {line: ratios(record, line)[-1] for line in lines if line not in joined}
    if joined:
        last["all others"] = max(ratios(record, line)[-1] for line in joined)
    _names(axes, last)


def _legible(axes: Axes, ticks: list[float]) -> list[float]:
    """Return ticks whose labels do not touch, 1 among them."""
    kept: list[float] = []
    for tick in sorted(ticks, key=lambda tick: (tick != 1.0, tick)):
        if all(abs(axes.up(tick) - axes.up(other)) >= APART for other in kept):
            kept.append(tick)
    return sorted(kept)


def _names(axes: Axes, last: dict[str, float]) -> None:
    """Write the name of each line at its end, pushed apart where they would touch."""
    order = sorted(last, key=lambda one: last[one])
    place = float("inf")
    for line in order:
        place = min(axes.up(last[line]) + 4, place - APART)
        colour = LINES.get(line, (GREY, ""))[0]
        axes.sheet.text(axes.left + axes.width + 8, place, line, fill=colour)


def by_line(record: Record) -> str:
    """Return one row for each scaling: its ratio within and beyond, by document."""
    ((_, details),) = record["corpora"].items()
    pieces = [piece for found in details["evidence"].values() for piece in found]
    known = {piece["what"]: piece["values"] for piece in pieces}
    rows = ["| scaling | within the trained length | beyond it |", "| --- | --- | --- |"]
    for line in LINES:
        within = "1, by definition" if line == "unscaled" else _range(known[f"{line}, within"])
        rows.append(f"| {line} | {within} | {_range(_beyond(known, line))} |")
    return "\n".join(rows)


def _beyond(known: dict[str, list[float]], line: str) -> list[float]:
    return known[f"{line}, beyond"]


def _range(values: list[float]) -> str:
    mean = sum(values) / len(values)
    return f"{mean:.4g} ({min(values):.4g} to {max(values):.4g})"


def by_position(record: Record) -> str:
    """Return one row for each bin: perplexity of the cut line, and the ratio of every other."""
    rows = [f"| positions | cut, perplexity | {' | '.join(LINES)} |"]
    rows.append("| --- |" + " --- |" * (1 + len(LINES)))
    for row in record["rows"]:
        shown = [f"{row['ours']['cut perplexity']:.4g}"]
        shown += [f"{row['ours'][line]:.4g}" for line in LINES]
        rows.append(f"| {row['what'].removeprefix('positions ')} | {' | '.join(shown)} |")
    return "\n".join(rows)


def scaling(folder: Path, figures: Path) -> str:
    """Return what all records of scalings say, and draw their figures."""
    parts = []
    for path in sorted(folder.glob("scaling-*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        ((name, details),) = record["corpora"].items()
        drawn(record, figures / f"{path.stem}.svg")
        documents = ", ".join(details["documents"])
        parts += [
            f"### {name}",
            f"![Perplexity by position under each scaling](figures/{path.stem}.svg)",
            f"Ratios: mean, smallest and largest over {documents}.",
            by_line(record),
            "By position, geometric means over documents:",
            by_position(record),
            folded(path.stem, record),
        ]
    return "\n\n".join(parts) or "(There is no record yet.)"


def minilm(folder: Path) -> str:
    """Return what the record of MiniLM says."""
    path = folder / "minilm-encodings.json"
    if not path.is_file():
        return "(There is no record yet.)"
    record = json.loads(path.read_text(encoding="utf-8"))
    head = [
        "encoding",
        "norm of a row",
        "correlation, as it is",
        "correlation, at the norm of its own",
    ]
    rows = [f"| {' | '.join(head)} |", "| --- |" + " --- |" * 3]
    for line in record["encodings"]:
        cells = [f"{line[key]:.3f}" for key in ("norm", "as_it_is", "at_its_norm")]
        rows.append(f"| {line['name']} | {' | '.join(cells)} |")
    return "\n".join([record["setting"], "", *rows, "", f"Made by `{record['command']}`."])


def main(path: Path, folder: Path) -> None:
    """Write both parts of the page; one without its marks is left alone."""
    text = path.read_text(encoding="utf-8")
    parts = {"scaling_records": scaling, "minilm_records": lambda found, _: minilm(found)}
    for mark, write in parts.items():
        slot = re.compile(SLOT.format(mark), re.DOTALL)
        if not slot.search(text):
            sys.exit(f"{path.name} has no place for {mark}; put <!-- {mark}:begin --> back.")
        figures = path.parent / "figures"
        figures.mkdir(exist_ok=True)
        body = f"<!-- {mark}:begin -->\n\n{write(folder, figures)}\n\n<!-- {mark}:end -->"
        text = slot.sub(lambda _, body=body: body, text)
    path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("Arguments: the page, and the folder of the records if it is another one.")
    given = Path(sys.argv[2]) if len(sys.argv) == 3 else ROOT / "benchmarks" / "records"
    main(Path(sys.argv[1]), given)
