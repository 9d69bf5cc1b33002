"""Stress of every encoding three times: raw as published, scale-free, and debiased.

Raw stress measures scale before anything else: an encoding of zeros has exactly 1, which is the
dashed line. The other two take the best scale out and share one axis; debiased comes with its
sampling interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.report.figure import GREY, Figure, missing
from gnomon.report.figures.bars import LEGEND, bars, called, height_of, names_axis, number, ordered
from gnomon.report.figures.distances import FLAT
from gnomon.report.figures.panels import axes_of, axis, panels, stacked
from gnomon.report.figures.places import figure_of, rate

KEY, TITLE = "stress", "How far each encoding is from the corpus (stress)"
LEAST_RAW = 1e-3


def stress_figure(contents: dict[str, Any]) -> Figure:
    """Return the bars of all encodings."""
    lines = ordered(contents["encodings"])
    if not lines:
        return missing(KEY, TITLE, FLAT)
    trusted = any(_debiased(e) is not None for e in lines)
    titles = ["raw, as published", "scale-free", "noise taken out (debiased)"][: 2 + trusted]
    data = bars(lines, _raw, panel=0, least=LEAST_RAW) + bars(lines, _scale_free, panel=1)
    data += _with_intervals(lines) if trusted else []
    layout = panels(titles, gap=0.05)
    layout |= {"legend": LEGEND, "barmode": "overlay", "shapes": [_zero_line()]}
    top = 1.35 * max(_ends(lines))
    ranges = [_raw_range(lines), *[{"range": [0.0, top]}] * 2]
    for k in range(len(titles)):
        layout[axis("y", k)] |= names_axis(lines, shown=k == 0)
        layout[axis("x", k)] |= ranges[k]
    return Figure(
        key=KEY,
        title=TITLE,
        summary=_summary(lines, contents, trusted=trusted),
        data=data,
        layout=layout,
        narrow=_narrow(lines, len(titles)),
        table=_table(lines),
        height=height_of(lines),
    )


def _raw(found: dict[str, Any]) -> float | None:
    value: float | None = found["stress"]["plugin"]["raw"]
    return value


def _scale_free(found: dict[str, Any]) -> float | None:
    value: float | None = found["stress"]["plugin"]["scale_free"]
    return value


def _debiased(found: dict[str, Any]) -> float | None:
    value: float | None = found["stress"]["debiased"]["scale_free"]
    return value


def _with_intervals(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the debiased bars with their sampling intervals, the numbers behind them."""
    spans = {called(e): e["stress"]["debiased"]["interval"] for e in lines}
    traces = bars(lines, _debiased, panel=2)
    for trace in traces:
        trace["textposition"] = "none"
        low, high = np.array([spans[label] for label in trace["y"]]).T
        exact = np.array(trace["customdata"])
        trace["error_x"] = {
            "type": "data",
            "array": np.maximum(high - exact, 0.0).tolist(),
            "arrayminus": np.maximum(exact - low, 0.0).tolist(),
            "color": GREY,
            "thickness": 1.5,
        }
    return [*traces, _numbers([e for e in lines if _debiased(e) is not None])]


def _numbers(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the numbers as text behind the ends of their intervals."""
    return {
        "type": "scatter",
        "mode": "text",
        "x": [e["stress"]["debiased"]["interval"][1] for e in lines],
        "y": [called(e) for e in lines],
        "text": [f" {number(_debiased(e) or 0.0)}" for e in lines],
        "textposition": "middle right",
        "showlegend": False,
        "hoverinfo": "skip",
        **axes_of(2),
    }


def _ends(lines: list[dict[str, Any]]) -> list[float]:
    ends = [_scale_free(e) or 0.0 for e in lines]
    intervals = (e["stress"]["debiased"]["interval"] for e in lines)
    return [*ends, *(interval[1] for interval in intervals if interval), 0.05]


def _raw_range(lines: list[dict[str, Any]]) -> dict[str, Any]:
    low, top = np.log10(LEAST_RAW), np.log10(max(1.0, *(_raw(e) or 0.0 for e in lines)))
    ticks = [10.0**k for k in range(int(low), int(top) + 1)]
    return {"type": "log", "range": [low, top + 0.3 * (top - low)], "tickvals": ticks}


def _zero_line() -> dict[str, Any]:
    line = {"color": GREY, "dash": "dash", "width": 1}
    ends = {"x0": 1.0, "x1": 1.0, "y0": 0.0, "y1": 1.0}
    return {"type": "line", "line": line, **ends, "xref": "x", "yref": "y domain"}


def _narrow(lines: list[dict[str, Any]], count: int) -> dict[str, Any]:
    layout = stacked(count, each=26 * len(lines))
    for k in range(1, count):
        layout[axis("y", k)] |= {"showticklabels": True}
    return layout | {"legend": {"y": -0.03}}


def _summary(lines: list[dict[str, Any]], contents: dict[str, Any], *, trusted: bool) -> str:
    value = _debiased if trusted else _scale_free
    kernel = [e for e in lines if e["lift"] == "kernel" and value(e) is not None]
    fixed = [e for e in kernel if e["name"] in ("sinusoidal", "rope", "alibi", "random", "table")]
    best = min(fixed or kernel, key=lambda e: value(e) or 0.0)
    raw = [(_raw(e) or 0.0, e["shown"]) for e in lines]
    (low, least), (high, most) = min(raw), max(raw)
    what = "with the noise taken out" if trusted else "as published"
    where = "" if trusted else f" (not debiased: {_why(contents)})"
    nearest = "a random table" if best["name"] == "random" else best["shown"]
    return (
        f"Of the encodings not fitted to the distances {nearest} is nearest to them {what}: "
        f"at its best scale it leaves {rate(value(best) or 0.0)} of their squares "
        f"unexplained{where}; raw stress, which scale decides, runs from {figure_of(low)} "
        f"({least}) to {figure_of(high)} ({most})."
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
