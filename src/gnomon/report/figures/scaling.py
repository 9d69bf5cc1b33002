"""Perplexity by position under each scaling, against the model cut to its trained length.

One line for each scaling: the geometric mean over documents of the ratio of perplexities in a bin
of positions; bars reach from the smallest document to the largest, where there are several, and the
table has the intervals. 1 is the model within its trained length; an upright line marks where that
ends. The axis is logarithmic, as ratios are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.report.figure import CATEGORIES, DASHES, GREY, MARKERS, Figure, short
from gnomon.report.figures.panels import LEGEND
from gnomon.report.figures.ticks import log_axis

KEY, TITLE = "scaling", "What each scaling does to a model, by position"
INTERVAL = " interval"


def scaling_figure(record: Mapping[str, Any]) -> Figure:
    """Return the curves of a record of the experiment `scaling`."""
    ((name, details),) = record["corpora"].items()
    bins, trained = details["bins"], details["model"]["trained_length"]
    middles = [(first + last + 1) / 2 for first, last in bins]
    lines = [
        key for key in record["rows"][0]["ours"] if f"{key}{INTERVAL}" in record["rows"][0]["ours"]
    ]
    curves = {line: [row["ours"][line] for row in record["rows"]] for line in lines}
    ends = {line: [row["ours"][f"{line}{INTERVAL}"] for row in record["rows"]] for line in lines}
    documents = [one["losses"] for one in details["documents"].values()]
    data = [_curve(line, k, middles, curves[line], documents) for k, line in enumerate(lines)]
    every = [value for values in curves.values() for value in values]
    layout = {
        "legend": LEGEND,
        "shapes": [_upright(trained), _level()],
        "xaxis": {"title": {"text": f"position (trained up to {trained:,})"}},
        "yaxis": {
            "title": {"text": "perplexity, times that of the cut model"},
            **log_axis([min(every), max(every)]),
        },
    }
    return Figure(
        key=KEY,
        title=f"{TITLE}: {name}",
        summary=_summary(name, trained, bins, curves),
        data=data,
        layout=layout,
        table=_table(bins, curves, ends),
        height=480,
    )


def _curve(
    line: str, k: int, middles: list[float], values: list[float], documents: list[Any]
) -> dict[str, Any]:
    colour = CATEGORIES[k % len(CATEGORIES)]
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": line,
        "x": middles,
        "y": short(values),
        "line": {"color": colour, "dash": DASHES[k % len(DASHES)]},
        "marker": {"color": colour, "symbol": MARKERS[k % len(MARKERS)], "size": 7},
        "hovertemplate": "position %{x}: %{y:.4g}<extra>" + line + "</extra>",
    }
    if len(documents) > 1:
        found = np.exp([np.subtract(one[line], one["cut"]) for one in documents])
        trace["error_y"] = {
            "type": "data",
            "array": short(np.maximum(found.max(axis=0) - values, 0.0)),
            "arrayminus": short(np.maximum(values - found.min(axis=0), 0.0)),
            "color": colour,
            "thickness": 1,
        }
    return trace


def _upright(trained: int) -> dict[str, Any]:
    line = {"color": GREY, "dash": "longdash", "width": 1}
    return {"type": "line", "x0": trained, "x1": trained, "yref": "paper", "y0": 0, "y1": 1} | {
        "line": line
    }


def _level() -> dict[str, Any]:
    line = {"color": GREY, "dash": "dot", "width": 1}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": line}


def _summary(name: str, trained: int, bins: list[Any], curves: Mapping[str, list[float]]) -> str:
    last = {line: values[-1] for line, values in curves.items()}
    best = min(last, key=lambda line: last[line])
    worst = max(last, key=lambda line: last[line])
    return (
        f"{name}, trained on {trained:,} positions: at positions {bins[-1][0]:,} to "
        f"{bins[-1][1]:,} perplexity is {last[best]:.3g} times that of the cut model under "
        f"{best}, the least, and {last[worst]:.3g} times under {worst}, the most."
    )


def _table(
    bins: list[Any], curves: Mapping[str, list[float]], ends: Mapping[str, list[Any]]
) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = {"first": [b[0] for b in bins], "last": [b[1] for b in bins]}
    for line, values in curves.items():
        known = [end or (None, None) for end in ends[line]]
        table |= {line: values, f"{line} low": [end[0] for end in known]}
        table[f"{line} high"] = [end[1] for end in known]
    return table
