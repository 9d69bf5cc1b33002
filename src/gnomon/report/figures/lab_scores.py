"""Scores of a grid: at the end, along training, and by test length, for every task and encoding.

An encoding has the same colour, dash and marker in every figure of a page. Each seed is a dot, the
interval of the mean over seeds, by Student's t [student1908], a bar; one seed has none. The dotted
line is the ceiling, the dashed one what an order-blind observer reaches. A score between the two is
what an encoding was worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.report.figure import (
    BLUE,
    CATEGORIES,
    DASHES,
    GREY,
    MARKERS,
    VERMILION,
    Figure,
    columns_of,
    no_figure,
    short,
)
from gnomon.report.panels import LEGEND, axes_of, axis, panels, stack
from gnomon.report.phrases import figure_of

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


def mean_in_bounds(row: Mapping[str, Any], key: str) -> tuple[float, float, float] | None:
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
    return stack(len(titles), each=each, legend=legend)


def in_words(row: Mapping[str, Any], key: str = "scores") -> str:
    """Return a row's mean with its interval."""
    found = mean_in_bounds(row, key)
    if found is None:
        return figure_of(float(np.mean(row[key])))
    return f"{figure_of(found[0])} [{figure_of(found[1])}, {figure_of(found[2])}]"


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
        return no_figure(key, title, "no run has ended yet")
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
        layout[axis("x", k)] |= {"title": {"text": _score_axis(found, quantity)}}
    return Figure(
        key=key,
        title=title,
        summary=_about_scores(rows, tasks, quantity),
        data=data,
        layout=layout | {"shapes": shapes, "showlegend": False},
        narrow=narrow(tasks, each=each),
        table=_scores_table(rows, quantity),
        height=height,
    )


def _score_axis(rows: Rows, quantity: str) -> str:
    what = measure_of(rows)
    return what if quantity == "scores" else f"mean {what} along training"


def _traces(rows: Rows, quantity: str, k: int) -> list[dict[str, Any]]:
    names = [row["encoding"] for row in rows]
    found = [mean_in_bounds(row, quantity) for row in rows]
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
    lines = (("value", "dot"), ("prior", "dash"))
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
        for what, dash in lines
        if ceiling.get(what) is not None
    ]


def _about_scores(rows: Rows, tasks: list[str], quantity: str) -> str:
    parts = []
    for task in tasks:
        found = sorted(of_task(rows, task), key=lambda row: -sum(row[quantity]) / len(row["seeds"]))
        best = found[0]
        parts.append(f"{task}: {best['encoding']} has {in_words(best, quantity)}, the most")
    return f"{'; '.join(parts)}."


def _scores_table(rows: Rows, quantity: str) -> dict[str, list[Any]]:
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
        return no_figure(key, title, why)
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
        summary=_about_curves(rows, tasks, along, read),
        data=data,
        layout=layout | {"legend": LEGEND, "shapes": _level(rows, tasks)},
        narrow=narrow(tasks, each=EACH, legend=len(seen)),
        table=_curves_table(rows, tasks, along, read),
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


def _about_curves(rows: Rows, tasks: list[str], along: str, read: Any) -> str:
    parts = []
    for task in tasks:
        found = [row for row in of_task(rows, task) if read(row)]
        best = max(found, key=lambda row: float(read(row)[-1][1]))
        at, mean = read(best)[-1][:2]
        parts.append(
            f"{task}: at {along} {at:,} {best['encoding']} has {figure_of(mean)}, the most"
        )
    return f"{'; '.join(parts)}."


def _curves_table(rows: Rows, tasks: list[str], along: str, read: Any) -> dict[str, list[Any]]:
    lines = [
        (row["task"], row["encoding"], *point)
        for task in tasks
        for row in of_task(rows, task)
        for point in read(row)
    ]
    return columns_of(("task", "encoding", along, "mean", "smallest", "largest"), lines)
