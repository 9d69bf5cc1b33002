"""How encodings fit a corpus: stress, pairs of distances, and violations of monotonicity.

Encodings are horizontal bars: those fixed beforehand, those fitted, and those under other lifts as
published, which are hatched. The kernel lift, which treats all alike, comes first. Numbers stand in
a column at the right end of a panel, where no bar, whisker or line of reference runs through them.

Raw stress measures scale before anything else: an encoding of zeros has exactly 1, the dashed line.
Scale-free stress takes the best scale out. Debiased stress is what the verdict uses, of distances
or of squared ones, with its sampling interval and with what equal distances leave. In the plot of
pairs every encoding is at its best scale, so a perfect one lies on the diagonal. An exact copy of
the corpus's geometry has as many violations as the corpus, and random distances have a half.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gnomon.pipeline import Pictures
from gnomon.report.figure import (
    BLUE,
    CATEGORIES,
    GREEN,
    GREY,
    HATCHES,
    MARKERS,
    ORANGE,
    VERMILION,
    Figure,
    columns_of,
    no_figure,
    short,
)
from gnomon.report.figures.positions import FLAT, NO_PICTURES
from gnomon.report.panels import LEGEND, axes_of, axis, panels, stack
from gnomon.report.phrases import (
    as_text,
    encoding_name,
    figure_of,
    interval_key,
    leaves,
    log_axis,
    name,
    nearest_known,
    percent,
    rate,
    stress_measure,
)
from gnomon.report.text import percent as to_tenths

FITTED = ("mds", "mds-low-rank", "smacof")
KINDS = {
    "fixed": ("fixed encodings", BLUE, HATCHES[0]),
    "fitted": ("fitted to this corpus", GREEN, HATCHES[3]),
    "lift": ("other lifts, as published", ORANGE, HATCHES[1]),
}
Value = Callable[[dict[str, Any]], float | None]


def kernel_first(encodings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the kernel lifts first, each group in the order of the survey."""
    return sorted(with_names(encodings), key=lambda found: found["lift"] != "kernel")


