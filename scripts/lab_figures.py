"""The figures of the page of the laboratory, drawn from the records of its grids.

    areas          area under the learning curve, a panel for each task
    heads          deposit index of the first layer, a panel for each grid and task that has any
    optimisation   contraction of logits against what is called good optimisation
    lengths        score by test length, a panel for each task
    stress         stress of encodings against what their models reached, a panel for each corpus

A dot is a seed, a line the interval of the mean over seeds; what a record does not hold is not
drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from svg import BLUE, GREEN, GREY, INK, PALE, PURPLE, RED, Axes, Sheet

from gnomon.lab.table import ABLATIONS
from gnomon.reproduce.grids import Table

Record = dict[str, Any]
Rows = list[dict[str, Any]]
LINE, WIDTH, NAMES, ACROSS = 18, 300, 150, 2
SQUARE, GAP = 200, 110
COLOURS = (BLUE, RED, GREEN, PURPLE, INK)
DASHES = ("", "6 3", "2 3")
AGAINST = {
    "area": "area under the curve",
    "stable_rate": "largest stable rate",
    "hessian": "top eigenvalue of the Hessian",
}


@dataclass(frozen=True)
class Strip:
    """One line of a panel: what it is of, a dot for each value, and the interval of their mean."""

    name: str
    values: list[float]
    interval: Sequence[float] | None = None
    others: tuple[float, ...] = ()
    """Values of a second kind, drawn hollow."""


@dataclass(frozen=True)
class Panel:
    """Strips under a title; `marks` are values that a rule is drawn at."""

    title: str
    strips: list[Strip]
    marks: tuple[float, ...] = ()


# -- dots by encoding ----------------------------------------------------------------------------


def areas(record: Record) -> Sheet | None:
    """Return every seed's area and the interval of the mean, of the first grid."""
    rows = next(iter(grids(record).values()))["rows"]
    panels = [
        Panel(task, [Strip(r["encoding"], r["areas"], r["areas_interval"]) for r in own])
        for task, own in by(rows, "task").items()
    ]
    best = [
        f"{one.title}: {top.name} has the largest area, {np.mean(top.values):.3f}"
        for one in panels
        if (top := max((s for s in one.strips if s.values), key=_mean, default=None))
    ]
    return strips(f"{record['name']}: area under the learning curve", panels, "; ".join(best))


def heads(record: Record) -> Sheet | None:
    """Return deposit indices of layer 0 by zero-ablation (full) and mean-ablation (hollow)."""
    panels = []
    for name, grid in grids(record).items():
        table = Table(grid)
        for task, rows in by(grid["rows"], "task").items():
            own = [row for row in rows if row.get("heads")]
            told = [_indices(table, task, row["encoding"]) for row in own]
            if 2 * sum(bool(one.values) for one in told) >= max(len(told), 1):
                uniform = own[0]["heads"]["zero"]["uniform"]
                panels.append(Panel(f"{name}, {task}", told, (uniform,)))
    if not panels:
        return None
    words = "; ".join(
        f"{panel.title}: {', '.join(f'{s.name} {_mean(s):.2f}' for s in panel.strips if s.values)}"
        for panel in panels
    )
    title = "deposit index of layer 0 (full: zero-, hollow: mean-ablation; dashed: equal heads)"
    return strips(title, panels, words)


def _indices(table: Table, task: str, encoding: str) -> Strip:
    """Return the indices that claims are judged by: of runs that learned, above their noise."""
    full, hollow = (table.values(task, encoding, f"index {one}").values() for one in ABLATIONS)
    return Strip(encoding, list(full), None, tuple(hollow))


def strips(title: str, panels: list[Panel], words: str) -> Sheet:
    """Return panels of dots, two across."""
    each = LINE * max(len(one.strips) for one in panels) + 84
    down = -(-len(panels) // ACROSS)
    sheet = Sheet(ACROSS * (WIDTH + NAMES + 20), down * each + 26, title, words)
    sheet.text(16, 22, title, weight="bold", size="14")
    for k, panel in enumerate(panels):
        left, top = NAMES + (k % ACROSS) * (WIDTH + NAMES + 20), 60 + k // ACROSS * each
        _panel(sheet, panel, (left, top))
    return sheet


def _panel(sheet: Sheet, panel: Panel, corner: tuple[int, int]) -> None:
    left, top = corner
    height = LINE * len(panel.strips)
    values = [value for one in panel.strips for value in (*one.values, *one.others)]
    low, high = min([0.0, *values]), max([1.0, *values])
    axes = Axes(sheet, left, top, WIDTH, height, (low, high), (len(panel.strips) - 0.5, -0.5))
    sheet.text(left, top - 10, panel.title, weight="bold")
    for tick in (0.0, 0.5, 1.0):
        place = axes.across(tick)
        axes.rule((place, top), (place, top + height), PALE)
        sheet.text(place, top + height + 16, f"{tick:g}", anchor="middle", size="12", fill=GREY)
    for mark in panel.marks:
        axes.rule((axes.across(mark), top), (axes.across(mark), top + height), INK, "3 3")
    for k, one in enumerate(panel.strips):
        _strip(axes, one, top + LINE * (k + 0.5), (low, high))


def _strip(axes: Axes, one: Strip, y: float, ends: tuple[float, float]) -> None:
    sheet = axes.sheet
    sheet.text(axes.left - 8, y + 4, one.name, anchor="end", size="12", fill=INK)
    if one.interval is not None:
        begin, end = (axes.across(float(np.clip(at, *ends))) for at in one.interval)
        axes.rule((begin, y), (end, y), BLUE)
    for value in one.others:
        sheet.put(_dot(axes.across(value), y, "none", BLUE))
    for value in one.values:
        sheet.put(_dot(axes.across(value), y, RED, "none"))


def _dot(x: float, y: float, fill: str, stroke: str) -> str:
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{fill}" stroke="{stroke}" '
        'fill-opacity="0.7"/>'
    )


