"""Eigenvalues against what chance alone gives: the null band, and the noise edge.

Left, the Gram matrix as published: an eigenvalue says something of position where it leaves the
band in which the null's eigenvalue of the same order lies. Right, the debiased matrix, whitened so
that noise has unit variance: a direction counts where it exceeds the noise edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.report.figure import BLUE, GREY, ORANGE, VERMILION, Figure, missing, short
from gnomon.report.figures.distances import FLAT, NULLS
from gnomon.report.figures.panels import axes_of, axis, panels, stacked
from gnomon.report.figures.places import some
from gnomon.survey.pictures import Pictures

KEY, TITLE = "eigenvalues", "Eigenvalues against chance"
FIRST = 64
"""Eigenvalues drawn: as many as survey.json keeps of a null."""
ROUNDING = 1e-9
"""Eigenvalues below this part of the first are not drawn."""


def eigenvalues_figure(contents: dict[str, Any], pictures: Pictures | None) -> Figure:
    """Return the spectrum as published with the null band, and the debiased one with its edge."""
    geometry = contents["geometry"]
    if not geometry["rank"]["numerical"]:
        return missing(KEY, TITLE, FLAT)
    values = geometry["eigenvalues"][: min(FIRST, geometry["rank"]["numerical"])]
    kind = geometry["null"]["used"]
    bands = {} if kind is None else geometry["null"][kind]["eigenvalues"]
    debiased = _debiased(geometry, pictures)
    data = [*_band(bands, len(values)), _published(values)]
    titles = ["as published (plug-in)"]
    if debiased:
        data += _above_edge(debiased, geometry)
        titles.append("noise taken out (debiased, in units of the noise)")
    layout = panels(titles, gap=0.1)
    layout["yaxis"] |= {"title": {"text": "eigenvalue"}}
    for k in range(len(titles)):
        layout[axis("x", k)] |= {"title": {"text": "order of the eigenvalue"}, "tickformat": "d"}
        layout[axis("y", k)] |= _log_axis(debiased if k else values)
    legend = {"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0}
    return Figure(
        key=KEY,
        title=TITLE,
        summary=_summary(geometry, values, bands, kind),
        data=data,
        layout=layout | {"legend": legend},
        narrow=stacked(len(titles), each=260) | {"legend": {"y": -0.12}},
        table=_table(values, bands, debiased),
        height=420,
    )


def _log_axis(values: list[float]) -> dict[str, Any]:
    """Return a logarithmic axis that names powers of ten, where it spans one."""
    drawn = [value for value in values if value > ROUNDING * values[0]]
    wide = drawn and max(drawn) >= 10.0 * min(drawn)
    return {"type": "log", "exponentformat": "power"} | ({"dtick": 1} if wide else {})


def _debiased(geometry: dict[str, Any], pictures: Pictures | None) -> list[float]:
    found = geometry["debiased"]
    if found is None:
        return []
    if pictures is None or not len(pictures.whitened):
        return list(found["eigenvalues"])
    return short(pictures.whitened[:FIRST])


def _band(bands: dict[str, list[float]], count: int) -> list[dict[str, Any]]:
    """Return the 5 % to 95 % band of the null as a closed region, and its median."""
    if not bands:
        return []
    known = [k for k in range(min(count, len(bands["low"]))) if bands["low"][k] > 0.0]
    order = [k + 1 for k in known]
    low, high = ([bands[key][k] for k in known] for key in ("low", "high"))
    shared = {"type": "scatter", "hoverinfo": "skip", "legendgroup": "null"}
    edge = {"width": 0.5, "color": GREY}
    return [
        shared | {"mode": "lines", "x": order, "y": short(low), "line": edge, "showlegend": False},
        shared
        | {
            "mode": "lines",
            "name": "chance alone: 5 % to 95 %",
            "x": order,
            "y": short(high),
            "line": edge,
            "fill": "tonexty",
            "fillcolor": "rgba(127,133,142,0.35)",
        },
    ]


def _published(values: list[float]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "the corpus as published",
        "x": list(range(1, len(values) + 1)),
        "y": short(values),
        "line": {"color": BLUE, "width": 1.5},
        "marker": {"color": BLUE, "size": 5},
        "hovertemplate": "eigenvalue %{x}: %{y:.4g}<extra></extra>",
    }


def _above_edge(values: list[float], geometry: dict[str, Any]) -> list[dict[str, Any]]:
    rank, edge = geometry["rank"]["effective"], geometry["debiased"]["edge"]
    shared = {"type": "scatter", "hovertemplate": "direction %{x}: %{y:.4g}<extra></extra>"}
    shared |= axes_of(1)
    positive = sum(value > ROUNDING * values[0] for value in values)  # the axis is logarithmic
    kept, rest = list(range(rank)), list(range(rank, positive))
    found = [
        shared
        | {
            "mode": "markers",
            "name": name,
            "x": [k + 1 for k in rows],
            "y": [values[k] for k in rows],
            "marker": {"color": colour, "symbol": symbol, "size": 7},
        }
        for name, rows, colour, symbol in (
            ("above the noise edge", kept, VERMILION, "diamond"),
            ("not told from noise", rest, GREY, "circle-open"),
        )
        if rows
    ]
    if edge is not None:
        line = {"color": ORANGE, "dash": "dash", "width": 1.5}
        ends: dict[str, Any] = {"x": [0.5, positive + 0.5], "y": [edge, edge], "hoverinfo": "skip"}
        found.append(
            {"type": "scatter", "mode": "lines", "name": "noise edge", "line": line}
            | ends
            | axes_of(1)
        )
    return found


def _summary(
    geometry: dict[str, Any], values: list[float], bands: dict[str, list[float]], kind: str | None
) -> str:
    parts = []
    if kind is not None:
        pairs = list(zip(values, bands["high"], strict=False))
        above = next((k for k, (own, high) in enumerate(pairs) if own <= high), len(pairs))
        noun = "leading eigenvalue" if above else "eigenvalue"
        parts.append(
            f"as published {some(above, noun)} {'exceed' if above > 1 else 'exceeds'} "
            f"the one of the same order that chance gives ({NULLS[kind]})"
        )
    rank = geometry["rank"]["effective"]
    if rank is None:
        parts.append("the noise could not be taken out")
    else:
        verb = "stand" if rank > 1 else "stands"
        parts.append(f"with the noise taken out {some(rank, 'direction')} {verb} above its edge")
    text = "; ".join(parts) + "."
    return text[0].upper() + text[1:]


def _table(
    values: list[float], bands: dict[str, list[float]], debiased: list[float]
) -> dict[str, list[Any]]:
    rows = max(len(values), len(debiased))
    columns = {"published": values} | {f"null_{key}": bands[key] for key in bands}
    columns |= {"debiased_whitened": debiased} if debiased else {}
    padded = {key: [*column, *[None] * rows][:rows] for key, column in columns.items()}
    return {"order": np.arange(1, rows + 1).tolist()} | padded
