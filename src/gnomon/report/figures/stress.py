"""Stress of every encoding three times: raw as published, scale-free, and debiased.

Raw stress measures scale before anything else: an encoding of zeros has exactly 1, which is the
dashed line. The other two take the best scale out and share one axis. Debiased is the measure that
the verdict uses, of distances or of squared ones, with its sampling interval and with what equal
distances between all positions leave.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.pipeline import percent
from gnomon.report.figure import GREY, VERMILION, Figure, missing
from gnomon.report.figures.bars import (
    Value,
    bars,
    called,
    height_of,
    names_axis,
    numbers,
    ordered,
)
from gnomon.report.figures.distances import FLAT
from gnomon.report.figures.nearest import called as nearest_called
from gnomon.report.figures.nearest import interval_key, leaves, measure_of, nearest
from gnomon.report.figures.panels import LEGEND, axes_of, axis, panels, stacked
from gnomon.report.figures.places import figure_of
from gnomon.report.figures.ticks import log_axis

KEY, TITLE = "stress", "How far each encoding is from the corpus (stress)"
LEAST_RAW = 1e-3
ROOM = 1.35
"""A panel's length, of which bars have 1 and the column of numbers the rest."""


def stress_figure(contents: dict[str, Any]) -> Figure:
    """Return the bars of all encodings."""
    lines, best = ordered(contents["encodings"]), nearest(contents)
    if not lines:
        return missing(KEY, TITLE, FLAT)
    measure = measure_of(contents)
    trusted = any(_debiased(measure)(e) is not None for e in lines)
    top, (low, high) = _top(lines, measure), _raw_range(lines)
    data = bars(lines, _raw, panel=0, least=LEAST_RAW) + bars(lines, _scale_free, panel=1)
    data += [numbers(lines, _raw, end=10.0**high), numbers(lines, _scale_free, end=top, panel=1)]
    if trusted:
        data += _with_intervals(lines, measure)
        data.append(numbers(lines, _debiased(measure), end=top, panel=2))
        data += [] if best is None else [_equal(best["equal"], lines)]
    titles = _titles(measure)[: 2 + trusted]
    layout = panels(titles, gap=0.05)
    layout |= {"legend": LEGEND, "barmode": "overlay", "shapes": [_zero_line()]}
    scale = log_axis([max(_raw(e) or 0.0, LEAST_RAW) for e in lines], 4)
    ranges = [scale | {"range": [low, high]}]
    ranges += [{"range": [0.0, top], "tickvals": _ticks(top)}] * 2
    for k in range(len(titles)):
        layout[axis("y", k)] |= names_axis(lines, shown=k == 0)
        layout[axis("x", k)] |= ranges[k] | {"tickangle": 0}
    return Figure(
        key=KEY,
        title=TITLE,
        summary=_summary(lines, contents, best),
        data=data,
        layout=layout,
        narrow=_narrow(lines, len(titles)),
        table=_table(lines),
        height=height_of(lines),
    )


def _titles(measure: str) -> list[str]:
    squared = "squared distances, " if measure == "squared" else ""
    return ["raw, as published", "scale-free", f"{squared}noise taken out"]


def _raw(found: dict[str, Any]) -> float | None:
    value: float | None = found["stress"]["plugin"]["raw"]
    return value


def _scale_free(found: dict[str, Any]) -> float | None:
    value: float | None = found["stress"]["plugin"]["scale_free"]
    return value


def _debiased(measure: str) -> Value:
    def value(found: dict[str, Any]) -> float | None:
        known: float | None = found["stress"]["debiased"][measure]
        return known

    return value


def _with_intervals(lines: list[dict[str, Any]], measure: str) -> list[dict[str, Any]]:
    """Return the debiased bars with their sampling intervals."""
    spans = {called(e): e["stress"]["debiased"][interval_key(measure)] for e in lines}
    traces = bars(lines, _debiased(measure), panel=2)
    for trace in traces:
        low, high = np.array([spans[label] for label in trace["y"]]).T
        exact = np.array(trace["customdata"])
        trace["error_x"] = {
            "type": "data",
            "array": np.maximum(high - exact, 0.0).tolist(),
            "arrayminus": np.maximum(exact - low, 0.0).tolist(),
            "color": GREY,
            "thickness": 1.5,
        }
    return traces


