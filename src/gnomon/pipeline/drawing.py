"""How a survey shows itself in a notebook: the verdict with a table, and its figures by name."""

from __future__ import annotations

import html
import importlib
from typing import TYPE_CHECKING, Any

from gnomon.errors import InputError, nearest
from gnomon.results import html_table

if TYPE_CHECKING:
    from gnomon.pipeline.surveys import Survey

_WORDS = {True: "informative", False: "not informative", None: "undecided"}


def survey_html(survey: Survey) -> str:
    """Return the verdict in words and the stress of every encoding."""
    verdict = survey.verdict
    opening = f"{survey.counts.source}: {_WORDS[verdict.informative]}."
    return (
        f"<div><p><b>{html.escape(opening)}</b> {html.escape(verdict.summary)}</p>"
        + html_table("Stress of every encoding", [_row(e.to_dict()) for e in survey.entries])
        + "</div>"
    )


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    plugin, debiased = entry["stress"]["plugin"], entry["stress"]["debiased"]
    return {
        "encoding": entry["label"],
        "lift": entry["lift"],
        "raw": plugin["raw"],
        "scale-free": plugin["scale_free"],
        "debiased": debiased["scale_free"],
        "skill": debiased["skill"],
        "violations": entry["monotonicity"]["violations"],
    }


def draw_survey(survey: Survey, figure: str) -> Any:
    """Return one figure of a survey, drawn by the report room, which is asked for by name."""
    from gnomon.pipeline.page_data import pictures

    room = importlib.import_module("gnomon.report.figures")
    contents = survey.to_dict()
    known = room.keys_of(contents)
    if figure not in known:
        raise InputError(f"{figure!r} is no figure of this survey; {nearest(figure, known)}.")
    to_plotly = importlib.import_module("gnomon.report.figure").to_plotly
    return to_plotly(room.figure_named(figure, contents, pictures(survey)))
