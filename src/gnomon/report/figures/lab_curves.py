"""Learning curves by task, and scores by test length: means over seeds, extremes as a band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.report.figure import GREY, Figure, missing, short
from gnomon.report.figures.lab_rows import (
    Rows,
    encodings_of,
    laid_out,
    measure_of,
    narrow,
    of_task,
    style,
    tasks_of,
)
from gnomon.report.figures.panels import LEGEND, axes_of, axis
from gnomon.report.figures.places import figure_of

CURVES = ("lab-curves", "Learning curves")
LENGTHS = ("lab-lengths", "Score by test length")
EACH = 300


def curves_figure(rows: Rows) -> Figure:
    """Return the learning curves of every task."""
    return _drawn(rows, *CURVES, "step", _curve)


def lengths_figure(rows: Rows) -> Figure:
    """Return scores by length; the upright is the length of training."""
    return _drawn(rows, *LENGTHS, "length", _lengths)


def _drawn(rows: Rows, key: str, title: str, along: str, read: Any) -> Figure:
    tasks = [task for task in tasks_of(rows) if any(read(row) for row in of_task(rows, task))]
    if not tasks:
        why = "no run has ended yet" if along == "step" else "the grid asks for no other lengths"
        return missing(key, title, why)
    names = encodings_of(rows)
    layout, height = laid_out(tasks, each=EACH)
    data, seen = [], set[str]()
    for k, task in enumerate(tasks):
        found = [row for row in of_task(rows, task) if read(row)]
        for row in found:
            shown = row["encoding"] not in seen
            seen.add(row["encoding"])
            data.append(line_of(row, names.index(row["encoding"]), read(row), k, legend=shown))
        layout[axis("x", k)] |= {"title": {"text": along}}
        layout[axis("y", k)] |= {"title": {"text": measure_of(found)}}
    if along == "length":
        for k, task in enumerate(tasks):
            at = sorted({int(p[0]) for row in of_task(rows, task) for p in read(row)})
            ticks = {"tickvals": at, "ticktext": [f"{length:,}" for length in at]}
            layout[axis("x", k)] |= {"type": "log", **ticks}
    lines = -(-len(seen) // 5)
    return Figure(
        key=key,
        title=title,
        summary=_summary(rows, tasks, along, read),
        data=data,
        layout=layout | {"legend": LEGEND, "shapes": _level(rows, tasks)},
        narrow=narrow(tasks, each=EACH, legend=len(seen)),
        table=_table(rows, tasks, along, read),
        height=height + 24 * lines,
    )


def _curve(row: Mapping[str, Any]) -> list[tuple[float, float, float, float]]:
    """Return (step, mean, smallest, largest)."""
    made = row["curve"]
    columns = (made["step"], made["mean"], made["low"], made["high"])
    return list(zip(*columns, strict=True))


def _lengths(row: Mapping[str, Any]) -> list[tuple[float, float, float, float]]:
    """Return (length, mean, smallest, largest)."""
    made = row.get("lengths")
    if not made:
        return []
    pairs = zip(made["length"], made["scores"], strict=True)
    return [(at, float(np.mean(values)), min(values), max(values)) for at, values in pairs]


def line_of(
    row: Mapping[str, Any], number: int, points: Sequence[Any], k: int, *, legend: bool
) -> dict[str, Any]:
    """Return points (x, mean, smallest, largest) of a row as a line with bars."""
    look, (x, mean, low, high) = style(number), zip(*points, strict=True)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": row["encoding"],
        "legendgroup": row["encoding"],
        "showlegend": legend,
        "x": list(x),
        "y": short(mean),
        "line": {"color": look["color"], "dash": look["dash"], "width": 1.5},
        "marker": {"color": look["color"], "symbol": look["symbol"], "size": 5},
        "error_y": {
            "type": "data",
            "array": short(np.subtract(high, mean)),
            "arrayminus": short(np.subtract(mean, low)),
            "color": look["color"],
            "thickness": 0.7,
            "width": 0,
        },
        "hovertemplate": "%{x}: %{y:.3f}<extra>" + row["encoding"] + "</extra>",
        **axes_of(k),
    }


def _level(rows: Rows, tasks: list[str]) -> list[dict[str, Any]]:
    """Return the ceiling of every task as a dotted line."""
    shapes = []
    for k, task in enumerate(tasks):
        value, name = of_task(rows, task)[0]["ceiling"].get("value"), axes_of(k)
        if value is not None:
            ends = {"x0": 0, "x1": 1, "y0": value, "y1": value}
            line = {"color": GREY, "dash": "dot", "width": 1}
            place = {"xref": f"{name['xaxis']} domain", "yref": name["yaxis"]}
            shapes.append({"type": "line", "line": line, **place, **ends})
    return shapes


def _summary(rows: Rows, tasks: list[str], along: str, read: Any) -> str:
    parts = []
    for task in tasks:
        found = [row for row in of_task(rows, task) if read(row)]
        best = max(found, key=lambda row: float(read(row)[-1][1]))
        at, mean = read(best)[-1][:2]
        parts.append(
            f"{task}: at {along} {at:,} {best['encoding']} has {figure_of(mean)}, the most"
        )
    return f"{'; '.join(parts)}."


def _table(rows: Rows, tasks: list[str], along: str, read: Any) -> dict[str, list[Any]]:
    lines = [
        (row["task"], row["encoding"], *point)
        for task in tasks
        for row in of_task(rows, task)
        for point in read(row)
    ]
    columns = list(zip(*lines, strict=True))
    names = ("task", "encoding", along, "mean", "smallest", "largest")
    return {name: list(column) for name, column in zip(names, columns, strict=True)}
