"""The lag profile of an encoding: how far apart it puts positions, by their lag, on each axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.report.figure import CATEGORIES, DASHES, GREY, Figure, short
from gnomon.report.figures.panels import LEGEND
from gnomon.report.figures.places import figure_of

if TYPE_CHECKING:
    from gnomon.encodings import Portrait, Profile


def profile_figure(portrait: Portrait) -> Figure:
    """Return the curves of distance by lag."""
    data: list[dict[str, Any]] = []
    several = len({profile.axis for profile in portrait.profiles}) > 1
    for k, profile in enumerate(portrait.profiles):
        data += [_band(profile)] if profile.varies else []
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


def _band(profile: Profile) -> dict[str, Any]:
    """Return what lies between the smallest and the largest distance of each lag."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": short(np.concatenate([profile.lags, profile.lags[::-1]])),
        "y": short(np.concatenate([profile.low, profile.high[::-1]])),
        "fill": "toself",
        "fillcolor": f"{GREY}40",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _about_profile(profile: Profile) -> str:
    known = np.flatnonzero(np.isfinite(profile.mean))
    curve, lags = profile.mean[known], profile.lags[known]
    if not curve.any():
        return "All positions are at distance 0 from one another: none can be told from another."
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
