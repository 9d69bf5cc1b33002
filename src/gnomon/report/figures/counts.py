"""How many tokens stand at each position, and which positions are too uncertain to measure.

Few tokens make a position uncertain, and so do many rare types: where every function has its name,
thousands of tokens say little.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.report.figure import BLUE, GREY, HATCHES, ORANGE, SKY, VERMILION, Figure, evenly
from gnomon.report.figures.places import counted, names, unit
from gnomon.report.figures.ticks import log_axis

KEY, TITLE = "counts", "Tokens by position"
LOG_FROM = 50.0
"""Ratio of most to fewest tokens from which the axis is logarithmic."""
STATUS = {
    "core": ("counted well enough", BLUE, HATCHES[0]),
    "projected": ("too uncertain to stand alone: projected", GREY, HATCHES[1]),
    "unestimated": ("nothing that groups share: left out", ORANGE, HATCHES[1]),
    "masked": ("too few: left out", VERMILION, HATCHES[2]),
    None: ("not debiased", SKY, HATCHES[3]),
}


def counts_figure(contents: dict[str, Any]) -> Figure:
    """Return bars of tokens by position, marked by status."""
    lines = contents["positions"]
    drawn = evenly(len(lines))
    tokens = np.array([line["tokens"] for line in lines])
    seen = tokens[tokens > 0]
    log = bool(seen.size) and seen.max() >= LOG_FROM * max(seen.min(), 1)
    chosen = [lines[k] for k in drawn]
    called = names(contents, drawn)
    data = [
        _bars(
            status, [k for k, line in enumerate(chosen) if line["status"] == status], chosen, called
        )
        for status in STATUS
        if any(line["status"] == status for line in chosen)
    ]
    what = unit(contents)
    kind = log_axis(seen.tolist()) if log else {"rangemode": "tozero"}
    return Figure(
        key=KEY,
        title=TITLE if what != "bin" else "Tokens by bin of positions",
        summary=_summary(contents, tokens, thinned=len(drawn) < len(lines)),
        data=data,
        layout={
            "xaxis": {"title": {"text": what if what != "bin" else "first position of the bin"}},
            "yaxis": {"title": {"text": "tokens"}, **kind},
            "barmode": "overlay",
            "bargap": 0.0 if len(drawn) > 64 else 0.15,
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "showlegend": True,
        },
        table=_table(contents),
        height=340,
    )


def _bars(
    status: Any, rows: list[int], lines: list[dict[str, Any]], called: list[str]
) -> dict[str, Any]:
    label, colour, hatch = STATUS[status]
    chosen = [lines[k] for k in rows]
    bars: dict[str, Any] = {
        "type": "bar",
        "name": label,
        "x": [line.get("first", line["index"]) for line in chosen],
        "y": [line["tokens"] for line in chosen],
        "text": [called[k] for k in rows],
        "textposition": "none",
        "hovertemplate": "%{text}: %{y:,} tokens<extra>" + label + "</extra>",
        "marker": {"color": colour, "line": {"width": 0}, "pattern": {"shape": hatch}},
    }
    if chosen and "first" in chosen[0]:
        bars |= {"width": [line["last"] - line["first"] + 1 for line in chosen], "offset": 0}
    return bars


def _summary(contents: dict[str, Any], tokens: Any, *, thinned: bool) -> str:
    status = [line["status"] for line in contents["positions"]]
    total, one = len(status), unit(contents)
    low, high = int(tokens.min()), int(tokens.max())
    spread = f"{high:,} tokens" if low == high else f"{low:,} to {high:,} tokens"
    parts = [f"Each of the {counted(total, one)} has {spread}"]
    if "core" in status:
        core = status.count("core")
        which = "all are" if core == total > 1 else f"{core:,} {_be(core)}"
        parts.append(f"{which} counted well enough to take the noise out")
    if status.count("projected"):
        parts.append(_projected(contents, tokens, status))
    if status.count("unestimated"):
        parts.append(_unestimated(contents))
    if status.count("masked"):
        least = contents["corpus"]["minimum_count"]
        out = status.count("masked")
        have = "has" if out == 1 else "have"
        parts.append(f"{out:,} {have} fewer than {least:,} and {_be(out)} left out")
    if thinned:
        parts.append("evenly spaced ones are drawn")
    return "; ".join(parts) + "."


def _projected(contents: dict[str, Any], tokens: Any, status: list[Any]) -> str:
    """Say why a position is not counted well enough: too few tokens, or too scattered ones."""
    rows = [k for k, found in enumerate(status) if found == "projected"]
    which = f"{unit(contents)} {names(contents, rows)[0]}" if len(rows) == 1 else f"{len(rows):,}"
    least = min((int(tokens[k]) for k, found in enumerate(status) if found == "core"), default=0)
    if int(tokens[rows].min()) < max(least, 1):
        return f"{which} only well enough to be placed among those"
    why = "many rare types, or tokens that come in clumps, leave more noise than their number tells"
    return f"{which} only well enough to be placed among those ({why})"


def _unestimated(contents: dict[str, Any]) -> str:
    """Say which positions could not be debiased though they have tokens enough, and why."""
    rows = [k for k, line in enumerate(contents["positions"]) if line["status"] == "unestimated"]
    why = "; ".join(dict.fromkeys(contents["positions"][k]["reason"] for k in rows))
    which = f"{unit(contents)} {names(contents, rows)[0]}" if len(rows) == 1 else f"{len(rows):,}"
    return f"{which} {_be(len(rows))} left out ({why})"


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


def _table(contents: dict[str, Any]) -> dict[str, list[Any]]:
    lines = contents["positions"]
    keys = ("index", *(("first", "last") if "first" in lines[0] else ()))
    columns = {
        key: [line[key] for line in lines] for key in (*keys, "tokens", "status", "distinct")
    }
    return columns if len(contents["corpus"]["axes"]) == 1 else {"cell": names(contents)} | columns
