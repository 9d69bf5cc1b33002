"""The kernel of an encoding by the lag on both axes of a picture, as a heat-map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.report.figure import Figure, evenly, missing, short
from gnomon.report.figures.distances import colours
from gnomon.report.figures.grid import DIVERGING
from gnomon.report.figures.places import figure_of

if TYPE_CHECKING:
    from gnomon.spectra import LatticeSpectrum

KEY, TITLE = "lattice", "Kernel by lag on both axes"


def lattice_figure(found: LatticeSpectrum) -> Figure:
    """Return the kernel with lag 0 in the middle."""
    if len(found.shape) != 2:
        return missing(KEY, TITLE, f"a kernel of {len(found.shape)} axes is no picture")
    rows, columns = (
        np.unique(np.concatenate([evenly(2 * size - 1), [size - 1]])) for size in found.shape
    )
    drawn = found.kernel[np.ix_(rows, columns)]
    down, right = (at - size + 1 for at, size in zip((rows, columns), found.shape, strict=True))
    share = found.isotropy
    alike = (
        "It is constant beside lag 0."
        if np.isnan(share)
        else f"The distance alone explains {figure_of(share)} of what varies."
    )
    return Figure(
        key=KEY,
        title=TITLE,
        summary=f"The kernel is {figure_of(float(found.kernel.max()))} at most and "
        f"{figure_of(float(found.kernel.min()))} at least. {alike}",
        data=[
            {
                "type": "heatmap",
                "x": right.tolist(),
                "y": down.tolist(),
                "z": short(drawn),
                "coloraxis": "coloraxis",
                "hovertemplate": "lag (%{y}, %{x}): %{z:.4g}<extra></extra>",
            }
        ],
        layout={
            "xaxis": {"title": {"text": "lag on the second axis"}, "constrain": "domain"},
            "yaxis": {
                "title": {"text": "lag on the first axis"},
                "scaleanchor": "x",
                "autorange": "reversed",
            },
            "coloraxis": _scale(float(drawn.min()), float(drawn.max())),
        },
        table={"lag": down.tolist()}
        | {f"{lag}": short(drawn[:, k]) for k, lag in enumerate(right.tolist())},
        height=520,
    )


def _scale(low: float, high: float) -> dict[str, Any]:
    """Return colours of two sides where there are two signs, otherwise from end to end."""
    if low < 0.0 < high:
        top = max(-low, high)
        return {"colorscale": DIVERGING, "cmin": -top, "cmax": top}
    return {"colorscale": colours(), "cmin": low, "cmax": high if high > low else low + 1.0}