# -- one number against another ------------------------------------------------------------------


def optimisation(record: Record) -> Sheet | None:
    """Return contraction of logits against area, stable rate and curvature."""
    lines = record["corpora"]["laboratory"].get("optimisation") or []
    lines = [line for line in lines if line.get("contraction") is not None]
    if not lines:
        return None
    title = "contraction of drawn logits (across), and how training goes (up)"
    sheet = _squares(title, len(AGAINST), 1, right=100)
    for k, (key, name) in enumerate(AGAINST.items()):
        known = [line for line in lines if line.get(key) is not None]
        x, y = ([float(line[which]) for line in known] for which in ("contraction", key))
        frame = _framed(sheet, (k, 0), x, y, right=100)
        frame.frame(_ticks(frame.x), _ticks(frame.y), "", "")
        sheet.text(frame.left, frame.top - 10, name, weight="bold")
        right = frame.left + frame.width
        places = apart([frame.up(value) for value in y], 12.0)
        for line, a, b, place in zip(known, x, y, places, strict=True):
            frame.rule((frame.across(a), frame.up(b)), (right + 4, place), PALE)
            sheet.text(right + 7, place + 4, line["encoding"], size="11", fill=INK)
        frame.dots(x, y, BLUE)
    return sheet


def apart(places: Sequence[float], least: float) -> list[float]:
    """Return places of labels at least so far from one another, each near to its own.

    Neighbours that are too near become one run, which stands around the mean of its places.

    >>> apart([0.0, 30.0, 1.0], 10.0)
    [-4.5, 30.0, 5.5]
    """
    order = np.argsort(places, kind="stable")
    runs: list[list[float]] = []
    for place in np.asarray(places, dtype=float)[order]:
        runs.append([place])
        while len(runs) > 1 and _ends(runs[-1], least)[0] - _ends(runs[-2], least)[1] < least:
            last = runs.pop()
            runs[-1] += last
    moved = np.empty(len(places))
    moved[order] = [_ends(run, least)[0] + k * least for run in runs for k in range(len(run))]
    return [float(one) for one in moved]


def _ends(run: list[float], least: float) -> tuple[float, float]:
    half = 0.5 * least * (len(run) - 1)
    return float(np.mean(run)) - half, float(np.mean(run)) + half


