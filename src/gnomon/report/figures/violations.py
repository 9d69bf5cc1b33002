"""Violations of monotonicity: how often a farther position is nearer in distance.

An encoding is not asked for none: an exact copy of the corpus's geometry has those of the corpus,
which are the vertical lines. Random distances have a half.
"""

from __future__ import annotations

from typing import Any

from gnomon.report.figure import GREY, ORANGE, VERMILION, Figure, missing
from gnomon.report.figures.bars import bars, called, height_of, names_axis, numbers, ordered
from gnomon.report.figures.distances import FLAT
from gnomon.report.figures.panels import LEGEND
from gnomon.report.figures.places import rate
from gnomon.report.text import percent

KEY, TITLE = "violations", "Violations of monotonicity"


def violations_figure(contents: dict[str, Any]) -> Figure:
    """Return the shares of violated triples beside those of the corpus."""
    lines, own = ordered(contents["encodings"]), contents["geometry"]["monotonicity"]
    if not lines:
        return missing(KEY, TITLE, FLAT)
    if own["violations"] is None:
        return missing(KEY, TITLE, str(own.get("reason", "there are no triples to compare")))
    found = contents["geometry"]["debiased"]
    debiased = None if found is None else found["violations"]
    data = bars(lines, _share)
    data.append(_line(own["violations"], lines, "corpus as published", VERMILION, "dash"))
    shapes = []
    if debiased is not None:
        data.append(_line(debiased["value"], lines, "corpus, noise taken out", ORANGE, "solid"))
        shapes.append(_interval(*debiased["interval"]))
    data.append(_line(0.5, lines, "random distances", GREY, "dot"))
    top = 1.2 * max([0.55, *(_share(e) or 0.0 for e in lines)])
    data.append(numbers(lines, _share, end=top, text=rate))
    return Figure(
        key=KEY,
        title=TITLE,
        summary=_summary(contents, lines, debiased),
        data=data,
        layout={
            "xaxis": {
                "title": {"text": "share of triples that are violated"},
                "range": [0.0, top],
                "tickformat": ".0%",
                "tickvals": [0.1 * k for k in range(int(10 * top / 1.2 + 1e-9) + 1)],
            },
            "yaxis": names_axis(lines) | {"automargin": True},
            "legend": LEGEND,
            "barmode": "overlay",
            "shapes": shapes,
        },
        narrow={"height": height_of(lines) + 130},  # the legend has a line for each name
        table=_table(lines, own, debiased),
        height=height_of(lines),
    )


def _share(found: dict[str, Any]) -> float | None:
    value: float | None = found["monotonicity"]["violations"]
    return value


def _line(
    value: float, lines: list[dict[str, Any]], name: str, colour: str, dash: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{name}: {percent(value)}",
        "x": [value, value],
        "y": [called(lines[0]), called(lines[-1])],
        "line": {"color": colour, "dash": dash, "width": 2},
        "hoverinfo": "skip",
    }


def _interval(low: float, high: float) -> dict[str, Any]:
    ends = {"x0": max(low, 0.0), "x1": min(high, 1.0), "y0": 0.0, "y1": 1.0}
    look = {"fillcolor": ORANGE, "opacity": 0.2, "line": {"width": 0}, "layer": "below"}
    return {"type": "rect", **ends, "xref": "x", "yref": "y domain", **look}


def _summary(
    contents: dict[str, Any], lines: list[dict[str, Any]], debiased: dict[str, Any] | None
) -> str:
    own = rate(contents["geometry"]["monotonicity"]["violations"])
    rest = "" if debiased is None else f" ({rate(debiased['value'])} with the noise taken out)"
    known = [(share, e["shown"]) for e in lines if (share := _share(e)) is not None]
    (low, least), (high, most) = min(known), max(known)
    return (
        f"In {own} of triples the corpus has the smaller distance for the farther position{rest}: "
        f"an encoding of the same geometry has as many such triples, and those drawn have from "
        f"{rate(low)} ({least}) to {rate(high)} ({most})."
    )


def _table(
    lines: list[dict[str, Any]], own: dict[str, Any], debiased: dict[str, Any] | None
) -> dict[str, list[Any]]:
    rows = [(e["label"], e["lift"], _share(e), e["monotonicity"]["ties"]) for e in lines]
    rows.append(("corpus, plug-in", None, own["violations"], own["ties"]))
    if debiased is not None:
        rows.append(("corpus, debiased", None, debiased["value"], None))
    names = ("of", "lift", "violations", "ties")
    return {key: list(column) for key, column in zip(names, zip(*rows, strict=True), strict=True)}
