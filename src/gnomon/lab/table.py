"""A grid in one table: what its records show, over seeds, with intervals and without their bulk.

A row is one encoding on one task over the report seeds: scores, areas and steps by seed, the
learning curve as mean and extremes at some steps, scores by length, what was measured of heads, of
pairs of them and of rotary pairs, of the Hessian and of logits. It is what a page is drawn from and
what is kept beside a claim; the records themselves may be thrown away.

Only records of the report phase count; those of the selection of learning rates chose the setting
and would flatter it. Runs that diverged or failed are counted and not averaged in. A run is *late*
where its score, measured from the constant answer, is below half of the median of its row, and the
median run has learned something (a tenth of the way to the ceiling): a cut before the jump of a
learning curve looks dead and may only be slow, so it is named.

Heads have no names that two seeds share, so the drops of a layer are put in descending order in
every run before they are averaged over runs.

Intervals are over seeds:

    mean over k seeds        m +- t_(k-1) s / sqrt k                           [student1908]
    difference, paired       the same of d_i = x_i - y_i, seed by seed, with its p value
    several differences      Holm's step-down: p_(1) <= ... <= p_(m), adjusted
                             p_(j) = max_(i<=j) min(1, (m - i + 1) p_(i))      [holm1979]
    accuracy a, n documents  sqrt(a (1 - a) / n), its standard error with one answer each

Seeds are few: one seed gives a mean and no interval. Differences in the table are of areas under
the learning curve, corrected over the encodings of a task; the reference is RoPE where a task was
run with it, and otherwise the first encoding that has a finished run there. All seeds of a real
task are scored on the same documents. What these documents alone leave open is the standard error
of an accuracy, beside which an interval over seeds may look narrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import LabError, nearest
from gnomon.lab.grid import Grid
from gnomon.lab.heads import noise_band
from gnomon.lab.records import NUMBER, TEXT, Record, list_of, nullable, read_records, table_of
from gnomon.lab.run import Progress
from gnomon.numeric.checks import reals
from gnomon.pipeline import fault
from gnomon.reading import read_written
from gnomon.results import Result, plain, to_dataframe

POINTS = 12
"""Points of a curve that are kept."""
DIGITS = 5
ABLATIONS = ("zero", "mean")
_OF_LAYER = ("index", "effective_heads", "gini", "largest", "noise_band", "null", "deposit")

_CHOSEN = table_of(
    {"task": TEXT, "encoding": TEXT}, tried=list_of(table_of({}, mean=nullable(NUMBER)))
)
_STATUS = table_of({"selected": list_of(_CHOSEN)})


def grid_table(
    records: Iterable[Record], *, name: str = "grid", question: str = ""
) -> dict[str, Any]:
    """Return the table of these records as plain values."""
    found = list(records)
    summary = summarise(found)
    rows = [_row_of_table(row, _runs_of_row(found, row)) for row in summary.rows]
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
        "compared": _round(compare_to_reference(summary)),
    }


def _versions(records: Sequence[Record]) -> dict[str, str]:
    """Return what the runs were made with, by name; several are joined."""
    names = dict.fromkeys(name for one in records for name in one.versions)
    found = {name: {one.versions.get(name) for one in records} - {None} for name in names}
    return {name: ", ".join(sorted(map(str, values))) for name, values in found.items()}


def folder_table(folder: Path, *, grid: Grid | None = None) -> dict[str, Any]:
    """Return the table of a folder of records, with what the sweep tried.

    With its grid, of the cells that the grid has now: a folder keeps the records of settings that
    were changed since. Without it all records count, and a row of several settings is refused.
    """
    if grid is None:
        made = grid_table(read_records(folder), name=folder.name)
        return _add_choices(made, _read_choices(folder / "grid.json"))
    progress = Progress(grid, folder)
    records = [record for _, record in progress.records()]
    made = grid_table(records, name=grid.name, question=grid.question)
    return _add_choices(made, [one.to_dict() for one in progress.selections()])


def _read_choices(status: Path) -> list[Mapping[str, Any]]:
    """Return what the status of a grid says was chosen; nothing where it has not ended yet."""
    try:
        told = read_written(status)
    except (OSError, ValueError):
        return []
    return [] if fault(told, _STATUS) is not None else list(told["selected"])


def _add_choices(made: dict[str, Any], chosen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a table whose rows say what the sweep tried, in the order of the grid."""
    if not chosen:
        return made
    keys = [(one["task"], one["encoding"]) for one in chosen]
    known = dict(zip(keys, chosen, strict=True))
    for row in made["rows"]:
        one = known.get((row["task"], row["encoding"]), {})
        row["at_edge"] = bool(one.get("at_edge", False))
        row["tried"] = _round([dict(tried) for tried in one.get("tried", ())])
    last = len(keys)
    place = {key: number for number, key in enumerate(keys)}
    for lines in (made["rows"], made.get("compared", [])):
        lines.sort(key=lambda row: place.get((row["task"], row["encoding"]), last))
    return made


