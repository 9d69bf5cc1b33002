"""Shepard plot: the distance of a pair in the encoding against its distance in the corpus.

Every encoding is at its best scale, so a perfect one lies on the diagonal. Two are shown at first,
the others wait in the legend.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.pipeline import Pictures
from gnomon.report.figure import CATEGORIES, GREY, MARKERS, Figure, missing, short
from gnomon.report.figures.bars import called, named
from gnomon.report.figures.distances import FLAT, NO_PICTURES
from gnomon.report.figures.nearest import measure_of, nearest
from gnomon.report.figures.panels import LEGEND
from gnomon.report.figures.places import figure_of, name

KEY, TITLE = "shepard", "Distances in the encoding against distances in the corpus"
DRAWN = 500
"""Pairs drawn of each encoding: enough for an eye, and a page stays small."""


def shepard_figure(contents: dict[str, Any], pictures: Pictures | None) -> Figure:
    """Return one cloud of pairs for every encoding."""
    if pictures is None:
        return missing(KEY, TITLE, NO_PICTURES)
    if not len(pictures.shepard_made):
        return missing(KEY, TITLE, FLAT)
    trusted = bool(len(pictures.shepard_debiased))
    wanted = (pictures.shepard_debiased if trusted else pictures.shepard_plugin)[:DRAWN]
    made = pictures.shepard_made[:, :DRAWN]
    lines = named(contents["encodings"])
    shown = _shown(lines, nearest(contents))
    rest = [k for k in range(len(lines)) if k not in shown]
    look = {k: order for order, k in enumerate([*sorted(shown), *rest])}  # the shown ones differ
    data = [
        _cloud(line, wanted, made[k], look[k], shown=k in shown) for k, line in enumerate(lines)
    ]
    top = float(max(wanted.max(), made[sorted(shown)].max()))
    corpus = "debiased" if trusted else "as published"
    return Figure(
        key=KEY,
        title=TITLE,
        summary=_summary(contents, pictures, shown, trusted=trusted),
        data=[_diagonal(top), *data],
        layout={
            "xaxis": {
                "title": {"text": f"distance in the corpus ({corpus})"},
                "rangemode": "tozero",
            },
            "yaxis": {
                "title": {"text": "distance in the encoding, best scale"},
                "rangemode": "tozero",
            },
            "legend": {"title": {"text": "press to show or hide"}},
        },
        narrow={"legend": LEGEND, "height": 720},
        table=_table(contents, pictures, trusted=trusted),
        height=480,
    )


def _shown(lines: list[dict[str, Any]], best: dict[str, Any] | None) -> set[int]:
    """Return the known encoding that the verdict calls nearest, and the last fitted one."""
    fitted = [k for k, line in enumerate(lines) if line["lift"] == "kernel"][-1]
    known = 0 if best is None else int(best["index"])
    return {known, fitted}


def _cloud(line: dict[str, Any], wanted: Any, made: Any, k: int, *, shown: bool) -> dict[str, Any]:
    colour = CATEGORIES[k % len(CATEGORIES)]
    symbol = MARKERS[(k + k // len(CATEGORIES)) % len(MARKERS)]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": called(line),
        "x": short(wanted),
        "y": short(made),
        "visible": True if shown else "legendonly",
        "marker": {"color": colour, "symbol": symbol, "size": 5, "opacity": 0.7},
        "hovertemplate": "corpus %{x:.4f}, encoding %{y:.4f}<extra>" + called(line) + "</extra>",
    }


def _diagonal(top: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "perfect fit",
        "x": [0.0, top],
        "y": [0.0, top],
        "line": {"color": GREY, "dash": "dash", "width": 1.5},
        "hoverinfo": "skip",
    }


def _summary(
    contents: dict[str, Any], pictures: Pictures, shown: set[int], *, trusted: bool
) -> str:
    lines, measure = contents["encodings"], measure_of(contents)
    kind = "debiased" if trusted else "plugin"
    stresses = [
        f"{figure_of(lines[k]['stress'][kind][measure])} for {lines[k]['label']}"
        for k in sorted(shown)
    ]
    squared = " of squared distances" if measure == "squared" else ""
    pairs, all_pairs = min(DRAWN, len(pictures.shepard_pairs)), _pairs(pictures, trusted=trusted)
    drawn = "all" if pairs == all_pairs else f"{pairs:,} of"
    return (
        f"The nearer to the diagonal, the better the fit: scale-free stress{squared} is "
        f"{' and '.join(stresses)} (pairs drawn, and in the file: {drawn} {all_pairs:,})."
    )


def _pairs(pictures: Pictures, *, trusted: bool) -> int:
    m = len(pictures.core) if trusted else len(pictures.positions)
    return m * (m - 1) // 2


def _table(contents: dict[str, Any], pictures: Pictures, *, trusted: bool) -> dict[str, list[Any]]:
    pairs = pictures.positions[pictures.shepard_pairs[:DRAWN]]
    first, second = ([name(contents, int(p)) for p in column] for column in pairs.T)
    columns = {"first": first, "second": second, "plugin": short(pictures.shepard_plugin[:DRAWN])}
    if trusted:
        columns["debiased"] = short(pictures.shepard_debiased[:DRAWN])
    made = np.asarray(pictures.shepard_made[:, :DRAWN])
    lines = named(contents["encodings"])
    return columns | {f"in {line['shown']}": short(made[k]) for k, line in enumerate(lines)}
