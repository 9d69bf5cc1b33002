"""Running a grid: every cell is checked before anything is trained, then run until none is left.

A cell that diverged or failed, or whose process died every time, is recorded, and the grid goes on.
A full disk stops it, since no further record could be written, and so does a machine on which no
process can be started; what is there stays whole, and the grid goes on later. Two runs never fill
one folder at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.errors import GnomonError, LabError, StorageError
from gnomon.files import check_writable, dump_json, remove_leftovers, write_text
from gnomon.lab.cells import Cell
from gnomon.lab.executor import Executor, Job, Outcome, Processes
from gnomon.lab.grid import Grid
from gnomon.lab.locking import alone_in
from gnomon.lab.parts import Part
from gnomon.lab.planning import Progress, Selection
from gnomon.lab.records import write_failure
from gnomon.results import Result

Told = Callable[[int, int, str], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Status(Result):
    """How far a grid has come."""

    name: str
    folder: str
    done: int
    cells: int
    diverged: tuple[str, ...]
    failed: tuple[str, ...]
    selected: tuple[Selection, ...]
    reported: tuple[dict[str, Any], ...]
    """Task, encoding, and the scores of the report seeds that are there."""
    cpu_seconds: float

    @property
    def complete(self) -> bool:
        """Whether every cell is done; one that failed is not."""
        return self.done >= self.cells


def run_grid(
    grid: Grid,
    folder: Path,
    *,
    executor: Executor | None = None,
    told: Told | None = None,
    checking: Callable[[int, int], None] | None = None,
) -> Status:
    """Run what is left of a grid, and return how it stands.

    `told` hears of every cell that ended, `checking` how far the checks before are.
    """
    import gnomon.torch  # noqa: F401 - says what to install where PyTorch is missing

    check_writable(folder)
    check_cells(grid, unfinished(grid, folder), checking=checking)
    with alone_in(folder):
        remove_leftovers(folder)
        _forget_failures(grid, folder)
        _run_all(grid, folder, Processes() if executor is None else executor, told)
        made = status(grid, folder)
        write_text(folder / "grid.json", dump_json(made.to_dict()))
    return made


def _run_all(grid: Grid, folder: Path, executor: Executor, told: Told | None) -> None:
    """Run cells until every one has a record."""
    while True:
        progress = Progress(grid, folder)
        jobs = [Job(cell=cell, folder=folder) for cell in progress.pending()]
        if not jobs:
            return
        done, whole = progress.total()
        for outcome in executor.run(jobs):
            ended = _recorded(outcome)
            done += ended in ("done", "diverged")
            if told is not None:
                told(done, whole, f"{ended}: {outcome.job.cell.words}")


def _forget_failures(grid: Grid, folder: Path) -> None:
    """Remove the records of cells that failed: the reason may be gone, so they are run again."""
    for cell, record in Progress(grid, folder).records():
        if not record.finished:
            cell.file(folder).unlink(missing_ok=True)


def _recorded(outcome: Outcome) -> str:
    """Return how a job ended, with a record of it; what would end every other stops the grid."""
    if outcome.status == "storage":
        raise StorageError(outcome.reason)
    if outcome.status == "unstarted":
        raise LabError(
            f"No process for cells could be started ({outcome.reason}); see that memory and "
            "processes are to be had, then start the grid again."
        )
    if outcome.status != "died":
        return outcome.status
    job = outcome.job
    reason = (
        f"it died {job.attempt} times ({outcome.reason}); look for memory that ran out, then run "
        "the grid again"
    )
    write_failure(job.cell, job.folder, reason, attempts=job.attempt)
    return "failed"


def unfinished(grid: Grid, folder: Path) -> list[tuple[str, str]]:
    """Return the tasks with an encoding that have a cell without a record, or one that failed."""
    progress = Progress(grid, folder)
    left = [*progress.pending(), *(c for c, one in progress.records() if not one.finished)]
    asked = {(cell.task, cell.encoding) for cell in left}
    return [pair for pair in grid.pairs() if pair in asked]


def check_cells(
    grid: Grid,
    pairs: Sequence[tuple[str, str]] | None = None,
    *,
    checking: Callable[[int, int], None] | None = None,
) -> None:
    """Refuse a grid with a cell that can not work, by a step of each without training.

    `pairs` are the tasks and encodings whose cells are tried; all where they are not given.
    """
    from gnomon.lab.measuring import check_measures

    check_measures(grid.report.measures)
    tried = list(grid.pairs()) if pairs is None else pairs
    for done, (task, encoding) in enumerate(tried):
        if checking is not None:
            checking(done, len(tried))
        for number, choice in enumerate(grid.choices(encoding)):
            cell = grid.cell(
                task, encoding, choice=choice, seed=grid.report.seeds[0], phase="report"
            )
            try:
                check_measures(cell.training.watch)
                watched = (*cell.measures, *cell.training.watch)
                try_cell(cell, measures=watched if number == 0 else ())
            except GnomonError as error:
                raise LabError(f"The cell of {cell.words} can not work: {error}") from error
            except (ValueError, RuntimeError, TypeError) as error:
                raise LabError(
                    f"The cell of {cell.words} can not work: {type(error).__name__}: {error}; mend "
                    "it, or take it out of the grid."
                ) from error


def try_cell(cell: Cell, measures: tuple[str, ...] = ()) -> None:
    """Build everything of a cell, and let its model answer two sequences of every length.

    Measures are taken of these answers, too: of the model that was trained, and along training.
    """
    import torch

    from gnomon.lab.building import model_for, parts_for, task_of
    from gnomon.lab.measuring import measured
    from gnomon.lab.scoring import outputs
    from gnomon.lab.training import optimiser_for

    task = task_of(cell)
    with torch.random.fork_rng(devices=[]):
        parts = parts_for(cell.parts, cell.model, task, seed=cell.seed)
        _check_rows(parts, max(task.length, *cell.training.lengths, 0))
        model = model_for(parts, cell.model, task)
        optimiser_for(model, cell.training)
        for length in (None, *cell.training.lengths):
            outputs(model, task.batch(np.random.default_rng(0), 2, length))
        measured(measures, model, task.batch(np.random.default_rng(0), 2))


def _check_rows(parts: Sequence[Part], length: int) -> None:
    """Refuse a table that ends before the longest sequence does."""
    for part in parts:
        rows = getattr(part.encoding, "rows", None)
        if part.kind == "vectors" and isinstance(rows, int) and rows < length:
            raise LabError(
                f"The table of {part.encoding.name!r} has {rows} rows, and sequences of {length} "
                f"are asked for; give it rows = {length}, or leave that length out."
            )


def status(grid: Grid, folder: Path) -> Status:
    """Return how far a grid has come, from its records."""
    progress = Progress(grid, folder)
    done, cells = progress.total()
    selected = progress.selections()
    records = progress.records()
    return Status(
        name=grid.name,
        folder=str(folder),
        done=done,
        cells=cells,
        diverged=tuple(cell.words for cell, one in records if one.status == "diverged"),
        failed=tuple(f"{c.words}: {one.reason}" for c, one in records if one.status == "failed"),
        selected=tuple(selected),
        reported=tuple(_reported(progress, one) for one in selected),
        cpu_seconds=round(sum(one.cpu_seconds or 0.0 for _, one in records), 1),
    )


def _reported(progress: Progress, chosen: Selection) -> dict[str, Any]:
    records = [progress.record(cell) for cell in progress.report_cells(chosen)]
    there = [one for one in records if one is not None]
    return {
        "task": chosen.task,
        "encoding": chosen.encoding,
        "choice": dict(chosen.choice),
        "at_edge": chosen.at_edge,
        "scores": [one.score for one in there],
        "areas": [one.area for one in there],
        "steps_to_90": [one.steps_to_90 for one in there],
        "ceiling": next((one.ceiling.get("value") for one in there if one.ceiling), None),
    }
