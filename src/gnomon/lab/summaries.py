"""From records to rows: what every encoding did on every task, over seeds, with intervals.

Only records of the report phase count; those of the selection of learning rates chose the setting
and would flatter it. Runs that diverged or failed are counted and not averaged in. A run is *late*
where its score, measured from the constant answer, is below half of the median of its row, and the
median run has learned something (a tenth of the way to the ceiling): a cut before the jump of a
learning curve looks dead and may only be slow, so it is named.

Differences between encodings are paired by seed, with Holm's correction over the encodings of a
task (`gnomon.lab.measures.intervals`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.errors import LabError, nearest
from gnomon.lab.measures.intervals import Estimate, holm, over_seeds, paired_difference
from gnomon.lab.records import Record
from gnomon.lab.summary_parts import HeadLine, curve_points, head_lines, length_points
from gnomon.results import Result, to_dataframe

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

    def compared(self, reference: str, quantity: str = "area") -> tuple[Comparison, ...]:
        """Return every encoding less the reference, task by task."""
        if quantity not in QUANTITIES:
            raise LabError(f"{quantity!r} can not be compared; {nearest(quantity, QUANTITIES)}.")
        known = {row.encoding for row in self.rows}
        if reference not in known:
            raise LabError(f"there are no records of {reference!r}; {nearest(reference, known)}.")
        made: list[Comparison] = []
        for task in dict.fromkeys(row.task for row in self.rows):
            of_task = {row.encoding: row for row in self.rows if row.task == task}
            if reference in of_task:
                made += _compared(of_task, reference, quantity)
        return tuple(made)

    def to_dataframe(self) -> Any:
        """Return one line per row with its means and intervals."""
        return to_dataframe([_line(row) for row in self.rows])


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
    first, *others = (dict(_settings(run.cell)) for run in runs)
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


def _settings(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting of a cell but its seed, by its path, in words that can be compared."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _settings(value, f"{path}{key}.")
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


def _compared(rows: dict[str, Row], reference: str, quantity: str) -> list[Comparison]:
    values = {name: _by_seed(row, quantity) for name, row in rows.items()}
    found: list[tuple[str, Estimate]] = []
    for name in rows:
        common = sorted(values[name].keys() & values[reference].keys())
        if name != reference and common:
            pair = ([values[which][seed] for seed in common] for which in (name, reference))
            found.append((name, paired_difference(*pair)))
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


def _line(row: Row) -> dict[str, Any]:
    line: dict[str, Any] = {"task": row.task, "encoding": row.encoding, "seeds": len(row.seeds)}
    for name, made in (("score", row.score), ("area", row.area)):
        ends = (None, None) if made is None or made.interval is None else made.interval
        line |= {name: None if made is None else made.mean}
        line |= {f"{name}_low": ends[0], f"{name}_high": ends[1]}
    reached = [step for step in row.steps_to_90 if step is not None]
    line |= {"reached_90": len(reached)}
    line |= {"median_steps_to_90": float(np.median(reached)) if reached else None}
    return line | {"diverged": row.diverged, "failed": row.failed, "late": len(row.late)}