def with_names(encodings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines with `shown`, a name that no other line has: two tables may share theirs."""
    found: list[dict[str, Any]] = []
    for line in encodings:
        lift = "" if line["lift"] == "kernel" else f" ({line['lift']} lift)"
        name = first = f"{line['label']}{lift}"
        taken = {other["shown"] for other in found}
        tries = 1
        while name in taken:
            tries += 1
            name = f"{first}, no. {tries}"
        found.append({**line, "shown": name})
    return found


def name_of(found: dict[str, Any]) -> str:
    """Return the name of a line for a picture."""
    return as_text(found["shown"])


def kind_of(found: dict[str, Any]) -> str:
    """Return the kind whose colour and hatching a line has."""
    if found["lift"] != "kernel":
        return "lift"
    return "fitted" if found["name"] in FITTED else "fixed"


def bars(
    encodings: list[dict[str, Any]], value: Value, *, panel: int = 0, least: float | None = None
) -> list[dict[str, Any]]:
    """Return a trace for each kind of line; a bar below `least` has no length.

    The exact number stands in `customdata`.
    """
    traces = []
    for kind, (label, colour, hatch) in KINDS.items():
        lines = [e for e in encodings if kind_of(e) == kind and value(e) is not None]
        if not lines:
            continue
        exact = [float(value(e) or 0.0) for e in lines]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": label,
                "legendgroup": kind,
                "showlegend": panel == 0,
                "y": [name_of(e) for e in lines],
                "x": exact if least is None else [max(x, least) for x in exact],
                "customdata": exact,
                "marker": {"color": colour, "pattern": {"shape": hatch}},
                "hovertemplate": "%{y}: %{customdata:.5g}<extra></extra>",
                **axes_of(panel),
            }
        )
    return traces


def numbers(
    encodings: list[dict[str, Any]],
    value: Value,
    *,
    end: float,
    panel: int = 0,
    text: Callable[[float], str] | None = None,
) -> dict[str, Any]:
    """Return the numbers of the bars as a column that ends at `end` of the axis."""
    written = text or number
    lines = [(name_of(e), x) for e in encodings if (x := value(e)) is not None]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [end] * len(lines),
        "y": [name for name, _ in lines],
        "text": [written(x) for _, x in lines],
        "textposition": "middle left",
        "showlegend": False,
        "hoverinfo": "skip",
        "cliponaxis": False,
        **axes_of(panel),
    }


def number(value: float) -> str:
    """Return the number of a bar as text; the exact one is in the table.

    >>> number(0.0), number(4.2e-7), number(0.1234), number(13_271.0)
    ('0', '<0.001', '0.123', '13,300')
    """
    return "<0.001" if 1e-12 < abs(value) < 1e-3 else figure_of(value)


def names_axis(encodings: list[dict[str, Any]], *, shown: bool = True) -> dict[str, Any]:
    """Return the axis of names, the first on top."""
    return {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": [name_of(e) for e in encodings],
        "range": [len(encodings) - 0.4, -0.6],
        "showticklabels": shown,
        "showgrid": False,
    }


def height_of(encodings: list[dict[str, Any]]) -> int:
    """Return the height at which names do not touch."""
    return 26 * len(encodings) + 150


STRESS = ("stress", "How far each encoding is from the corpus (stress)")
LEAST_RAW = 1e-3
ROOM = 1.35
"""A panel's length, of which bars have 1 and the column of numbers the rest."""


def stress_figure(contents: dict[str, Any]) -> Figure:
    """Return the bars of all encodings."""
    lines, best = kernel_first(contents["encodings"]), nearest_known(contents)
    if not lines:
        return no_figure(*STRESS, FLAT)
    measure = stress_measure(contents)
    denoised = any(_without_noise(measure)(e) is not None for e in lines)
    top, (low, high) = _top(lines, measure), _raw_range(lines)
    data = bars(lines, _raw, panel=0, least=LEAST_RAW) + bars(lines, _scale_free, panel=1)
    data += [numbers(lines, _raw, end=10.0**high), numbers(lines, _scale_free, end=top, panel=1)]
    if denoised:
        data += _with_intervals(lines, measure)
        data.append(numbers(lines, _without_noise(measure), end=top, panel=2))
        data += [] if best is None else [_equal(best["equal"], lines)]
    titles = _titles(measure)[: 2 + denoised]
    layout = panels(titles, gap=0.05)
    layout |= {"legend": LEGEND, "barmode": "overlay", "shapes": [_zero_line()]}
    scale = log_axis([max(_raw(e) or 0.0, LEAST_RAW) for e in lines], 4)
    ranges = [scale | {"range": [low, high]}]
    ranges += [{"range": [0.0, top], "tickvals": _ticks(top)}] * 2
    for k in range(len(titles)):
        layout[axis("y", k)] |= names_axis(lines, shown=k == 0)
        layout[axis("x", k)] |= ranges[k] | {"tickangle": 0}
    return Figure(
        key=STRESS[0],
        title=STRESS[1],
        summary=_about_stress(lines, contents, best),
        data=data,
        layout=layout,
        narrow=_narrow_stress(lines, len(titles)),
        table=_stress_table(lines),
        height=height_of(lines),
    )


def _titles(measure: str) -> list[str]:
    squared = "squared distances, " if measure == "squared" else ""
    return ["raw, as published", "scale-free", f"{squared}noise taken out"]


def _raw(found: dict[str, Any]) -> float | None:
    value: float | None = found["stress"]["plugin"]["raw"]
    return value


def _scale_free(found: dict[str, Any]) -> float | None:
    value: float | None = found["stress"]["plugin"]["scale_free"]
    return value


def _without_noise(measure: str) -> Value:
    def value(found: dict[str, Any]) -> float | None:
        known: float | None = found["stress"]["debiased"][measure]
        return known

    return value


def _with_intervals(lines: list[dict[str, Any]], measure: str) -> list[dict[str, Any]]:
    """Return the debiased bars with their sampling intervals."""
    spans = {name_of(e): e["stress"]["debiased"][interval_key(measure)] for e in lines}
    traces = bars(lines, _without_noise(measure), panel=2)
    for trace in traces:
        low, high = np.array([spans[label] for label in trace["y"]]).T
        exact = np.array(trace["customdata"])
        trace["error_x"] = {
            "type": "data",
            "array": np.maximum(high - exact, 0.0).tolist(),
            "arrayminus": np.maximum(exact - low, 0.0).tolist(),
            "color": GREY,
            "thickness": 1.5,
        }
    return traces


def _equal(value: float, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the line of what equal distances leave: a bar that reaches it explains nothing."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "equal distances",
        "x": [value, value],
        "y": [name_of(lines[0]), name_of(lines[-1])],
        "line": {"color": VERMILION, "dash": "dot", "width": 2},
        "hoverinfo": "skip",
        **axes_of(2),
    }


def _top(lines: list[dict[str, Any]], measure: str) -> float:
    """Return where the axis of the scale-free panels ends."""
    known = [e["stress"]["debiased"].get(interval_key(measure)) for e in lines]
    ends = [*(_scale_free(e) or 0.0 for e in lines), *(span[1] for span in known if span)]
    return ROOM * max([*ends, 0.05])


def _ticks(top: float) -> list[float]:
    """Return a few round numbers of the part that has bars.

    An interval may end past 1, and far past it where errors are large: steps grow with it.
    """
    step = next(s for s in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01) if 2.0 * s <= top / ROOM)
    while top / ROOM > 10.0 * step:
        step *= 10.0
    return [round(k * step, 2) for k in range(int(top / ROOM / step + 1e-9) + 1)]


