"""What heads and rotary pairs of trained models do: the score that is lost without them.

Heads of a layer stand in descending order, since the heads of two seeds have nothing in common; a
column is the mean over seeds. The deposit index is the largest drop as a share of all: the dashed
line is 1 / H, one of H equal heads. An open dot is a run whose largest drop is within its noise,
where the index says nothing.

The *excess* of two heads is what is lost without both, beyond the sum of what is lost without each:
above 0 where one does the work of the other in its absence, so that single losses understate both.
A dot is the largest excess of a run in its first layer, open where it is within its noise band
(Bonferroni over pairs). A rotary pair has one frequency in every run, so losses are averaged pair
by pair. Encodings that rotate no pairs are left out of the map, and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.report.figure import (
    BLUE,
    GREY,
    VERMILION,
    Figure,
    colours,
    columns_of,
    no_figure,
    short,
)
from gnomon.report.figures.lab_scores import (
    LINE,
    Rows,
    encodings_of,
    laid_out,
    narrow,
    of_task,
    style,
    tasks_of,
)
from gnomon.report.panels import LEGEND, axes_of, axis
from gnomon.report.phrases import figure_of

HEADS = ("lab-heads", "Score lost without each head")
DEPOSIT = ("lab-deposit", "Deposit index of the first layer, by encoding")
RATES = ("lab-rates", "Deposit index of the first layer, by learning rate")
NONE = "heads were not ablated in this grid"


def heads_figure(rows: Rows, ablation: str = "zero") -> Figure:
    """Return a heat-map for every task: encodings down, layers and ordered heads across."""
    tasks = _tasks_with_heads(rows)
    if not tasks:
        return no_figure(*HEADS, NONE)
    found = [_with_heads(rows, task) for task in tasks]
    drops = [[np.array(row["heads"][ablation]["drops"]) for row in own] for own in found]
    said, table = _about_heads(rows, tasks, ablation), _drops_table(rows, tasks)
    return _lost_map(HEADS, rows, tasks, found, drops, summary=said, table=table)


def _lost_map(
    name: tuple[str, str],
    rows: Rows,
    tasks: list[str],
    found: list[list[Mapping[str, Any]]],
    drops: list[list[Any]],
    **words: Any,
) -> Figure:
    """Return heat-maps of the score that is lost, a panel for each task."""
    layout, height, each = _upright_panels(rows, tasks, max(map(len, found)))
    data = []
    for k, (own, lost) in enumerate(zip(found, drops, strict=True)):
        data.append(layers_map(own, lost, k))
        layout[axis("x", k)] |= {"tickangle": 0, **layer_ticks(lost[0].shape)}
        layout[axis("y", k)] |= {"showgrid": False, "automargin": True}
    bar = {"title": {"text": "score lost"}, "thickness": 12}
    layout["coloraxis"] = {"cmin": 0.0, "colorscale": colours(), "colorbar": bar}
    stacked = narrow(tasks, each=each)
    key, title = name
    return Figure(
        key=key, title=title, data=data, layout=layout, narrow=stacked, height=height, **words
    )


def _upright_panels(rows: Rows, tasks: list[str], most: int) -> tuple[dict[str, Any], int, int]:
    """Return a panel for each task with `most` encodings on its upright axis; heights of both."""
    each = LINE * most + 40
    upright = {"autorange": "reversed", "type": "category"}
    layout, height = laid_out(tasks, each=each, names=encodings_of(rows), y=upright)
    return layout, height, each


def deposit_figure(rows: Rows, ablation: str = "zero") -> Figure:
    """Return the index of the first layer of every run."""
    tasks = _tasks_with_heads(rows)
    if not tasks:
        return no_figure(*DEPOSIT, NONE)
    most = max(len(_with_heads(rows, task)) for task in tasks)
    layout, height, each = _upright_panels(rows, tasks, most)
    data, shapes = [], []
    for k, task in enumerate(tasks):
        found = _with_heads(rows, task)
        data += [_dots(found, ablation, k, clear=clear) for clear in (True, False)]
        shapes.append(_uniform(found[0]["heads"][ablation]["uniform"], k))
        layout[axis("x", k)] |= {"range": [0.0, 1.03], "title": {"text": "deposit index"}}
        names = [row["encoding"] for row in found]
        layout[axis("y", k)] |= {"categoryorder": "array", "categoryarray": names}
    return Figure(
        key=DEPOSIT[0],
        title=DEPOSIT[1],
        summary=_about_deposit(rows, tasks, ablation),
        data=data,
        layout=layout | {"shapes": shapes, "legend": LEGEND},
        narrow=narrow(tasks, each=each, legend=2),
        table=_index_table(rows, tasks),
        height=height + 24,
    )


def rates_figure(rows: Rows, ablation: str = "zero") -> Figure:
    """Return the index against the learning rate, for encodings that were run at several."""
    rows = _at_several(rows)
    tasks = _tasks_with_heads(rows)
    if not tasks:
        return no_figure(*RATES, "no encoding was reported at several learning rates")
    layout, height = laid_out(tasks, each=320)
    names = list(dict.fromkeys(subject(row) for row in rows))
    data, seen = [], set[str]()
    for k, task in enumerate(tasks):
        for name in names:
            found = [row for row in _with_heads(rows, task) if subject(row) == name]
            if found:
                trace = _by_rate(found, names.index(name), ablation, k, legend=name not in seen)
                data.append(trace)
                seen.add(name)
        layout[axis("x", k)] |= {"type": "log", "dtick": "D2", "title": {"text": "learning rate"}}
        layout[axis("y", k)] |= {"range": [0.0, 1.03], "title": {"text": "deposit index"}}
    return Figure(
        key=RATES[0],
        title=RATES[1],
        summary=f"{len(names)} encodings at {len(_rates(rows))} learning rates; dots are runs, "
        "lines join their means.",
        data=data,
        layout=layout | {"legend": LEGEND},
        narrow=narrow(tasks, each=300, legend=len(seen)),
        table=_index_table(rows, tasks),
        height=height + 24 * -(-len(seen) // 5),
    )


def subject(row: Mapping[str, Any]) -> str:
    """Return the encoding of a row without the learning rate that its label may carry.

    >>> subject({"encoding": "rope-at-0.003", "learning_rate": 0.003}), subject({"encoding": "t5"})
    ('rope', 't5')
    """
    return str(row["encoding"]).partition("-at-")[0]


def indices(row: Mapping[str, Any], ablation: str) -> list[tuple[float, bool]]:
    """Return the index of the first layer of every run that has one, and whether it is clear."""
    found = row["heads"][ablation]
    layers = zip(found["index"], found["largest"], found["noise_band"], strict=True)
    return [(i[0], top[0] > band[0]) for i, top, band in layers if i[0] is not None]


def _tasks_with_heads(rows: Rows) -> list[str]:
    return [task for task in tasks_of(rows) if _with_heads(rows, task)]


def _with_heads(rows: Rows, task: str) -> list[Mapping[str, Any]]:
    return [row for row in of_task(rows, task) if row.get("heads")]


def _at_several(rows: Rows) -> list[Mapping[str, Any]]:
    """Return the rows of encodings that have more than one learning rate on a task."""
    kept = []
    for task in _tasks_with_heads(rows):
        found = _with_heads(rows, task)
        for name in dict.fromkeys(subject(row) for row in found):
            own = [row for row in found if subject(row) == name]
            kept += own if len(_rates(own)) > 1 else []
    return kept


def _rates(rows: Rows) -> list[float]:
    return sorted({row["learning_rate"] for row in rows})


def layer_ticks(shape: tuple[int, ...]) -> dict[str, Any]:
    """Return ticks that name layers under their first heads; a gap stands between layers."""
    layers, heads = shape
    places = [layer * (heads + 1) + (heads - 1) / 2 for layer in range(layers)]
    return {"tickvals": places, "ticktext": [f"layer {layer}" for layer in range(layers)]}


def layers_map(rows: Rows, drops: list[Any], k: int) -> dict[str, Any]:
    """Return a heat-map of tables (layers, heads or pairs), a line for each row of the grid."""
    layers, heads = drops[0].shape
    width = layers * (heads + 1) - 1
    table = np.full((len(rows), width), np.nan)
    for place, found in enumerate(drops):
        for layer in range(layers):
            first = layer * (heads + 1)
            table[place, first : first + heads] = found[layer]
    return {
        "type": "heatmap",
        "z": short(table),
        "x": list(range(width)),
        "y": [row["encoding"] for row in rows],
        "coloraxis": "coloraxis",
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": "%{y}: %{z:.3f}<extra></extra>",
        "hoverongaps": False,
        **axes_of(k),
    }


def _dots(rows: Rows, ablation: str, k: int, *, clear: bool) -> dict[str, Any]:
    points = [(index, row["encoding"]) for row in rows for index, is_clear in indices(row, ablation)
              if is_clear is clear]  # fmt: skip
    return noise_dots(points, k, clear=clear)


def noise_dots(points: list[tuple[float, str]], k: int, *, clear: bool) -> dict[str, Any]:
    """Return values by encoding as dots: filled above their noise, open within it."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "above its noise" if clear else "within its noise",
        "showlegend": k == 0,
        "x": short([value for value, _ in points]),
        "y": [name for _, name in points],
        "marker": {
            "color": BLUE if clear else VERMILION,
            "symbol": "circle" if clear else "circle-open",
            "size": 8,
        },
        "hovertemplate": "%{y}: %{x:.3f}<extra></extra>",
        **axes_of(k),
    }


