"""The positions of a survey: their tokens, their distances, and a grid corpus as pictures.

Few tokens make a position uncertain, and so do many rare types: where every function has its name,
thousands of tokens say little. Distances are drawn as published, of the null, and with the noise
taken out, on one colour scale; the last that is there, which one came for, has the large panel. Of
a grid with more than two axes the middle plane of the last two is shown.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.pipeline import Pictures
from gnomon.report.figure import (
    BLUE,
    DIVERGING,
    GREY,
    HATCHES,
    ORANGE,
    SKY,
    VERMILION,
    Figure,
    Symmetric,
    Triangles,
    colours,
    evenly,
    no_figure,
    short,
)
from gnomon.report.panels import axes_of, axis, panels, stack
from gnomon.report.phrases import figure_of, log_axis, name, names, unit, with_noun
from gnomon.report.text import percent

COUNTS = ("counts", "Tokens by position")
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
        _count_bars(
            status, [k for k, line in enumerate(chosen) if line["status"] == status], chosen, called
        )
        for status in STATUS
        if any(line["status"] == status for line in chosen)
    ]
    what = unit(contents)
    kind = log_axis(seen.tolist()) if log else {"rangemode": "tozero"}
    return Figure(
        key=COUNTS[0],
        title=COUNTS[1] if what != "bin" else "Tokens by bin of positions",
        summary=_about_counts(contents, tokens, thinned=len(drawn) < len(lines)),
        data=data,
        layout={
            "xaxis": {"title": {"text": what if what != "bin" else "first position of the bin"}},
            "yaxis": {"title": {"text": "tokens"}, **kind},
            "barmode": "overlay",
            "bargap": 0.0 if len(drawn) > 64 else 0.15,
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "showlegend": True,
        },
        table=_counts_table(contents),
        height=340,
    )


def _count_bars(
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


def _about_counts(contents: dict[str, Any], tokens: Any, *, thinned: bool) -> str:
    status = [line["status"] for line in contents["positions"]]
    total, one = len(status), unit(contents)
    low, high = int(tokens.min()), int(tokens.max())
    spread = f"{high:,} tokens" if low == high else f"{low:,} to {high:,} tokens"
    parts = [f"Each of the {with_noun(total, one)} has {spread}"]
    if "core" in status:
        core = status.count("core")
        which = "all are" if core == total > 1 else f"{core:,} {_be(core)}"
        parts.append(f"{which} counted well enough to take the noise out")
    if status.count("projected"):
        parts.append(_why_projected(contents, tokens, status))
    if status.count("unestimated"):
        parts.append(_why_unestimated(contents))
    if status.count("masked"):
        least = contents["corpus"]["minimum_count"]
        out = status.count("masked")
        have = "has" if out == 1 else "have"
        parts.append(f"{out:,} {have} fewer than {least:,} and {_be(out)} left out")
    return _sentence(parts, thinned=thinned)


def _sentence(parts: list[str], *, thinned: bool) -> str:
    return "; ".join([*parts, *["evenly spaced ones are drawn"] * thinned]) + "."


def _why_projected(contents: dict[str, Any], tokens: Any, status: list[Any]) -> str:
    """Say why a position is not counted well enough: too few tokens, or too scattered ones."""
    rows = [k for k, found in enumerate(status) if found == "projected"]
    which = f"{unit(contents)} {names(contents, rows)[0]}" if len(rows) == 1 else f"{len(rows):,}"
    least = min((int(tokens[k]) for k, found in enumerate(status) if found == "core"), default=0)
    if int(tokens[rows].min()) < max(least, 1):
        return f"{which} only well enough to be placed among those"
    why = "many rare types, or tokens that come in clumps, leave more noise than their number tells"
    return f"{which} only well enough to be placed among those ({why})"


def _why_unestimated(contents: dict[str, Any]) -> str:
    """Say which positions could not be debiased though they have tokens enough, and why."""
    rows = [k for k, line in enumerate(contents["positions"]) if line["status"] == "unestimated"]
    why = "; ".join(dict.fromkeys(contents["positions"][k]["reason"] for k in rows))
    which = f"{unit(contents)} {names(contents, rows)[0]}" if len(rows) == 1 else f"{len(rows):,}"
    return f"{which} {_be(len(rows))} left out ({why})"


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


def _counts_table(contents: dict[str, Any]) -> dict[str, list[Any]]:
    lines = contents["positions"]
    keys = ("index", *(("first", "last") if "first" in lines[0] else ()))
    columns = {
        key: [line[key] for line in lines] for key in (*keys, "tokens", "status", "distinct")
    }
    return columns if len(contents["corpus"]["axes"]) == 1 else {"cell": names(contents)} | columns


DISTANCES = ("distances", "Distances between positions")
NO_PICTURES = "the survey was saved without geometry.npz; run it again"
FLAT = "all positions have exactly the same token distribution, so every distance is 0"
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
        return no_figure(*DISTANCES, NO_PICTURES)
    if not pictures.plugin.any():
        return no_figure(*DISTANCES, FLAT)
    matrices = distance_matrices(pictures)
    rows = evenly(len(pictures.positions))
    where = pictures.coordinates[:, 0] if pictures.coordinates.shape[1] == 1 else pictures.positions
    data = [
        heatmap(matrix[np.ix_(rows, rows)], where[rows], k, unit(contents))
        for k, matrix in enumerate(matrices.values())
    ]
    titles = [_distances_title(name, pictures) for name in matrices]
    return Figure(
        key=DISTANCES[0],
        title=DISTANCES[1],
        summary=_about_distances(contents, pictures, thinned=len(rows) < len(where)),
        data=data,
        layout=_distances_layout(
            titles, largest(matrices.values()), pictures.metric, unit(contents)
        ),
        narrow=_narrow_distances(len(data)),
        table=Triangles(names(contents, pictures.positions), matrices),
        height=HEIGHTS[len(data)],
    )


def distance_matrices(pictures: Pictures) -> dict[str, NDArray[np.float32]]:
    """Return the matrices there are, all of them over all measured positions."""
    found = {"plugin": pictures.plugin}
    if pictures.null.size:
        found["null"] = pictures.null
    if len(pictures.core):
        padded = np.full(pictures.plugin.shape, np.nan, dtype=np.float32)
        padded[np.ix_(pictures.core, pictures.core)] = pictures.debiased
        found["debiased"] = padded
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


def _distances_layout(titles: list[str], top: float, metric: str, one: str) -> dict[str, Any]:
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


def _narrow_distances(count: int) -> dict[str, Any]:
    """Stack the panels, the last one first, under a scale that all of them share."""
    layout = stack(count, each=300)
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


def largest(matrices: Any) -> float:
    """Return the largest entry of all, which ends the colour scale."""
    return max(float(np.nanmax(matrix)) for matrix in matrices) or 1.0


def _distances_title(name: str, pictures: Pictures) -> str:
    null = NULLS.get(str(pictures.null_kind), "")
    titles = {"plugin": "as published (plug-in)", "null": f"chance alone ({null})"}
    return titles.get(name, "noise taken out (debiased)")


def _about_distances(contents: dict[str, Any], pictures: Pictures, *, thinned: bool) -> str:
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
        nothing = ", which is not significant" if low <= 0.0 <= high else ""
        parts.append(
            f"with the noise taken out {figure_of(mean['debiased'])} "
            f"[{figure_of(low)}, {figure_of(high)}] is left{nothing}"
        )
    gaps = len(pictures.positions) - len(pictures.core)
    if len(pictures.core) and gaps:
        parts.append(f"blank since too uncertain: {with_noun(gaps, unit(contents))}")
    return _sentence(parts, thinned=thinned)


def _clause(reason: str) -> str:
    return str(reason).rstrip(".")


GRID = ("grid", "The corpus as a grid")


def grid_figure(contents: dict[str, Any], pictures: Pictures | None) -> Figure:
    """Return the images of a grid corpus."""
    if pictures is None:
        return no_figure(*GRID, NO_PICTURES)
    if not pictures.plugin.any():
        return no_figure(*GRID, FLAT)
    axes = tuple(contents["corpus"]["axes"])
    denoised = pictures.points.shape[1] > 0
    columns = _grid_columns(contents, pictures, axes, denoised=denoised)
    scales = ["coloraxis", *["coloraxis2"] * 2, *["coloraxis3"] * 3]
    data = [
        _image(_plane(values, pictures.positions, axes), k, scales[k])
        for k, values in enumerate(columns.values())
    ]
    layout = panels(list(columns), columns=3, gap=0.1, right=0.93)
    for k in range(len(data)):
        square(layout, k)
    layout |= _grid_scales(pictures.metric, list(columns.values()))
    return Figure(
        key=GRID[0],
        title=GRID[1],
        summary=_about_grid(contents, pictures, axes, denoised=denoised),
        data=data,
        layout=layout,
        narrow=_narrow_grid(len(data)),
        table={"cell": names(contents, pictures.positions)}
        | {title: short(values) for title, values in columns.items()},
        height=640 if len(data) > 3 else 360,
    )


def chosen_cells(pictures: Pictures, axes: tuple[int, ...]) -> tuple[int, int]:
    """Return the rows of the measured cells nearest to the centre and to the first corner."""
    away = pictures.coordinates - (np.array(axes) - 1) / 2.0
    centre = int((away**2).sum(axis=1).argmin())
    middle = np.array([(size - 1) // 2 for size in axes[:-2]] + [0, 0])
    corner = int(((pictures.coordinates - middle) ** 2).sum(axis=1).argmin())
    return centre, corner


def _grid_columns(
    contents: dict[str, Any], pictures: Pictures, axes: tuple[int, ...], *, denoised: bool
) -> dict[str, NDArray[Any]]:
    tokens = np.array([line["tokens"] for line in contents["positions"]], dtype=float)
    found = {"tokens": tokens[pictures.positions]}
    for row in chosen_cells(pictures, axes):
        cell = name(contents, int(pictures.positions[row]))
        found[f"distance from {cell}"] = _from(pictures, row)
    points = pictures.points if denoised else pictures.plugin_points
    return found | {f"coordinate {k + 1}": column for k, column in enumerate(points.T)}


def _from(pictures: Pictures, row: int) -> NDArray[Any]:
    """Return the distances from one cell, debiased where that cell is core."""
    where = np.flatnonzero(pictures.core == row)
    if not where.size or not pictures.debiased.any():
        return pictures.plugin[row]
    row_of_all = np.full(len(pictures.positions), np.nan)
    row_of_all[pictures.core] = pictures.debiased[where[0]]
    return row_of_all


def _plane(
    values: NDArray[Any], positions: NDArray[np.int64], axes: tuple[int, ...]
) -> NDArray[Any]:
    cells = np.full(int(np.prod(axes)), np.nan)
    cells[positions] = values
    return cells.reshape(axes)[tuple((size - 1) // 2 for size in axes[:-2])]


def _image(plane: NDArray[Any], k: int, scale: str) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "z": short(plane),
        "coloraxis": scale,
        "hovertemplate": "cell (%{y}, %{x}): %{z:.4g}<extra></extra>",
        "hoverongaps": False,
        **axes_of(k),
    }


def _grid_scales(metric: str, columns: list[NDArray[Any]]) -> dict[str, Any]:
    """Return the scales of tokens, of distances and of coordinates; the last has two signs."""
    coordinates = columns[3:]
    bar = {"thickness": 10, "len": 0.42 if coordinates else 1.0, "y": 1.0, "yanchor": "top"}
    tokens, apart, largest = (_top(part) for part in (columns[:1], columns[1:3], coordinates))
    found: dict[str, Any] = {
        "coloraxis": {
            "colorscale": colours(),
            "cmin": 0.0,
            "cmax": tokens,
            "colorbar": bar | {"x": 0.255},
        },
        "coloraxis2": {
            "colorscale": colours(),
            "cmin": 0.0,
            "cmax": apart,
            "colorbar": bar | {"x": 0.945},
        },
    }
    found["coloraxis2"]["colorbar"] |= {"title": {"text": metric}}
    signed: dict[str, Any] = {"colorscale": DIVERGING, "cmin": -largest, "cmax": largest}
    signed["colorbar"] = bar | {"x": 0.945, "y": 0.0, "yanchor": "bottom"}
    return found | ({"coloraxis3": signed} if coordinates else {})


def _narrow_grid(count: int) -> dict[str, Any]:
    """Stack the images; each scale stands beside the first image that it belongs to."""
    layout = stack(count, each=240, right=0.8)
    for k, scale in ((0, "coloraxis"), (1, "coloraxis2"), (3, "coloraxis3")):
        if k < count:
            low, high = layout[axis("y", k)]["domain"]
            bar = {"x": 0.84, "y": high, "yanchor": "top", "len": round(high - low, 4)}
            layout[scale] = {"colorbar": bar}
    return layout


def _top(columns: list[NDArray[Any]]) -> float:
    return max((float(np.nanmax(np.abs(column))) for column in columns), default=0.0) or 1.0


def _about_grid(
    contents: dict[str, Any], pictures: Pictures, axes: tuple[int, ...], *, denoised: bool
) -> str:
    centre, corner = chosen_cells(pictures, axes)
    apart = _from(pictures, centre)[corner]
    cells = [name(contents, int(pictures.positions[row])) for row in (centre, corner)]
    kind = "noise taken out" if denoised else "as published"
    plane = "" if len(axes) == 2 else ", of which the middle plane of the last two is shown"
    gap = f" is {figure_of(float(apart))}" if np.isfinite(apart) else " is not known"
    return (
        f"A grid of {' x '.join(map(str, axes))} cells{plane}: the distance between "
        f"{cells[0]}, in the middle, and {cells[1]}, in a corner,{gap} ({kind})."
    )
