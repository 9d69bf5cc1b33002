"""A grid in one table: what its records show, without their bulk.

A row is one encoding on one task over the report seeds: scores, areas and steps by seed, the
learning curve as mean and extremes at some steps, scores by length, what was measured of heads, of
pairs of them and of rotary pairs, of the Hessian and of logits. It is what a page is drawn from and
what is kept beside a claim; the records themselves may be thrown away.

Heads have no names that two seeds share, so the drops of a layer are put in descending order in
every run before they are averaged over runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.lab.grid import Grid
from gnomon.lab.measures.concentration import noise_band
from gnomon.lab.planning import Progress
from gnomon.lab.record_shape import NUMBER, TEXT, holding, maybe, several
from gnomon.lab.records import Record, read_records
from gnomon.lab.summaries import Row, summarise
from gnomon.lab.summary_tables import compared, data_of
from gnomon.pipeline import fault
from gnomon.reading import read_written
from gnomon.results import plain

POINTS = 12
"""Points of a curve that are kept."""
DIGITS = 5
ABLATIONS = ("zero", "mean")
_OF_LAYER = ("index", "effective_heads", "gini", "largest", "noise_band", "null", "deposit")

_CHOSEN = holding({"task": TEXT, "encoding": TEXT}, tried=several(holding({}, mean=maybe(NUMBER))))
_STATUS = holding({"selected": several(_CHOSEN)})


def compact(records: Iterable[Record], *, name: str = "grid", question: str = "") -> dict[str, Any]:
    """Return the table of these records as plain values."""
    found = list(records)
    summary = summarise(found)
    rows = [_row(row, _runs(found, row)) for row in summary.rows]
    costs = [one.cpu_seconds or 0.0 for one in found]
    states = [one.status for one in found]
    return {
        "name": name,
        "question": question,
        "runs": len(found),
        "diverged": states.count("diverged"),
        "failed": states.count("failed"),
        "cpu_seconds": round(sum(costs)),
        "versions": _versions(found),
        "rows": rows,
        "compared": _rounded(compared(summary)),
    }


def _versions(records: Sequence[Record]) -> dict[str, str]:
    """Return what the runs were made with, by name; several are joined."""
    names = dict.fromkeys(name for one in records for name in one.versions)
    found = {name: {one.versions.get(name) for one in records} - {None} for name in names}
    return {name: ", ".join(sorted(map(str, values))) for name, values in found.items()}


def compact_folder(folder: Path, *, grid: Grid | None = None) -> dict[str, Any]:
    """Return the table of a folder of records, with what the sweep tried.

    With its grid, of the cells that the grid has now: a folder keeps the records of settings that
    were changed since. Without it all records count, and a row of several settings is refused.
    """
    if grid is None:
        made = compact(read_records(folder), name=folder.name)
        return _with_choices(made, _chosen(folder / "grid.json"))
    progress = Progress(grid, folder)
    records = [record for _, record in progress.records()]
    made = compact(records, name=grid.name, question=grid.question)
    return _with_choices(made, [one.to_dict() for one in progress.selections()])


def _chosen(status: Path) -> list[Mapping[str, Any]]:
    """Return what the status of a grid says was chosen; nothing where it has not ended yet."""
    try:
        told = read_written(status)
    except (OSError, ValueError):
        return []
    return [] if fault(told, _STATUS) is not None else list(told["selected"])


def _with_choices(made: dict[str, Any], chosen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a table whose rows say what the sweep tried, in the order of the grid."""
    if not chosen:
        return made
    keys = [(one["task"], one["encoding"]) for one in chosen]
    known = dict(zip(keys, chosen, strict=True))
    for row in made["rows"]:
        one = known.get((row["task"], row["encoding"]), {})
        row["at_edge"] = bool(one.get("at_edge", False))
        row["tried"] = _rounded([dict(tried) for tried in one.get("tried", ())])
    last = len(keys)
    place = {key: number for number, key in enumerate(keys)}
    for lines in (made["rows"], made.get("compared", [])):
        lines.sort(key=lambda row: place.get((row["task"], row["encoding"]), last))
    return made


def _runs(records: Sequence[Record], row: Row) -> list[Record]:
    """Return the finished runs of a row, by seed."""
    runs = [
        one
        for one in records
        if one.cell.get("phase") == "report"
        and (one.cell["task"], one.cell["encoding"]) == (row.task, row.encoding)
        and one.status == "done"
        and one.score is not None
    ]
    return sorted(runs, key=lambda one: int(one.cell["seed"]))


def _row(row: Row, runs: Sequence[Record]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "task": row.task,
        "encoding": row.encoding,
        **_setting(runs),
        "choice": dict(row.choice),
        "seeds": list(row.seeds),
        "scores": list(row.scores),
        "scores_interval": None if row.score is None else row.score.interval,
        "areas": list(row.areas),
        "areas_interval": None if row.area is None else row.area.interval,
        "steps_to_90": list(row.steps_to_90),
        "late": list(row.late),
        "diverged": row.diverged,
        "failed": row.failed,
        "ceiling": dict(row.ceiling),
        "data": data_of(runs),
        "parameters": row.parameters,
        "cpu_seconds": [one.cpu_seconds for one in runs],
        "curve": _curve(row.curve),
        "lengths": _lengths(runs),
        "heads": _heads(runs),
        "redundancy": _redundancy(runs),
        "pairs": _pairs(runs),
        "hessian": _measure(runs, "hessian", lambda one: one["value"]),
        "hessian_along": _along(runs),
        "contraction": _measure(runs, "logits", lambda one: float(np.mean(one["contraction"]))),
        "toeplitz_share": _measure(
            runs, "logits", lambda one: float(np.mean(one["toeplitz_share"]))
        ),
    }
    rounded: dict[str, Any] = _rounded(made)
    return rounded