def _uniform(value: float, k: int) -> dict[str, Any]:
    name = axes_of(k)
    ends = {"x0": value, "x1": value, "y0": 0, "y1": 1}
    place = {"xref": name["xaxis"], "yref": f"{name['yaxis']} domain"}
    return {"type": "line", "line": {"color": GREY, "dash": "dash", "width": 1}, **place, **ends}


def _by_rate(rows: Rows, number: int, ablation: str, k: int, *, legend: bool) -> dict[str, Any]:
    look = style(number)
    found = sorted(rows, key=lambda row: float(row["learning_rate"]))
    values = [[index for index, _ in indices(row, ablation)] for row in found]
    known = [(row, one) for row, one in zip(found, values, strict=True) if one]
    means = [float(np.mean(one)) for _, one in known]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": subject(found[0]),
        "legendgroup": subject(found[0]),
        "showlegend": legend,
        "x": [row["learning_rate"] for row, _ in known],
        "y": short(means),
        "line": {"color": look["color"], "dash": look["dash"]},
        "marker": {"color": look["color"], "symbol": look["symbol"], "size": 7},
        "error_y": {
            "type": "data",
            "array": short([max(one) - mean for (_, one), mean in zip(known, means, strict=True)]),
            "arrayminus": short(
                [mean - min(one) for (_, one), mean in zip(known, means, strict=True)]
            ),
            "color": look["color"],
            "thickness": 0.8,
        },
        **axes_of(k),
    }


