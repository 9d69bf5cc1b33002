"""What stands beside the scores of a grid: spectra and stress, curvature, logits of trained models.

*Beside scores.* Each dot is an encoding (at one scale, for stress). A cloud that rises or falls
says that the two go together; the summary gives the rank correlation with its interval.

*Curvature.* The top eigenvalue of the Hessian of the loss says how large a step the loss allows at
that moment (stable below 2 / top for plain descent); its axis is logarithmic where every value is
positive. *Logits.* Contraction is |L|_2 / |L0|_2, logits with encodings over logits without, and
the Toeplitz share is how much of the logits is a function of the lag; both are means over layers
and heads of a model. Each is what a run showed: a dot per seed. None of the three says that a model
trains better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.report.figure import BLUE, GREY, VERMILION, Figure, columns_of, no_figure, short
from gnomon.report.figures.lab_scores import (
    LINE,
    Rows,
    encodings_of,
    laid_out,
    line_of,
    narrow,
    of_task,
    style,
    tasks_of,
)
from gnomon.report.panels import LEGEND, axes_of, axis
from gnomon.report.phrases import figure_of

TOP, CONTRACTION = "top eigenvalue", "largest singular value, after / before"
SPECTRA = ("lab-spectra", "Contraction of logits beside training")
STRESS = ("lab-stress", "Stress beside accuracy")
AGAINST = {
    "area": "area under the curve",
    "stable_rate": "largest stable rate",
    "hessian": f"{TOP} of the Hessian",
}
STRESSES = {
    "raw": "raw stress, plug-in",
    "scale_free": "scale-free stress, plug-in",
    "debiased": "scale-free stress, debiased",
}
Lines = Sequence[Mapping[str, Any]]
Correlations = Mapping[str, Mapping[str, Any]]


def spectra_figure(lines: Lines, correlations: Correlations | None = None) -> Figure:
    """Return contraction against area, stable rate and curvature, one panel each."""
    known = [line for line in lines if line.get("contraction") is not None]
    shown = [key for key in AGAINST if any(line.get(key) is not None for line in known)]
    if not shown:
        return no_figure(*SPECTRA, "contraction was not measured")
    layout, height = laid_out([AGAINST[key] for key in shown], each=320)
    data = []
    for k, key in enumerate(shown):
        points = [line for line in known if line.get(key) is not None]
        data.append(_points(points, "contraction", key, k))
        layout[axis("x", k)] |= {"title": {"text": CONTRACTION}}
        layout[axis("x", k)] |= {"type": "log"}
        if key != "area":
            layout[axis("y", k)] |= {"type": "log"}
    return Figure(
        key=SPECTRA[0],
        title=SPECTRA[1],
        summary=_correlations_in_words(correlations, shown, "contraction", AGAINST),
        data=data,
        layout=layout | {"showlegend": False},
        narrow=narrow(shown, each=320),
        table={
            key: [line.get(key) for line in known] for key in ("encoding", "contraction", *shown)
        },
        height=height,
    )


def stress_figure(lines: Lines, correlations: Correlations | None = None) -> Figure:
    """Return each kind of stress against accuracy, one panel each; colours are corpora."""
    shown = [key for key in STRESSES if any(line.get(key) is not None for line in lines)]
    if not shown:
        return no_figure(*STRESS, "stress was not measured")
    corpora = list(dict.fromkeys(str(line["corpus"]) for line in lines))
    layout, height = laid_out([STRESSES[key] for key in shown], each=320)
    data = []
    for k, key in enumerate(shown):
        for number, corpus in enumerate(corpora):
            points = [x for x in lines if x["corpus"] == corpus and x.get(key) is not None]
            data.append(_cloud(points, key, corpus, number, k))
        layout[axis("x", k)] |= {"title": {"text": "stress"}}
        layout[axis("x", k)] |= {"type": "log"} if key == "raw" else {"rangemode": "tozero"}
        layout[axis("y", k)] |= {"title": {"text": "share of the way to the ceiling"}}
    keys = ("corpus", "encoding", "scale", *shown, "share")
    return Figure(
        key=STRESS[0],
        title=STRESS[1],
        summary=_correlations_in_words(correlations, shown, "stress", STRESSES),
        data=data,
        layout=layout | {"legend": LEGEND},
        narrow=narrow(shown, each=320, legend=len(corpora)),
        table={key: [line.get(key) for line in lines] for key in keys},
        height=height + 24,
    )


def _points(points: Lines, x: str, y: str, k: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": short([point[x] for point in points]),
        "y": short([point[y] for point in points]),
        "text": [str(point["encoding"]) for point in points],
        "textposition": "top center",
        "textfont": {"size": 10, "color": GREY},
        "marker": {"size": 8, "color": style(0)["color"]},
        "cliponaxis": False,
        **axes_of(k),
    }


def _cloud(points: Lines, key: str, corpus: str, number: int, k: int) -> dict[str, Any]:
    look = style(number)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": corpus,
        "legendgroup": corpus,
        "showlegend": k == 0,
        "x": short([point[key] for point in points]),
        "y": short([point["share"] for point in points]),
        "text": [f"{point['encoding']} x {point['scale']:g}" for point in points],
        "marker": {"size": 8, "color": look["color"], "symbol": look["symbol"]},
        "hovertemplate": "%{text}: %{y:.3f}<extra>" + corpus + "</extra>",
        **axes_of(k),
    }


def _correlations_in_words(
    found: Correlations | None, shown: Sequence[str], what: str, names: Mapping[str, str]
) -> str:
    """Say the rank correlations in one sentence."""
    words = [f"{names[key]} {_in_words(found[key])}" for key in shown if found and key in found]
    if not words:
        return f"{len(shown)} quantities against {what}; too few points for a correlation."
    with_what = what if what != "stress" else "accuracy"
    level = ", 95 % intervals each by itself" if any("[" in one for one in words) else ""
    return f"Rank correlation with {with_what}{level}: {'; '.join(words)}."


def _in_words(one: Mapping[str, Any]) -> str:
    value = one["value"]
    if value is None or not np.isfinite(value):
        return "not known"
    ends = one.get("interval")
    words = "" if ends is None else f" [{figure_of(ends[0])}, {figure_of(ends[1])}]"
    return f"{figure_of(value)}{words}"


ALONG = ("lab-hessian", "Top eigenvalue of the Hessian along training")
LOGITS = ("lab-logits", "Logits of trained models: contraction and Toeplitz share")
QUANTITIES = {
    "contraction": CONTRACTION,
    "toeplitz_share": "share of logits that is a function of lag",
}
NAMES = {"contraction": "contraction", "toeplitz_share": "Toeplitz share"}
EACH = 300
Point = tuple[float, float, float, float]


def hessian_figure(rows: Rows) -> Figure:
    """Return the top eigenvalue at steps of training, by encoding; means with extremes."""
    tasks = [task for task in tasks_of(rows) if _along(rows, task)]
    if not tasks:
        return no_figure(*ALONG, "curvature was not followed along training in this grid")
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
        layout[axis("y", k)] |= {"title": {"text": TOP}}
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
        return no_figure(*LOGITS, "logits of trained models were not measured in this grid")
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
        layout=layout | {"showlegend": False, "shapes": _line_at_one(panels)},
        narrow=narrow(titles, each=each),
        table=_logits_table(rows, panels),
        height=height,
    )


def _along(rows: Rows, task: str) -> list[tuple[Mapping[str, Any], list[Point]]]:
    """Return the rows of a task that were followed, with (step, mean, smallest, largest)."""
    found = []
    for row in of_task(rows, task):
        words = row.get("hessian_along") or {"step": [], "values": []}
        points: list[Point] = []
        for number, step in enumerate(words["step"]):
            values = [run[number] for run in words["values"] if run[number] is not None]
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


def _line_at_one(panels: list[tuple[str, str]]) -> list[dict[str, Any]]:
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
        words = f"{task}: at the end {least} has {figure_of(low)}"
        parts.append(
            words if least == most else f"{words}, the least, and {most} {figure_of(high)}"
        )
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
    return columns_of(names, lines)


def _logits_table(rows: Rows, panels: list[tuple[str, str]]) -> dict[str, list[Any]]:
    lines = [
        (task, row["encoding"], seed, key, value)
        for task, key in panels
        for row in of_task(rows, task)
        for seed, value in zip(row["seeds"], row.get(key) or (), strict=False)
    ]
    names = ("task", "encoding", "seed", "quantity", "value")
    return columns_of(names, lines)
