"""Parts of a row that are averaged point by point: curves, test lengths, and heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gnomon.lab.measures.intervals import Estimate, over_seeds
from gnomon.lab.records import Record
from gnomon.results import Result


@dataclass(frozen=True, kw_only=True, eq=False)
class HeadLine(Result):
    """Concentration of importance in one layer over seeds, for one ablation ("zero" or "mean")."""

    ablation: str
    layer: int
    index: Estimate | None
    """Deposit index; None where no run has one."""
    indices: tuple[float | None, ...]
    """By run, in the order of its seeds."""
    effective_heads: Estimate | None
    gini: Estimate | None
    largest: Estimate
    uniform: float
    deposits: int
    """Runs in which the layer has a deposit: above its noise band and above the uniform null."""
    runs: int


def curve_points(runs: list[Record]) -> tuple[Mapping[str, Any], ...]:
    """Return mean and extremes of the scores at every step that all runs have."""
    return _points([run.curve for run in runs], "step")


def length_points(runs: list[Record]) -> tuple[Mapping[str, Any], ...]:
    """Return mean, interval and extremes of the scores at every test length that all runs have."""
    return _points([run.lengths for run in runs], "length")


def _points(
    curves: list[tuple[Mapping[str, Any], ...]], axis: str
) -> tuple[Mapping[str, Any], ...]:
    tables = [{int(point[axis]): point["score"] for point in curve} for curve in curves]
    if not tables:
        return ()
    common = set.intersection(*(set(table) for table in tables))
    made = []
    for at in sorted(common):
        values = [table[at] for table in tables]
        if all(value is not None for value in values):
            made.append({axis: at, **over_seeds(values).to_dict()})
    return tuple(made)


def head_lines(runs: list[Record]) -> tuple[HeadLine, ...]:
    """Return one line for every ablation and layer, from the measure `heads` of the runs."""
    told = [run.measures["heads"] for run in runs if "heads" in run.measures]
    if not told:
        return ()
    layers = range(len(told[0]["zero_concentration"]))
    return tuple(
        _head_line([table[f"{ablation}_concentration"][layer] for table in told], ablation)
        for ablation in ("zero", "mean")
        for layer in layers
    )


def _head_line(lines: list[Mapping[str, Any]], ablation: str) -> HeadLine:
    return HeadLine(
        ablation=ablation,
        layer=int(lines[0]["layer"]),
        index=_estimate(lines, "index"),
        indices=tuple(line["index"] for line in lines),
        effective_heads=_estimate(lines, "effective_heads"),
        gini=_estimate(lines, "gini"),
        largest=over_seeds([line["largest"] for line in lines]),
        uniform=float(lines[0]["uniform"]),
        deposits=sum(bool(line["deposit"]) for line in lines),
        runs=len(lines),
    )


def _estimate(lines: list[Mapping[str, Any]], name: str) -> Estimate | None:
    values = [line[name] for line in lines if line[name] is not None]
    return over_seeds(values) if values else None
