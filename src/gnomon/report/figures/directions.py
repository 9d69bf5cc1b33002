"""The directions in which positions differ: eigenvalues, maps, and stress by number of dimensions.

*Eigenvalues.* Left, the Gram matrix as published: an eigenvalue says something of position where it
leaves the band in which the null's eigenvalue of the same order lies. Right, the debiased matrix,
whitened so that noise has unit variance: a direction counts where it exceeds the noise edge. The
edge falls once directions are found and taken out of the noise, so it is a staircase on which each
eigenvalue stands above or below its own step; it ends with the first that is not significant.

*Maps.* The first coordinates of classical scaling, coloured along the sequence; debiased where a
direction stands above the noise, and positions outside the core grey. Otherwise the plug-in
coordinates, called what they are: a cloud that noise has drawn too. Where there is one direction
less than the map has axes, the position itself takes the free axis.

*Dimensions.* Stress of classical scaling against its rank, and what each rank costs to store.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.pipeline import Pictures
from gnomon.report.figure import (
    BLUE,
    DASHES,
    GREY,
    MARKERS,
    ORANGE,
    VERMILION,
    Figure,
    colours,
    evenly,
    no_figure,
    short,
)
from gnomon.report.figures.positions import FLAT, NO_PICTURES, NULLS
from gnomon.report.panels import LEGEND, axes_of, axis, panels, stack
from gnomon.report.phrases import apart, figure_of, log_axis, names, rate, some, unit, with_noun

EIGENVALUES = ("eigenvalues", "Eigenvalues against chance")
FIRST = 64
"""Eigenvalues drawn: as many as survey.json keeps of a null."""
ROUNDING = 1e-9
"""Eigenvalues below this part of the first are not drawn."""


def effective_rank(contents: dict[str, Any]) -> int | None:
    """Return how many directions stand above the noise; None where that is not known."""
    rank: int | None = contents["geometry"]["rank"]["effective"]
    return rank


def eigenvalues_figure(contents: dict[str, Any], pictures: Pictures | None) -> Figure:
    """Return the spectrum as published with the null band, and the debiased one with its edge."""
    geometry = contents["geometry"]
    if not geometry["rank"]["numerical"]:
        return no_figure(*EIGENVALUES, FLAT)
    values = geometry["eigenvalues"][: min(FIRST, geometry["rank"]["numerical"])]
    kind = geometry["null"]["used"]
    bands = {} if kind is None else geometry["null"][kind].get("eigenvalues", {})
    kind = kind if bands else None
    debiased = _values_without_noise(geometry, pictures)
    data = [*_band(bands, len(values)), _plugin_trace(values)]
    titles = ["as published (plug-in)"]
    if debiased:
        edges = _edges(geometry, pictures)
        data += _above_edge(debiased, effective_rank(contents) or 0, edges)
        titles.append("noise taken out (in units of the noise)")
    layout = panels(titles, gap=0.1)
    layout["yaxis"] |= {"title": {"text": "eigenvalue"}}
    for k in range(len(titles)):
        layout[axis("x", k)] |= {"title": {"text": "order of the eigenvalue"}, "tickformat": "d"}
        layout[axis("y", k)] |= log_axis(_drawn(debiased if k else [*values, *_seen(bands)]))
    return Figure(
        key=EIGENVALUES[0],
        title=EIGENVALUES[1],
        summary=_about_eigenvalues(geometry, values, bands, kind) + _limit(debiased, pictures),
        data=data,
        layout=layout | {"legend": LEGEND},
        narrow=stack(len(titles), each=260, legend=5),
        table=_eigenvalues_table(
            values, bands, debiased, _edges(geometry, pictures) if debiased else []
        ),
        height=420,
    )


def _seen(bands: dict[str, list[float]]) -> list[float]:
    return [*bands.get("low", ()), *bands.get("high", ())][: 2 * FIRST]


def _drawn(values: list[float]) -> list[float]:
    """Return the values that a logarithmic axis shows."""
    return [value for value in values if value > ROUNDING * values[0]]


def _values_without_noise(geometry: dict[str, Any], pictures: Pictures | None) -> list[float]:
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


def _plugin_trace(values: list[float]) -> dict[str, Any]:
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
    rest = "beyond what so few types can show" if ended else "not significant"
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


def _about_eigenvalues(
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
        verb = "exceed" if rank > 1 else "exceeds"
        parts.append(
            f"with the noise taken out {some(rank, 'direction')} {verb} it (the noise edge)"
        )
    text = "; ".join(parts)
    return text[0].upper() + text[1:]


def _limit(debiased: list[float], pictures: Pictures | None) -> str:
    """End the sentence; say where types of token, and not noise, end the count of directions."""
    if not debiased or pictures is None or len(pictures.edges) < 2:
        return "."
    return (
        "." if np.isfinite(pictures.edges[-1]) else ", as many as so few types of token can show."
    )


def _eigenvalues_table(
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


NAMED = 6
"""Points that carry their names for being far from others, at most."""
CROWDED = 0.06
"""Part of the map's width at which two names touch."""
TITLES = {2: "Map of positions in two dimensions", 3: "Map of positions in three dimensions"}