def lengths(record: Record) -> Sheet | None:
    """Return scores by test length, one line for each encoding."""
    rows = next(iter(grids(record).values()))["rows"]
    told = by([row for row in rows if row.get("lengths")], "task")
    if not told:
        return None
    sheet = _squares("score by test length", ACROSS, -(-len(told) // ACROSS), wide=1.5, right=120)
    names = list(dict.fromkeys(row["encoding"] for own in told.values() for row in own))
    for k, (task, own) in enumerate(told.items()):
        at = own[0]["lengths"]["length"]
        means = {row["encoding"]: np.mean(row["lengths"]["scores"], axis=1) for row in own}
        lowest = min(0.0, *(float(one.min()) for one in means.values()))
        place = (k % ACROSS, k // ACROSS)
        frame = _framed(
            sheet, place, at, [lowest, 1.0], log_x=True, wide=1.5, right=120, margin=0.0
        )
        frame.frame(at, (0.0, 0.5, 1.0), "", "")
        sheet.text(frame.left, frame.top - 10, task, weight="bold")
        for name, values in means.items():
            which = names.index(name)
            frame.line(at, values, COLOURS[which % 5], DASHES[which // 5])
        _named_ends(frame, {n: float(v[-1]) for n, v in means.items()}, names)
    return sheet


def _named_ends(frame: Axes, ends: dict[str, float], names: list[str]) -> None:
    """Write the name of every line at its end, moved apart where they would meet."""
    right = frame.left + frame.width + 6
    places = apart([frame.up(value) for value in ends.values()], 12.0)
    for name, place in zip(ends, places, strict=True):
        colour = COLOURS[names.index(name) % 5]
        frame.sheet.text(right, place + 4, name, size="11", fill=colour)


def stress(record: Record) -> Sheet | None:
    """Return the scale-free stress of every encoding against what its models reached."""
    lines = record["corpora"]["laboratory"].get("stress") or []
    if not lines:
        return None
    told = by(lines, "corpus")
    sheet = _squares(
        "scale-free stress (across) and accuracy along training (up); larger dots: larger vectors",
        4,
        -(-len(told) // 4),
    )
    names = list(dict.fromkeys(line["encoding"] for line in lines))
    for k, (corpus, own) in enumerate(told.items()):
        x, y = ([float(line[key]) for line in own] for key in ("scale_free", "along"))
        frame = _framed(sheet, (k % 4, k // 4), x, y)
        frame.frame(_ticks(frame.x), _ticks(frame.y), "", "")
        sheet.text(frame.left, frame.top - 10, corpus, weight="bold")
        for line, a, b in zip(own, x, y, strict=True):
            which = names.index(line["encoding"])
            size = 2.0 + 1.2 * np.log2(float(line["scale"]) / 0.05) / 2.0
            sheet.put(
                f'<circle cx="{frame.across(a):.1f}" cy="{frame.up(b):.1f}" r="{size:.1f}" '
                f'fill="{COLOURS[which % 5]}" fill-opacity="0.7"/>'
            )
    for k, name in enumerate(names):
        sheet.text(20 + 130 * k, sheet.height - 8, name, fill=COLOURS[k % 5], weight="bold")
    return sheet


def _squares(title: str, across: int, down: int, *, wide: float = 1.0, right: int = 0) -> Sheet:
    """Return a sheet for so many frames."""
    width = across * int(wide * SQUARE + GAP * 0.7 + right) + 20
    sheet = Sheet(width, down * (SQUARE + GAP * 2 // 3) + 60, title, title)
    sheet.text(16, 22, title, weight="bold", size="14")
    return sheet


def _framed(
    sheet: Sheet,
    place: tuple[int, int],
    x: Sequence[float],
    y: Sequence[float],
    *,
    log_x: bool = False,
    wide: float = 1.0,
    right: int = 0,
    margin: float = 0.06,
) -> Axes:
    """Return axes around points, at a column and a row of the sheet."""
    left = 56 + place[0] * int(wide * SQUARE + GAP * 0.7 + right)
    top = 64 + place[1] * (SQUARE + GAP * 2 // 3)
    ends = (_around(x, margin, logarithmic=log_x), _around(y, margin))
    return Axes(sheet, left, top, wide * SQUARE, SQUARE, *ends, log_x=log_x)


def _around(
    values: Sequence[float], margin: float, *, logarithmic: bool = False
) -> tuple[float, float]:
    low, high = min(values), max(values)
    if logarithmic:
        wider = max(high / low, 1.01) ** margin
        return low / wider, high * wider
    wider = margin * max(high - low, 1e-3)
    return low - wider, high + wider


def _ticks(ends: tuple[float, float]) -> list[float]:
    """Return a few round numbers inside; 0 has no sign."""
    low, high = ends
    step = 10.0 ** np.floor(np.log10(high - low))
    while (high - low) / step < 2.5:
        step /= 2.0
    first = np.ceil(low / step)
    return [float(f"{k * step:.6g}") + 0.0 for k in np.arange(first, np.floor(high / step) + 1)]


# -- shared --------------------------------------------------------------------------------------


def grids(record: Record) -> dict[str, Any]:
    """Return the grids of a record by name."""
    found: dict[str, Any] = record["corpora"]["laboratory"]["grids"]
    return found


def by(rows: Rows, key: str) -> dict[str, Rows]:
    """Return rows by the value of a key, in their order."""
    made: dict[str, Rows] = {}
    for row in rows:
        made.setdefault(row[key], []).append(row)
    return made


def _mean(one: Strip) -> float:
    return float(np.mean(one.values))


FIGURES: dict[str, tuple[Callable[[Record], Sheet | None], str]] = {
    "": (areas, "Area under the learning curve by task and encoding"),
    "-heads": (heads, "Deposit index of the first layer by encoding"),
    "-optimisation": (optimisation, "Contraction of logits beside training"),
    "-lengths": (lengths, "Score by test length and encoding"),
    "-stress": (stress, "Stress of encodings beside what their models reached"),
}
"""By what their files end in: how a figure is drawn, and what it shows."""


def draw(record: Record, folder: Path) -> dict[str, str]:
    """Draw the figures that a record has into a folder; return what they show by file name."""
    made = {}
    for ending, (drawn, words) in FIGURES.items():
        sheet = drawn(record)
        if sheet is not None:
            name = f"lab-{record['name']}{ending}.svg"
            sheet.save(folder / name)
            made[name] = f"{words}: {record['name']}"
    return made
