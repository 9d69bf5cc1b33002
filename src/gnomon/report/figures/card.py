"""The figures of a card: what an encoding does at each position, its lag profile, its ladder.

Vectors and carried pairs are heat-maps, whose colours run from minus to plus the largest number; a
bias is a curve for each head. The profile is the distance that the encoding puts between positions
by their lag. A ladder has frequencies by pair, or slopes by head, on a logarithmic axis. Everything
drawn was computed by `gnomon.encodings.lifts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.report.figure import (
    CATEGORIES,
    DASHES,
    GREY,
    MARKERS,
    Figure,
    band,
    colours,
    evenly,
    short,
)
from gnomon.report.panels import LEGEND, axes_of, axis, panels
from gnomon.report.phrases import as_text, figure_of, log_axis, with_noun
from gnomon.report.text import in_short

if TYPE_CHECKING:
    from gnomon.encodings import Ladder, Portrait, Profile


EXPLAINED = {
    "vectors": "Each row is the vector that is added at one position, each column one of its "
    "coordinates.",
    "pairs": "Each row is a query whose pairs are all (1, 0), as it is seen from one position: a "
    "pair that turns shows its cosine and its sine.",
    "bias": "Each curve is a head: what it adds to the logit of a query and a key, by the lag from "
    "the key to the query. Keys before the query have positive lags.",
    "logits": "Each curve is a head: the logit of one query and a key by the lag from the key to "
    "the query, where every query, key and token is the same. Content decides: with others the "
    "curves are others.",
    "profile": "The distance that the encoding puts between two positions, by how far apart they "
    "are. Flat means that it cannot tell these lags apart; a shaded band means that the lag alone "
    "does not decide.",
    "ladder": "How fast each pair turns, how steep each head is, or how fast it forgets. A "
    "frequency w has a wavelength of 2 pi / w positions: a pair whose wavelength is longer than "
    "the trained length never saw a whole turn.",
}
"""How to read each figure."""


def card_figures(portrait: Portrait) -> list[Figure]:
    """Return what the encoding does at each position, its lag profile, and its ladders."""
    ladders = [ladder_figure(ladder, portrait.name) for ladder in portrait.ladders]
    return [rows_figure(portrait), profile_figure(portrait), *ladders]


def explanation(figure: Figure, portrait: Portrait) -> str:
    """Return how to read a figure of a card."""
    return EXPLAINED[portrait.shows if figure.key == "rows" else figure.key]


def card_panels(portrait: Portrait) -> Figure:
    """Return all figures of a card as one, side by side, for a notebook."""
    figures = card_figures(portrait)
    layout: dict[str, Any] = panels([figure.title for figure in figures], gap=0.1)
    data = []
    for k, figure in enumerate(figures):
        for letter in ("x", "y"):
            layout[axis(letter, k)] |= figure.layout[f"{letter}axis"]
        data += [trace | axes_of(k) | {"showlegend": False} for trace in figure.data]
    width = layout["xaxis"]["domain"][1]
    bar = {"orientation": "h", "len": width, "x": 0.0, "xanchor": "left", "y": -0.2}
    scale = figures[0].layout.get("coloraxis")
    if scale is not None:
        layout["coloraxis"] = scale | {"colorbar": scale["colorbar"] | bar | {"yanchor": "top"}}
    title, summary = as_text(portrait.name), figures[0].summary
    return Figure(key="card", title=title, summary=summary, data=data, layout=layout, height=480)


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
        "y": _place_names(portrait.places),
        "coloraxis": "coloraxis",
        "hovertemplate": "position %{y}, coordinate %{x}: %{z:.4g}<extra></extra>",
        "hoverongaps": False,
    }


def _heatmap_layout(portrait: Portrait, top: float) -> dict[str, Any]:
    bare: dict[str, Any] = {"showgrid": False, "zeroline": False}
    labels = _few(_place_names(portrait.places))
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


def _place_names(places: NDArray[np.float64]) -> list[Any]:
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
        "vectors": f"Vectors at {with_noun(count, 'position')}",
        "pairs": f"Queries of unit pairs at {with_noun(count, 'position')}",
        "bias": f"One query and {with_noun(count, 'key')}",
        "logits": f"One query and {with_noun(count, 'key')}, all vectors of ones,",
    }[portrait.shows]
    text = f"{what} of {portrait.name}{made}; the largest number is {figure_of(top)} in size"
    heads = len(portrait.rows) if portrait.shows in BY_HEAD else 0
    more = f"; {len(CATEGORIES)} of {heads} heads are drawn" if heads > len(CATEGORIES) else ""
    learned = f"; {' and '.join(portrait.learnable)} as before training" * bool(portrait.learnable)
    return f"{text}{more}{learned}."


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _rows_table(portrait: Portrait) -> dict[str, list[Any]]:
    named = _place_names(portrait.places)
    if portrait.shows in BY_HEAD:
        heads = {f"head_{k}": short(row) for k, row in enumerate(portrait.rows)}
        return {"lag": named} | heads
    columns = {f"coordinate_{k}": short(column) for k, column in enumerate(portrait.rows.T)}
    return {"position": named} | columns


def profile_figure(portrait: Portrait) -> Figure:
    """Return the curves of distance by lag."""
    data: list[dict[str, Any]] = []
    several = len({profile.axis for profile in portrait.profiles}) > 1
    for k, profile in enumerate(portrait.profiles):
        data += [band(profile.lags, profile.low, profile.high)] if profile.varies else []
        data.append(_curve(profile, k, several=several))
    named = {"xaxis": {"title": {"text": "lag"}}, "legend": LEGEND}
    named["yaxis"] = {"title": {"text": "distance"}, "rangemode": "tozero"}
    return Figure(
        key="profile",
        title="Distance by lag",
        summary=_about_profile(portrait.profiles[0]),
        data=data,
        layout=named,
        narrow={"height": 380},
        table=_profile_table(portrait.profiles),
    )


def _curve(profile: Profile, k: int, *, several: bool) -> dict[str, Any]:
    along = f", along axis {profile.axis}" if several else ""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{profile.lift} lift{along}",
        "x": short(profile.lags),
        "y": short(profile.mean),
        "line": {"color": CATEGORIES[k % len(CATEGORIES)], "dash": DASHES[k % len(DASHES)]},
        "hovertemplate": "lag %{x}: %{y:.4g}<extra></extra>",
    }


def _about_profile(profile: Profile) -> str:
    known = np.flatnonzero(np.isfinite(profile.mean))
    curve, lags = profile.mean[known], profile.lags[known]
    if not curve.any():
        return "All positions are at distance 0 from one another: none differs from another."
    text = f"Under the {profile.lift} lift positions at lag {figure_of(lags[-1])} are "
    text += f"{figure_of(curve[-1])} apart"
    if len(curve) > 2:
        near = "neighbours" if profile.whole else f"those at lag {figure_of(lags[1])}"
        text += f", {near} {figure_of(curve[1])}"
    rises = bool((np.diff(curve) > 0.0).all())
    text += "; the distance grows with every lag" if rises else "; it does not grow with every lag"
    return text + ("." if not profile.varies else ", and the lag alone does not decide it.")


def _profile_table(profiles: tuple[Profile, ...]) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = {"lag": short(profiles[0].lags)}
    for profile in profiles:
        name = f"{profile.lift}_axis_{profile.axis}"
        table |= {name: short(profile.mean), f"{name}_low": short(profile.low)}
        table |= {f"{name}_high": short(profile.high)}
    return table


PLURALS = {"frequency": "frequencies", "slope": "slopes", "decay": "decays"}
MOST_CURVES = 8
"""Rows of a ladder that are drawn: more curves than colours cannot be distinguished."""


def ladder_figure(ladder: Ladder, name: str) -> Figure:
    """Return a ladder, beside the one without its scaling where it has one."""
    rows = ladder.values[:MOST_CURVES]
    data = [_steps(row, ladder.labels[k], k, ladder) for k, row in enumerate(rows)]
    if ladder.plain is not None:
        data.append(_without_scaling(ladder.plain))
    drawn = [value for row in rows for value in row if value > 0.0]
    drawn += [] if ladder.plain is None else [v for v in ladder.plain.reshape(-1) if v > 0.0]
    layout = {
        "xaxis": {"title": {"text": ladder.counted}, "zeroline": False},
        "yaxis": {"title": {"text": ladder.measured}, **log_axis(drawn)},
        "legend": LEGEND,
    }
    noun = ladder.measured.partition(",")[0]
    return Figure(
        key="ladder",
        title=f"Ladder of {PLURALS[noun]}",
        summary=_about_ladder(ladder, name),
        data=data,
        layout=layout,
        narrow={"height": 380},
        table=_ladder_table(ladder),
    )


def _steps(row: NDArray[np.float64], label: str, k: int, ladder: Ladder) -> dict[str, Any]:
    turning = row > 0.0  # what does not turn has no place on a logarithmic axis
    turns = ladder.measured.startswith("frequency")
    wave = ", wavelength %{customdata:.4g}" if turns else ""
    inverse = np.divide(2.0 * np.pi, row, out=np.zeros_like(row), where=turning)
    return {
        "type": "scatter",
        "mode": "markers" if len(row) > 1 and not turning.all() else "lines+markers",
        "name": label or "as it is",
        "showlegend": bool(label) or ladder.plain is not None,
        "x": np.flatnonzero(turning).tolist(),
        "y": short(row[turning]),
        "customdata": short(inverse[turning]),
        "line": {"color": CATEGORIES[k % len(CATEGORIES)], "width": 1},
        "marker": {"symbol": MARKERS[k % len(MARKERS)], "size": 6},
        "hovertemplate": f"{ladder.counted} %{{x}}: %{{y:.4g}}{wave}<extra></extra>",
    }


def _without_scaling(plain: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "without scaling",
        "x": list(range(plain.shape[1])),
        "y": short(plain[0]),
        "line": {"color": GREY, "dash": "dash", "width": 1.5},
        "hovertemplate": "without scaling %{y:.4g}<extra></extra>",
    }


def _about_ladder(ladder: Ladder, name: str) -> str:
    values = ladder.values[ladder.values > 0.0]
    if not values.size:
        return f"No {ladder.counted} of {name} has any."
    noun = ladder.measured.partition(",")[0]
    text = (
        f"{PLURALS[noun].capitalize()} of {with_noun(ladder.values.shape[1], ladder.counted)} go "
    )
    text += f"from {figure_of(float(values.max()))} down to {figure_of(float(values.min()))}"
    if noun == "frequency":
        unit = ladder.measured.rpartition(" ")[2]
        text += f", a wavelength of {figure_of(float(2.0 * np.pi / values.min()))} {unit}s"
    idle = int((ladder.values.max(axis=0) <= 0.0).sum())
    verb = "turn" if noun == "frequency" else "act"
    turn = f"does not {verb}" if idle == 1 else f"do not {verb}"
    text += f"; {with_noun(idle, ladder.counted)} {turn}" if idle else ""
    rows = len(ladder.values)
    more = f"; the first {MOST_CURVES} of {rows} rows are drawn" if rows > MOST_CURVES else ""
    return f"{text}{more}."


def _ladder_table(ladder: Ladder) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = {ladder.counted: list(range(ladder.values.shape[1]))}
    noun = ladder.measured.partition(",")[0]
    for label, row in zip(ladder.labels, ladder.values, strict=True):
        table["_".join([noun, *label.split()])] = short(row)
    if ladder.plain is not None:
        table["without_scaling"] = short(ladder.plain[0])
    return table