def _runs_of_row(records: Sequence[Record], row: Row) -> list[Record]:
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


def _row_of_table(row: Row, runs: Sequence[Record]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "task": row.task,
        "encoding": row.encoding,
        **_settings_of_runs(runs),
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
        "data": data_of_runs(runs),
        "parameters": row.parameters,
        "cpu_seconds": [one.cpu_seconds for one in runs],
        "curve": _curve_columns(row.curve),
        "lengths": _scores_by_length(runs),
        "heads": _heads_over_runs(runs),
        "redundancy": _redundancy_over_runs(runs),
        "pairs": _pairs_over_runs(runs),
        "hessian": _measure_by_run(runs, "hessian", lambda one: one["value"]),
        "hessian_along": _hessian_along(runs),
        "contraction": _measure_by_run(
            runs, "logits", lambda one: float(np.mean(one["contraction"]))
        ),
        "toeplitz_share": _measure_by_run(
            runs, "logits", lambda one: float(np.mean(one["toeplitz_share"]))
        ),
    }
    rounded: dict[str, Any] = _round(made)
    return rounded


def _settings_of_runs(runs: Sequence[Record]) -> dict[str, Any]:
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


def _curve_columns(points: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return some points of a curve by column, the first and the last among them."""
    count = len(points)
    kept = sorted({round(k) for k in np.linspace(0, count - 1, min(count, POINTS))})
    names = {"step": "step", "mean": "mean", "low": "smallest", "high": "largest"}
    return {name: [points[k][key] for k in kept] for name, key in names.items()}


def _scores_by_length(runs: Sequence[Record]) -> dict[str, list[Any]] | None:
    """Return scores by length, a list over seeds for each."""
    if not runs or not runs[0].lengths:
        return None
    tables = [{point["length"]: point["score"] for point in run.lengths} for run in runs]
    at = sorted(set.intersection(*(set(table) for table in tables)))
    return {"length": at, "scores": [[table[length] for table in tables] for length in at]}


def _heads_over_runs(runs: Sequence[Record]) -> dict[str, Any] | None:
    told = [run.measures["heads"] for run in runs if "heads" in run.measures]
    if not told or len(told) < len(runs):
        return None
    return {ablation: _ablation_over_runs(told, ablation) for ablation in ABLATIONS}


def _ablation_over_runs(told: Sequence[Mapping[str, Any]], ablation: str) -> dict[str, Any]:
    lines = [table[f"{ablation}_concentration"] for table in told]
    drops = np.array([table[ablation]["drops"] for table in told], np.float64)
    ordered = -np.sort(-drops, axis=2)
    made: dict[str, Any] = {
        key: [[line[key] for line in layers] for layers in lines] for key in _OF_LAYER
    }
    return made | {"uniform": lines[0][0]["uniform"], "drops": ordered.mean(axis=0).tolist()}


def _redundancy_over_runs(runs: Sequence[Record]) -> dict[str, list[float]] | None:
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


def _pairs_over_runs(runs: Sequence[Record]) -> dict[str, Any] | None:
    """Return what is lost without rotary pairs, by layer: pair k is the same pair in every run."""
    told = [run.measures["pairs"] for run in runs if "pairs" in run.measures]
    if not told or len(told) < len(runs) or any("coordinates" not in one for one in told):
        return None  # without coordinates it is not known what was taken out
    if told[0]["reason"]:
        return {"drops": [], "by_seed": [], "reason": told[0]["reason"]}
    drops = np.array([table["drops"] for table in told], np.float64)
    return {"drops": plain(drops.mean(axis=0)), "by_seed": plain(drops), "reason": ""}


def _measure_by_run(
    runs: Sequence[Record], name: str, read: Callable[[Mapping[str, Any]], float | None]
) -> list[float | None] | None:
    told = [run.measures[name] for run in runs if name in run.measures]
    return [read(one) for one in told] if told and len(told) == len(runs) else None


def _hessian_along(runs: Sequence[Record]) -> dict[str, list[Any]] | None:
    """Return the top eigenvalue of the Hessian along training, where it was watched."""
    if not runs or any("hessian" not in point for run in runs for point in run.curve):
        return None
    steps = [[point["step"] for point in run.curve] for run in runs]
    if not steps[0] or any(one != steps[0] for one in steps):
        return None
    values = [[point["hessian"]["value"] for point in run.curve] for run in runs]
    return {"step": steps[0], "values": values}


def _round(value: Any) -> Any:
    """Return numbers to five significant digits: more than seeds tell."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {str(key): _round(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_round(item) for item in value]
    return value


PREFERRED = "rope"
QUANTITY = "area"


def compare_to_reference(summary: Summary) -> list[dict[str, Any]]:
    """Return every encoding less the reference of its task, as plain values."""
    lines: list[dict[str, Any]] = []
    for task in dict.fromkeys(row.task for row in summary.rows):
        rows = tuple(row for row in summary.rows if row.task == task and row.seeds)
        names = [row.encoding for row in rows]
        if len(names) > 1:
            reference = PREFERRED if PREFERRED in names else names[0]
            found = Summary(rows=rows).compare(reference, QUANTITY)
            lines += [_comparison_line(one) for one in found]
    return lines


def _comparison_line(one: Comparison) -> dict[str, Any]:
    return {
        "task": one.task,
        "encoding": one.encoding,
        "reference": one.reference,
        "quantity": one.quantity,
        "difference": one.difference.mean,
        "interval": one.difference.interval,
        "seeds": one.difference.seeds,
        "p": one.difference.p,
        "p_holm": one.p_holm,
    }


def data_of_runs(runs: Sequence[Record]) -> dict[str, Any] | None:
    """Return what the runs of a row have read, or None where their task is drawn.

    `test` is how many documents the score rests on, `standard_error` what they alone give;
    `digests` says how many different data sets the runs have read: more than one is a fault.
    """
    told = [run.data for run in runs if run.data]
    if not told or len(told) < len(runs):
        return None
    asked = int(runs[0].cell["training"]["held_out"])
    test = min(int(told[0]["test"]), asked)
    scores = [float(run.score) for run in runs if run.score is not None]
    single = told[0].get("one_answer", True) and runs[0].ceiling.get("measure") == "accuracy"
    error = document_error(sum(scores) / len(scores), test) if single and scores else None
    digests = len({one["digest"] for one in told})
    return {**told[0], "test": test, "digests": digests, "standard_error": error}


REPORT = "report"
QUANTITIES = ("score", "area")
LEARNED = 0.1
"""Share of the way to the ceiling below which a row has learned too little to have late runs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Row(Result):
    """One encoding on one task; what no finished run gives is None or empty."""

    task: str
    encoding: str
    choice: Mapping[str, Any]
    """What the sweep chose: the learning rate, and whatever else was swept."""
    seeds: tuple[int, ...]
    """Seeds of the finished runs, ascending; values below are in their order."""
    scores: tuple[float, ...]
    areas: tuple[float, ...]
    steps_to_90: tuple[int | None, ...]
    score: Estimate | None
    area: Estimate | None
    late: tuple[int, ...]
    """Seeds whose score is below half of the median, from the constant answer."""
    diverged: int
    failed: int
    ceiling: Mapping[str, Any]
    parameters: int | None
    cpu_seconds: float | None
    curve: tuple[Mapping[str, Any], ...]
    lengths: tuple[Mapping[str, Any], ...]
    heads: tuple[HeadLine, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison(Result):
    """An encoding less the reference on one task, paired by seed."""

    task: str
    encoding: str
    reference: str
    quantity: str
    difference: Estimate
    p_holm: float | None
    """The p value, corrected over the encodings of the task; None below two common seeds."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Summary(Result):
    """All rows of a folder of records, in the order of tasks and encodings met."""

    rows: tuple[Row, ...]

    def row(self, task: str, encoding: str) -> Row:
        """Return one row by its names."""
        found = [row for row in self.rows if (row.task, row.encoding) == (task, encoding)]
        if not found:
            names = sorted({f"{row.task} / {row.encoding}" for row in self.rows})
            asked = f"{task} / {encoding}"
            raise LabError(f"there are no records of {asked!r}; {nearest(asked, names)}.")
        return found[0]

    def compare(self, reference: str, quantity: str = "area") -> tuple[Comparison, ...]:
        """Return every encoding less the reference, task by task."""
        if quantity not in QUANTITIES:
            raise LabError(f"{quantity!r} cannot be compared; {nearest(quantity, QUANTITIES)}.")
        known = {row.encoding for row in self.rows}
        if reference not in known:
            raise LabError(f"there are no records of {reference!r}; {nearest(reference, known)}.")
        made: list[Comparison] = []
        for task in dict.fromkeys(row.task for row in self.rows):
            of_task = {row.encoding: row for row in self.rows if row.task == task}
            if reference in of_task:
                made += _compare_rows(of_task, reference, quantity)
        return tuple(made)

    def to_dataframe(self) -> Any:
        """Return one line per row with its means and intervals."""
        return to_dataframe([_flat_row(row) for row in self.rows])


def summarise(records: Iterable[Record]) -> Summary:
    """Return one row for every task and encoding that has records of the report phase.

    Runs of a row differ in their seed alone; where they do not, they are refused.
    """
    grouped: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record.cell.get("phase") == REPORT:
            key = str(record.cell["task"]), str(record.cell["encoding"])
            grouped.setdefault(key, []).append(record)
    for key, runs in grouped.items():
        _check_alike(*key, runs)
    return Summary(rows=tuple(_row(*key, runs) for key, runs in grouped.items()))


def _check_alike(task: str, encoding: str, runs: list[Record]) -> None:
    """Refuse a row of several settings, or with a seed twice: a grid was changed in between."""
    first, *others = (dict(_flatten_settings(run.cell)) for run in runs)
    told = ""
    for other in others:
        changed = [key for key in {**first, **other} if first.get(key) != other.get(key)]
        if changed:
            at = changed[0]
            told = f"with {at} {first.get(at)!r} and {other.get(at)!r}"
            break
    seeds = [run.cell["seed"] for run in runs]
    twice = [seed for seed in seeds if seeds.count(seed) > 1]
    if told or twice:
        raise LabError(
            f"There are records of task {task!r} and encoding {encoding!r} "
            f"{told or f'twice for seed {twice[0]}'}; name their grid to say which count "
            "(`gnomon lab report GRID --records FOLDER`), or remove the others."
        )


def _flatten_settings(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting of a cell but its seed, by its path, in words that can be compared."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten_settings(value, f"{path}{key}.")
        elif path or key != "seed":
            yield f"{path}{key}", list(value) if isinstance(value, tuple) else value


def _row(task: str, encoding: str, runs: list[Record]) -> Row:
    runs = sorted(runs, key=lambda run: int(run.cell["seed"]))
    done = [run for run in runs if run.status == "done" and run.score is not None]
    scores = tuple(float(run.score or 0.0) for run in done)
    areas = tuple(float(run.area) for run in done if run.area is not None)
    seeds = tuple(int(run.cell["seed"]) for run in done)
    ceiling = done[0].ceiling if done else {}
    costs = [run.cpu_seconds for run in done if run.cpu_seconds is not None]
    return Row(
        task=task,
        encoding=encoding,
        choice=runs[0].cell.get("choice", {}),
        seeds=seeds,
        scores=scores,
        areas=areas,
        steps_to_90=tuple(run.steps_to_90 for run in done),
        score=over_seeds(scores) if scores else None,
        area=over_seeds(areas) if areas else None,
        late=_late(seeds, scores, ceiling),
        diverged=sum(run.status == "diverged" for run in runs),
        failed=sum(run.status == "failed" for run in runs),
        ceiling=ceiling,
        parameters=done[0].parameters if done else None,
        cpu_seconds=float(np.mean(costs)) if costs else None,
        curve=curve_points(done),
        lengths=length_points(done),
        heads=head_lines(done),
    )


def _late(
    seeds: tuple[int, ...], scores: tuple[float, ...], ceiling: Mapping[str, Any]
) -> tuple[int, ...]:
    constant, best = float(ceiling.get("constant", 0.0)), float(ceiling.get("value", 1.0))
    gained = [score - constant for score in scores]
    median = float(np.median(gained)) if gained else 0.0
    if median < LEARNED * (best - constant):
        return ()
    return tuple(s for s, gain in zip(seeds, gained, strict=True) if gain < median / 2.0)


def _compare_rows(rows: dict[str, Row], reference: str, quantity: str) -> list[Comparison]:
    values = {name: _by_seed(row, quantity) for name, row in rows.items()}
    found: list[tuple[str, Estimate]] = []
    for name in rows:
        common = sorted(values[name].keys() & values[reference].keys())
        if name != reference and common:
            pair = ([values[which][seed] for seed in common] for which in (name, reference))
            found.append((name, difference_over_seeds(*pair)))
    tested = [number for number, (_, made) in enumerate(found) if made.p is not None]
    corrected = dict(zip(tested, holm([found[n][1].p for n in tested]).tolist(), strict=True))
    task = rows[reference].task
    return [
        Comparison(
            task=task,
            encoding=name,
            reference=reference,
            quantity=quantity,
            difference=made,
            p_holm=corrected.get(number),
        )
        for number, (name, made) in enumerate(found)
    ]


def _by_seed(row: Row, quantity: str) -> dict[int, float]:
    values = row.scores if quantity == "score" else row.areas
    return dict(zip(row.seeds, values, strict=True)) if len(values) == len(row.seeds) else {}


def _flat_row(row: Row) -> dict[str, Any]:
    line: dict[str, Any] = {"task": row.task, "encoding": row.encoding, "seeds": len(row.seeds)}
    for name, made in (("score", row.score), ("area", row.area)):
        ends = (None, None) if made is None or made.interval is None else made.interval
        line |= {name: None if made is None else made.mean}
        line |= {f"{name}_low": ends[0], f"{name}_high": ends[1]}
    reached = [step for step in row.steps_to_90 if step is not None]
    line |= {"reached_90": len(reached)}
    line |= {"median_steps_to_90": float(np.median(reached)) if reached else None}
    return line | {"diverged": row.diverged, "failed": row.failed, "late": len(row.late)}


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
    return _points_over_runs([run.curve for run in runs], "step")


def length_points(runs: list[Record]) -> tuple[Mapping[str, Any], ...]:
    """Return mean, interval and extremes of the scores at every test length that all runs have."""
    return _points_over_runs([run.lengths for run in runs], "length")


def _points_over_runs(
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


Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate(Result):
    """A mean over seeds with its interval; None where one seed gives none."""

    mean: float
    interval: tuple[float, float] | None
    seeds: int
    smallest: float
    largest: float
    p: float | None = None
    """Two-sided, of the hypothesis that the mean is 0; for differences only."""


def over_seeds(values: Any, *, confidence: float = 0.95) -> Estimate:
    """Return mean and t interval of one value per seed.

    >>> [round(end, 3) for end in over_seeds([0.8, 0.9, 1.0]).interval]
    [0.652, 1.148]
    """
    from scipy.stats import t

    made = _check_values(values)
    count, mean = len(made), float(made.mean())
    interval = None
    if count > 1:
        half = float(t.ppf(0.5 + confidence / 2.0, count - 1) * made.std(ddof=1) / np.sqrt(count))
        interval = (mean - half, mean + half)
    smallest, largest = float(made.min()), float(made.max())
    return Estimate(mean=mean, interval=interval, seeds=count, smallest=smallest, largest=largest)


def document_error(accuracy: float, documents: int) -> float | None:
    """Return the standard error that the number of documents alone gives an accuracy.

    >>> round(document_error(0.9, 900) or 0.0, 6)
    0.01
    """
    if documents < 1 or not 0.0 <= accuracy <= 1.0:
        return None
    return float(np.sqrt(accuracy * (1.0 - accuracy) / documents))


def difference_over_seeds(first: Any, second: Any, *, confidence: float = 0.95) -> Estimate:
    """Return the mean of first - second over common seeds, with interval and p value.

    >>> round(difference_over_seeds([2.0, 3.0, 5.0], [1.0, 2.0, 3.0]).p, 4)
    0.0572
    """
    from scipy.stats import t

    one, other = _check_values(first), _check_values(second)
    if one.shape != other.shape:
        raise LabError(
            f"{len(one)} runs cannot be paired with {len(other)}; pass the runs of common seeds, "
            "in the same order."
        )
    apart = over_seeds(one - other, confidence=confidence)
    if apart.seeds < 2:
        return apart
    spread = float((one - other).std(ddof=1))
    if spread == 0.0:
        p = 1.0 if apart.mean == 0.0 else 0.0
    else:
        p = float(2.0 * t.sf(abs(apart.mean) / spread * np.sqrt(apart.seeds), apart.seeds - 1))
    return Estimate(**{**vars(apart), "p": p})


def holm(p_values: Any) -> Floats:
    """Return p values adjusted for their number, in the order given.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = reals(p_values, "p_values")
    if given.ndim != 1 or not ((given >= 0.0) & (given <= 1.0)).all():
        raise LabError("p values must be a list of numbers from 0 to 1; check what was passed.")
    order = np.argsort(given, kind="stable")
    factors = np.arange(len(given), 0, -1)
    raised = np.minimum(np.maximum.accumulate(factors * given[order]), 1.0)
    adjusted = np.empty_like(given)
    adjusted[order] = raised
    return adjusted


def _check_values(values: Any) -> Floats:
    made = reals(values, "values")
    if made.ndim != 1 or not len(made) or not np.isfinite(made).all():
        raise LabError(
            f"values of shape {made.shape} are not one finite number per seed; leave out runs that "
            "diverged, and say how many."
        )
    return made
