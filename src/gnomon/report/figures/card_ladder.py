"""The ladder of an encoding: frequencies by pair or slopes by head, on a logarithmic axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.report.figure import CATEGORIES, GREY, MARKERS, Figure, short
from gnomon.report.figures.panels import LEGEND
from gnomon.report.figures.places import counted, figure_of
from gnomon.report.figures.ticks import log_axis

if TYPE_CHECKING:
    from gnomon.encodings import Ladder

PLURALS = {"frequency": "frequencies", "slope": "slopes", "decay": "decays"}
MOST_CURVES = 8
"""Rows of a ladder that are drawn: more curves than colours can not be told apart."""


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
    text = f"{PLURALS[noun].capitalize()} of {counted(ladder.values.shape[1], ladder.counted)} go "
    text += f"from {figure_of(float(values.max()))} down to {figure_of(float(values.min()))}"
    if noun == "frequency":
        unit = ladder.measured.rpartition(" ")[2]
        text += f", a wavelength of {figure_of(float(2.0 * np.pi / values.min()))} {unit}s"
    idle = int((ladder.values.max(axis=0) <= 0.0).sum())
    verb = "turn" if noun == "frequency" else "act"
    turn = f"does not {verb}" if idle == 1 else f"do not {verb}"
    text += f"; {counted(idle, ladder.counted)} {turn}" if idle else ""
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