def _raw_range(lines: list[dict[str, Any]]) -> tuple[float, float]:
    low, top = np.log10(LEAST_RAW), np.log10(max(1.0, *(_raw(e) or 0.0 for e in lines)))
    return float(low), float(top + 0.45 * (top - low))


def _zero_line() -> dict[str, Any]:
    line = {"color": GREY, "dash": "dash", "width": 1}
    ends = {"x0": 1.0, "x1": 1.0, "y0": 0.0, "y1": 1.0}
    return {"type": "line", "line": line, **ends, "xref": "x", "yref": "y domain"}


def _narrow_stress(lines: list[dict[str, Any]], count: int) -> dict[str, Any]:
    layout = stack(count, each=26 * len(lines), legend=4)
    for k in range(1, count):
        layout[axis("y", k)] |= {"showticklabels": True}
    return layout


def _about_stress(
    lines: list[dict[str, Any]], contents: dict[str, Any], best: dict[str, Any] | None
) -> str:
    raw = [(_raw(e) or 0.0, e["shown"]) for e in lines]
    (low, least), (high, most) = min(raw), max(raw)
    runs = (
        f"raw stress, which scale decides, runs from {figure_of(low)} ({least}) to "
        f"{figure_of(high)} ({most})"
    )
    if best is None:
        why = _why(contents)
        return f"As published {runs}" + (
            f"; the noise is not taken out since {why}." if why else "."
        )
    left = f"leaves {leaves(best)} unexplained with the noise taken out"
    against = f"where equal distances leave {percent(best['equal'])}"
    if best["closer"]:
        return f"The nearest known encoding, {encoding_name(best)}, {left}, {against}; {runs}."
    return (
        "None of the known encodings comes closer than keeping all positions equally far apart: "
        f"{encoding_name(best)} {left}, {against}; {runs}."
    )


def _why(contents: dict[str, Any]) -> str:
    return str(contents["encodings"][0]["stress"]["debiased"].get("reason", "")).rstrip(".")


def _stress_table(lines: list[dict[str, Any]]) -> dict[str, list[Any]]:
    debiased = [e["stress"]["debiased"] for e in lines]
    bounds = [found["interval"] or (None, None) for found in debiased]
    return {
        "encoding": [e["label"] for e in lines],
        "lift": [e["lift"] for e in lines],
        "raw": [_raw(e) for e in lines],
        "scale_free": [_scale_free(e) for e in lines],
        "debiased": [found["scale_free"] for found in debiased],
        "debiased_low": [bound[0] for bound in bounds],
        "debiased_high": [bound[1] for bound in bounds],
        "skill": [found["skill"] for found in debiased],
        "squared": [found["squared"] for found in debiased],
    }


SHEPARD = ("shepard", "Distances in the encoding against distances in the corpus")
DRAWN = 500
"""Pairs drawn of each encoding: enough for an eye, and a page stays small."""


