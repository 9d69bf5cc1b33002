"""Panels side by side in one figure, which a narrow screen stacks.

Axis k of Plotly is called x, x2, x3 in a trace and xaxis, xaxis2, xaxis3 in a layout. Titles are
annotations that refer to the domain of their own axes, so they follow a panel that is moved.
"""

from __future__ import annotations

from typing import Any

_STACKED_GAP = 90
"""Pixels between stacked panels: a title, tick labels and the name of an axis."""
_LEGEND_LINE = 22
LEGEND = {"orientation": "h", "yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.0}
"""At the foot of the figure, where it keeps clear of the names of axes whatever the height."""


def axes_of(k: int) -> dict[str, str]:
    """Return the axes of panel k (from 0) for a trace.

    >>> axes_of(0), axes_of(2)
    ({'xaxis': 'x', 'yaxis': 'y'}, {'xaxis': 'x3', 'yaxis': 'y3'})
    """
    return {"xaxis": f"x{_number(k)}", "yaxis": f"y{_number(k)}"}


def panels(
    titles: list[str],
    *,
    columns: int | None = None,
    gap: float = 0.08,
    right: float = 1.0,
    row_gap: float = 0.16,
) -> dict[str, Any]:
    """Return the layout of panels with these titles, `columns` in a row (default all)."""
    across = columns or len(titles)
    down = -(-len(titles) // across)
    width = (right - gap * (across - 1)) / across
    height = (1.0 - row_gap * (down - 1)) / down
    layout: dict[str, Any] = {"annotations": [_title(text, k) for k, text in enumerate(titles)]}
    for k in range(len(titles)):
        row, column = divmod(k, across)
        start, top = column * (width + gap), 1.0 - row * (height + row_gap)
        anchors = {"x": {"anchor": f"y{_number(k)}"}, "y": {"anchor": f"x{_number(k)}"}}
        spans = {"x": _span(start, start + width), "y": _span(top - height, top)}
        for letter in ("x", "y"):
            placed = {"domain": spans[letter], "automargin": True, **anchors[letter]}
            layout[axis(letter, k)] = placed
    return layout


def stack(count: int, *, each: int, right: float = 1.0, legend: int = 0) -> dict[str, Any]:
    """Return what changes where `count` panels of `each` pixels stand under one another.

    `legend` is the number of its lines, which take their room from below.
    """
    height = count * each + (count - 1) * _STACKED_GAP
    layout: dict[str, Any] = {"height": height + 120 + _LEGEND_LINE * legend}
    for k in range(count):
        top = 1.0 - k * (each + _STACKED_GAP) / height
        layout[axis("x", k)] = {"domain": [0.0, right]}
        layout[axis("y", k)] = {"domain": _span(top - each / height, top)}
    return layout


def axis(letter: str, k: int) -> str:
    """Return what the layout calls an axis of panel k.

    >>> axis("y", 0), axis("x", 1)
    ('yaxis', 'xaxis2')
    """
    return f"{letter}axis{_number(k)}"


def _number(k: int) -> str:
    return "" if k == 0 else str(k + 1)


def _span(low: float, high: float) -> list[float]:
    return [round(max(low, 0.0), 4), round(min(high, 1.0), 4)]


def _title(text: str, k: int) -> dict[str, Any]:
    where = {"xref": f"x{_number(k)} domain", "yref": f"y{_number(k)} domain"}
    anchor = {"x": 0.0, "y": 1.0, "xanchor": "left", "yanchor": "bottom", "yshift": 4}
    return {"text": text, "showarrow": False, "align": "left", **where, **anchor}
