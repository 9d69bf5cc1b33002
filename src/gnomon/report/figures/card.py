"""The figures of a card: what an encoding does at each position, its lag profile, its ladder.

Everything drawn was computed by `gnomon.encodings.lifts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnomon.report.figure import Figure
from gnomon.report.figures.card_ladder import ladder_figure
from gnomon.report.figures.card_profile import profile_figure
from gnomon.report.figures.card_rows import rows_figure
from gnomon.report.figures.panels import axes_of, axis, panels
from gnomon.report.figures.places import as_text

if TYPE_CHECKING:
    from gnomon.encodings import Portrait

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
    "are. Flat means that it can not tell these lags apart; a shaded band means that the lag alone "
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
