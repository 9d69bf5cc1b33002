"""Fill the table of README.md from the surveys that `gnomon survey` wrote.

A number in the README is never typed by hand: it stands between two comments, and this script
replaces what stands there by what the `survey.json` files say.

    python scripts/fill_readme.py demo README.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- table:begin -->", "<!-- table:end -->"
ROUNDING = 1e-12  # an exact isometry leaves float64 dust, which is no figure to quote
HEADER = (
    "| corpus | documents | n | encoding | lift | raw stress | scale-free | kruskal |",
    "|---|---|---|---|---|---|---|---|",
)


def table(surveys: list[dict[str, Any]]) -> str:
    """Return the Markdown table of every encoding of every survey."""
    lines = [row(survey, entry) for survey in surveys for entry in survey["encodings"]]
    return "\n".join([*HEADER, *lines])


def row(survey: dict[str, Any], entry: dict[str, Any]) -> str:
    """Return one line of the table: stress as published, then scale-free, then Kruskal's."""
    corpus, stress = survey["corpus"], entry["stress"]["plugin"]
    figures = (stress["raw"], stress["scale_free"], stress["kruskal"])
    cells = (corpus["source"], corpus["groups"], corpus["length"], entry["label"], entry["lift"])
    return "| " + " | ".join([*map(str, cells), *map(figure, figures)]) + " |"


def figure(value: float | None) -> str:
    """Return four significant digits; a dash for what was not measured, a bound for rounding."""
    if value is None:
        return "-"
    return "< 1e-12" if abs(value) < ROUNDING else f"{value:.4g}"


def filled(text: str, content: str) -> str:
    """Return `text` with `content` between the two comments; both must be there, once."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"The text must hold {BEGIN} and {END} once each; put the two lines back.")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{content}\n{END}{rest.split(END)[1]}"


def main(folder: Path, readme: Path) -> None:
    """Read every survey.json below `folder` and rewrite the table of `readme`."""
    paths = sorted(folder.rglob("survey.json"))
    if not paths:
        sys.exit(f"No survey.json is below {folder}; run `gnomon survey --out {folder}` first.")
    surveys = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    text = readme.read_text(encoding="utf-8")
    readme.write_text(filled(text, table(surveys)), encoding="utf-8", newline="\n")
    print(f"{readme}: table of {len(surveys)} surveys written")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Two arguments are needed: the folder of the surveys, and the README to fill.")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