def _setting(runs: Sequence[Record]) -> dict[str, Any]:
    """Say what was run, in a few words; files are called by their names alone."""
    if not runs:
        return {"parts": [], "learning_rate": None, "steps": None, "model": {}}
    cell = runs[0].cell
    parts = [
        {"name": Path(str(part["name"])).name}
        | {k: part[k] for k in ("parameters", "on_layers", "on_heads") if part.get(k)}
        for part in cell["parts"]
    ]
    size = {k: cell["model"][k] for k in ("kind", "dimension", "layers", "heads", "extra")}
    training = cell["training"]
    return {
        "parts": parts,
        "learning_rate": training["learning_rate"],
        "steps": training["steps"],
        "model": {k: v for k, v in size.items() if v not in ({}, None)},
    }


def _curve(points: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return some points of a curve by column, the first and the last among them."""
    count = len(points)
    kept = sorted({round(k) for k in np.linspace(0, count - 1, min(count, POINTS))})
    names = {"step": "step", "mean": "mean", "low": "smallest", "high": "largest"}
    return {name: [points[k][key] for k in kept] for name, key in names.items()}


def _lengths(runs: Sequence[Record]) -> dict[str, list[Any]] | None:
    """Return scores by length, a list over seeds for each."""
    if not runs or not runs[0].lengths:
        return None
    tables = [{point["length"]: point["score"] for point in run.lengths} for run in runs]
    at = sorted(set.intersection(*(set(table) for table in tables)))
    return {"length": at, "scores": [[table[length] for table in tables] for length in at]}


def _heads(runs: Sequence[Record]) -> dict[str, Any] | None:
    told = [run.measures["heads"] for run in runs if "heads" in run.measures]
    if not told or len(told) < len(runs):
        return None
    return {ablation: _ablated(told, ablation) for ablation in ABLATIONS}


def _ablated(told: Sequence[Mapping[str, Any]], ablation: str) -> dict[str, Any]:
    lines = [table[f"{ablation}_concentration"] for table in told]
    drops = np.array([table[ablation]["drops"] for table in told], np.float64)
    ordered = -np.sort(-drops, axis=2)
    made: dict[str, Any] = {
        key: [[line[key] for line in layers] for layers in lines] for key in _OF_LAYER
    }
    return made | {"uniform": lines[0][0]["uniform"], "drops": ordered.mean(axis=0).tolist()}


def _redundancy(runs: Sequence[Record]) -> dict[str, list[float]] | None:
    """Return the largest excess of a pair of heads by run, and the noise band it has to leave."""
    told = [run.measures["redundancy"] for run in runs if "redundancy" in run.measures]
    if not told or len(told) < len(runs) or len(told[0]["excess"]) < 2:
        return None
    made: dict[str, list[float]] = {"largest": [], "noise_band": []}
    for table in told:
        excess, errors = np.array(table["excess"]), np.array(table["excess_errors"])
        upper = np.triu_indices(len(excess), 1)
        top = int(np.argmax(excess[upper]))
        made["largest"].append(float(excess[upper][top]))
        made["noise_band"].append(noise_band(float(errors[upper][top]), len(upper[0])))
    return made


def _pairs(runs: Sequence[Record]) -> dict[str, Any] | None:
    """Return what is lost without rotary pairs, by layer: pair k is the same pair in every run."""
    told = [run.measures["pairs"] for run in runs if "pairs" in run.measures]
    if not told or len(told) < len(runs) or any("coordinates" not in one for one in told):
        return None  # without coordinates it is not known what was taken out
    if told[0]["reason"]:
        return {"drops": [], "by_seed": [], "reason": told[0]["reason"]}
    drops = np.array([table["drops"] for table in told], np.float64)
    return {"drops": plain(drops.mean(axis=0)), "by_seed": plain(drops), "reason": ""}


def _measure(
    runs: Sequence[Record], name: str, read: Callable[[Mapping[str, Any]], float | None]
) -> list[float | None] | None:
    told = [run.measures[name] for run in runs if name in run.measures]
    return [read(one) for one in told] if told and len(told) == len(runs) else None


def _along(runs: Sequence[Record]) -> dict[str, list[Any]] | None:
    """Return the top eigenvalue of the Hessian along training, where it was watched."""
    if not runs or any("hessian" not in point for run in runs for point in run.curve):
        return None
    steps = [[point["step"] for point in run.curve] for run in runs]
    if not steps[0] or any(one != steps[0] for one in steps):
        return None
    values = [[point["hessian"]["value"] for point in run.curve] for run in runs]
    return {"step": steps[0], "values": values}


def _rounded(value: Any) -> Any:
    """Return numbers to five significant digits: more than seeds tell."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {str(key): _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
