"""Scores of every encoding on every task: each seed as a dot, the interval of the mean as a bar.

The dotted upright is the ceiling, the dashed one what an order-blind observer reaches. A score
between the two is what an encoding was worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnomon.report.figure import BLUE, GREY, VERMILION, Figure, missing, short
from gnomon.report.figures.lab_rows import (
    Rows,
    bounded,
    encodings_of,
    in_words,
    laid_out,
    measure_of,
    narrow,
    of_task,
    tasks_of,
)
from gnomon.report.figures.panels import axes_of, axis

TITLES = {
    "scores": ("lab-scores", "Score at the end, by task and encoding"),
    "areas": ("lab-areas", "Area under the learning curve, by task and encoding"),
}
LINE = 22
"""Pixels of one encoding."""


def scores_figure(rows: Rows, quantity: str = "scores") -> Figure:
    """Return dots and intervals of every task."""
    key, title = TITLES[quantity]
    tasks = [task for task in tasks_of(rows) if of_task(rows, task)]
    if not tasks:
        return missing(key, title, "no run has ended yet")
    most = max(len(of_task(rows, task)) for task in tasks)
    each = LINE * most + 40
    upright = {"autorange": "reversed", "type": "category"}
    layout, height = laid_out(tasks, each=each, names=encodings_of(rows), y=upright)
    data: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    for k, task in enumerate(tasks):
        found = of_task(rows, task)
        data += _traces(found, quantity, k)
        shapes += _uprights(found[0], k)
        layout[axis("x", k)] |= {"title": {"text": _axis(found, quantity)}}
    return Figure(
        key=key,
        title=title,
        summary=_summary(rows, tasks, quantity),
        data=data,
        layout=layout | {"shapes": shapes, "showlegend": False},
        narrow=narrow(tasks, each=each),
        table=_table(rows, quantity),
        height=height,
    )


def _axis(rows: Rows, quantity: str) -> str:
    what = measure_of(rows)
    return what if quantity == "scores" else f"mean {what} along training"


def _traces(rows: Rows, quantity: str, k: int) -> list[dict[str, Any]]:
    names = [row["encoding"] for row in rows]
    found = [bounded(row, quantity) for row in rows]
    known = [(name, one) for name, one in zip(names, found, strict=True) if one is not None]
    bars = {
        "type": "scatter",
        "mode": "markers",
        "x": short([one[0] for _, one in known]),
        "y": [name for name, _ in known],
        "error_x": {
            "type": "data",
            "array": short([one[2] - one[0] for _, one in known]),
            "arrayminus": short([one[0] - one[1] for _, one in known]),
            "color": BLUE,
            "thickness": 2,
        },
        "marker": {"color": BLUE, "symbol": "line-ns-open", "size": 10},
        "hovertemplate": "%{y}: mean %{x:.3f}<extra></extra>",
        **axes_of(k),
    }
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": short([value for row in rows for value in row[quantity]]),
        "y": [row["encoding"] for row in rows for _ in row[quantity]],
        "marker": {"color": VERMILION, "size": 5, "opacity": 0.75},
        "hovertemplate": "%{y}: %{x:.3f}<extra></extra>",
        **axes_of(k),
    }
    return [bars, dots] if known else [dots]


def _uprights(row: Mapping[str, Any], k: int) -> list[dict[str, Any]]:
    ceiling, name = row["ceiling"], axes_of(k)
    told = (("value", "dot"), ("prior", "dash"))
    return [
        {
            "type": "line",
            "xref": name["xaxis"],
            "yref": f"{name['yaxis']} domain",
            "x0": ceiling[what],
            "x1": ceiling[what],
            "y0": 0,
            "y1": 1,
            "line": {"color": GREY, "dash": dash, "width": 1},
        }
        for what, dash in told
        if ceiling.get(what) is not None
    ]


def _summary(rows: Rows, tasks: list[str], quantity: str) -> str:
    parts = []
    for task in tasks:
        found = sorted(of_task(rows, task), key=lambda row: -sum(row[quantity]) / len(row["seeds"]))
        best = found[0]
        parts.append(f"{task}: {best['encoding']} has {in_words(best, quantity)}, the most")
    return f"{'; '.join(parts)}."


def _table(rows: Rows, quantity: str) -> dict[str, list[Any]]:
    lines = [
        (row, seed, value)
        for row in rows
        for seed, value in zip(row["seeds"], row[quantity], strict=False)
    ]
    return {
        "task": [row["task"] for row, _, _ in lines],
        "encoding": [row["encoding"] for row, _, _ in lines],
        "seed": [seed for _, seed, _ in lines],
        quantity.removesuffix("s"): [value for _, _, value in lines],
    }
