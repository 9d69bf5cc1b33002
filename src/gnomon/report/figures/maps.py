"""Positions as points: the first coordinates of classical MDS, coloured along the sequence.

Debiased where a direction stands above the noise; positions outside the core are projected and
grey. Otherwise the plug-in coordinates, called what they are: a cloud that noise has drawn too.
Where there is one direction less than the map has axes, the position itself takes the free axis.
The first position, the last and those farthest from the middle carry their names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.pipeline import Pictures
from gnomon.report.figure import GREY, Figure, evenly, missing, short
from gnomon.report.figures.distances import FLAT, NO_PICTURES, colours
from gnomon.report.figures.places import counted, names, rate, unit

NAMED = 6
"""Points that carry their names for being far from others, at most."""
CROWDED = 0.06
"""Part of the map's width at which two names touch."""
TITLES = {2: "Map of positions in two dimensions", 3: "Map of positions in three dimensions"}


def map_figure(contents: dict[str, Any], pictures: Pictures | None, dimension: int) -> Figure:
    """Return the map in two or three dimensions."""
    key, title = f"map{dimension}d", TITLES[dimension]
    if pictures is None:
        return missing(key, title, NO_PICTURES)
    if not pictures.plugin.any():
        return missing(key, title, FLAT)
    rank = pictures.points.shape[1]
    points = pictures.points if rank else pictures.plugin_points
    directions = int(np.count_nonzero(np.nan_to_num(np.abs(points)).max(axis=0) > 0.0))
    if directions < dimension - 1:
        above = "above the noise" if rank else "in the distances"
        reason = f"only 1 direction stands {above}, which the map in two dimensions shows"
        return missing(key, title, reason)
    along = directions < dimension
    shown, labels = _axes(contents, pictures, points, dimension, along=along)
    return Figure(
        key=key,
        title=title,
        summary=_summary(contents, pictures, dimension, along=along),
        data=_traces(contents, pictures, shown, trusted=bool(rank)),
        layout=_layout(labels, unit(contents), equal=not along),
        narrow=_narrow(dimension),
        table=_table(contents, pictures, points),
        height=520,
    )


def _axes(
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
    contents: dict[str, Any], pictures: Pictures, points: NDArray[Any], *, trusted: bool
) -> list[dict[str, Any]]:
    placed = np.isfinite(points).all(axis=1)
    core = placed & ((pictures.status == 2) if trusted else np.ones(len(points), bool))
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


def _layout(labels: list[str], one: str, *, equal: bool) -> dict[str, Any]:
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


def _narrow(dimension: int) -> dict[str, Any]:
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


def _summary(contents: dict[str, Any], pictures: Pictures, dimension: int, *, along: bool) -> str:
    rank = pictures.points.shape[1] and contents["geometry"]["rank"]["effective"]
    if not rank:
        return _noise(contents, dimension, along=along)
    core = int((pictures.status == 2).sum())
    first = f"the first {dimension} of " if rank > dimension else ""
    text = f"Neighbours on the map have like tokens: {counted(core, unit(contents))} placed by "
    text += f"{first}{counted(rank, 'direction')} above the noise"
    if contents["geometry"]["debiased"]["geometry_reason"] is not None:
        text += ", too weak to compare encodings with"
    if along:
        text += f", with the {unit(contents)} itself along the free axis"
    grey = int((pictures.status == 1).sum())
    return text + (f"; {counted(grey, 'grey one')} too uncertain to count." if grey else ".")


def _noise(contents: dict[str, Any], dimension: int, *, along: bool) -> str:
    """Say that the map shows noise too, and how much of the distances it shows."""
    share = contents["geometry"]["cumulative_share"]
    held = counted(dimension - along, "coordinate")
    free = f", the {unit(contents)} itself has the free axis" if along else ""
    return (
        "Drawn from the distances as published, noise and all, since no direction is known to "
        f"stand above the noise: {held} hold{'s' if held[:2] == '1 ' else ''} "
        f"{rate(share[min(dimension - along, len(share)) - 1])} of their squares{free}."
    )


def _table(
    contents: dict[str, Any], pictures: Pictures, points: NDArray[Any]
) -> dict[str, list[Any]]:
    status = {2: "core", 1: "projected", 0: None}
    columns: dict[str, list[Any]] = {unit(contents): names(contents, pictures.positions)}
    columns |= {f"coordinate_{k + 1}": short(column) for k, column in enumerate(points.T)}
    return columns | {"status": [status[int(s)] for s in pictures.status]}
