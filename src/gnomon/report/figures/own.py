"""How a single result draws itself, without the survey around it: `result.plot()`.

The table at the end of this file maps a class, by its full name, to the function that arranges its
numbers; a class that is not there holds words or single numbers, and says so when it is asked.
"""

from __future__ import annotations

from collections.abc import Callable
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
    evenly,
    short,
    to_plotly,
)  # fmt: skip
from gnomon.report.figures.card import card_panels
from gnomon.report.figures.counts import counts_figure
from gnomon.report.figures.distances import (
    colours,
    distance_matrices,
    heatmap,
    heatmap_layout,
    largest,
)  # fmt: skip
from gnomon.report.figures.lags import kernel_figure
from gnomon.report.figures.places import as_text
from gnomon.report.figures.scaling import scaling_figure
from gnomon.report.figures.spectrum import spectrum_panels


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


def _debiased(found: Any) -> Figure:
    core = found.positions[found.core]
    if not len(core):
        raise InputError("No position has tokens enough to be debiased, so nothing is drawn.")
    title = f"Debiased distances between {len(core)} core positions, rank {found.rank}"
    return _heatmaps(title, {"debiased": np.sqrt(found.low_rank.squares)}, core, "chord")


def _lifted(found: Any) -> Figure:
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
    "gnomon.encodings.lifts.Lifted": _lifted,
    "gnomon.encodings.lifts.Portrait": card_panels,
    "gnomon.distances.debiased.estimate.Debiased": _debiased,
    "gnomon.distances.debiased.survivorship.Survivorship": _survivorship,
    "gnomon.distances.mds.Coordinates": _coordinates,
    "gnomon.distances.geometry.Geometry": _geometry,
    "gnomon.distances.nulls.NullGeometry": _null,
    "gnomon.distances.eigenvalues.Spectrum": _spectrum,
    "gnomon.lags.kernel.LagKernel": lambda kernel: kernel_figure(kernel.to_dict()),
    "gnomon.reproduce.claims.Reproduction": _reproduction,
    "gnomon.pipeline.lags.LagStructure": lambda found: kernel_figure(found.kernel.to_dict()),
    "gnomon.spectra.of_encoding.Spectrum": spectrum_panels,
    "gnomon.pipeline.page_data.Pictures": _pictures,
    "gnomon.pipeline.noise.NoiseReport": lambda found: _debiased(found.debiased),
}
"""From the full name of a class to its picture; the survey draws itself by name of figure."""
