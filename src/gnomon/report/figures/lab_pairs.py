"""What pairs do: heads that stand in for one another, and rotary pairs by layer.

The *excess* of two heads is what is lost without both, beyond the sum of what is lost without each:
above 0 where one does the work of the other in its absence, so that single losses understate both.
A dot is the largest excess of a run in its first layer, open where it is within its noise band
(Bonferroni over pairs). A rotary pair has one frequency in every run, so losses are averaged pair
by pair. Encodings that turn no pairs have none to lose: they are left out of the map, and named.
Where layers or encodings turn fewer pairs than others, the rest is a gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.report.figure import Figure, missing
from gnomon.report.figures.distances import colours
from gnomon.report.figures.lab_heads import layer_ticks, layers_map, noise_dots
from gnomon.report.figures.lab_rows import Rows, encodings_of, laid_out, narrow, of_task, tasks_of
from gnomon.report.figures.lab_scores import LINE
from gnomon.report.figures.panels import LEGEND, axis
from gnomon.report.figures.places import figure_of

REDUNDANCY = ("lab-redundancy", "Two heads without each other: largest excess of the first layer")
PAIRS = ("lab-pairs", "Score lost without each rotary pair")
UPRIGHT = {"autorange": "reversed", "type": "category"}


def redundancy_figure(rows: Rows) -> Figure:
    """Return the largest excess of every run."""
    tasks = _tasks(rows, "redundancy")
    if not tasks:
        return missing(*REDUNDANCY, "pairs of heads were not ablated in this grid")
    each = _height(rows, tasks, "redundancy")
    layout, height = laid_out(tasks, each=each, names=encodings_of(rows), y=UPRIGHT)
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
    tasks = [task for task in tasks_of(rows) if _turning(rows, task)]
    if not tasks:
        none = _tasks(rows, "pairs")
        why = "no encoding turns pairs" if none else "rotary pairs were not taken out"
        return missing(*PAIRS, f"{why} in this grid")
    each = LINE * max(len(_turning(rows, task)) for task in tasks) + 40
    layout, height = laid_out(tasks, each=each, names=encodings_of(rows), y=UPRIGHT)
    data = []
    for k, task in enumerate(tasks):
        found = _turning(rows, task)
        drops = _widened(found)
        data.append(layers_map(found, drops, k))
        layout[axis("x", k)] |= {"tickangle": 0, **layer_ticks(drops[0].shape)}
        layout[axis("y", k)] |= {"showgrid": False, "automargin": True}
    bar = {"title": {"text": "score lost"}, "thickness": 12}
    layout["coloraxis"] = {"cmin": 0.0, "colorscale": colours(), "colorbar": bar}
    return Figure(
        key=PAIRS[0],
        title=PAIRS[1],
        summary=_about_pairs(rows, tasks),
        data=data,
        layout=layout,
        narrow=narrow(tasks, each=each),
        table=_pairs_table(rows, tasks),
        height=height,
    )


def _with(rows: Rows, task: str, key: str) -> list[Mapping[str, Any]]:
    return [row for row in of_task(rows, task) if row.get(key)]


def _tasks(rows: Rows, key: str) -> list[str]:
    return [task for task in tasks_of(rows) if _with(rows, task, key)]


def _height(rows: Rows, tasks: list[str], key: str) -> int:
    return LINE * max(len(_with(rows, task, key)) for task in tasks) + 40


def _runs(row: Mapping[str, Any]) -> list[tuple[float, bool]]:
    told = row["redundancy"]
    return [(e, e > band) for e, band in zip(told["largest"], told["noise_band"], strict=True)]


def _turning(rows: Rows, task: str) -> list[Mapping[str, Any]]:
    """Return the rows of a task that turn pairs."""
    return [row for row in _with(rows, task, "pairs") if np.size(row["pairs"]["drops"])]


def _drops(row: Mapping[str, Any]) -> Any:
    """Return losses (layers, pairs), nan where there is no such pair."""
    return np.array(row["pairs"]["drops"], np.float64)


def _widened(rows: Rows) -> list[Any]:
    """Return the losses of rows with as many layers and pairs as the largest: one axis serves all.

    >>> _widened([{"pairs": {"drops": [[0.1]]}}, {"pairs": {"drops": [[0.2, None]]}}])[0].shape
    (1, 2)
    """
    found = [_drops(row) for row in rows]
    layers, pairs = np.max([one.shape for one in found], axis=0)
    whole = [np.full((layers, pairs), np.nan) for _ in found]
    for wide, one in zip(whole, found, strict=True):
        wide[: one.shape[0], : one.shape[1]] = one
    return whole


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
        top = max(_turning(rows, task), key=lambda row: float(np.nanmax(_drops(row))))
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
    return {n: list(c) for n, c in zip(names, zip(*lines, strict=True), strict=True)}


def _pairs_table(rows: Rows, tasks: list[str]) -> dict[str, list[Any]]:
    lines = [
        (task, row["encoding"], row["learning_rate"], seed, layer, pair, lost)
        for task in tasks
        for row in _turning(rows, task)
        for seed, table in zip(row["seeds"], row["pairs"]["by_seed"], strict=True)
        for layer, drops in enumerate(table)
        for pair, lost in enumerate(drops)
        if lost is not None
    ]
    names = ("task", "encoding", "learning_rate", "seed", "layer", "pair", "lost")
    return {n: list(c) for n, c in zip(names, zip(*lines, strict=True), strict=True)}
