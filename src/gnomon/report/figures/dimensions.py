"""Stress of classical MDS against its rank, and what each rank costs in numbers stored."""

from __future__ import annotations

from typing import Any

from gnomon.report.figure import BLUE, DASHES, GREY, MARKERS, ORANGE, VERMILION, Figure, missing
from gnomon.report.figures.distances import FLAT
from gnomon.report.figures.panels import LEGEND, axes_of, axis, panels, stacked
from gnomon.report.figures.places import counted, figure_of
from gnomon.report.figures.ticks import apart, log_axis

KEY, TITLE = "dimensions", "Stress against dimension"
ENOUGH = 0.05


def dimensions_figure(contents: dict[str, Any]) -> Figure:
    """Return the curves of stress and of stored numbers by rank."""
    rows = contents["dimensions"]
    if not rows:
        return missing(KEY, TITLE, FLAT)
    ranks = [row["rank"] for row in rows]
    data = [
        _curve(ranks, [row["stress"][key] for row in rows], name, k)
        for k, (key, name) in enumerate((("raw", "raw"), ("scale_free", "scale-free")))
    ]
    data += [
        _curve(ranks, [row["parameters"][key] for row in rows], name, k + 2)
        for k, (key, name) in enumerate(
            (("factored", "of rank r: r (n + d)"), ("free", "free table: n d"))
        )
    ]
    layout = panels(["stress left by classical MDS (plug-in)", "numbers to store"], gap=0.1)
    layout |= {"legend": LEGEND}
    ticks = {"type": "log", "title": {"text": "rank"}, "tickvals": apart(ranks), "tickangle": 0}
    layout["xaxis"] |= ticks
    layout["xaxis2"] |= ticks
    layout["yaxis"] |= {"rangemode": "tozero", "title": {"text": "stress"}}
    stored = [row["parameters"][key] for row in rows for key in ("factored", "free")]
    layout[axis("y", 1)] |= {"title": {"text": "numbers"}, **log_axis(stored)}
    effective = contents["geometry"]["rank"]["effective"]
    if effective:
        data.append(_mark(effective, max(row["stress"]["raw"] for row in rows)))
    return Figure(
        key=KEY,
        title=TITLE,
        summary=_summary(rows, effective),
        data=data,
        layout=layout,
        narrow=stacked(2, each=260, legend=5),
        table={"rank": ranks}
        | {key: [row["stress"][key] for row in rows] for key in rows[0]["stress"]}
        | {
            key: [row["parameters"][key] for row in rows] for key in ("factored", "degrees", "free")
        },
        height=420,
    )


def _curve(ranks: list[int], values: list[float], name: str, k: int) -> dict[str, Any]:
    colour = (BLUE, VERMILION, BLUE, GREY)[k]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": ranks,
        "y": values,
        "line": {"color": colour, "dash": DASHES[k]},
        "marker": {"color": colour, "symbol": MARKERS[k], "size": 7},
        "hovertemplate": "rank %{x}: %{y:.4g}<extra>" + name + "</extra>",
        **axes_of(k // 2),
    }


def _mark(rank: int, top: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"directions above the noise: {rank}",
        "x": [rank, rank],
        "y": [0.0, top],
        "line": {"color": ORANGE, "dash": "longdash"},
        "hoverinfo": "skip",
        **axes_of(0),
    }


def _summary(rows: list[dict[str, Any]], effective: int | None) -> str:
    chosen, why = _enough(rows, effective)
    stored, free = chosen["parameters"]["factored"], chosen["parameters"]["free"]
    cost = f"{stored:,} numbers where a free table takes {free:,}"
    return (
        f"Classical MDS of {counted(chosen['rank'], 'dimension')}{why}, leaves a raw stress of "
        f"{figure_of(chosen['stress']['raw'])} as published and stores {cost}."
    )


def _enough(rows: list[dict[str, Any]], effective: int | None) -> tuple[dict[str, Any], str]:
    """Return the rank to speak of: the effective one, or the first drawn one above it."""
    if effective:
        row = next((row for row in rows if row["rank"] >= effective), rows[-1])
        if row["rank"] == effective:
            return row, ", as many as there are directions above the noise"
        held = counted(effective, "direction")
        return row, f", the first rank drawn that holds the {held} above the noise"
    row = next((row for row in rows if row["stress"]["raw"] <= ENOUGH), rows[-1])
    what = "no direction stands" if effective == 0 else "no direction is known to stand"
    return row, f", noise and all since {what} above the noise"
