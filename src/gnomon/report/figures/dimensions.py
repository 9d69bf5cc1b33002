"""Stress of classical MDS against its rank, and what each rank costs in numbers stored."""

from __future__ import annotations

from typing import Any

from gnomon.report.figure import BLUE, DASHES, GREY, MARKERS, ORANGE, VERMILION, Figure, missing
from gnomon.report.figures.distances import FLAT
from gnomon.report.figures.panels import axes_of, axis, panels, stacked
from gnomon.report.figures.places import counted, some

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
    layout = panels(["stress of the best map of each rank (plug-in)", "numbers to store"], gap=0.1)
    layout |= {"legend": {"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0}}
    ticks = {"type": "log", "title": {"text": "rank"}, "tickvals": ranks, "tickangle": 0}
    layout["xaxis"] |= ticks
    layout["xaxis2"] |= ticks
    layout["yaxis"] |= {"rangemode": "tozero", "title": {"text": "stress"}}
    stored = [row["parameters"][key] for row in rows for key in ("factored", "free")]
    layout[axis("y", 1)] |= {"title": {"text": "numbers"}, **_log_axis(stored)}
    effective = contents["geometry"]["rank"]["effective"]
    if effective:
        data.append(_mark(effective, max(row["stress"]["raw"] for row in rows)))
    return Figure(
        key=KEY,
        title=TITLE,
        summary=_summary(rows, effective),
        data=data,
        layout=layout,
        narrow=stacked(2, each=260) | {"legend": {"y": -0.14}},
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


def _log_axis(values: list[int]) -> dict[str, Any]:
    """Return a logarithmic axis with few, whole labels."""
    exponents = range(len(str(min(values))) - 1, len(str(max(values))) + 1)
    steps = (1, 2, 5) if len(exponents) <= 3 else (1, 3) if len(exponents) <= 5 else (1,)
    ticks = [step * 10**exponent for exponent in exponents for step in steps]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:,}" for tick in ticks]}


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
    enough = next((row for row in rows if row["stress"]["raw"] <= ENOUGH), rows[-1])
    text = (
        f"As published a map of {counted(enough['rank'], 'dimension')} leaves a raw stress of "
        f"{enough['stress']['raw']:.3f} and stores {enough['parameters']['factored']:,} numbers "
        f"where a free table takes {enough['parameters']['free']:,}"
    )
    if effective is None:
        return f"{text}."
    stand = "stand" if effective > 1 else "stands"
    return f"{text}; {some(effective, 'direction')} {stand} above the noise."