def _equal(value: float, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the line of what equal distances leave: a bar that reaches it explains nothing."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "equal distances",
        "x": [value, value],
        "y": [called(lines[0]), called(lines[-1])],
        "line": {"color": VERMILION, "dash": "dot", "width": 2},
        "hoverinfo": "skip",
        **axes_of(2),
    }


def _top(lines: list[dict[str, Any]], measure: str) -> float:
    """Return where the axis of the scale-free panels ends."""
    known = [e["stress"]["debiased"].get(interval_key(measure)) for e in lines]
    ends = [*(_scale_free(e) or 0.0 for e in lines), *(span[1] for span in known if span)]
    return ROOM * max([*ends, 0.05])


def _ticks(top: float) -> list[float]:
    """Return a few round numbers of the part that has bars.

    An interval may end past 1, and far past it where errors are large: steps grow with it.
    """
    step = next(s for s in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01) if 2.0 * s <= top / ROOM)
    while top / ROOM > 10.0 * step:
        step *= 10.0
    return [round(k * step, 2) for k in range(int(top / ROOM / step + 1e-9) + 1)]


def _raw_range(lines: list[dict[str, Any]]) -> tuple[float, float]:
    low, top = np.log10(LEAST_RAW), np.log10(max(1.0, *(_raw(e) or 0.0 for e in lines)))
    return float(low), float(top + 0.45 * (top - low))


def _zero_line() -> dict[str, Any]:
    line = {"color": GREY, "dash": "dash", "width": 1}
    ends = {"x0": 1.0, "x1": 1.0, "y0": 0.0, "y1": 1.0}
    return {"type": "line", "line": line, **ends, "xref": "x", "yref": "y domain"}


def _narrow(lines: list[dict[str, Any]], count: int) -> dict[str, Any]:
    layout = stacked(count, each=26 * len(lines), legend=4)
    for k in range(1, count):
        layout[axis("y", k)] |= {"showticklabels": True}
    return layout


def _summary(
    lines: list[dict[str, Any]], contents: dict[str, Any], best: dict[str, Any] | None
) -> str:
    raw = [(_raw(e) or 0.0, e["shown"]) for e in lines]
    (low, least), (high, most) = min(raw), max(raw)
    runs = (
        f"raw stress, which scale decides, runs from {figure_of(low)} ({least}) to "
        f"{figure_of(high)} ({most})"
    )
    if best is None:
        why = _why(contents)
        return f"As published {runs}" + (
            f"; the noise is not taken out since {why}." if why else "."
        )
    left = f"leaves {leaves(best)} unexplained with the noise taken out"
    against = f"where equal distances leave {percent(best['equal'])}"
    if best["closer"]:
        return f"The nearest known encoding, {nearest_called(best)}, {left}, {against}; {runs}."
    return (
        "None of the known encodings comes closer than keeping all positions equally far apart: "
        f"{nearest_called(best)} {left}, {against}; {runs}."
    )


def _why(contents: dict[str, Any]) -> str:
    return str(contents["encodings"][0]["stress"]["debiased"].get("reason", "")).rstrip(".")


def _table(lines: list[dict[str, Any]]) -> dict[str, list[Any]]:
    debiased = [e["stress"]["debiased"] for e in lines]
    bounds = [found["interval"] or (None, None) for found in debiased]
    return {
        "encoding": [e["label"] for e in lines],
        "lift": [e["lift"] for e in lines],
        "raw": [_raw(e) for e in lines],
        "scale_free": [_scale_free(e) for e in lines],
        "debiased": [found["scale_free"] for found in debiased],
        "debiased_low": [bound[0] for bound in bounds],
        "debiased_high": [bound[1] for bound in bounds],
        "skill": [found["skill"] for found in debiased],
        "squared": [found["squared"] for found in debiased],
    }