def shepard_figure(contents: dict[str, Any], pictures: Pictures | None) -> Figure:
    """Return one cloud of pairs for every encoding."""
    if pictures is None:
        return no_figure(*SHEPARD, NO_PICTURES)
    if not len(pictures.shepard_made):
        return no_figure(*SHEPARD, FLAT)
    denoised = bool(len(pictures.shepard_debiased))
    wanted = (pictures.shepard_debiased if denoised else pictures.shepard_plugin)[:DRAWN]
    made = pictures.shepard_made[:, :DRAWN]
    lines = with_names(contents["encodings"])
    shown = _visible_at_first(lines, nearest_known(contents))
    rest = [k for k in range(len(lines)) if k not in shown]
    look = {k: order for order, k in enumerate([*sorted(shown), *rest])}  # the shown ones differ
    data = [
        _cloud(line, wanted, made[k], look[k], shown=k in shown) for k, line in enumerate(lines)
    ]
    top = float(max(wanted.max(), made[sorted(shown)].max()))
    corpus = "debiased" if denoised else "as published"
    return Figure(
        key=SHEPARD[0],
        title=SHEPARD[1],
        summary=_about_pairs(contents, pictures, shown, denoised=denoised),
        data=[_diagonal(top), *data],
        layout={
            "xaxis": {
                "title": {"text": f"distance in the corpus ({corpus})"},
                "rangemode": "tozero",
            },
            "yaxis": {
                "title": {"text": "distance in the encoding, best scale"},
                "rangemode": "tozero",
            },
            "legend": {"title": {"text": "press to show or hide"}},
        },
        narrow={"legend": LEGEND, "height": 720},
        table=_pairs_table(contents, pictures, denoised=denoised),
        height=480,
    )


def _visible_at_first(lines: list[dict[str, Any]], best: dict[str, Any] | None) -> set[int]:
    """Return the known encoding that the verdict calls nearest, and the last fitted one."""
    fitted = [k for k, line in enumerate(lines) if line["lift"] == "kernel"][-1]
    known = 0 if best is None else int(best["index"])
    return {known, fitted}


