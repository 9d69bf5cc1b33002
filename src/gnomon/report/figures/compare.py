"""Several surveys beside each other: their distances, their directions, and how encodings fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnomon.report.figure import BLUE, CATEGORIES, GREY, HATCHES, MARKERS, ORANGE, Figure, no_figure
from gnomon.report.figures.directions import effective_rank
from gnomon.report.figures.encodings import name_of, with_names
from gnomon.report.panels import LEGEND
from gnomon.report.phrases import (
    as_text,
    encoding_name,
    figure_of,
    interval_key,
    leaves,
    nearest_known,
    stress_measure,
)

Surveys = Sequence[tuple[str, dict[str, Any]]]


def compare_figures(surveys: Surveys) -> list[Figure]:
    """Return the figures of several surveys: (label, contents of survey.json) each."""
    found = _unlike(surveys)
    return [distances(found), directions(found), stresses(found)]


def _unlike(surveys: Surveys) -> Surveys:
    """Number the labels that occur more than once."""
    labels = [label for label, _ in surveys]
    return [
        (label if labels.count(label) == 1 else f"{label}, no. {labels[: k + 1].count(label)}", one)
        for k, (label, one) in enumerate(surveys)
    ]


def distances(surveys: Surveys) -> Figure:
    """Return mean squared distances as published and with the noise taken out."""
    labels = [label for label, _ in surveys]
    means = [contents["geometry"]["mean_squared"] for _, contents in surveys]
    published = [mean.get("plugin_core", mean["plugin"]) for mean in means]
    debiased = [mean["debiased"] for mean in means]
    data = [
        _bars(labels, published, "as published (plug-in)", GREY, 1),
        _bars(labels, debiased, "noise taken out (debiased)", BLUE, 0),
    ]
    bounds = [mean["interval"] or (None, None) for mean in means]
    data[1]["error_x"] = _errors(debiased, bounds)
    shares = [f"{label} {figure_of(value)}" for label, value in zip(labels, debiased, strict=True)]
    return Figure(
        key="compare-distances",
        title="Mean squared distance of each corpus",
        summary=f"With the noise taken out the mean squared distance is: {', '.join(shares)}.",
        data=data,
        layout=_layout("mean squared distance between positions"),
        table={
            "survey": labels,
            "plugin": published,
            "debiased": debiased,
            "low": [bound[0] for bound in bounds],
            "high": [bound[1] for bound in bounds],
        },
        height=60 * len(labels) + 180,
    )


def directions(surveys: Surveys) -> Figure:
    """Return how many directions stand above the noise, and how many of them matter."""
    labels = [label for label, _ in surveys]
    ranks = [effective_rank(contents) for _, contents in surveys]
    matter = [_participation(contents) for _, contents in surveys]
    known = [
        f"{label} {rank}" for label, rank in zip(labels, ranks, strict=True) if rank is not None
    ]
    if not known:
        reason = "the noise could be taken out of none of these corpora"
        return no_figure("compare-directions", "Directions above the noise", reason)
    return Figure(
        key="compare-directions",
        title="Directions above the noise",
        summary=f"Directions that exceed noise: {', '.join(known)}.",
        data=[
            _bars(labels, ranks, "that exceed noise (effective rank)", BLUE, 0),
            _bars(labels, matter, "as many of equal strength (participation ratio)", ORANGE, 1),
        ],
        layout=_layout("directions"),
        table={"survey": labels, "effective_rank": ranks, "participation": matter},
        height=60 * len(labels) + 180,
    )


def stresses(surveys: Surveys) -> Figure:
    """Return the debiased stress of every encoding, one mark for each corpus that has one.

    Shares of distances and of squared ones are not the same thing: where one verdict compares
    squared distances, all corpora are drawn by these.
    """
    key, title = "compare-stress", "How far each encoding is from each corpus"
    measures = {stress_measure(contents) for _, contents in surveys}
    measure = "squared" if "squared" in measures else "scale_free"
    lines = {label: _lines(contents, measure) for label, contents in surveys}
    rows = list(dict.fromkeys(name for found in lines.values() for name in found))
    if not rows:
        return no_figure(
            key, title, "none of these corpora has a geometry that stands out from noise"
        )
    data = [_marks(label, found, k) for k, (label, found) in enumerate(lines.items()) if found]
    what = "squared distances" if measure == "squared" else "distances"
    drawn = "; all are drawn by squared distances here" if len(measures) > 1 else ""
    columns: dict[str, list[Any]] = {
        label: [found.get(name, (None,))[0] for name in rows] for label, found in lines.items()
    }
    top = max(span[1] for found in lines.values() for _, span in found.values())
    without = [label for label, found in lines.items() if not found]
    rest = f"; no geometry that stands out from noise: {', '.join(without)}" if without else ""
    axis = {"type": "category", "categoryorder": "array", "categoryarray": rows}
    return Figure(
        key=key,
        title=title,
        summary=f"{_nearest(surveys)}{rest}{drawn}.",
        data=data,
        layout={
            "xaxis": {
                "title": {"text": f"share of {what} left unexplained, noise taken out"},
                "range": [-0.04 * top, 1.04 * top],  # a mark at 0 stands clear of the names
            },
            "yaxis": axis | {"range": [len(rows) - 0.4, -0.6], "automargin": True},
            "legend": LEGEND,
            "showlegend": True,
        },
        table={"encoding": list[Any](rows), **columns},
        height=30 * len(rows) + 200,
    )


def _lines(contents: dict[str, Any], measure: str) -> dict[str, tuple[float, list[float]]]:
    """Return the debiased stress and its interval by encoding, in one measure.

    The rank of a debiased fit differs by corpus, so its name goes without.
    """
    return {
        _without_rank(name_of(e)): (e["stress"]["debiased"][measure], span)
        for e in with_names(contents["encodings"])
        if (span := e["stress"]["debiased"].get(interval_key(measure))) is not None
        and e["lift"] == "kernel"
    }


def _nearest(surveys: Surveys) -> str:
    """Say for each corpus which known encoding its verdict calls the nearest."""
    parts = []
    for label, contents in surveys:
        best = nearest_known(contents)
        if best is None:
            continue
        name = encoding_name(best) if best["closer"] else "none closer than equal distances"
        parts.append(f"{name} for {label} ({leaves(best)} unexplained)")
    return (
        f"Nearest known encoding: {', '.join(parts)}" if parts else "No nearest encoding is named"
    )


def _without_rank(label: str) -> str:
    return "mds, debiased" if label.startswith("mds, debiased") else label


def _marks(label: str, found: dict[str, tuple[float, list[float]]], k: int) -> dict[str, Any]:
    values = [value for value, _ in found.values()]
    bounds = [span for _, span in found.values()]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": as_text(label),
        "x": values,
        "y": list(found),
        "error_x": _errors(values, bounds),
        "marker": {
            "color": CATEGORIES[k % len(CATEGORIES)],
            "symbol": MARKERS[k % len(MARKERS)],
            "size": 9,
        },
        "hovertemplate": "%{y}: %{x:.4f}<extra></extra>",
    }


def _bars(labels: list[str], values: list[Any], name: str, colour: str, k: int) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": values,
        "y": [as_text(label) for label in labels],
        "marker": {"color": colour, "pattern": {"shape": HATCHES[k]}},
        "hovertemplate": "%{y}: %{x:.4g}<extra>" + name + "</extra>",
    }


def _errors(values: list[Any], bounds: list[Any]) -> dict[str, Any]:
    pairs = list(zip(values, bounds, strict=True))
    above = [0.0 if value is None else max(bound[1] - value, 0.0) for value, bound in pairs]
    below = [0.0 if value is None else max(value - bound[0], 0.0) for value, bound in pairs]
    return {"type": "data", "array": above, "arrayminus": below, "color": GREY, "thickness": 1.5}


def _layout(what: str) -> dict[str, Any]:
    return {
        "xaxis": {"title": {"text": what}, "rangemode": "tozero"},
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True},
        "barmode": "group",
        "legend": LEGEND,
    }


def _participation(contents: dict[str, Any]) -> float | None:
    found = contents["geometry"]["debiased"]
    if found is None or found["participation"] is None:
        return None
    return float(found["participation"]["value"])
