"""Distances between positions as published, of the null, and debiased, on one colour scale.

The last that is there, debiased as a rule, is what one came for: it has the large panel. The others
stand beside it to be compared with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.pipeline import Pictures
from gnomon.report.figure import SEQUENTIAL, Figure, Symmetric, Triangles, evenly, missing
from gnomon.report.figures.panels import axes_of, axis, panels, stacked
from gnomon.report.figures.places import counted, figure_of, names, unit
from gnomon.report.text import percent

KEY, TITLE = "distances", "Distances between positions"
NO_PICTURES = "the survey was saved without geometry.npz; run it again"
FLAT = "all positions have exactly the same law, so every distance is 0"
LARGE = 0.62
"""Share of the width that the large panel has where there are three."""
HEIGHTS = {1: 560, 2: 500, 3: 640}
"""Pixels by number of panels: squares that fill the width of a page leave little above or below."""
SMOOTH_FROM = 100
"""Rows from which a cell may be smaller than a pixel: the browser then scales a picture, and a
diagonal stays a line instead of the dashes that rounding to pixels makes of it."""
NULLS = {"dealt": "tokens dealt at random", "shuffled": "windows shuffled"}


def distances_figure(contents: dict[str, Any], pictures: Pictures | None) -> Figure:
    """Return up to three heat-maps that share their colours."""
    if pictures is None:
        return missing(KEY, TITLE, NO_PICTURES)
    if not pictures.plugin.any():
        return missing(KEY, TITLE, FLAT)
    matrices = distance_matrices(pictures)
    rows = evenly(len(pictures.positions))
    where = pictures.coordinates[:, 0] if pictures.coordinates.shape[1] == 1 else pictures.positions
    data = [
        heatmap(matrix[np.ix_(rows, rows)], where[rows], k, unit(contents))
        for k, matrix in enumerate(matrices.values())
    ]
    titles = [_title(name, pictures) for name in matrices]
    return Figure(
        key=KEY,
        title=TITLE,
        summary=_summary(contents, pictures, thinned=len(rows) < len(where)),
        data=data,
        layout=_layout(titles, largest(matrices.values()), pictures.metric, unit(contents)),
        narrow=_narrow(len(data)),
        table=Triangles(names(contents, pictures.positions), matrices),
        height=HEIGHTS[len(data)],
    )


def distance_matrices(pictures: Pictures) -> dict[str, NDArray[np.float32]]:
    """Return the matrices there are, all of them over all measured positions."""
    found = {"plugin": pictures.plugin}
    if pictures.null.size:
        found["null"] = pictures.null
    if len(pictures.core):
        whole = np.full(pictures.plugin.shape, np.nan, dtype=np.float32)
        whole[np.ix_(pictures.core, pictures.core)] = pictures.debiased
        found["debiased"] = whole
    return found


def heatmap(
    matrix: NDArray[Any], where: NDArray[np.int64], k: int, one: str = "position"
) -> dict[str, Any]:
    """Return the heat-map of a symmetric matrix in panel k."""
    smooth = {"zsmooth": "fast", "connectgaps": False} if len(where) > SMOOTH_FROM else {}
    return smooth | {
        "type": "heatmap",
        "z": Symmetric(matrix),
        "x": where.tolist(),
        "y": where.tolist(),
        "coloraxis": "coloraxis",
        "hovertemplate": f"{one} %{{x}} and {one} %{{y}}: %{{z:.4f}}<extra></extra>",
        "hoverongaps": False,
        **axes_of(k),
    }


def heatmap_layout(titles: list[str], top: float, metric: str) -> dict[str, Any]:
    """Return square panels on one colour scale from 0 to `top`."""
    layout = panels(titles, gap=0.05, right=0.97)
    for k in range(len(titles)):
        square(layout, k)
    bar = {"title": {"text": metric}, "thickness": 12, "len": 0.8}
    layout["coloraxis"] = {"cmin": 0.0, "cmax": top, "colorscale": colours(), "colorbar": bar}
    return layout


def _layout(titles: list[str], top: float, metric: str, one: str) -> dict[str, Any]:
    """Return the panels, the last one large on the left where there are three."""
    layout = heatmap_layout(titles, top, metric)
    for k in range(len(titles)):
        layout[axis("x", k)] |= {"title": {"text": one}}
        layout[axis("y", k)] |= {"title": {"text": one}}
    if len(titles) == 3:
        small = [LARGE + 0.09, 0.97]
        spans = (([0.58, 1.0], small), ([0.0, 0.42], small), ([0.0, 1.0], [0.0, LARGE]))
        for k, (down, across) in enumerate(spans):
            layout[axis("x", k)] |= {"domain": across}
            layout[axis("y", k)] |= {"domain": down}
            if k < 2:
                layout[axis("x", k)].pop("title")
                layout[axis("y", k)].pop("title")
    return layout


def _narrow(count: int) -> dict[str, Any]:
    """Stack the panels, the last one first, under a scale that all of them share."""
    layout = stacked(count, each=300)
    for letter in ("x", "y"):
        spans = [layout[axis(letter, k)]["domain"] for k in range(count)]
        for k, span in enumerate(spans[1:] + spans[:1] if count == 3 else spans):
            layout[axis(letter, k)] = {"domain": span, "title": {"text": ""}}
    bar = {"orientation": "h", "x": 0.5, "xanchor": "center", "len": 1.0, "thickness": 10}
    bar |= {"y": 0.0, "yanchor": "top", "ypad": 34}
    return layout | {"coloraxis": {"colorbar": bar}}


def square(layout: dict[str, Any], k: int) -> None:
    """Make the cells of panel k squares, with its first row on top as in a matrix."""
    bare = {"constrain": "domain", "showgrid": False, "zeroline": False}
    layout[axis("x", k)] |= bare
    layout[axis("y", k)] |= bare | {
        "autorange": "reversed",
        "constraintoward": "top",
        "scaleanchor": axes_of(k)["xaxis"],
    }


def colours() -> list[list[Any]]:
    """Return the scale for sizes, as Plotly reads it."""
    return [list(stop) for stop in SEQUENTIAL]


def largest(matrices: Any) -> float:
    """Return the largest entry of all, which ends the colour scale."""
    return max(float(np.nanmax(matrix)) for matrix in matrices) or 1.0


def _title(name: str, pictures: Pictures) -> str:
    null = NULLS.get(str(pictures.null_kind), "")
    titles = {"plugin": "as published (plug-in)", "null": f"chance alone ({null})"}
    return titles.get(name, "noise taken out (debiased)")


def _summary(contents: dict[str, Any], pictures: Pictures, *, thinned: bool) -> str:
    geometry = contents["geometry"]
    mean, null = geometry["mean_squared"], geometry["null"]
    parts = [f"As published the mean squared distance is {figure_of(mean['plugin'])}"]
    if pictures.null_kind is not None:
        share = percent(null[pictures.null_kind]["share"])
        parts.append(f"chance alone ({NULLS[pictures.null_kind]}) gives {share} of that")
    if mean["debiased"] is None:
        parts.append(f"the noise could not be taken out ({_clause(mean['reason'])})")
    else:
        low, high = mean["interval"]
        nothing = ", which can not be told from nothing" if low <= 0.0 <= high else ""
        parts.append(
            f"with the noise taken out {figure_of(mean['debiased'])} "
            f"[{figure_of(low)}, {figure_of(high)}] is left{nothing}"
        )
    gaps = len(pictures.positions) - len(pictures.core)
    if len(pictures.core) and gaps:
        parts.append(f"blank since too uncertain: {counted(gaps, unit(contents))}")
    if thinned:
        parts.append("evenly spaced positions are drawn")
    return "; ".join(parts) + "."


def _clause(reason: str) -> str:
    return str(reason).rstrip(".")
