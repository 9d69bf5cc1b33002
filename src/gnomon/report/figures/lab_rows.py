"""Rows of a grid as figures need them: tasks, encodings, styles, and intervals over seeds.

An encoding has the same colour, dash and marker in every figure of a page. Intervals are those of
the rows: of a mean over seeds, by Student's t [student1908]; one seed has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.report.figure import CATEGORIES, DASHES, MARKERS
from gnomon.report.figures.panels import axis, panels, stacked
from gnomon.report.figures.places import figure_of

Rows = Sequence[Mapping[str, Any]]
ACROSS = 2
"""Panels in a row of a page."""
ROW_GAP = 100
"""Pixels between rows: an axis with its name, and a title."""
LETTER = 0.0075
"""Width of a letter of a tick, as a share of the page."""


def tasks_of(rows: Rows) -> list[str]:
    """Return the tasks in the order of the grid."""
    return list(dict.fromkeys(str(row["task"]) for row in rows))


def encodings_of(rows: Rows) -> list[str]:
    """Return the encodings in the order of the grid."""
    return list(dict.fromkeys(str(row["encoding"]) for row in rows))


def of_task(rows: Rows, task: str) -> list[Mapping[str, Any]]:
    """Return the rows of one task that have a finished run."""
    return [row for row in rows if row["task"] == task and row["scores"]]


def style(number: int) -> dict[str, Any]:
    """Return colour, dash and marker of encoding number k; no two of 48 are alike."""
    return {
        "color": CATEGORIES[number % len(CATEGORIES)],
        "dash": DASHES[number // len(CATEGORIES) % len(DASHES)],
        "symbol": MARKERS[(number + number // len(CATEGORIES)) % len(MARKERS)],
    }


def bounded(row: Mapping[str, Any], key: str) -> tuple[float, float, float] | None:
    """Return mean and interval, cut at 1, which neither accuracy nor R2 exceeds, and at 0."""
    if row[f"{key}_interval"] is None:
        return None
    low, high = row[f"{key}_interval"]
    least = 0.0 if row["ceiling"].get("measure") == "accuracy" else -np.inf
    return float(np.mean(row[key])), max(low, least), min(high, 1.0)


def measure_of(rows: Rows) -> str:
    """Return what the scores of these rows are."""
    kinds = {str(row["ceiling"].get("measure", "score")) for row in rows}
    return "R2" if kinds == {"r2"} else "accuracy" if kinds == {"accuracy"} else "score"


def laid_out(
    titles: Sequence[str], *, each: int, names: Sequence[str] = (), **more: Any
) -> tuple[dict[str, Any], int]:
    """Return panels two in a row, and their height; `names` stand at the left of each."""
    down = -(-len(titles) // ACROSS)
    gap = 0.0 if down == 1 else ROW_GAP / (down * each + (down - 1) * ROW_GAP)
    aside = 0.1 if not names else 0.05 + LETTER * max(map(len, names))
    layout = panels(list(titles), columns=min(ACROSS, len(titles)), row_gap=gap, gap=aside)
    for k in range(len(titles)):
        for letter in ("x", "y"):
            layout[axis(letter, k)] |= more.get(letter, {})
    return layout, down * each + (down - 1) * ROW_GAP + 120


def narrow(titles: Sequence[str], *, each: int, legend: int = 0) -> dict[str, Any]:
    """Return the same panels under one another."""
    return stacked(len(titles), each=each, legend=legend)


def in_words(row: Mapping[str, Any], key: str = "scores") -> str:
    """Return a row's mean with its interval."""
    found = bounded(row, key)
    if found is None:
        return figure_of(float(np.mean(row[key])))
    return f"{figure_of(found[0])} [{figure_of(found[1])}, {figure_of(found[2])}]"
