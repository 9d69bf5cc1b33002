"""Fill the tables of the texts from the surveys that `gnomon survey` wrote.

A number in a text is never typed by hand: it stands between two comments that name its table, and
this script replaces what stands there by what the `survey.json` files say. Two tables are known:
`encodings` (every encoding on the three-regime corpus) and `corpora` (a line for each corpus).

    python scripts/fill_docs.py demo README.md docs/index.md
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Survey = dict[str, Any]
SHOWN = "three-regimes"
"""The corpus of the table of encodings: drawn from a seed, so that anyone gets the same one."""
ROUNDING = 1e-12  # an exact isometry leaves float64 dust, which is no figure to quote
SLOT = re.compile(r"<!-- (\w+):begin -->\n.*?<!-- (\w+):end -->", re.DOTALL)


def encodings(surveys: list[Survey]) -> str:
    """Return a line for each encoding and lift on the three-regime corpus."""
    chosen = [survey for survey in surveys if survey["corpus"]["source"] == SHOWN]
    if len(chosen) != 1:
        sys.exit(f"There are {len(chosen)} surveys of {SHOWN}, not one; run `gnomon survey --out`.")
    header = ["encoding", "lift", "d", "raw", "best scale", "scale-free", "skill", "violations"]
    return markdown(header, [_encoding(entry) for entry in chosen[0]["encodings"]])


def _encoding(entry: dict[str, Any]) -> list[str]:
    stress = entry["stress"]["plugin"]
    numbers = [stress[key] for key in ("raw", "best_scale", "scale_free", "skill")]
    dimension = "-" if entry["dimension"] is None else str(entry["dimension"])
    figures = map(figure, [*numbers, entry["monotonicity"]["violations"]])
    return [entry["label"], entry["lift"], dimension, *figures]


def corpora(surveys: list[Survey]) -> str:
    """Return a line for each corpus: its size, and what its distances are like."""
    header = ["corpus", "documents", "groups", "tokens", "n", "mean chord", "dealt share"]
    header += ["rank", "participation", "violations", "ties", "by lag"]
    return markdown(header, [_corpus(survey) for survey in surveys])


def _corpus(survey: Survey) -> list[str]:
    corpus, geometry = survey["corpus"], survey["geometry"]
    sizes = [f"{corpus[key]:,}" for key in ("rows", "groups", "tokens")]
    axes = " x ".join(map(str, corpus["axes"]))
    order = geometry["monotonicity"]
    return [
        corpus["source"],
        *sizes,
        axes,
        figure(geometry["mean_distance"]),
        figure(geometry["null"]["dealt"]["share"]),
        str(geometry["rank"]["numerical"]),
        figure(geometry["participation"]),
        *map(figure, (order["violations"], order["ties"], geometry["shift_equivariance"])),
    ]


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def figure(value: float | None) -> str:
    """Return four significant digits; a dash for what was not measured, a bound for rounding."""
    if value is None:
        return "-"
    return "< 1e-12" if 0 < abs(value) < ROUNDING else f"{value:.4g}"


TABLES: dict[str, Callable[[list[Survey]], str]] = {"encodings": encodings, "corpora": corpora}


def filled(text: str, surveys: list[Survey], name: str) -> str:
    """Return `text` with every slot filled; a text without one, or with an unknown one, is odd."""
    slots = SLOT.findall(text)
    if not slots or any(begin != end or begin not in TABLES for begin, end in slots):
        sys.exit(f"{name} has no slot that can be filled; put <!-- encodings:begin --> back.")

    def table(found: re.Match[str]) -> str:
        slot = found[1]
        return f"<!-- {slot}:begin -->\n{TABLES[slot](surveys)}\n<!-- {slot}:end -->"

    return SLOT.sub(table, text)


def main(folder: Path, texts: list[Path]) -> None:
    """Read every survey.json below `folder` and rewrite the tables of the texts."""
    paths = sorted(folder.rglob("survey.json"))
    if not paths:
        sys.exit(f"No survey.json is below {folder}; run `gnomon survey --out {folder}` first.")
    surveys = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    for path in texts:
        text = filled(path.read_text(encoding="utf-8"), surveys, path.name)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"{path}: written from {len(surveys)} surveys")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("Arguments: the folder of the surveys, then the texts to fill.")
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
