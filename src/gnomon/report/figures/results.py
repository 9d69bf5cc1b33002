"""How a single result draws itself, without the page around it: `result.plot()`.

The table `DRAWN` maps a class, by its full name, to the function that arranges its numbers; a class
that is not there holds words or single numbers, and says so when it is asked.

Perplexity by position under each scaling is a line for each: the geometric mean over documents of
the ratio to the model cut to its trained length, in bins of positions; bars reach from the smallest
document to the largest, and the table has the intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gnomon.errors import InputError
from gnomon.report.figure import (
    BLUE,
    CATEGORIES,
    DASHES,
    GREY,
    MARKERS,
    VERMILION,
    Figure,
    colours,
    evenly,
    short,
    to_plotly,
)
from gnomon.report.figures.card import card_panels
from gnomon.report.figures.lags import kernel_figure
from gnomon.report.figures.positions import (
    counts_figure,
    distance_matrices,
    heatmap,
    heatmap_layout,
    largest,
)
from gnomon.report.figures.spectrum import spectrum_panels
from gnomon.report.panels import LEGEND
from gnomon.report.phrases import as_text, log_axis


def draw(result: Any) -> Any:
    """Return the Plotly figure of a result, or raise InputError where there is nothing to draw."""
    for kind in type(result).__mro__:
        arrange = DRAWN.get(f"{kind.__module__}.{kind.__qualname__}")
        if arrange is not None:
            return to_plotly(arrange(result))
    name = type(result).__name__
    raise InputError(
        f"{name} holds words or single numbers and nothing to draw; use to_dict() instead."
    )


def _counts(counts: Any) -> Figure:
    extents = counts.extents if counts.bins is not None else None
    lines = [
        {"index": k, "tokens": tokens, "status": None if kept else "masked", "distinct": None}
        | ({} if extents is None else dict(zip(("first", "last"), extents[k], strict=True)))
        for k, (tokens, kept) in enumerate(
            zip(counts.totals.tolist(), counts.kept.tolist(), strict=True)
        )
    ]
    return counts_figure({"corpus": counts.to_dict(), "positions": lines})


def _heatmaps(title: str, matrices: dict[str, Any], where: Any, metric: str) -> Figure:
    rows = evenly(len(where))
    places = np.asarray(where)[rows]
    data = [heatmap(m[np.ix_(rows, rows)], places, k) for k, m in enumerate(matrices.values())]
    return Figure(
        key="distances",
        title=title,
        summary=title,
        data=data,
        layout=heatmap_layout(list(matrices), largest(matrices.values()), metric),
        height=460 if len(data) > 1 else 560,
    )


def _geometry(found: Any) -> Figure:
    grid = found.coordinates.shape[1] > 1
    where = found.positions if grid else found.coordinates[:, 0]
    title = f"Distances between {len(where)} positions"
    return _heatmaps(title, {found.estimator: found.distances}, where, found.metric)


def _null(found: Any) -> Figure:
    matrices = {f"{found.kind} null, {found.replicates} replicates": np.sqrt(found.mean_squares)}
    title = f"Distances between {len(found.positions)} positions by chance alone"
    return _heatmaps(title, matrices, found.positions, found.metric)


def _geometry_without_noise(found: Any) -> Figure:
    core = found.positions[found.core]
    if not len(core):
        raise InputError("No position has tokens enough to be debiased, so nothing is drawn.")
    title = f"Debiased distances between {len(core)} core positions, rank {found.rank}"
    return _heatmaps(title, {"debiased": np.sqrt(found.low_rank.squares)}, core, "chord")


def _lift_figure(found: Any) -> Figure:
    size = len(found.distances)
    title = f"Distances between {size} positions under the {found.lift} lift"
    return _heatmaps(title, {found.note: found.distances}, np.arange(size), "distance")


def _pictures(found: Any) -> Figure:
    grid = found.coordinates.shape[1] > 1
    where = found.positions if grid else found.coordinates[:, 0]
    title = f"Distances between {len(where)} positions"
    return _heatmaps(title, distance_matrices(found), where, found.metric)


def _lines(
    title: str, x: Any, curves: dict[str, Any], axes: tuple[str, str], **more: Any
) -> Figure:
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": np.asarray(x).tolist(),
            "y": np.asarray(values, dtype=float),
            "line": {"color": CATEGORIES[k], "dash": DASHES[k]},
            "marker": {"symbol": MARKERS[k], "size": 6},
        }
        for k, (name, values) in enumerate(curves.items())
    ]
    named = {"xaxis": {"title": {"text": axes[0]}}, "yaxis": {"title": {"text": axes[1]}}}
    for key, values in more.items():
        named[key] |= values
    return Figure(key="lines", title=title, summary=title, data=data, layout=named)


def _spectrum(found: Any) -> Figure:
    values = found.eigenvalues
    title = f"{found.rank_numerical} eigenvalues above rounding of {values.size}"
    return _lines(title, np.arange(1, values.size + 1), {"eigenvalue": values}, ("order", ""))


def _by_dimension(found: Any) -> Figure:
    curves = {"raw": found.raw, "scale-free": found.scale_free, "stress-1": found.kruskal}
    axes = ("dimension", "stress")
    return _lines("Stress by dimension", found.dimensions, curves, axes, xaxis={"type": "log"})


def _parameters(found: Any) -> Figure:
    ranks = [row.rank for row in found.rows]
    names = ("factored", "degrees", "geometry", "free")
    curves = {name: [getattr(row, name) for row in found.rows] for name in names}
    title = f"Numbers to store, n = {found.length}, d = {found.dimension}"
    return _lines(title, ranks, curves, ("rank", "numbers"), yaxis={"type": "log"})


def _coordinates(found: Any) -> Figure:
    points = np.column_stack([found.vectors, np.zeros(len(found.vectors))])[:, :2]
    rows = evenly(len(points))
    bar = {"title": {"text": "row"}, "thickness": 12}
    marker = {"color": rows.tolist(), "colorscale": colours(), "colorbar": bar, "size": 9}
    marker["line"] = {"color": GREY, "width": 1}
    trace = {"type": "scatter", "mode": "lines+markers", "line": {"color": GREY, "width": 1}}
    trace |= {"x": short(points[rows, 0]), "y": short(points[rows, 1]), "marker": marker}
    named: dict[str, Any] = {"xaxis": {"title": {"text": "coordinate 1"}}}
    named["yaxis"] = {"title": {"text": "coordinate 2"}, "scaleanchor": "x"}
    title = f"{len(points)} positions by {found.method} scaling, {found.dimension} dimensions"
    return Figure(key="map", title=title, summary=title, data=[trace], layout=named, height=520)


def _survivorship(found: Any) -> Figure:
    parts = {"as it is": found.original, "shuffled": found.shuffled, "difference": found.difference}
    values = [part.value for part in parts.values()]
    high = [part.interval[1] - part.value for part in parts.values()]
    low = [part.value - part.interval[0] for part in parts.values()]
    errors = {"type": "data", "array": high, "arrayminus": low, "color": GREY}
    marker = {"color": BLUE, "size": 10}
    trace: dict[str, Any] = {"type": "scatter", "mode": "markers", "x": values, "y": list(parts)}
    trace |= {"error_x": errors, "marker": marker}
    named = {"xaxis": {"title": {"text": "mean squared distance"}, "rangemode": "tozero"}}
    title = "What is left of the distances when windows are shuffled"
    return Figure(key="bars", title=title, summary=title, data=[trace], layout=named, height=280)


def _reproduction(found: Any) -> Figure:
    """Return every figure of ours that is one number or a spread, and the published ones."""
    if found.name == "scaling":
        return scaling_figure(found.to_dict())
    lines = [as_text(f"{row.group} {row.what}".strip()) for row in found.rows]
    columns = list(dict.fromkeys(name for row in found.rows for name in row.ours))
    shown = {"as published": [_number(row.published.value) for row in found.rows]}
    shown |= {name: [_number(row.ours.get(name)) for row in found.rows] for name in columns}
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": [values[k] for k in range(len(lines)) if values[k] is not None],
            "y": [lines[k] for k in range(len(lines)) if values[k] is not None],
            "marker": {
                "color": VERMILION if not order else CATEGORIES[(order - 1) % len(CATEGORIES)],
                "symbol": MARKERS[order % len(MARKERS)],
                "size": 9,
            },
        }
        for order, (name, values) in enumerate(shown.items())
        if any(value is not None for value in values)
    ]
    if not data:
        raise InputError(f"{found.name} holds no single numbers to draw; use to_dict() instead.")
    named = {"yaxis": {"type": "category", "autorange": "reversed", "automargin": True}}
    height = 22 * len(lines) + 160
    title = f"{found.title}: as published, and ours"
    return Figure(
        key=found.name, title=title, summary=title, data=data, layout=named, height=height
    )


def _number(value: Any) -> float | None:
    mean = getattr(value, "mean", value)
    return float(mean) if isinstance(mean, (int, float)) and not isinstance(mean, bool) else None


DRAWN: dict[str, Callable[[Any], Figure]] = {
    "gnomon.corpus.counts.PositionCounts": _counts,
    "gnomon.diagnostics.stress_report.StressByDimension": _by_dimension,
    "gnomon.diagnostics.stress_report.ParameterTable": _parameters,
    "gnomon.encodings.lifts.Lifted": _lift_figure,
    "gnomon.encodings.lifts.Portrait": card_panels,
    "gnomon.distances.estimate.Debiased": _geometry_without_noise,
    "gnomon.distances.intervals.Survivorship": _survivorship,
    "gnomon.distances.scaling.Coordinates": _coordinates,
    "gnomon.distances.geometry.Geometry": _geometry,
    "gnomon.distances.nulls.NullGeometry": _null,
    "gnomon.distances.eigenvalues.Spectrum": _spectrum,
    "gnomon.lags.kernel.LagKernel": lambda kernel: kernel_figure(kernel.to_dict()),
    "gnomon.reproduce.claims.Reproduction": _reproduction,
    "gnomon.pipeline.lags.LagStructure": lambda found: kernel_figure(found.kernel.to_dict()),
    "gnomon.spectra.of_encoding.Spectrum": spectrum_panels,
    "gnomon.pipeline.page_data.Pictures": _pictures,
    "gnomon.pipeline.noise.NoiseReport": lambda found: _geometry_without_noise(found.debiased),
}
"""From the full name of a class to its picture; the survey draws itself by name of figure."""


SCALING = ("scaling", "What each scaling does to a model, by position")
INTERVAL = " interval"


def scaling_figure(record: Mapping[str, Any]) -> Figure:
    """Return the curves of a record of the experiment `scaling`."""
    ((name, details),) = record["corpora"].items()
    bins, trained = details["bins"], details["model"]["trained_length"]
    middles = [(first + last + 1) / 2 for first, last in bins]
    lines = [
        key for key in record["rows"][0]["ours"] if f"{key}{INTERVAL}" in record["rows"][0]["ours"]
    ]
    curves = {line: [row["ours"][line] for row in record["rows"]] for line in lines}
    ends = {line: [row["ours"][f"{line}{INTERVAL}"] for row in record["rows"]] for line in lines}
    documents = [one["losses"] for one in details["documents"].values()]
    data = [
        _scaling_curve(line, k, middles, curves[line], documents) for k, line in enumerate(lines)
    ]
    every = [value for values in curves.values() for value in values]
    layout = {
        "legend": LEGEND,
        "shapes": [_upright(trained), _level()],
        "xaxis": {"title": {"text": f"position (trained up to {trained:,})"}},
        "yaxis": {
            "title": {"text": "perplexity, times that of the cut model"},
            **log_axis([min(every), max(every)]),
        },
    }
    return Figure(
        key=SCALING[0],
        title=f"{SCALING[1]}: {name}",
        summary=_about_scaling(name, trained, bins, curves),
        data=data,
        layout=layout,
        table=_scaling_table(bins, curves, ends),
        height=480,
    )


def _scaling_curve(
    line: str, k: int, middles: list[float], values: list[float], documents: list[Any]
) -> dict[str, Any]:
    colour = CATEGORIES[k % len(CATEGORIES)]
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": line,
        "x": middles,
        "y": short(values),
        "line": {"color": colour, "dash": DASHES[k % len(DASHES)]},
        "marker": {"color": colour, "symbol": MARKERS[k % len(MARKERS)], "size": 7},
        "hovertemplate": "position %{x}: %{y:.4g}<extra>" + line + "</extra>",
    }
    if len(documents) > 1:
        found = np.exp([np.subtract(one[line], one["cut"]) for one in documents])
        trace["error_y"] = {
            "type": "data",
            "array": short(np.maximum(found.max(axis=0) - values, 0.0)),
            "arrayminus": short(np.maximum(values - found.min(axis=0), 0.0)),
            "color": colour,
            "thickness": 1,
        }
    return trace


def _upright(trained: int) -> dict[str, Any]:
    line = {"color": GREY, "dash": "longdash", "width": 1}
    return {"type": "line", "x0": trained, "x1": trained, "yref": "paper", "y0": 0, "y1": 1} | {
        "line": line
    }


def _level() -> dict[str, Any]:
    line = {"color": GREY, "dash": "dot", "width": 1}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": line}


def _about_scaling(
    name: str, trained: int, bins: list[Any], curves: Mapping[str, list[float]]
) -> str:
    last = {line: values[-1] for line, values in curves.items()}
    best = min(last, key=lambda line: last[line])
    worst = max(last, key=lambda line: last[line])
    return (
        f"{name}, trained on {trained:,} positions: at positions {bins[-1][0]:,} to "
        f"{bins[-1][1]:,} perplexity is {last[best]:.3g} times that of the cut model under "
        f"{best}, the least, and {last[worst]:.3g} times under {worst}, the most."
    )


def _scaling_table(
    bins: list[Any], curves: Mapping[str, list[float]], ends: Mapping[str, list[Any]]
) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = {"first": [b[0] for b in bins], "last": [b[1] for b in bins]}
    for line, values in curves.items():
        known = [end or (None, None) for end in ends[line]]
        table |= {line: values, f"{line} low": [end[0] for end in known]}
        table[f"{line} high"] = [end[1] for end in known]
    return table