def _cloud(line: dict[str, Any], wanted: Any, made: Any, k: int, *, shown: bool) -> dict[str, Any]:
    colour = CATEGORIES[k % len(CATEGORIES)]
    symbol = MARKERS[(k + k // len(CATEGORIES)) % len(MARKERS)]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name_of(line),
        "x": short(wanted),
        "y": short(made),
        "visible": True if shown else "legendonly",
        "marker": {"color": colour, "symbol": symbol, "size": 5, "opacity": 0.7},
        "hovertemplate": "corpus %{x:.4f}, encoding %{y:.4f}<extra>" + name_of(line) + "</extra>",
    }


def _diagonal(top: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "perfect fit",
        "x": [0.0, top],
        "y": [0.0, top],
        "line": {"color": GREY, "dash": "dash", "width": 1.5},
        "hoverinfo": "skip",
    }


def _about_pairs(
    contents: dict[str, Any], pictures: Pictures, shown: set[int], *, denoised: bool
) -> str:
    lines, measure = contents["encodings"], stress_measure(contents)
    kind = "debiased" if denoised else "plugin"
    stresses = [
        f"{figure_of(lines[k]['stress'][kind][measure])} for {lines[k]['label']}"
        for k in sorted(shown)
    ]
    squared = " of squared distances" if measure == "squared" else ""
    pairs, all_pairs = min(DRAWN, len(pictures.shepard_pairs)), _pairs(pictures, denoised=denoised)
    drawn = "all" if pairs == all_pairs else f"{pairs:,} of"
    return (
        f"The nearer to the diagonal, the better the fit: scale-free stress{squared} is "
        f"{' and '.join(stresses)} (pairs drawn, and in the file: {drawn} {all_pairs:,})."
    )


def _pairs(pictures: Pictures, *, denoised: bool) -> int:
    m = len(pictures.core) if denoised else len(pictures.positions)
    return m * (m - 1) // 2


def _pairs_table(
    contents: dict[str, Any], pictures: Pictures, *, denoised: bool
) -> dict[str, list[Any]]:
    pairs = pictures.positions[pictures.shepard_pairs[:DRAWN]]
    first, second = ([name(contents, int(p)) for p in column] for column in pairs.T)
    columns = {"first": first, "second": second, "plugin": short(pictures.shepard_plugin[:DRAWN])}
    if denoised:
        columns["debiased"] = short(pictures.shepard_debiased[:DRAWN])
    made = np.asarray(pictures.shepard_made[:, :DRAWN])
    lines = with_names(contents["encodings"])
    return columns | {f"in {line['shown']}": short(made[k]) for k, line in enumerate(lines)}


VIOLATIONS = ("violations", "Violations of monotonicity")


def violations_figure(contents: dict[str, Any]) -> Figure:
    """Return the shares of violated triples beside those of the corpus."""
    lines, own = kernel_first(contents["encodings"]), contents["geometry"]["monotonicity"]
    if not lines:
        return no_figure(*VIOLATIONS, FLAT)
    if own["violations"] is None:
        return no_figure(*VIOLATIONS, str(own.get("reason", "there are no triples to compare")))
    found = contents["geometry"]["debiased"]
    debiased = None if found is None else found["violations"]
    data = bars(lines, _share)
    data.append(_corpus_line(own["violations"], lines, "corpus as published", VERMILION, "dash"))
    shapes = []
    if debiased is not None:
        data.append(
            _corpus_line(debiased["value"], lines, "corpus, noise taken out", ORANGE, "solid")
        )
        shapes.append(_corpus_interval(*debiased["interval"]))
    data.append(_corpus_line(0.5, lines, "random distances", GREY, "dot"))
    top = 1.2 * max([0.55, *(_share(e) or 0.0 for e in lines)])
    data.append(numbers(lines, _share, end=top, text=rate))
    return Figure(
        key=VIOLATIONS[0],
        title=VIOLATIONS[1],
        summary=_about_violations(contents, lines, debiased),
        data=data,
        layout={
            "xaxis": {
                "title": {"text": "share of triples that are violated"},
                "range": [0.0, top],
                "tickformat": ".0%",
                "tickvals": [0.1 * k for k in range(int(10 * top / 1.2 + 1e-9) + 1)],
            },
            "yaxis": names_axis(lines) | {"automargin": True},
            "legend": LEGEND,
            "barmode": "overlay",
            "shapes": shapes,
        },
        narrow={"height": height_of(lines) + 130},  # the legend has a line for each name
        table=_violations_table(lines, own, debiased),
        height=height_of(lines),
    )


def _share(found: dict[str, Any]) -> float | None:
    value: float | None = found["monotonicity"]["violations"]
    return value


def _corpus_line(
    value: float, lines: list[dict[str, Any]], name: str, colour: str, dash: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{name}: {to_tenths(value)}",
        "x": [value, value],
        "y": [name_of(lines[0]), name_of(lines[-1])],
        "line": {"color": colour, "dash": dash, "width": 2},
        "hoverinfo": "skip",
    }


def _corpus_interval(low: float, high: float) -> dict[str, Any]:
    ends = {"x0": max(low, 0.0), "x1": min(high, 1.0), "y0": 0.0, "y1": 1.0}
    look = {"fillcolor": ORANGE, "opacity": 0.2, "line": {"width": 0}, "layer": "below"}
    return {"type": "rect", **ends, "xref": "x", "yref": "y domain", **look}


def _about_violations(
    contents: dict[str, Any], lines: list[dict[str, Any]], debiased: dict[str, Any] | None
) -> str:
    own = rate(contents["geometry"]["monotonicity"]["violations"])
    rest = "" if debiased is None else f" ({rate(debiased['value'])} with the noise taken out)"
    known = [(share, e["shown"]) for e in lines if (share := _share(e)) is not None]
    (low, least), (high, most) = min(known), max(known)
    return (
        f"In {own} of triples the corpus has the smaller distance for the farther position{rest}: "
        f"an encoding of the same geometry has as many such triples, and those drawn have from "
        f"{rate(low)} ({least}) to {rate(high)} ({most})."
    )


def _violations_table(
    lines: list[dict[str, Any]], own: dict[str, Any], debiased: dict[str, Any] | None
) -> dict[str, list[Any]]:
    rows = [(e["label"], e["lift"], _share(e), e["monotonicity"]["ties"]) for e in lines]
    rows.append(("corpus, plug-in", None, own["violations"], own["ties"]))
    if debiased is not None:
        rows.append(("corpus, debiased", None, debiased["value"], None))
    names = ("of", "lift", "violations", "ties")
    return columns_of(names, rows)