def map_figure(contents: dict[str, Any], pictures: Pictures | None, dimension: int) -> Figure:
    """Return the map in two or three dimensions."""
    key, title = f"map{dimension}d", TITLES[dimension]
    if pictures is None:
        return no_figure(key, title, NO_PICTURES)
    if not pictures.plugin.any():
        return no_figure(key, title, FLAT)
    rank = pictures.points.shape[1]
    points = pictures.points if rank else pictures.plugin_points
    directions = int(np.count_nonzero(np.nan_to_num(np.abs(points)).max(axis=0) > 0.0))
    if directions < dimension - 1:
        above = "above the noise" if rank else "in the distances"
        reason = f"only 1 direction stands {above}, which the map in two dimensions shows"
        return no_figure(key, title, reason)
    along = directions < dimension
    shown, labels = _map_axes(contents, pictures, points, dimension, along=along)
    return Figure(
        key=key,
        title=title,
        summary=_about_map(contents, pictures, dimension, along=along),
        data=_traces(contents, pictures, shown, denoised=bool(rank)),
        layout=_map_layout(labels, unit(contents), equal=not along),
        narrow=_narrow_map(dimension),
        table=_map_table(contents, pictures, points),
        height=520,
    )


def _map_axes(
    contents: dict[str, Any],
    pictures: Pictures,
    points: NDArray[Any],
    dimension: int,
    *,
    along: bool,
) -> tuple[NDArray[Any], list[str]]:
    """Return what is drawn along each axis, and its name; the position has the first in a plane."""
    labels = [f"coordinate {k + 1}" for k in range(dimension - along)]
    shown = points[:, : dimension - along]
    if not along:
        return shown, labels
    where = pictures.positions if _grid(pictures) else pictures.coordinates[:, 0]
    if dimension == 2:
        return np.column_stack([where, shown]), [unit(contents), *labels]
    return np.column_stack([shown, where]), [*labels, unit(contents)]


def _traces(
    contents: dict[str, Any], pictures: Pictures, points: NDArray[Any], *, denoised: bool
) -> list[dict[str, Any]]:
    placed = np.isfinite(points).all(axis=1)
    core = placed & ((pictures.status == 2) if denoised else np.ones(len(points), bool))
    data = []
    if pictures.coordinates.shape[1] == 1:  # on a grid no cell follows another
        data.append(_path(points[core]))
    rest = np.flatnonzero(placed & ~core)
    if rest.size:
        data.append(_markers(contents, pictures, points, rest[evenly(rest.size)], grey=True))
    inner = np.flatnonzero(core)
    data.append(_names(contents, pictures, points, inner))
    return [*data, _markers(contents, pictures, points, inner[evenly(inner.size)], grey=False)]


def notable(points: NDArray[Any], most: int = NAMED) -> list[int]:
    """Return the rows to name: again and again the farthest from the middle and those named.

    The last and the first row follow. A row whose name would touch another goes without.

    >>> notable(np.array([[0.0, 0.0], [0.1, 0.0], [9.0, 0.0], [0.2, 0.0], [0.1, 0.1]]))
    [2, 4]
    """
    size = float(np.ptp(points, axis=0).max()) or 1.0
    apart = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    kept: list[int] = []
    for wanted in (*[None] * most, len(points) - 1, 0):
        row = int(apart.argmax()) if wanted is None else wanted
        gaps = np.linalg.norm(points[kept] - points[row], axis=1)
        if (gaps > CROWDED * size).all() and (wanted is not None or apart[row] > CROWDED * size):
            kept.append(row)
            apart = np.minimum(apart, np.linalg.norm(points - points[row], axis=1))
    return kept


