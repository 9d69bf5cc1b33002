"""What was known before training, beside what training showed: spectra and stress.

Each dot is an encoding (at one scale, for stress). A cloud that rises or falls says that the two go
together; the summary gives the rank correlation with its interval where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.report.figure import GREY, Figure, missing, short
from gnomon.report.figures.lab_rows import laid_out, narrow, style
from gnomon.report.figures.panels import LEGEND, axes_of, axis
from gnomon.report.figures.places import figure_of

SPECTRA = ("lab-spectra", "Contraction of logits beside training")
STRESS = ("lab-stress", "Stress beside accuracy")
AGAINST = {
    "area": "area under the curve",
    "stable_rate": "largest stable rate",
    "hessian": "top eigenvalue of the Hessian",
}
STRESSES = {
    "raw": "raw stress, plug-in",
    "scale_free": "scale-free stress, plug-in",
    "debiased": "scale-free stress, debiased",
}
Lines = Sequence[Mapping[str, Any]]
Correlations = Mapping[str, Mapping[str, Any]]


def spectra_figure(lines: Lines, correlations: Correlations | None = None) -> Figure:
    """Return contraction against area, stable rate and curvature, one panel each."""
    known = [line for line in lines if line.get("contraction") is not None]
    shown = [key for key in AGAINST if any(line.get(key) is not None for line in known)]
    if not shown:
        return missing(*SPECTRA, "contraction was not measured")
    layout, height = laid_out([AGAINST[key] for key in shown], each=320)
    data = []
    for k, key in enumerate(shown):
        points = [line for line in known if line.get(key) is not None]
        data.append(_named(points, "contraction", key, k))
        layout[axis("x", k)] |= {"title": {"text": "largest singular value, after / before"}}
        layout[axis("x", k)] |= {"type": "log"}
        if key != "area":
            layout[axis("y", k)] |= {"type": "log"}
    return Figure(
        key=SPECTRA[0],
        title=SPECTRA[1],
        summary=_correlated(correlations, shown, "contraction", AGAINST),
        data=data,
        layout=layout | {"showlegend": False},
        narrow=narrow(shown, each=320),
        table={
            key: [line.get(key) for line in known] for key in ("encoding", "contraction", *shown)
        },
        height=height,
    )


def stress_figure(lines: Lines, correlations: Correlations | None = None) -> Figure:
    """Return each kind of stress against accuracy, one panel each; colours are corpora."""
    shown = [key for key in STRESSES if any(line.get(key) is not None for line in lines)]
    if not shown:
        return missing(*STRESS, "stress was not measured")
    corpora = list(dict.fromkeys(str(line["corpus"]) for line in lines))
    layout, height = laid_out([STRESSES[key] for key in shown], each=320)
    data = []
    for k, key in enumerate(shown):
        for number, corpus in enumerate(corpora):
            points = [x for x in lines if x["corpus"] == corpus and x.get(key) is not None]
            data.append(_cloud(points, key, corpus, number, k))
        layout[axis("x", k)] |= {"title": {"text": "stress"}}
        layout[axis("x", k)] |= {"type": "log"} if key == "raw" else {"rangemode": "tozero"}
        layout[axis("y", k)] |= {"title": {"text": "share of the way to the ceiling"}}
    keys = ("corpus", "encoding", "scale", *shown, "share")
    return Figure(
        key=STRESS[0],
        title=STRESS[1],
        summary=_correlated(correlations, shown, "stress", STRESSES),
        data=data,
        layout=layout | {"legend": LEGEND},
        narrow=narrow(shown, each=320, legend=len(corpora)),
        table={key: [line.get(key) for line in lines] for key in keys},
        height=height + 24,
    )


def _named(points: Lines, x: str, y: str, k: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": short([point[x] for point in points]),
        "y": short([point[y] for point in points]),
        "text": [str(point["encoding"]) for point in points],
        "textposition": "top center",
        "textfont": {"size": 10, "color": GREY},
        "marker": {"size": 8, "color": style(0)["color"]},
        "cliponaxis": False,
        **axes_of(k),
    }


def _cloud(points: Lines, key: str, corpus: str, number: int, k: int) -> dict[str, Any]:
    look = style(number)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": corpus,
        "legendgroup": corpus,
        "showlegend": k == 0,
        "x": short([point[key] for point in points]),
        "y": short([point["share"] for point in points]),
        "text": [f"{point['encoding']} x {point['scale']:g}" for point in points],
        "marker": {"size": 8, "color": look["color"], "symbol": look["symbol"]},
        "hovertemplate": "%{text}: %{y:.3f}<extra>" + corpus + "</extra>",
        **axes_of(k),
    }


def _correlated(
    found: Correlations | None, shown: Sequence[str], what: str, names: Mapping[str, str]
) -> str:
    """Say the rank correlations in one sentence."""
    told = [f"{names[key]} {_in_words(found[key])}" for key in shown if found and key in found]
    if not told:
        return f"{len(shown)} quantities against {what}; too few points for a correlation."
    with_what = what if what != "stress" else "accuracy"
    level = ", 95 % intervals each by itself" if any("[" in one for one in told) else ""
    return f"Rank correlation with {with_what}{level}: {'; '.join(told)}."


def _in_words(one: Mapping[str, Any]) -> str:
    value = one["value"]
    if value is None or not np.isfinite(value):
        return "not known"
    ends = one.get("interval")
    told = "" if ends is None else f" [{figure_of(ends[0])}, {figure_of(ends[1])}]"
    return f"{figure_of(value)}{told}"
