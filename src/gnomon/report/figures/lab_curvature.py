"""Curvature along training, and what encodings did to the logits of trained models.

The top eigenvalue of the Hessian of the loss says how large a step the loss allows at that moment
(stable below 2 / top for plain descent); its axis is logarithmic where every value is positive.
Contraction is |L|_2 / |L0|_2, logits with encodings over logits without, and the Toeplitz share is
how much of the logits is a function of the lag; both are means over layers and heads of a model.
Each is what a run showed: a dot per seed. None of the three says that a model trains better.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.report.figure import BLUE, GREY, VERMILION, Figure, missing, short
from gnomon.report.figures.lab_curves import line_of
from gnomon.report.figures.lab_rows import Rows, encodings_of, laid_out, narrow, of_task, tasks_of
from gnomon.report.figures.lab_scores import LINE
from gnomon.report.figures.panels import LEGEND, axes_of, axis
from gnomon.report.figures.places import figure_of

ALONG = ("lab-hessian", "Top eigenvalue of the Hessian along training")
LOGITS = ("lab-logits", "Logits of trained models: contraction and Toeplitz share")
QUANTITIES = {
    "contraction": "largest singular value, after / before",
    "toeplitz_share": "share of logits that is a function of lag",
}
NAMES = {"contraction": "contraction", "toeplitz_share": "Toeplitz share"}
EACH = 300
Point = tuple[float, float, float, float]


def hessian_figure(rows: Rows) -> Figure:
    """Return the top eigenvalue at steps of training, by encoding; means with extremes."""
    tasks = [task for task in tasks_of(rows) if _along(rows, task)]
    if not tasks:
        return missing(*ALONG, "curvature was not followed along training in this grid")
    names, seen = encodings_of(rows), set[str]()
    layout, height = laid_out(tasks, each=EACH)
    data = []
    for k, task in enumerate(tasks):
        found = _along(rows, task)
        for row, points in found:
            shown = row["encoding"] not in seen
            seen.add(row["encoding"])
            data.append(line_of(row, names.index(row["encoding"]), points, k, legend=shown))
        positive = all(low > 0.0 for _, points in found for _, _, low, _ in points)
        layout[axis("x", k)] |= {"title": {"text": "step"}}
        layout[axis("y", k)] |= {"title": {"text": "top eigenvalue"}}
        layout[axis("y", k)] |= {"type": "log" if positive else "linear"}
    return Figure(
        key=ALONG[0],
        title=ALONG[1],
        summary=_about_curvature(rows, tasks),
        data=data,
        layout=layout | {"legend": LEGEND},
        narrow=narrow(tasks, each=EACH, legend=len(seen)),
        table=_along_table(rows, tasks),
        height=height + 24 * -(-len(seen) // 5),
    )


def logits_figure(rows: Rows) -> Figure:
    """Return contraction and Toeplitz share of every run, two panels for each task."""
    panels = [
        (task, key)
        for task in tasks_of(rows)
        for key in QUANTITIES
        if any(_values(row, key) for row in of_task(rows, task))
    ]
    if not panels:
        return missing(*LOGITS, "logits of trained models were not measured in this grid")
    titles = [f"{task}: {NAMES[key]}" for task, key in panels]
    each = LINE * max(len(of_task(rows, task)) for task, _ in panels) + 40
    upright = {"autorange": "reversed", "type": "category"}
    layout, height = laid_out(titles, each=each, names=encodings_of(rows), y=upright)
    data = []
    for k, (task, key) in enumerate(panels):
        data += _dots(of_task(rows, task), key, k)
        layout[axis("x", k)] |= {"title": {"text": QUANTITIES[key]}}
    return Figure(
        key=LOGITS[0],
        title=LOGITS[1],
        summary=_about_logits(rows, panels),
        data=data,
        layout=layout | {"showlegend": False, "shapes": _unchanged(panels)},
        narrow=narrow(titles, each=each),
        table=_logits_table(rows, panels),
        height=height,
    )


def _along(rows: Rows, task: str) -> list[tuple[Mapping[str, Any], list[Point]]]:
    """Return the rows of a task that were followed, with (step, mean, smallest, largest)."""
    found = []
    for row in of_task(rows, task):
        told = row.get("hessian_along") or {"step": [], "values": []}
        points: list[Point] = []
        for number, step in enumerate(told["step"]):
            values = [run[number] for run in told["values"] if run[number] is not None]
            if values:
                points.append((step, float(np.mean(values)), min(values), max(values)))
        if points:
            found.append((row, points))
    return found


def _values(row: Mapping[str, Any], key: str) -> list[float]:
    return [value for value in row.get(key) or () if value is not None]


def _dots(rows: Rows, key: str, k: int) -> list[dict[str, Any]]:
    """Return every run as a dot, and the mean of each row as an upright stroke."""
    known = [(row["encoding"], _values(row, key)) for row in rows if _values(row, key)]
    shared = {"type": "scatter", "mode": "markers", **axes_of(k)}
    means = {
        "x": short([np.mean(values) for _, values in known]),
        "y": [name for name, _ in known],
        "marker": {"color": BLUE, "symbol": "line-ns-open", "size": 12},
        "hovertemplate": "%{y}: mean %{x:.3f}<extra></extra>",
    }
    each = {
        "x": short([value for _, values in known for value in values]),
        "y": [name for name, values in known for _ in values],
        "marker": {"color": VERMILION, "size": 5, "opacity": 0.75},
        "hovertemplate": "%{y}: %{x:.3f}<extra></extra>",
    }
    return [shared | means, shared | each]


def _unchanged(panels: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return an upright at 1, where encodings leave the largest singular value as it is."""
    line = {"color": GREY, "dash": "dot", "width": 1}
    return [
        {
            "type": "line",
            "xref": axes_of(k)["xaxis"],
            "yref": f"{axes_of(k)['yaxis']} domain",
            "x0": 1,
            "x1": 1,
            "y0": 0,
            "y1": 1,
            "line": line,
        }
        for k, (_, key) in enumerate(panels)
        if key == "contraction"
    ]