def _about_heads(rows: Rows, tasks: list[str], ablation: str) -> str:
    parts = []
    for task in tasks:
        top = max(_with_heads(rows, task), key=lambda row: _largest(row, ablation))
        lost = figure_of(_largest(top, ablation))
        parts.append(f"{task}: {top['encoding']} loses {lost} without its most important head")
    return f"{'; '.join(parts)} (mean over seeds)."


def _largest(row: Mapping[str, Any], ablation: str) -> float:
    return float(np.max(row["heads"][ablation]["drops"]))


def _about_deposit(rows: Rows, tasks: list[str], ablation: str) -> str:
    parts = []
    for task in tasks:
        means = {
            row["encoding"]: float(np.mean(clear))
            for row in _with_heads(rows, task)
            if (clear := [index for index, known in indices(row, ablation) if known])
        }
        if not means:
            parts.append(f"{task}: no run has a head above its noise")
            continue
        low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        parts.append(
            f"{task}: from {figure_of(means[low])} ({low}) to {figure_of(means[high])} ({high})"
        )
    return f"{'; '.join(parts)}."


def _drops_table(rows: Rows, tasks: list[str]) -> dict[str, list[Any]]:
    lines = [
        (row["task"], row["encoding"], ablation, layer, place + 1, drop)
        for task in tasks
        for row in _with_heads(rows, task)
        for ablation in ("zero", "mean")
        for layer, drops in enumerate(row["heads"][ablation]["drops"])
        for place, drop in enumerate(drops)
    ]
    names = ("task", "encoding", "ablation", "layer", "order", "lost")
    return columns_of(names, lines)