def _names(
    contents: dict[str, Any], pictures: Pictures, points: NDArray[Any], rows: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the names of a few points, beside them."""
    chosen = rows[notable(points[rows])]
    flat = {"cliponaxis": False} if points.shape[1] == 2 else {}
    return (
        _at(points[chosen])
        | flat
        | {
            "mode": "markers+text",  # the text keeps clear of a point by the size of its own
            "marker": {"size": 11, "opacity": 0.0, "color": GREY},
            "text": names(contents, pictures.positions[chosen]),
            "textposition": "top center",
            "hoverinfo": "skip",
            "showlegend": False,
        }
    )


def _path(points: NDArray[Any]) -> dict[str, Any]:
    """Return a thin line from each position to the next."""
    drawn = points[evenly(len(points))]
    line = {"color": GREY, "width": 1 if points.shape[1] == 2 else 2}
    shared = {"mode": "lines", "line": line, "hoverinfo": "skip", "opacity": 0.5}
    return _at(drawn) | shared | {"name": "in order", "showlegend": False}


def _markers(
    contents: dict[str, Any],
    pictures: Pictures,
    points: NDArray[Any],
    rows: NDArray[np.int64],
    *,
    grey: bool,
) -> dict[str, Any]:
    flat = points.shape[1] == 2
    where = pictures.coordinates[rows, 0] if not _grid(pictures) else pictures.positions[rows]
    marker: dict[str, Any] = {"size": 9 if flat else 5}
    marker["line"] = {"color": GREY, "width": 1}
    if grey:
        marker |= {
            "color": GREY,
            "symbol": "x-thin" if flat else "circle-open",
            "size": 6 if flat else 4,
        }
    else:
        marker |= {"color": where.tolist(), "coloraxis": "coloraxis"}
    return _at(points[rows]) | {
        "mode": "markers",
        "name": "projected: too uncertain" if grey else "counted well enough",
        "showlegend": grey,
        "marker": marker,
        "text": names(contents, pictures.positions[rows]),
        "hovertemplate": f"{unit(contents)} %{{text}}<extra></extra>",
    }


def _grid(pictures: Pictures) -> bool:
    return pictures.coordinates.shape[1] > 1


def _at(points: NDArray[Any]) -> dict[str, Any]:
    kind = {"type": "scatter" if points.shape[1] == 2 else "scatter3d"}
    axes = zip(("x", "y", "z"), points.T, strict=False)
    return kind | {letter: short(column) for letter, column in axes}


def _map_layout(labels: list[str], one: str, *, equal: bool) -> dict[str, Any]:
    bar = {"title": {"text": one}, "thickness": 12, "len": 0.8}
    scale = {"coloraxis": {"colorscale": colours(), "colorbar": bar}}
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    named: dict[str, Any] = {
        f"{letter}axis": {"title": {"text": label}}
        for letter, label in zip(("x", "y", "z"), labels, strict=False)
    }
    if len(labels) == 3:
        far = 1.0 if equal else 1.15  # a cube fills more of the view than what is flat
        view = {"eye": {"x": 1.75 * far, "y": 1.75 * far, "z": far}}
        aspect = {"aspectmode": "data" if equal else "cube"}  # a position is no distance
        return {"scene": named | aspect | {"camera": view}, "legend": legend} | scale
    if equal:
        named["yaxis"] |= {"scaleanchor": "x"}
    return named | {"legend": legend} | scale


def _narrow_map(dimension: int) -> dict[str, Any]:
    """Put the scale below, and step back so that a box in space is seen whole."""
    bar = {"orientation": "h", "x": 0.5, "xanchor": "center", "len": 0.9, "thickness": 10}
    if dimension == 2:
        return {"coloraxis": {"colorbar": bar | {"y": -0.25, "yanchor": "top"}}, "height": 480}
    view = {"eye": {"x": 2.1, "y": 2.1, "z": 1.2}}
    return {
        "coloraxis": {"colorbar": bar | {"y": 0.0, "yanchor": "top"}},
        "scene": {"camera": view},
        "margin": {"l": 0, "r": 0, "t": 10, "b": 60},
        "height": 440,
    }


def _about_map(contents: dict[str, Any], pictures: Pictures, dimension: int, *, along: bool) -> str:
    rank = pictures.points.shape[1] and effective_rank(contents)
    if not rank:
        return _noise(contents, dimension, along=along)
    core = int((pictures.status == 2).sum())
    first = f"the first {dimension} of " if rank > dimension else ""
    text = f"Neighbours on the map have like tokens: {with_noun(core, unit(contents))} placed by "
    text += f"{first}{with_noun(rank, 'direction')} above the noise"
    if contents["geometry"]["debiased"]["geometry_reason"] is not None:
        text += ", too weak to compare encodings with"
    if along:
        text += f", with the {unit(contents)} itself along the free axis"
    grey = int((pictures.status == 1).sum())
    return text + (f"; {with_noun(grey, 'grey one')} too uncertain to count." if grey else ".")


def _noise(contents: dict[str, Any], dimension: int, *, along: bool) -> str:
    """Say that the map shows noise too, and how much of the distances it shows."""
    share = contents["geometry"]["cumulative_share"]
    held = with_noun(dimension - along, "coordinate")
    free = f", the {unit(contents)} itself has the free axis" if along else ""
    return (
        "Drawn from the distances as published, noise and all, since no direction is known to "
        f"stand above the noise: {held} hold{'s' if held[:2] == '1 ' else ''} "
        f"{rate(share[min(dimension - along, len(share)) - 1])} of their squares{free}."
    )


def _map_table(
    contents: dict[str, Any], pictures: Pictures, points: NDArray[Any]
) -> dict[str, list[Any]]:
    status = {2: "core", 1: "projected", 0: None}
    columns: dict[str, list[Any]] = {unit(contents): names(contents, pictures.positions)}
    columns |= {f"coordinate_{k + 1}": short(column) for k, column in enumerate(points.T)}
    return columns | {"status": [status[int(s)] for s in pictures.status]}


DIMENSIONS = ("dimensions", "Stress against dimension")
ENOUGH = 0.05


def dimensions_figure(contents: dict[str, Any]) -> Figure:
    """Return the curves of stress and of stored numbers by rank."""
    rows = contents["dimensions"]
    if not rows:
        return no_figure(*DIMENSIONS, FLAT)
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
    effective = effective_rank(contents)
    if effective:
        data.append(_mark(effective, max(row["stress"]["raw"] for row in rows)))
    return Figure(
        key=DIMENSIONS[0],
        title=DIMENSIONS[1],
        summary=_about_dimensions(rows, effective),
        data=data,
        layout=layout,
        narrow=stack(2, each=260, legend=5),
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


def _about_dimensions(rows: list[dict[str, Any]], effective: int | None) -> str:
    chosen, why = _enough(rows, effective)
    stored, free = chosen["parameters"]["factored"], chosen["parameters"]["free"]
    cost = f"{stored:,} numbers where a free table takes {free:,}"
    return (
        f"Classical MDS of {with_noun(chosen['rank'], 'dimension')}{why}, leaves a raw stress of "
        f"{figure_of(chosen['stress']['raw'])} as published and stores {cost}."
    )


def _enough(rows: list[dict[str, Any]], effective: int | None) -> tuple[dict[str, Any], str]:
    """Return the rank to speak of: the effective one, or the first drawn one above it."""
    if effective:
        row = next((row for row in rows if row["rank"] >= effective), rows[-1])
        if row["rank"] == effective:
            return row, ", as many as there are directions above the noise"
        held = with_noun(effective, "direction")
        return row, f", the first rank drawn that holds the {held} above the noise"
    row = next((row for row in rows if row["stress"]["raw"] <= ENOUGH), rows[-1])
    what = "no direction stands" if effective == 0 else "no direction is known to stand"
    return row, f", noise and all since {what} above the noise"
