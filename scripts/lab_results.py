"""Write the page of the laboratory from the records of its grids, and draw their figures.

    python scripts/lab_results.py docs/laboratory.md [benchmarks/records/lab]

Records come from `gnomon reproduce NAME --json FILE`, one for each experiment. What they say stands
between the marks lab_records of the page: claims with their verdicts, then numbers, folded; the
figure of each record is written to figures/ beside the page.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from svg import BLUE, GREY, INK, RED, Axes, Sheet

Record = dict[str, Any]
ROOT = Path(__file__).resolve().parents[1]
SLOT = re.compile(r"<!-- lab_records:begin -->\n.*?<!-- lab_records:end -->", re.DOTALL)
ORDER = ("deposit", "jordan", "extrapolation", "fitted", "stress-accuracy")
NONE = "(There is no record yet; `gnomon reproduce deposit --json FILE` makes one.)"
LINE, WIDTH, NAMES, ACROSS = 18, 300, 130, 2


def records(folder: Path) -> dict[str, Record]:
    """Return the records of grids by name, in the order of the page."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if "laboratory" in record.get("corpora", {}):
            found[record["name"]] = record
    place = {name: number for number, name in enumerate(ORDER)}
    return dict(sorted(found.items(), key=lambda item: place.get(item[0], len(ORDER))))


def told(record: Record, figure: str) -> str:
    """Return what one record says."""
    lines = [f"### {record['name']}: {record['title']}", "", "| claim | at this size |"]
    lines += ["| --- | --- |"]
    lines += [f"| {_cell(one['claim'])} | {one['holds']} |" for one in record["verdicts"]]
    words = f"Area under the learning curve by task and encoding: {record['name']}"
    lines += ["", f"![{words}]({figure})", "", '<details markdown="1">']
    lines += [f"<summary>{record['name']}: the numbers</summary>", "", f"{record['setting']}.", ""]
    lines += [
        f"- **{one['claim']}**: {one['holds']}. {one['reason']}" for one in record["verdicts"]
    ]
    for name, grid in record["corpora"]["laboratory"]["grids"].items():
        lines += ["", f"**{name}**, {grid['runs']} runs, {grid['cpu_seconds']:,} s of CPU time", ""]
        lines += numbers(grid)
    lines += ["", "What such runs can not say:", ""]
    lines += [f"- {note}" for note in record["notes"]]
    made = record["provenance"]
    lines += ["", f"Made by `{made['command']}` with Gnomon {made['gnomon']}.", "", "</details>"]
    return "\n".join(lines)


def numbers(grid: dict[str, Any]) -> list[str]:
    """Return one line of a table for every row of a grid."""
    lines = ["| task | encoding | seeds | score | area | reached 90 % |", "| --- " * 6 + "|"]
    for row in grid["rows"]:
        reached = sum(step is not None for step in row["steps_to_90"])
        cells = [row["task"], row["encoding"], str(len(row["seeds"]))]
        cells += [_interval(row, "scores"), _interval(row, "areas")]
        lines.append(f"| {' | '.join(map(_cell, cells))} | {reached} of {len(row['seeds'])} |")
    return lines


def _interval(row: dict[str, Any], key: str) -> str:
    if not row[key]:
        return "-"
    mean, ends = np.mean(row[key]), row[f"{key}_interval"]
    return f"{mean:.3f}" + ("" if ends is None else f" [{ends[0]:.3f}, {ends[1]:.3f}]")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def drawn(record: Record, path: Path) -> None:
    """Draw every seed and the interval of the mean, a panel for each task of the first grid."""
    grid = next(iter(record["corpora"]["laboratory"]["grids"].values()))
    tasks = list(dict.fromkeys(row["task"] for row in grid["rows"]))
    of = {task: [row for row in grid["rows"] if row["task"] == task] for task in tasks}
    each = LINE * max(map(len, of.values())) + 84
    down = -(-len(tasks) // ACROSS)
    words = "; ".join(
        f"{task}: {best['encoding']} has the largest area, {np.mean(best['areas']):.3f}"
        for task, rows in of.items()
        if (best := max((r for r in rows if r["areas"]), key=lambda r: np.mean(r["areas"])))
    )
    title = f"{record['name']}: area under the learning curve"
    sheet = Sheet(ACROSS * (WIDTH + NAMES + 20), down * each + 10, title, words)
    for k, task in enumerate(tasks):
        left, top = NAMES + (k % ACROSS) * (WIDTH + NAMES + 20), 34 + k // ACROSS * each
        _panel(sheet, task, of[task], (left, top))
    sheet.save(path)


def _panel(sheet: Sheet, task: str, rows: list[dict[str, Any]], corner: tuple[int, int]) -> None:
    left, top = corner
    height = LINE * len(rows)
    values = [value for row in rows for value in row["areas"]]
    low = min(0.0, *values)
    axes = Axes(sheet, left, top, WIDTH, height, (low, max(1.0, *values)), (len(rows) - 0.5, -0.5))
    sheet.text(left, top - 10, task, weight="bold")
    for tick in (0.0, 0.5, 1.0):
        place = axes.across(tick)
        axes.rule((place, top), (place, top + height), "#DDDDDD")
        sheet.text(place, top + height + 16, f"{tick:g}", anchor="middle", size="12", fill=GREY)
    for k, row in enumerate(rows):
        y = axes.top + LINE * (k + 0.5)
        sheet.text(left - 8, y + 4, row["encoding"], anchor="end", size="12", fill=INK)
        if row["areas_interval"] is not None:
            ends = [axes.across(float(np.clip(end, low, 1.0))) for end in row["areas_interval"]]
            axes.rule((ends[0], y), (ends[1], y), BLUE)
        for value in row["areas"]:
            sheet.put(
                f'<circle cx="{axes.across(value):.1f}" cy="{y:.1f}" r="2.5" fill="{RED}" '
                'fill-opacity="0.7"/>'
            )


def main() -> None:
    """Fill the slot of the page, and draw the figures beside it."""
    page = Path(sys.argv[1])
    default = ROOT / "benchmarks" / "records" / "lab"
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else default
    found = records(folder)
    figures = page.parent / "figures"
    figures.mkdir(exist_ok=True)
    parts = []
    for name, record in found.items():
        drawn(record, figures / f"lab-{name}.svg")
        parts.append(told(record, f"figures/lab-{name}.svg"))
    content = "\n\n".join(parts) or NONE
    made = f"<!-- lab_records:begin -->\n\n{content}\n\n<!-- lab_records:end -->"
    text = SLOT.sub(lambda _: made, page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
