"""What an encoding does at each position: vectors or carried pairs as a heat-map, a bias as curves.

Signs matter in the heat-map, so its colours run from minus to plus the largest number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.report.cards import in_short
from gnomon.report.figure import CATEGORIES, DASHES, Figure, evenly, short
from gnomon.report.figures.distances import colours
from gnomon.report.figures.panels import LEGEND
from gnomon.report.figures.places import counted, figure_of

if TYPE_CHECKING:
    from gnomon.encodings import Portrait

TITLES = {
    "vectors": "Vectors by position",
    "pairs": "Unit pairs carried to each position",
    "bias": "Bias by lag and head",
    "logits": "Logits of equal contents by lag and head",
}
BY_HEAD = ("bias", "logits")
"""What is drawn as one curve for each head."""
BELOW = {
    "orientation": "h", "x": 0.5, "xanchor": "center", "y": -0.22, "yanchor": "top", "len": 1.0,
}  # fmt: skip
"""Where a scale stands on a narrow screen."""
LONGEST = 200
"""Characters of parameters in a sentence."""


def rows_figure(portrait: Portrait) -> Figure:
    """Return what an encoding does: a heat-map of its rows, or a curve for each head of a bias."""
    top = float(np.nanmax(np.abs(portrait.rows), initial=0.0))
    bias = portrait.shows in BY_HEAD
    return Figure(
        key="rows",
        title=TITLES[portrait.shows],
        summary=_about_rows(portrait, top),
        data=_curves(portrait) if bias else [_heatmap(portrait)],
        layout=_curves_layout(portrait.shows) if bias else _heatmap_layout(portrait, top or 1.0),
        narrow={"height": 380} if bias else {"coloraxis": {"colorbar": BELOW}},
        table=_rows_table(portrait),
        height=420 if bias else 480,
    )


def _heatmap(portrait: Portrait) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "z": short(portrait.rows),
        "x": list(range(portrait.rows.shape[1])),
        "y": _named(portrait.places),
        "coloraxis": "coloraxis",
        "hovertemplate": "position %{y}, coordinate %{x}: %{z:.4g}<extra></extra>",
        "hoverongaps": False,
    }


def _heatmap_layout(portrait: Portrait, top: float) -> dict[str, Any]:
    bare: dict[str, Any] = {"showgrid": False, "zeroline": False}
    labels = _few(_named(portrait.places))
    bar = {"title": {"text": "value"}, "thickness": 12, "len": 0.8}
    return {
        "xaxis": {"title": {"text": "coordinate"}, **bare},
        "yaxis": {"title": {"text": "position"}, "autorange": "reversed", **bare, **labels},
        "coloraxis": {"cmin": -top, "cmax": top, "colorscale": colours(), "colorbar": bar},
    }


def _curves(portrait: Portrait) -> list[dict[str, Any]]:
    lags = short(portrait.places[:, 0])
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"head {head}",
            "x": lags,
            "y": short(portrait.rows[head]),
            "line": {"color": CATEGORIES[k % len(CATEGORIES)], "dash": DASHES[k % len(DASHES)]},
            "hovertemplate": f"head {head}, lag %{{x}}: %{{y:.4g}}<extra></extra>",
        }
        for k, head in enumerate(evenly(len(portrait.rows), len(CATEGORIES)).tolist())
    ]


def _curves_layout(shows: str) -> dict[str, Any]:
    return {
        "xaxis": {"title": {"text": "lag, query minus key"}},
        "yaxis": {"title": {"text": "bias, logits" if shows == "bias" else "logit"}},
        "legend": LEGEND,
    }


def _named(places: NDArray[np.float64]) -> list[Any]:
    """Return places as numbers, or as text where they have several axes."""
    if places.shape[1] == 1:
        return short(places[:, 0])
    return ["(" + ", ".join(f"{x:.3g}" for x in point) + ")" for point in places]


def _few(names: list[Any]) -> dict[str, Any]:
    """Return at most nine labels of an axis of words; Plotly chooses those of numbers itself."""
    if not names or not isinstance(names[0], str):
        return {}
    step = max(1, -(-len(names) // 9))
    return {"type": "category", "tickmode": "array", "tickvals": names[::step]}


def _about_rows(portrait: Portrait, top: float) -> str:
    parameters = ", ".join(
        f"{key} {in_short(value)}"
        for key, value in portrait.parameters.items()
        if value is not None and not isinstance(value, list)
    )
    made = f" ({_cut(parameters)})" if parameters else ""
    count = len(portrait.places)
    what = {
        "vectors": f"Vectors at {counted(count, 'position')}",
        "pairs": f"Queries of unit pairs at {counted(count, 'position')}",
        "bias": f"One query and {counted(count, 'key')}",
        "logits": f"One query and {counted(count, 'key')}, all vectors of ones,",
    }[portrait.shows]
    text = f"{what} of {portrait.name}{made}; the largest number is {figure_of(top)} in size"
    heads = len(portrait.rows) if portrait.shows in BY_HEAD else 0
    more = f"; {len(CATEGORIES)} of {heads} heads are drawn" if heads > len(CATEGORIES) else ""
    learned = f"; {' and '.join(portrait.learnable)} as before training" * bool(portrait.learnable)
    return f"{text}{more}{learned}."


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _rows_table(portrait: Portrait) -> dict[str, list[Any]]:
    named = _named(portrait.places)
    if portrait.shows in BY_HEAD:
        heads = {f"head_{k}": short(row) for k, row in enumerate(portrait.rows)}
        return {"lag": named} | heads
    columns = {f"coordinate_{k}": short(column) for k, column in enumerate(portrait.rows.T)}
    return {"position": named} | columns
