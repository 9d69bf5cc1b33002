"""A figure as plain values: what is drawn, one sentence about it, and its numbers as a table.

A figure holds the traces and the layout that Plotly reads, without the colours of paper, text and
grid, which belong to the page (light or dark) and to the notebook. A symmetric matrix is wrapped in
`Symmetric`, so that a page may send its upper triangle alone. Where there is nothing to draw,
`missing` says why, and the rest is empty.

Categories have the hues of Okabe and Ito [okabe2008], in shades whose contrast is at least 3 : 1 on
white and on the dark page; each also has a dash, a marker and a hatching of its own, so that no
meaning rests on colour. Sizes go along cividis, which is read alike with and without red and
green [nunez2018]; signed numbers are blue below zero and vermilion above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import InputError

DARK = "#14171c"
BLUE, VERMILION, GREEN = "#0072b2", "#d55e00", "#00966e"
PURPLE, ORANGE, SKY, OLIVE, GREY = "#bf6b99", "#b97a00", "#3b92c4", "#8c8300", "#7f858e"
CATEGORIES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, OLIVE, GREY)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKERS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "triangle-down", "star")
HATCHES = ("", "/", "x", ".", "-", "|", "+", "\\")
SEQUENTIAL = (
    (0.0, "#00224e"), (0.125, "#123570"), (0.25, "#3b496c"), (0.375, "#575d6d"),
    (0.5, "#707173"), (0.625, "#8a8678"), (0.75, "#a59c74"), (0.875, "#c3b369"), (1.0, "#fee838"),
)  # fmt: skip
"""Cividis in nine steps."""
DIVERGING = [[0.0, "#0072b2"], [0.5, "#d9d9d9"], [1.0, "#d55e00"]]
"""Signed numbers: blue below zero, vermilion above, read alike without red and green."""
DIGITS = 5
"""Significant digits of drawn numbers: more than a screen shows, less than float64 costs."""
MOST_ROWS = 512
"""Rows of a matrix, or bars, that are drawn; of more, evenly spaced ones are taken, and said so."""


@dataclass(frozen=True, eq=False)
class Symmetric:
    """A symmetric matrix with a diagonal of 0; NaN where there is nothing to draw."""

    matrix: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Triangles:
    """A table of pairs i < j: one column for each matrix, whose rows stand for `positions`."""

    positions: Sequence[Any]
    matrices: Mapping[str, NDArray[Any]]


Table = Mapping[str, Sequence[Any]] | Triangles


@dataclass(frozen=True, kw_only=True, eq=False)
class Figure:
    """What is drawn, in words and in numbers."""

    key: str
    title: str
    summary: str
    """One sentence with the numbers that matter."""
    data: list[dict[str, Any]] = field(default_factory=list)
    """Traces of Plotly; arrays as NumPy or lists, symmetric matrices as `Symmetric`."""
    layout: dict[str, Any] = field(default_factory=dict)
    narrow: dict[str, Any] = field(default_factory=dict)
    """What to change in the layout on a screen under 600 pixels, `height` among it."""
    table: Table = field(default_factory=dict)
    missing: str | None = None
    """Why there is nothing to draw, where there is nothing."""
    height: int = 420


def no_figure(key: str, title: str, reason: str) -> Figure:
    """Return the figure that is not there, with the reason, which is a clause without a stop."""
    return Figure(key=key, title=title, summary=f"Not drawn: {reason}.", missing=reason)


def short(values: Any) -> list[Any]:
    """Return numbers to five significant digits, and None for what is not finite.

    >>> short([0.1234567, float("nan"), 1234567])
    [0.12346, None, 1234600.0]
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim > 1:
        return [short(row) for row in array]
    finite = np.isfinite(array)
    return [float(f"{x:.{DIGITS}g}") if ok else None for x, ok in zip(array, finite, strict=True)]


def colours() -> list[list[Any]]:
    """Return the scale for sizes, as Plotly reads it."""
    return [list(stop) for stop in SEQUENTIAL]


def columns_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the table of rows as columns by name.

    >>> columns_of(("a", "b"), [(1, 2), (3, 4)])
    {'a': [1, 3], 'b': [2, 4]}
    """
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def band(x: Any, low: Any, high: Any) -> dict[str, Any]:
    """Return the region between two curves, as a trace that no legend names."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": short(np.concatenate([x, x[::-1]])),
        "y": short(np.concatenate([low, high[::-1]])),
        "fill": "toself",
        "fillcolor": f"{GREY}40",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def evenly(count: int, most: int = MOST_ROWS) -> NDArray[np.int64]:
    """Return at most `most` evenly spaced indices of `count`, the first and the last among them.

    >>> evenly(7, 4).tolist()
    [0, 2, 4, 6]
    """
    if count <= most:
        return np.arange(count)
    return np.rint(np.linspace(0, count - 1, most)).astype(np.int64)


def to_plotly(figure: Figure) -> Any:
    """Return the figure as plotly.graph_objects.Figure, for a notebook or a file."""
    if figure.missing is not None:
        raise InputError(f"{figure.title} cannot be drawn: {figure.missing}.")
    from plotly.graph_objects import Figure as Drawn

    layout = {"height": figure.height, **figure.layout, "title": {"text": figure.title}}
    return Drawn(data=[_plain(trace) for trace in figure.data], layout=_plain(layout))


def _plain(value: Any) -> Any:
    """Unwrap what only the page knows."""
    if isinstance(value, Symmetric):
        return np.asarray(value.matrix)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value