def _about_curvature(rows: Rows, tasks: list[str]) -> str:
    parts = []
    for task in tasks:
        ends = sorted((points[-1][1], row["encoding"]) for row, points in _along(rows, task))
        (low, least), (high, most) = ends[0], ends[-1]
        told = f"{task}: at the end {least} has {figure_of(low)}"
        parts.append(told if least == most else f"{told}, the least, and {most} {figure_of(high)}")
    return f"{'; '.join(parts)} (means over seeds)."


def _about_logits(rows: Rows, panels: list[tuple[str, str]]) -> str:
    parts = []
    for task, key in panels:
        known = [
            (float(np.mean(_values(row, key))), row["encoding"])
            for row in of_task(rows, task)
            if _values(row, key)
        ]
        (low, least), (high, most) = min(known), max(known)
        words = f"{figure_of(low)} ({least}) to {figure_of(high)} ({most})"
        parts.append(f"{task}: {NAMES[key]} {words}")
    return f"{'; '.join(parts)}."


def _along_table(rows: Rows, tasks: list[str]) -> dict[str, list[Any]]:
    lines = [
        (task, row["encoding"], seed, step, values[number])
        for task in tasks
        for row, _ in _along(rows, task)
        for seed, values in zip(row["seeds"], row["hessian_along"]["values"], strict=True)
        for number, step in enumerate(row["hessian_along"]["step"])
    ]
    names = ("task", "encoding", "seed", "step", "top_eigenvalue")
    return {
        name: list(column) for name, column in zip(names, zip(*lines, strict=True), strict=True)
    }


def _logits_table(rows: Rows, panels: list[tuple[str, str]]) -> dict[str, list[Any]]:
    lines = [
        (task, row["encoding"], seed, key, value)
        for task, key in panels
        for row in of_task(rows, task)
        for seed, value in zip(row["seeds"], row.get(key) or (), strict=False)
    ]
    names = ("task", "encoding", "seed", "quantity", "value")
    return {
        name: list(column) for name, column in zip(names, zip(*lines, strict=True), strict=True)
    }
