"""Write the page of the laboratory from the records of its grids, and draw their figures.

    python scripts/lab_results.py docs/laboratory.md [benchmarks/records/lab]

Records come from `gnomon reproduce NAME --json FILE`, one for each experiment. What they say stands
between the marks lab_records of the page: claims with their verdicts, then numbers, folded; the
figures of each record (`lab_figures`) are written to figures/ beside the page. `summary` is the
short table of docs/index.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import lab_seen
import lab_seen_stress
import numpy as np
from lab_figures import draw

Record = dict[str, Any]
ROOT = Path(__file__).resolve().parents[1]
SLOT = re.compile(r"<!-- lab_records:begin -->\n.*?<!-- lab_records:end -->", re.DOTALL)
ORDER = ("deposit", "jordan", "extrapolation", "fitted", "stress-accuracy", "necessity")
NONE = "(There is no record yet; `gnomon reproduce deposit --json FILE` makes one.)"
WHOLE = ("deposit",)
"""Experiments whose claims stand one by one in docs/index.md."""
OF_TEXT = "shown as mean [smallest, largest] over report seeds"
OF_PAGE = "shown as mean [95 % interval over report seeds, cut at 0 and 1 for accuracies]"
"""What brackets hold, in the text of a reproduction and on the page."""
BETTER = re.compile(r"(.+) learns (\S+) better than (.+)")
"""A claim that is made of every task and rival: what is claimed to learn which task, and than."""


def records(folder: Path) -> dict[str, Record]:
    """Return the records of grids by name, in the order of the page."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if "laboratory" in record.get("corpora", {}):
            found[record["name"]] = record
    place = {name: number for number, name in enumerate(ORDER)}
    return dict(sorted(found.items(), key=lambda item: place.get(item[0], len(ORDER))))


def told(record: Record, figures: dict[str, str]) -> str:
    """Return what one record says; `figures` are what is drawn of it, by file name."""
    lines = [f"### {record['name']}: {record['title']}", "", "| claim | at this size |"]
    lines += ["| --- | --- |"]
    lines += [f"| {_cell(claim)} | {holds} |" for claim, holds in short(record)]
    for file, words in figures.items():
        lines += ["", f"![{words}](figures/{file})"]
    more = [*lab_seen.seen(record), *lab_seen_stress.seen(record)]
    lines += ["", *more] if more else []
    setting = record["setting"].replace(OF_TEXT, OF_PAGE)
    lines += ["", '<details markdown="1">']
    lines += [f"<summary>{record['name']}: the numbers</summary>", "", f"{setting}.", ""]
    lines += [
        f"- **{one['claim']}**: {one['holds']}. {one['reason']}" for one in record["verdicts"]
    ]
    for name, grid in record["corpora"]["laboratory"]["grids"].items():
        looks = sorted({len(row["curve"]["step"]) for row in grid["rows"] if row.get("curve")})
        lines += ["", f"**{name}**, {grid['runs']} runs, {grid['cpu_seconds']:,} s of CPU time; "]
        lines[-1] += f"an area is the mean of {' or '.join(map(str, looks))} looks"
        lines[-1] += ends(grid)
        lines.append("")
        lines += numbers(grid)
    lines += ["", "What such runs cannot say:", ""]
    lines += [f"- {note}" for note in record["notes"]]
    made = record["provenance"]
    lines += ["", f"Made by `{made['command']}` with Gnomon {made['gnomon']}.", "", "</details>"]
    return "\n".join(lines)


def short(record: Record) -> list[tuple[str, str]]:
    """Return claims with what becomes of them; one that is made of several tasks is one line."""
    lines: dict[str, list[tuple[str, str, str]]] = {}
    evidence = record["corpora"]["laboratory"].get("evidence", {})
    for one in record["verdicts"]:
        found = BETTER.fullmatch(one["claim"])
        key = f"{found[1]} learns better than {found[3]}" if found else one["claim"]
        lines.setdefault(key, []).append((one["claim"], one["holds"], found[2] if found else ""))
    made = []
    for key, said in lines.items():
        claim, holds = _line(key, said)
        parts = _parts(evidence.get(said[0][0], [])) if len(said) == 1 else ""
        made.append((claim, holds + parts))
    return made


