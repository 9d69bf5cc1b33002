"""The figures of a spectrum: symbol, eigenvalues, contraction by the shared mean, kernel by lag.

The kernel of a picture is a heat-map by the lag on both of its axes. Everything drawn was computed
by `gnomon.spectra`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.report.figure import (
    BLUE,
    DASHES,
    DIVERGING,
    GREEN,
    GREY,
    MARKERS,
    VERMILION,
    Figure,
    colours,
    evenly,
    no_figure,
    short,
)
from gnomon.report.panels import LEGEND, axes_of, axis, panels
from gnomon.report.phrases import as_text, figure_of

if TYPE_CHECKING:
    from gnomon.spectra import LatticeSpectrum, Spectrum


EXPLAINED = {
    "profile": "The kernel: the positional part of a logit, by the lag between query and key.",
    "lattice": "The kernel: the positional part of a logit, by the lag on both axes between query "
    "and key. Rings are a kernel of the distance; crosses and stripes tell axes apart.",
    "eigenvalues": "Eigenvalues of the n x n matrix of the kernel by their order, those below 0 by "
    "their size, beside those of the nearest circulant matrix. What lies under the dashed line "
    "counts as 0. Where not all are known, both ends stand at their places from the "
    "largest to the smallest.",
    "symbol": "The Fourier series of the kernel. Where it is a function, eigenvalues are "
    "distributed as its values as the length grows. Stems are masses: turns that do not decay.",
    "contraction": "Logits of drawn content with the encoding against those without it: the ratio "
    "of their spectral norms, with its range over draws, and of their effective ranks. Below 1 a "
    "norm is contracted. It says nothing of training.",
}
"""How to read each figure."""


def spectrum_figures(found: Spectrum) -> list[Figure]:
    """Return the figures in their order."""
    return [_profile(found), _eigenvalues(found), _symbol(found), _contraction(found)]


def lattice_figures(found: LatticeSpectrum) -> list[Figure]:
    """Return the figures of all places of a picture."""
    from gnomon.report.figures.spectrum import lattice_figure

    return [lattice_figure(found), _eigenvalues(found)]


def spectrum_panels(found: Spectrum) -> Figure:
    """Return all of them as one, two by two, for a notebook."""
    figures = [figure for figure in spectrum_figures(found) if figure.missing is None]
    titles = [figure.title for figure in figures]
    layout: dict[str, Any] = panels(titles, columns=2, gap=0.1, row_gap=0.2)
    data = []
    for k, figure in enumerate(figures):
        for letter in ("x", "y"):
            layout[axis(letter, k)] |= figure.layout[f"{letter}axis"]
        data += [trace | axes_of(k) | {"showlegend": False} for trace in figure.data]
    title = f"{as_text(found.name)}, {found.length} positions"
    return Figure(
        key="spectrum",
        title=title,
        summary=figures[0].summary,
        data=data,
        layout=layout,
        height=760,
    )


def _profile(found: Spectrum) -> Figure:
    rows = evenly(len(found.profile))
    values = found.profile[rows]
    first, last = found.profile[0], found.profile[-1]
    return Figure(
        key="profile",
        title="Kernel by lag",
        summary=f"The kernel is {figure_of(first)} at lag 0 and {figure_of(last)} at lag "
        f"{found.length - 1}.",
        data=[_line("kernel", rows, values, BLUE)],
        layout=_axes("lag", "positional part of the logit"),
        table={"lag": rows.tolist(), "kernel": short(values)},
        height=380,
    )


def _eigenvalues(found: Spectrum | LatticeSpectrum) -> Figure:
    orders, positive = _orders_and_sizes(found)
    if not len(positive):
        why = "all of them are 0" if found.eigenvalues.complete else found.eigenvalues.reason
        return no_figure("eigenvalues", "Eigenvalues", why)
    rows = evenly(len(positive))
    data = [_points("size of the eigenvalue", orders[rows], positive[rows], BLUE, 0)]
    table = {"order": orders[rows].tolist(), "size": short(positive[rows])}
    if found.circulant is not None:
        near = np.sort(np.abs(found.circulant.eigenvalues))[::-1]
        kept = evenly(int((near > 0.0).sum()))
        data.append(_points("nearest circulant", kept + 1, near[kept], VERMILION, 1))
    state = found.conditioning
    if state is not None and state.rank < found.length:
        floor = state.tolerance * state.norm
        ends = np.array([1, max(int(orders.max()), 2)])
        data.append(_line("counts as 0 below", ends, np.full(2, floor), GREY, dash="dash"))
    layout = _axes("order", "size") | {"legend": LEGEND}
    layout["yaxis"] |= {"type": "log", "exponentformat": "power"}
    layout["xaxis"] |= {"type": "log"} if orders.max() > 64 else {}
    return Figure(
        key="eigenvalues",
        title="Eigenvalues",
        summary=_about_eigenvalues(found),
        data=data,
        layout=layout,
        table=table,
    )


def _orders_and_sizes(found: Spectrum | LatticeSpectrum) -> tuple[Any, Any]:
    """Return orders and sizes of eigenvalues that are not 0.

    All of them are in the order of their sizes. Where ends alone are known, the order is that of
    values, from the largest: the smallest, where it is known, is the last of n.
    """
    known = found.eigenvalues
    if known.complete:
        sizes = np.sort(np.abs(known.values))[::-1]
        sizes = sizes[sizes > 0.0]
        return np.arange(1, len(sizes) + 1), sizes
    ends = known.values
    last = known.smallest is not None and len(ends) > 0 and ends[-1] == known.smallest
    top = ends[:-1] if last else ends
    values = top if known.smallest is None else np.append(top, known.smallest)
    orders = np.arange(1, len(values) + 1)
    orders[len(top) :] = found.length
    return orders[values != 0.0], np.abs(values[values != 0.0])


def _about_eigenvalues(found: Spectrum | LatticeSpectrum) -> str:
    state = found.conditioning
    if state is None:
        return f"The ends of the spectrum alone are known: {found.eigenvalues.reason}."
    below = f", {state.negative} of them below 0" if state.negative else ""
    return (
        f"{state.rank} of {found.length} eigenvalues differ from 0{below}; the largest is "
        f"{figure_of(state.largest)}, the smallest {figure_of(state.smallest)}, the effective rank "
        f"{figure_of(state.effective_rank)}."
    )


def _symbol(found: Spectrum) -> Figure:
    symbol = found.symbol
    if symbol is None:
        return no_figure("symbol", "Symbol", "the matrix does not depend on the lag alone")
    data, table = [], {}
    if symbol.values is not None:
        finite = np.isfinite(symbol.values)
        data.append(_line("symbol", symbol.angles[finite], symbol.values[finite], BLUE))
        table = {"angle": short(symbol.angles), "symbol": short(symbol.values)}
    if len(symbol.masses):
        stems = [
            np.column_stack([symbol.mass_angles, symbol.mass_angles, symbol.mass_angles * np.nan]),
            np.column_stack([0.0 * symbol.masses, symbol.masses, symbol.masses * np.nan]),
        ]
        data.append(_line("", stems[0].ravel(), stems[1].ravel(), GREY) | {"showlegend": False})
        data.append(_points("mass", symbol.mass_angles, symbol.masses, VERMILION, 2))
        table = table or {
            "angle": short(symbol.mass_angles),
            "mass": short(symbol.masses),
        }
    if not data:
        return no_figure("symbol", "Symbol", "the kernel is zero")
    layout = _axes("angle, radians per position", "symbol") | {"legend": LEGEND}
    if symbol.values is not None and not len(symbol.masses):
        drawn = symbol.values[np.isfinite(symbol.values)]
        wide = drawn.min() > 0.0 and drawn.max() > 1e3 * drawn.min()
        layout["yaxis"] |= {"type": "log", "exponentformat": "power"} if wide else {}
    if symbol.values is None and symbol.mass_angles.min() > 0.0:
        layout["xaxis"] |= {"type": "log", "exponentformat": "power"}  # frequencies are a ladder
    statement = symbol.statement[0].upper() + symbol.statement[1:]
    return Figure(
        key="symbol",
        title="Symbol",
        summary=f"{statement}.",
        data=data,
        layout=layout,
        table=table,
    )


def _contraction(found: Spectrum) -> Figure:
    made = found.contraction
    if made is None:
        reason = found.contraction_reason.rstrip(".")
        return no_figure("contraction", "Coupling with content", reason)
    low, high = made.norm_range.T
    bars = {"type": "data", "array": short(high - made.norm), "arrayminus": short(made.norm - low)}
    norms = _points("spectral norm", made.means, made.norm, BLUE, 0, mode="lines+markers")
    norms["error_y"] = bars | {"color": GREY}
    ranks = _points("effective rank", made.means, made.effective_rank, GREEN, 1, "lines+markers")
    one = _line("unchanged", made.means[[0, -1]], np.ones(2), GREY, dash="dash")
    layout = _axes("mean that all positions share, against the spread", "after / before")
    # Ratios: half and double are equally far from 1, and one curve must not flatten the other.
    layout["yaxis"] |= {"type": "log"}
    first, last = made.at(float(made.means[0])), made.at(float(made.means[-1]))
    return Figure(
        key="contraction",
        title="Coupling with content",
        summary=f"{made.kind.capitalize()} coupling multiplies the spectral norm of drawn logits "
        f"by {figure_of(first['norm'])} with a shared mean of {figure_of(first['mean'])}, and by "
        f"{figure_of(last['norm'])} with one of {figure_of(last['mean'])}, in dimension "
        f"{made.dimension}.",
        data=[norms, ranks, one],
        layout=layout | {"legend": LEGEND},
        table={
            "mean": short(made.means),
            "norm": short(made.norm),
            "norm_least": short(low),
            "norm_most": short(high),
            "rank_before": short(made.rank_before),
            "rank_after": short(made.rank_after),
            "condition": short(made.condition),
            "effective_rank": short(made.effective_rank),
            "toeplitz_share": short(made.toeplitz_share),
        },
    )


def _axes(x: str, y: str) -> dict[str, Any]:
    return {"xaxis": {"title": {"text": x}}, "yaxis": {"title": {"text": y}}}


def _line(name: str, x: Any, y: Any, colour: str, *, dash: str = DASHES[0]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": short(x),
        "y": short(y),
        "line": {"color": colour, "dash": dash},
    }


def _points(
    name: str, x: Any, y: Any, colour: str, k: int, mode: str = "markers"
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": mode,
        "name": name,
        "x": short(x),
        "y": short(y),
        "marker": {"color": colour, "symbol": MARKERS[k], "size": 6},
        "line": {"color": colour, "dash": DASHES[k]},
    }


LATTICE = ("lattice", "Kernel by lag on both axes")


def lattice_figure(found: LatticeSpectrum) -> Figure:
    """Return the kernel with lag 0 in the middle."""
    if len(found.shape) != 2:
        return no_figure(*LATTICE, f"a kernel of {len(found.shape)} axes is no picture")
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
        key=LATTICE[0],
        title=LATTICE[1],
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
