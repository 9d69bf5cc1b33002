"""Horizontal bars of encodings: those fixed beforehand, those fitted, and the published lifts.

The kernel lift, which treats all encodings alike, comes first; a line under another lift is hatched
and says which. Names are shared by all panels. The numbers stand in a column at the right end of a
panel, where no bar, whisker or line of reference runs through them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.report.figure import BLUE, GREEN, HATCHES, ORANGE
from gnomon.report.figures.panels import axes_of
from gnomon.report.figures.places import as_text, figure_of

FITTED = ("mds", "mds-low-rank", "smacof")
KINDS = {
    "fixed": ("fixed encodings", BLUE, HATCHES[0]),
    "fitted": ("fitted to this corpus", GREEN, HATCHES[3]),
    "lift": ("other lifts, as published", ORANGE, HATCHES[1]),
}
Value = Callable[[dict[str, Any]], float | None]


def ordered(encodings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the kernel lifts first, each group in the order of the survey."""
    return sorted(named(encodings), key=lambda found: found["lift"] != "kernel")


def named(encodings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines with `shown`, a name that no other line has: two tables may share theirs."""
    found: list[dict[str, Any]] = []
    for line in encodings:
        lift = "" if line["lift"] == "kernel" else f" ({line['lift']} lift)"
        name = first = f"{line['label']}{lift}"
        taken = {other["shown"] for other in found}
        tries = 1
        while name in taken:
            tries += 1
            name = f"{first}, no. {tries}"
        found.append({**line, "shown": name})
    return found


def called(found: dict[str, Any]) -> str:
    """Return the name of a line for a picture."""
    return as_text(found["shown"])


def kind_of(found: dict[str, Any]) -> str:
    """Return the kind whose colour and hatching a line has."""
    if found["lift"] != "kernel":
        return "lift"
    return "fitted" if found["name"] in FITTED else "fixed"


def bars(
    encodings: list[dict[str, Any]], value: Value, *, panel: int = 0, least: float | None = None
) -> list[dict[str, Any]]:
    """Return a trace for each kind of line; a bar below `least` has no length.

    The exact number stands in `customdata`.
    """
    traces = []
    for kind, (label, colour, hatch) in KINDS.items():
        lines = [e for e in encodings if kind_of(e) == kind and value(e) is not None]
        if not lines:
            continue
        exact = [float(value(e) or 0.0) for e in lines]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": label,
                "legendgroup": kind,
                "showlegend": panel == 0,
                "y": [called(e) for e in lines],
                "x": exact if least is None else [max(x, least) for x in exact],
                "customdata": exact,
                "marker": {"color": colour, "pattern": {"shape": hatch}},
                "hovertemplate": "%{y}: %{customdata:.5g}<extra></extra>",
                **axes_of(panel),
            }
        )
    return traces


def numbers(
    encodings: list[dict[str, Any]],
    value: Value,
    *,
    end: float,
    panel: int = 0,
    text: Callable[[float], str] | None = None,
) -> dict[str, Any]:
    """Return the numbers of the bars as a column that ends at `end` of the axis."""
    written = text or number
    lines = [(called(e), x) for e in encodings if (x := value(e)) is not None]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [end] * len(lines),
        "y": [name for name, _ in lines],
        "text": [written(x) for _, x in lines],
        "textposition": "middle left",
        "showlegend": False,
        "hoverinfo": "skip",
        "cliponaxis": False,
        **axes_of(panel),
    }


def number(value: float) -> str:
    """Return the number of a bar as text; the exact one is in the table.

    >>> number(0.0), number(4.2e-7), number(0.1234), number(13_271.0)
    ('0', '<0.001', '0.123', '13,300')
    """
    return "<0.001" if 1e-12 < abs(value) < 1e-3 else figure_of(value)


def names_axis(encodings: list[dict[str, Any]], *, shown: bool = True) -> dict[str, Any]:
    """Return the axis of names, the first on top."""
    return {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": [called(e) for e in encodings],
        "range": [len(encodings) - 0.4, -0.6],
        "showticklabels": shown,
        "showgrid": False,
    }


def height_of(encodings: list[dict[str, Any]]) -> int:
    """Return the height at which names do not touch."""
    return 26 * len(encodings) + 150