def _parts(pieces: list[dict[str, Any]]) -> str:
    """Return how many comparisons of a claim say what, where there are several."""
    names = {"for": "shown", "against": "shown otherwise", "open": "open"}
    told = Counter(names[piece["reading"]] for piece in pieces)
    if len(pieces) < 2:
        return ""
    return f" ({', '.join(f'{told[name]} {name}' for name in names.values() if told[name])})"


def _line(key: str, said: list[tuple[str, str, str]]) -> tuple[str, str]:
    if len(said) == 1:
        return said[0][:2]
    tasks: dict[str, list[str]] = {}
    for _, holds, task in said:
        tasks.setdefault(holds, []).append(task)
    return key, "; ".join(f"{holds}: {', '.join(names)}" for holds, names in tasks.items())


def summary(found: dict[str, Record]) -> str:
    """Return a line for every claim of `WHOLE`, and one that counts verdicts for other records."""
    rows = [["experiment", "claim", "at this size"], ["---"] * 3]
    for name, record in found.items():
        if name in WHOLE:
            rows += [[name, claim, holds] for claim, holds in short(record)]
        else:
            rows.append([name, record["title"], counted(record["verdicts"])])
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows) if found else NONE


def counted(verdicts: list[dict[str, Any]]) -> str:
    """Return how many claims got which verdict, and of how many.

    >>> counted([{"holds": "holds"}, {"holds": "depends"}, {"holds": "holds"}])
    'holds 2, depends 1 of 3 claims'
    """
    told = Counter(one["holds"] for one in verdicts)
    parts = ", ".join(f"{holds} {count}" for holds, count in told.most_common())
    return f"{parts} of {len(verdicts)} claims"


def ends(grid: dict[str, Any]) -> str:
    """Say how many rates were chosen at an end of what was tried: another might be better.

    >>> ends({"rows": [{"learning_rate": 1e-3, "at_edge": True}, {"learning_rate": 3e-3}]})
    '; 1 of 2 chosen rates is the first or last that was tried'
    """
    swept = [row for row in grid["rows"] if row.get("learning_rate") is not None]
    found = sum(bool(row.get("at_edge")) for row in swept)
    verb = "is" if found == 1 else "are"
    told = f"; {found} of {len(swept)} chosen rates {verb} the first or last that was tried"
    return told if found else ""


def numbers(grid: dict[str, Any]) -> list[str]:
    """Return one line of a table for every row of a grid."""
    lines = ["| task | encoding | rate | seeds | score | area | reached 90 % |", "| --- " * 7 + "|"]
    for row in grid["rows"]:
        reached = sum(step is not None for step in row["steps_to_90"])
        rate = row.get("learning_rate")
        edge = " (at the edge)" if row.get("at_edge") else ""
        cells = [row["task"], row["encoding"], "-" if rate is None else f"{rate:g}{edge}"]
        cells += [str(len(row["seeds"]))]
        cells += [_interval(row, "scores"), _interval(row, "areas")]
        lines.append(f"| {' | '.join(map(_cell, cells))} | {reached} of {len(row['seeds'])} |")
    return lines


def _interval(row: dict[str, Any], key: str) -> str:
    if not row[key]:
        return "-"
    mean, ends = np.mean(row[key]), row[f"{key}_interval"]
    if ends is not None and row["ceiling"]["measure"] == "accuracy":
        ends = np.clip(ends, 0.0, 1.0)  # Student's interval knows no ends
    return f"{mean:.3f}" + ("" if ends is None else f" [{ends[0]:.3f}, {ends[1]:.3f}]")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Fill the slot of the page, and draw the figures beside it."""
    page = Path(sys.argv[1])
    default = ROOT / "benchmarks" / "records" / "lab"
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else default
    found = records(folder)
    figures = page.parent / "figures"
    figures.mkdir(exist_ok=True)
    parts = [told(record, draw(record, figures)) for record in found.values()]
    content = "\n\n".join(parts) or NONE
    made = f"<!-- lab_records:begin -->\n\n{content}\n\n<!-- lab_records:end -->"
    text = SLOT.sub(lambda _: made, page.read_text(encoding="utf-8"))
    page.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