def _index_table(rows: Rows, tasks: list[str]) -> dict[str, list[Any]]:
    keys = ("index", "effective_heads", "gini", "largest", "noise_band")
    lines = [
        (
            *(row["task"], row["encoding"], row["learning_rate"], seed, ablation, layer),
            *(row["heads"][ablation][key][run][layer] for key in keys),
        )
        for task in tasks
        for row in _with_heads(rows, task)
        for ablation in ("zero", "mean")
        for run, seed in enumerate(row["seeds"])
        for layer in range(len(row["heads"][ablation]["index"][run]))
    ]
    names = ("task", "encoding", "learning_rate", "seed", "ablation", "layer", *keys)
    return columns_of(names, lines)


REDUNDANCY = ("lab-redundancy", "Two heads without each other: largest excess of the first layer")
PAIRS = ("lab-pairs", "Score lost without each rotary pair")


def redundancy_figure(rows: Rows) -> Figure:
    """Return the largest excess of every run."""
    tasks = _tasks_with(rows, "redundancy")
    if not tasks:
        return no_figure(*REDUNDANCY, "pairs of heads were not ablated in this grid")
    most = max(len(_with(rows, task, "redundancy")) for task in tasks)
    layout, height, each = _upright_panels(rows, tasks, most)
    data = []
    for k, task in enumerate(tasks):
        found = _with(rows, task, "redundancy")
        points = [(value, row["encoding"], clear) for row in found for value, clear in _runs(row)]
        for clear in (True, False):
            kept = [(value, name) for value, name, is_clear in points if is_clear is clear]
            data.append(noise_dots(kept, k, clear=clear))
        names = [row["encoding"] for row in found]
        layout[axis("x", k)] |= {"title": {"text": "excess of score lost"}}
        layout[axis("y", k)] |= {"categoryorder": "array", "categoryarray": names}
    return Figure(
        key=REDUNDANCY[0],
        title=REDUNDANCY[1],
        summary=_about_redundancy(rows, tasks),
        data=data,
        layout=layout | {"legend": LEGEND},
        narrow=narrow(tasks, each=each, legend=2),
        table=_redundancy_table(rows, tasks),
        height=height + 24,
    )


def pairs_figure(rows: Rows) -> Figure:
    """Return a heat-map for every task: encodings down, layers and their rotary pairs across."""
    tasks = [task for task in tasks_of(rows) if _rows_with_pairs(rows, task)]
    if not tasks:
        none = _tasks_with(rows, "pairs")
        why = "no encoding turns pairs" if none else "rotary pairs were not taken out"
        return no_figure(*PAIRS, f"{why} in this grid")
    found = [_rows_with_pairs(rows, task) for task in tasks]
    drops = [_widen(own) for own in found]
    said, table = _about_pairs(rows, tasks), _pairs_table(rows, tasks)
    return _lost_map(PAIRS, rows, tasks, found, drops, summary=said, table=table)


def _with(rows: Rows, task: str, key: str) -> list[Mapping[str, Any]]:
    return [row for row in of_task(rows, task) if row.get(key)]


