"""A grid corpus as pictures of its grid: tokens, distances from a cell, and the first coordinates.

Of a grid with more than two axes the middle plane of the last two is shown.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.pipeline import Pictures
from gnomon.report.figure import Figure, missing, short
from gnomon.report.figures.distances import FLAT, NO_PICTURES, colours, square
from gnomon.report.figures.panels import axes_of, axis, panels, stacked
from gnomon.report.figures.places import figure_of, name, names

KEY, TITLE = "grid", "The corpus as a grid"
DIVERGING = [[0.0, "#0072b2"], [0.5, "#d9d9d9"], [1.0, "#d55e00"]]
"""Signed numbers: blue below zero, vermilion above, told apart without red and green."""


def grid_figure(contents: dict[str, Any], pictures: Pictures | None) -> Figure:
    """Return the images of a grid corpus."""
    if pictures is None:
        return missing(KEY, TITLE, NO_PICTURES)
    if not pictures.plugin.any():
        return missing(KEY, TITLE, FLAT)
    axes = tuple(contents["corpus"]["axes"])
    trusted = pictures.points.shape[1] > 0
    columns = _columns(contents, pictures, axes, trusted=trusted)
    scales = ["coloraxis", *["coloraxis2"] * 2, *["coloraxis3"] * 3]
    data = [
        _image(_plane(values, pictures.positions, axes), k, scales[k])
        for k, values in enumerate(columns.values())
    ]
    layout = panels(list(columns), columns=3, gap=0.1, right=0.93)
    for k in range(len(data)):
        square(layout, k)
    layout |= _scales(pictures.metric, list(columns.values()))
    return Figure(
        key=KEY,
        title=TITLE,
        summary=_summary(contents, pictures, axes, trusted=trusted),
        data=data,
        layout=layout,
        narrow=_narrow(len(data)),
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


def _columns(
    contents: dict[str, Any], pictures: Pictures, axes: tuple[int, ...], *, trusted: bool
) -> dict[str, NDArray[Any]]:
    tokens = np.array([line["tokens"] for line in contents["positions"]], dtype=float)
    found = {"tokens": tokens[pictures.positions]}
    for row in chosen_cells(pictures, axes):
        cell = name(contents, int(pictures.positions[row]))
        found[f"distance from {cell}"] = _from(pictures, row)
    points = pictures.points if trusted else pictures.plugin_points
    return found | {f"coordinate {k + 1}": column for k, column in enumerate(points.T)}


def _from(pictures: Pictures, row: int) -> NDArray[Any]:
    """Return the distances from one cell, debiased where that cell is core."""
    where = np.flatnonzero(pictures.core == row)
    if not where.size or not pictures.debiased.any():
        return pictures.plugin[row]
    whole = np.full(len(pictures.positions), np.nan)
    whole[pictures.core] = pictures.debiased[where[0]]
    return whole


def _plane(
    values: NDArray[Any], positions: NDArray[np.int64], axes: tuple[int, ...]
) -> NDArray[Any]:
    whole = np.full(int(np.prod(axes)), np.nan)
    whole[positions] = values
    return whole.reshape(axes)[tuple((size - 1) // 2 for size in axes[:-2])]


def _image(plane: NDArray[Any], k: int, scale: str) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "z": short(plane),
        "coloraxis": scale,
        "hovertemplate": "cell (%{y}, %{x}): %{z:.4g}<extra></extra>",
        "hoverongaps": False,
        **axes_of(k),
    }


def _scales(metric: str, columns: list[NDArray[Any]]) -> dict[str, Any]:
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


def _narrow(count: int) -> dict[str, Any]:
    """Stack the images; each scale stands beside the first image that it belongs to."""
    layout = stacked(count, each=240, right=0.8)
    for k, scale in ((0, "coloraxis"), (1, "coloraxis2"), (3, "coloraxis3")):
        if k < count:
            low, high = layout[axis("y", k)]["domain"]
            bar = {"x": 0.84, "y": high, "yanchor": "top", "len": round(high - low, 4)}
            layout[scale] = {"colorbar": bar}
    return layout


def _top(columns: list[NDArray[Any]]) -> float:
    return max((float(np.nanmax(np.abs(column))) for column in columns), default=0.0) or 1.0


def _summary(
    contents: dict[str, Any], pictures: Pictures, axes: tuple[int, ...], *, trusted: bool
) -> str:
    centre, corner = chosen_cells(pictures, axes)
    apart = _from(pictures, centre)[corner]
    cells = [name(contents, int(pictures.positions[row])) for row in (centre, corner)]
    kind = "noise taken out" if trusted else "as published"
    plane = "" if len(axes) == 2 else ", of which the middle plane of the last two is shown"
    gap = f" is {figure_of(float(apart))}" if np.isfinite(apart) else " is not known"
    return (
        f"A grid of {' x '.join(map(str, axes))} cells{plane}: the distance between "
        f"{cells[0]}, in the middle, and {cells[1]}, in a corner,{gap} ({kind})."
    )
