"""What a corpus does with the lag, drawn: equal tokens, bits of information, and the modes.

All numbers are those of `LagStructure.to_dict()`. Bands are 95 % intervals, from errors over folds
of documents. Both nulls stand in the first figure as rates: where the tokens of each document are
shuffled (no order), and where in addition every position keeps its own distribution (no dependence
beyond position).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.report.figure import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILION,
    Figure,
    band,
    no_figure,
    short,
)
from gnomon.report.panels import LEGEND, axes_of, axis, panels, stack
from gnomon.report.phrases import figure_of, log_axis, some

WIDE = 1.96
"""Half of a 95 % interval, in errors."""
LEVEL = 0.05
"""Of a false alarm, over all lags together."""
SAME = 0.99
"""Periods nearer than this are one: a harmonic is measured by itself."""
LONGEST = 1.25
"""Where a line that has no end is drawn to, as a share of the longest that has one."""


def lags_figures(contents: dict[str, Any]) -> list[Figure]:
    """Return the kernel, the information, and the modes."""
    return [
        kernel_figure(contents["kernel"]),
        information_figure(contents["information"]),
        modes_figure(contents["found"]["modes"], placed=contents["positions"]["modes"]),
    ]


def kernel_figure(kernel: dict[str, Any]) -> Figure:
    """Return the rate of equal tokens beside both nulls, and what exceeds them."""
    lags, values, errors, shuffled, across = (
        np.array(kernel[key], dtype=np.float64)
        for key in ("lags", "values", "errors", "shuffled", "across")
    )
    data = [
        _line("equal tokens", lags, values + shuffled + across, BLUE),
        _line("no order: documents shuffled", lags, shuffled, GREY, dash="dash"),
        _line("no dependence beyond position", lags, shuffled + across, ORANGE, dash="dot"),
        band(lags, values - WIDE * errors, values + WIDE * errors) | axes_of(1),
        _line("excess over both nulls", lags, values, VERMILION) | axes_of(1),
    ]
    layout = panels(["share of equal tokens", "excess, with its 95 % interval"], gap=0.1)
    for k in ("xaxis", "xaxis2"):
        layout[k] |= {"title": {"text": "lag (tokens)"}}
    layout["yaxis2"] |= {"zeroline": True}
    return Figure(
        key="kernel",
        title="Equal tokens by lag",
        summary=_about_kernel(lags, values, errors),
        data=data,
        layout=layout | {"legend": LEGEND},
        narrow=stack(2, each=260, legend=5),
        table={
            "lag": lags.astype(int).tolist(),
            "excess": short(values),
            "error": short(errors),
            "shuffled": short(shuffled),
            "across": short(across),
        },
        height=440,
    )


def _about_kernel(lags: Any, values: Any, errors: Any) -> str:
    largest = int(np.argmax(np.abs(values)))
    clear = int((np.abs(values) > WIDE * errors).sum())
    side = "more" if values[largest] > 0 else "less"
    return (
        f"At lag {int(lags[largest])} tokens are equal {side} often than under both nulls by "
        f"{figure_of(abs(float(values[largest])))}, the largest difference; the interval leaves 0 "
        f"at {some(clear, 'lag')} of {len(lags)}, and would at {0.05 * len(lags):.0f} by chance."
    )


def information_figure(information: dict[str, Any]) -> Figure:
    """Return bits of mutual information by lag, on axes on which a power law is straight."""
    title = "Mutual information by lag"
    lags, bits, errors = (
        np.array(information[key], dtype=np.float64) for key in ("lags", "values", "errors")
    )
    seen = bits > 0.0
    if not seen.any():
        return no_figure("information", title, "no lag has more than its nulls")
    floor = float(bits[seen].min()) / 2.0
    low, high = np.maximum(bits - WIDE * errors, floor), np.maximum(bits + WIDE * errors, floor)
    significant = (np.array(information["p_values"], dtype=np.float64) <= LEVEL) & seen
    return Figure(
        key="information",
        title=title,
        summary=_about_information(lags, bits, significant),
        data=[
            band(lags, low, high),
            *_nulls(information, lags, floor),
            *_points(lags, bits, seen, significant),
        ],
        layout={
            "xaxis": {"title": {"text": "lag (tokens)"}, **log_axis(lags.tolist())},
            "yaxis": {"title": {"text": "bits"}, **log_axis([*low.tolist(), *high.tolist()])},
            "legend": LEGEND,
        },
        narrow={"height": 440},
        table={"lag": lags.astype(int).tolist(), "bits": short(bits), "error": short(errors)}
        | {key: short(information[key]) for key in ("plugin", "shuffled", "across", "p_values")},
        height=440,
    )


def _nulls(information: dict[str, Any], lags: Any, floor: float) -> list[dict[str, Any]]:
    """Return both nulls, which were taken off, where a logarithmic axis can show them."""
    drawn = []
    for name, key, colour, dash in (
        ("taken off: documents shuffled", "shuffled", GREY, "dash"),
        ("taken off: across documents", "across", ORANGE, "dot"),
    ):
        values = np.array(information[key], dtype=np.float64)
        if (values > floor).any():
            drawn.append(
                _line(name, lags, np.where(values > floor, values, np.nan), colour, dash=dash)
            )
    return drawn


def _points(lags: Any, bits: Any, seen: Any, significant: Any) -> list[dict[str, Any]]:
    """Return the lags at which dependence is significant, and the others."""
    drawn = []
    for name, chosen, symbol in (
        ("dependence", seen & significant, "circle"),
        ("not significant", seen & ~significant, "circle-open"),
    ):
        if chosen.any():
            points = _line(name, lags[chosen], bits[chosen], BLUE)
            marker = {"color": BLUE, "size": 5, "symbol": symbol}
            drawn.append(points | {"mode": "markers", "marker": marker})
    return drawn


def _about_information(lags: Any, bits: Any, significant: Any) -> str:
    first = f"A token tells {figure_of(float(bits[0]))} bits of the one at lag {int(lags[0])}"
    if not significant.any():
        return f"{first}; at no lag is that significant."
    return (
        f"{first}; dependence is significant at {some(int(significant.sum()), 'lag')}, the "
        f"furthest {int(lags[significant].max())} (5 % for a false one anywhere)."
    )


def modes_figure(found: list[dict[str, Any]], *, placed: Sequence[dict[str, Any]] = ()) -> Figure:
    """Return each mode by its period, or its half-life where it does not turn, and its size.

    Modes of token distributions by position are drawn with the others, and said to be that.
    """
    title = "Periods and half-lives"
    modes = [
        mode | {"period": None, "period_interval": None} if mode.get("slow") else mode
        for mode in (*found, *placed)
    ]
    modes = [mode for mode in modes if mode["period"] or mode["half_life"]]
    if not modes:
        return no_figure("modes", title, "no period and no half-life stands above the noise")
    kept = [one for one in _PANELS if any(mode[one[1]] is not None for mode in modes)]
    layout = panels([f"by {name}" for name, *_ in kept], gap=0.1)
    most = 1.15 * max(mode["amplitude"] for mode in modes)
    data = []
    for k, (name, key, colour, symbol) in enumerate(kept):
        chosen = [mode for mode in modes if mode[key] is not None]
        data.append(_dots(name, chosen, key, colour, symbol) | axes_of(k))
        ends = [end for mode in chosen for end in mode[f"{key}_interval"] or [] if end is not None]
        layout[axis("x", k)] |= {"title": {"text": f"{name} (tokens)"}}
        layout[axis("x", k)] |= log_axis([*(mode[key] for mode in chosen), *ends])
        layout[axis("y", k)] |= {"range": [0.0, most]}
    layout["yaxis"] |= {"title": {"text": "amplitude"}}
    return Figure(
        key="modes",
        title=title,
        summary=_about_modes(modes) + _about_placed(len(placed), len(modes)),
        data=data,
        layout=layout | {"showlegend": False},
        narrow=stack(len(kept), each=240),
        table={key: [_cell(mode[key]) for mode in modes] for key in _COLUMNS},
        height=380,
    )


_PANELS = (
    ("period", "period", BLUE, "circle"),
    ("half-life", "half_life", GREEN, "diamond"),
)
_COLUMNS = ("period", "period_interval", "half_life", "half_life_interval", "amplitude", "harmonic")


def _cell(value: Any) -> Any:
    return value if not isinstance(value, list) else " to ".join(str(end) for end in value)


def _dots(
    name: str, modes: list[dict[str, Any]], key: str, colour: str, symbol: str
) -> dict[str, Any]:
    """Return modes as points with their intervals; one without an end is drawn to the longest."""
    values = np.array([mode[key] for mode in modes], dtype=np.float64)
    ends = np.array(
        [
            mode[f"{key}_interval"] or [value, value]
            for mode, value in zip(modes, values, strict=True)
        ],
        dtype=np.float64,
    )  # an end that is None becomes NaN
    furthest = LONGEST * float(np.nanmax([*values, *ends.flat]))
    low = values - np.where(np.isnan(ends[:, 0]), values, ends[:, 0])
    high = np.where(np.isnan(ends[:, 1]), furthest, ends[:, 1]) - values
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": short(values),
        "y": short([mode["amplitude"] for mode in modes]),
        "error_x": {
            "type": "data",
            "array": short(np.maximum(high, 0.0)),
            "arrayminus": short(np.maximum(low, 0.0)),
            "color": colour,
            "thickness": 1,
        },
        "marker": {"color": colour, "symbol": symbol, "size": 8},
        "hovertemplate": f"{name} %{{x:.4g}}: %{{y:.3g}}<extra></extra>",
    }


def _about_modes(modes: list[dict[str, Any]]) -> str:
    turning = [mode for mode in modes if turns(mode)]
    named = ", ".join(f"{period:.4g}" for period in periods_of(modes))
    if any(mode["harmonic"] > 1 for mode in turning):
        named += " and harmonics"
    parts = [f"{some(len(turning), 'mode')} with a period ({named})"] if turning else []
    rest = len(modes) - len(turning)
    parts += [f"{some(rest, 'mode')} that {'falls' if rest == 1 else 'fall'}"] if rest else []
    return " and ".join(parts) + "."


def _about_placed(placed: int, modes: int) -> str:
    """Say how many of the modes come from how tokens are distributed over positions."""
    if not placed:
        return ""
    which = "All are" if placed == modes else f"Of them {placed} {'is' if placed == 1 else 'are'}"
    return f" {which} in how tokens are distributed over positions, which is no dependence."


def turns(mode: dict[str, Any]) -> bool:
    """Say whether a mode has a period: half of it is left after half of one, and it has an end."""
    period, life, ends = mode["period"], mode["half_life"], mode["period_interval"]
    if period is None or mode.get("slow") or (ends is not None and ends[1] is None):
        return False
    return life is None or 2.0 * float(life) >= float(period)


def periods_of(modes: list[dict[str, Any]]) -> list[float]:
    """Return the periods, the longest first; harmonics have that of the mode they belong to."""
    found: list[float] = []
    known = (
        mode["period"] * mode["harmonic"]
        for mode in modes
        if turns(mode) and not mode.get("product")
    )
    for period in sorted(known, reverse=True):
        if not found or period < SAME * found[-1]:
            found.append(period)
    return found


def _line(name: str, lags: Any, values: Any, colour: str, *, dash: str = "solid") -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": short(lags),
        "y": short(values),
        "line": {"color": colour, "dash": dash, "width": 1.5},
        "hovertemplate": "lag %{x}: %{y:.4g}<extra></extra>",
    }