def _tasks_with(rows: Rows, key: str) -> list[str]:
    return [task for task in tasks_of(rows) if _with(rows, task, key)]


def _runs(row: Mapping[str, Any]) -> list[tuple[float, bool]]:
    found = row["redundancy"]
    return [(e, e > band) for e, band in zip(found["largest"], found["noise_band"], strict=True)]


def _rows_with_pairs(rows: Rows, task: str) -> list[Mapping[str, Any]]:
    """Return the rows of a task that turn pairs."""
    return [row for row in _with(rows, task, "pairs") if np.size(row["pairs"]["drops"])]


def _drops(row: Mapping[str, Any]) -> Any:
    """Return losses (layers, pairs), nan where there is no such pair."""
    return np.array(row["pairs"]["drops"], np.float64)


def _widen(rows: Rows) -> list[Any]:
    """Return the losses of rows with as many layers and pairs as the largest: one axis serves all.

    >>> _widen([{"pairs": {"drops": [[0.1]]}}, {"pairs": {"drops": [[0.2, None]]}}])[0].shape
    (1, 2)
    """
    found = [_drops(row) for row in rows]
    layers, pairs = np.max([one.shape for one in found], axis=0)
    wide = [np.full((layers, pairs), np.nan) for _ in found]
    for full, one in zip(wide, found, strict=True):
        full[: one.shape[0], : one.shape[1]] = one
    return wide


def _about_redundancy(rows: Rows, tasks: list[str]) -> str:
    parts = []
    for task in tasks:
        found = _with(rows, task, "redundancy")
        clear = sum(is_clear for row in found for _, is_clear in _runs(row))
        runs = sum(len(_runs(row)) for row in found)
        parts.append(f"{task}: in {clear} of {runs} runs two heads stand in for one another")
    return f"{'; '.join(parts)}."


def _about_pairs(rows: Rows, tasks: list[str]) -> str:
    parts = []
    for task in tasks:
        top = max(_rows_with_pairs(rows, task), key=lambda row: float(np.nanmax(_drops(row))))
        drops = _drops(top)
        layer, pair = np.unravel_index(int(np.nanargmax(drops)), drops.shape)
        lost = figure_of(float(np.nanmax(drops)))
        parts.append(f"{task}: {top['encoding']} loses {lost} without pair {pair} of layer {layer}")
    return f"{'; '.join(parts)} (mean over seeds).{_left_out(rows)}"


def _left_out(rows: Rows) -> str:
    """Name the encodings that were asked for pairs and turn none."""
    asked = [row for task in tasks_of(rows) for row in _with(rows, task, "pairs")]
    none = dict.fromkeys(row["encoding"] for row in asked if not np.size(row["pairs"]["drops"]))
    return f" Left out, since they turn no pairs: {', '.join(none)}." if none else ""


def _redundancy_table(rows: Rows, tasks: list[str]) -> dict[str, list[Any]]:
    lines = [
        (task, row["encoding"], row["learning_rate"], *of_run)
        for task in tasks
        for row in _with(rows, task, "redundancy")
        for of_run in zip(
            row["seeds"], row["redundancy"]["largest"], row["redundancy"]["noise_band"], strict=True
        )
    ]
    names = ("task", "encoding", "learning_rate", "seed", "excess", "noise_band")
    return columns_of(names, lines)


def _pairs_table(rows: Rows, tasks: list[str]) -> dict[str, list[Any]]:
    lines = [
        (task, row["encoding"], row["learning_rate"], seed, layer, pair, lost)
        for task in tasks
        for row in _rows_with_pairs(rows, task)
        for seed, table in zip(row["seeds"], row["pairs"]["by_seed"], strict=True)
        for layer, drops in enumerate(table)
        for pair, lost in enumerate(drops)
        if lost is not None
    ]
    names = ("task", "encoding", "learning_rate", "seed", "layer", "pair", "lost")
    return columns_of(names, lines)
