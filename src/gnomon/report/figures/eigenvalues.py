"""Eigenvalues against what chance alone gives: the null band, and the noise edge.

Left, the Gram matrix as published: an eigenvalue says something of position where it leaves the
band in which the null's eigenvalue of the same order lies. Right, the debiased matrix, whitened so
that noise has unit variance: a direction counts where it exceeds the noise edge. The edge falls
once directions are found and taken out of the noise, so it is a staircase on which each eigenvalue
stands above or below its own step; it ends with the first that was not told from noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.pipeline import Pictures
from gnomon.report.figure import BLUE, GREY, ORANGE, VERMILION, Figure, missing, short
from gnomon.report.figures.distances import FLAT, NULLS
from gnomon.report.figures.panels import LEGEND, axes_of, axis, panels, stacked
from gnomon.report.figures.places import some
from gnomon.report.figures.ticks import log_axis

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
    bands = {} if kind is None else geometry["null"][kind].get("eigenvalues", {})
    kind = kind if bands else None
    debiased = _debiased(geometry, pictures)
    data = [*_band(bands, len(values)), _published(values)]
    titles = ["as published (plug-in)"]
    if debiased:
        edges = _edges(geometry, pictures)
        data += _above_edge(debiased, geometry["rank"]["effective"], edges)
        titles.append("noise taken out (in units of the noise)")
    layout = panels(titles, gap=0.1)
    layout["yaxis"] |= {"title": {"text": "eigenvalue"}}
    for k in range(len(titles)):
        layout[axis("x", k)] |= {"title": {"text": "order of the eigenvalue"}, "tickformat": "d"}
        layout[axis("y", k)] |= log_axis(_drawn(debiased if k else [*values, *_seen(bands)]))
    return Figure(
        key=KEY,
        title=TITLE,
        summary=_summary(geometry, values, bands, kind) + _limit(debiased, pictures),
        data=data,
        layout=layout | {"legend": LEGEND},
        narrow=stacked(len(titles), each=260, legend=5),
        table=_table(values, bands, debiased, _edges(geometry, pictures) if debiased else []),
        height=420,
    )


def _seen(bands: dict[str, list[float]]) -> list[float]:
    return [*bands.get("low", ()), *bands.get("high", ())][: 2 * FIRST]


def _drawn(values: list[float]) -> list[float]:
    """Return the values that a logarithmic axis shows."""
    return [value for value in values if value > ROUNDING * values[0]]


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


def _edges(geometry: dict[str, Any], pictures: Pictures | None) -> list[float | None]:
    """Return what each eigenvalue had to exceed in turn; survey.json keeps the first alone."""
    if pictures is None or not len(pictures.edges):
        return [geometry["debiased"]["edge"]]
    return short(pictures.edges)


def _above_edge(values: list[float], rank: int, edges: list[float | None]) -> list[dict[str, Any]]:
    shared = {"type": "scatter", "hovertemplate": "direction %{x}: %{y:.4g}<extra></extra>"}
    shared |= axes_of(1)
    ended = len(edges) > 1 and edges[-1] is None  # by the number of types, and not by noise
    rest = "beyond what so few types can show" if ended else "not told from noise"
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
            ("above the noise edge", list(range(rank)), VERMILION, "diamond"),
            (rest, list(range(rank, len(_drawn(values)))), GREY, "circle-open"),
        )
        if rows
    ]
    return found + ([_staircase(edges)] if edges[0] is not None else [])


def _staircase(edges: list[float | None]) -> dict[str, Any]:
    """Return the edges as steps, each as wide as the eigenvalue that was judged by it."""
    steps = [(k + 1, edge) for k, edge in enumerate(edges) if edge is not None]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "noise edge",
        "x": [k + side for k, _ in steps for side in (-0.5, 0.5)],
        "y": [edge for _, edge in steps for _ in range(2)],
        "line": {"color": ORANGE, "dash": "dash", "width": 1.5},
        "hoverinfo": "skip",
        **axes_of(1),
    }


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
    text = "; ".join(parts)
    return text[0].upper() + text[1:]


def _limit(debiased: list[float], pictures: Pictures | None) -> str:
    """End the sentence; say where types of token, and not noise, end the count of directions."""
    if not debiased or pictures is None or len(pictures.edges) < 2:
        return "."
    return (
        "." if np.isfinite(pictures.edges[-1]) else ", as many as so few types of token can show."
    )


def _table(
    values: list[float],
    bands: dict[str, list[float]],
    debiased: list[float],
    edges: list[float | None],
) -> dict[str, list[Any]]:
    rows = max(len(values), len(debiased))
    columns: dict[str, list[Any]] = {"published": values}
    columns |= {f"null_{key}": bands[key] for key in bands}
    columns |= {"debiased_whitened": debiased, "edge": edges} if debiased else {}
    padded = {key: [*column, *[None] * rows][:rows] for key, column in columns.items()}
    return {"order": np.arange(1, rows + 1).tolist()} | padded
