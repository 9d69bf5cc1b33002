"""Running a grid: what is left to do, every cell checked before anything is trained, then all run.

What a grid has to do next is a function of the grid and of the records that are there. For each
task and encoding the settings of the sweep are run on the selection seeds; the setting with the
best mean is then run on the report seeds. A run that diverged counts as the worst there is. Where
the best learning rate is the first or last of the list, the list goes on by the same ratio, as
often as `extend` allows; if it still is, the choice is marked *at the edge*.

A cell that diverged or failed, or whose process died every time, is recorded, and the grid goes on.
A full disk stops it, since no further record could be written, and so does a machine on which no
process can be started; what is there stays whole, and the grid goes on later.

Two runs of one grid would train the same cells twice, beside one another, so one runs at a time in
a folder. The lock is that of the operating system on an open file, not the file itself, which
stays: a run that was killed leaves nothing in the way. A file system that knows no locks is used
without one.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import GnomonError, LabError, StorageError
from gnomon.files import check_writable, dump_json, remove_leftovers, write_text
from gnomon.lab.grid import Cell, Grid
from gnomon.lab.records import Record, read_record, write_failure
from gnomon.lab.worker import Executor, Job, Outcome, Processes
from gnomon.results import Result

if TYPE_CHECKING:
    from gnomon.lab.encode import Placement

WORST = float("-inf")


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection(Result):
    """Which setting of the sweep was chosen for a task and an encoding."""

    task: str
    encoding: str
    choice: Mapping[str, Any]
    at_edge: bool
    tried: tuple[Mapping[str, Any], ...]
    """Every setting with its mean over the selection seeds; None: diverged."""


class Progress:
    """A grid, the records of its cells, and so what is left to do."""

    def __init__(self, grid: Grid, folder: Path) -> None:
        self.grid, self.folder = grid, folder
        self._known: dict[str, Record] = {}

    def record(self, cell: Cell) -> Record | None:
        """Return the record of a cell, where there is one that need not be repeated."""
        if cell.digest not in self._known:
            path = cell.file(self.folder)
            if not path.exists():
                return None
            try:
                self._known[cell.digest] = read_record(path)
            except LabError:
                return None  # it is written anew
        return self._known[cell.digest]

    def records(self) -> list[tuple[Cell, Record]]:
        """Return the cells of the plan that have a record, with it, in the order of the grid.

        Records of settings that the grid has no more may lie in the folder, too; none is here.
        """
        cells = []
        for task, encoding in self.grid.pairs():
            cells += self.selection_cells(task, encoding)
            chosen = self.selection(task, encoding)
            cells += [] if chosen is None else self.report_cells(chosen)
        found = [(cell, self.record(cell)) for cell in cells]
        return [(cell, record) for cell, record in found if record is not None]

    def selections(self) -> list[Selection]:
        """Return what was chosen, for every task and encoding whose sweep has ended."""
        found = [self.selection(task, encoding) for task, encoding in self.grid.pairs()]
        return [one for one in found if one is not None]

    def next_cells(self) -> list[Cell]:
        """Return the cells that can be run now; none: the grid is done."""
        found = []
        for task, encoding in self.grid.pairs():
            chosen = self.selection(task, encoding)
            if chosen is None:
                found += self._without_record(self.selection_cells(task, encoding))
            else:
                found += self._without_record(self.report_cells(chosen))
        return found

    def total(self) -> tuple[int, int]:
        """Return how many cells are done, and how many there are as far as is known.

        A cell that failed is not done: the grid goes on without it, and tries it again next time.
        """
        done = whole = 0
        for task, encoding in self.grid.pairs():
            chosen = self.selection(task, encoding)
            cells = self.selection_cells(task, encoding)
            whole += len(cells) + len(self.grid.report.seeds)
            cells += [] if chosen is None else self.report_cells(chosen)
            records = [self.record(cell) for cell in cells]
            done += sum(one is not None and one.is_final for one in records)
        return done, whole

    def selection(self, task: str, encoding: str) -> Selection | None:
        """Return the chosen setting, or None where cells of the sweep are missing."""
        choices = self._choices(task, encoding)
        if len(choices) == 1 and not self.grid.sweep.seeds:
            return Selection(
                task=task, encoding=encoding, choice=choices[0], at_edge=False, tried=()
            )
        if self._without_record(self._cells(task, encoding, choices)):
            return None
        means = [self._mean(task, encoding, choice) for choice in choices]
        best = max(range(len(choices)), key=lambda i: (means[i], -i))
        tried = tuple(
            {**choice, "mean": None if mean == WORST else mean}
            for choice, mean in zip(choices, means, strict=True)
        )
        edge = _next_rate(choices, choices[best]) is not None
        return Selection(
            task=task, encoding=encoding, choice=choices[best], at_edge=edge, tried=tried
        )

    def report_cells(self, chosen: Selection) -> list[Cell]:
        """Return the cells that are reported."""
        given: dict[str, Any] = {"choice": chosen.choice, "phase": "report"}
        return [
            self.grid.cell(chosen.task, chosen.encoding, seed=seed, **given)
            for seed in self.grid.report.seeds
        ]

    def selection_cells(self, task: str, encoding: str) -> list[Cell]:
        """Return the cells of the sweep."""
        return self._cells(task, encoding, self._choices(task, encoding))

    def _cells(self, task: str, encoding: str, choices: list[dict[str, Any]]) -> list[Cell]:
        if not self.grid.sweep.seeds:
            return []
        return [
            self.grid.cell(task, encoding, choice=choice, seed=seed, phase="selection")
            for choice in choices
            for seed in self.grid.sweep.seeds
        ]

    def _without_record(self, cells: list[Cell]) -> list[Cell]:
        return [cell for cell in cells if self.record(cell) is None]

    def _choices(self, task: str, encoding: str) -> list[dict[str, Any]]:
        """Return the settings of the sweep, with those that the records so far ask for."""
        choices = self.grid.choices(encoding)
        for _ in range(self.grid.sweep.extend):
            if self._without_record(self._cells(task, encoding, choices)):
                break
            means = [self._mean(task, encoding, choice) for choice in choices]
            best = choices[max(range(len(choices)), key=lambda i: (means[i], -i))]
            further = _next_rate(choices, best)
            if further is None:
                break
            choices = [*choices, {**best, "learning_rate": further}]
        return choices

    def _mean(self, task: str, encoding: str, choice: Mapping[str, Any]) -> float:
        """Return the mean of the criterion over the selection seeds."""
        cells = self._cells(task, encoding, [dict(choice)])
        records = [self.record(cell) for cell in cells]
        values = [None if one is None else getattr(one, self.grid.sweep.by) for one in records]
        numbers = [value for value in values if value is not None]
        return sum(numbers) / len(numbers) if len(numbers) == len(values) else WORST


def _next_rate(choices: list[dict[str, Any]], best: Mapping[str, Any]) -> float | None:
    """Return the next learning rate beyond the best where that is an end of its list, or None."""
    if "learning_rate" not in best:
        return None
    others = {key: value for key, value in best.items() if key != "learning_rate"}
    rates = sorted(
        choice["learning_rate"]
        for choice in choices
        if {key: value for key, value in choice.items() if key != "learning_rate"} == others
    )
    at = best["learning_rate"]
    if len(rates) < 2 or at not in (rates[0], rates[-1]):
        return None
    beside = rates[1] if at == rates[0] else rates[-2]
    return float(f"{at * at / beside:.3g}")  # the same ratio again, in digits one would write


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
    check_cells(grid, pairs_to_run(grid, folder), checking=checking)
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
        jobs = [Job(cell=cell, folder=folder) for cell in progress.next_cells()]
        if not jobs:
            return
        done, whole = progress.total()
        for outcome in executor.run(jobs):
            ended = _write_end(outcome)
            done += ended in ("done", "diverged")
            if told is not None:
                told(done, whole, f"{ended}: {outcome.job.cell.words}")


def _forget_failures(grid: Grid, folder: Path) -> None:
    """Remove the records of cells that failed: the reason may be gone, so they are run again."""
    for cell, record in Progress(grid, folder).records():
        if not record.is_final:
            cell.file(folder).unlink(missing_ok=True)


def _write_end(outcome: Outcome) -> str:
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


def pairs_to_run(grid: Grid, folder: Path) -> list[tuple[str, str]]:
    """Return the tasks with an encoding that have a cell without a record, or one that failed."""
    progress = Progress(grid, folder)
    left = [*progress.next_cells(), *(c for c, one in progress.records() if not one.is_final)]
    asked = {(cell.task, cell.encoding) for cell in left}
    return [pair for pair in grid.pairs() if pair in asked]


def check_cells(
    grid: Grid,
    pairs: Sequence[tuple[str, str]] | None = None,
    *,
    checking: Callable[[int, int], None] | None = None,
) -> None:
    """Refuse a grid with a cell that cannot work, by a step of each without training.

    `pairs` are the tasks and encodings whose cells are tried; all where they are not given.
    """
    from gnomon.lab.measures import check_measures

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
                raise LabError(f"The cell of {cell.words} cannot work: {error}") from error
            except (ValueError, RuntimeError, TypeError) as error:
                raise LabError(
                    f"The cell of {cell.words} cannot work: {type(error).__name__}: {error}; mend "
                    "it, or take it out of the grid."
                ) from error


def try_cell(cell: Cell, measures: tuple[str, ...] = ()) -> None:
    """Build everything of a cell, and let its model answer two sequences of every length.

    Measures are taken of these answers, too: of the model that was trained, and along training.
    """
    import torch

    from gnomon.lab.measures import take_measures
    from gnomon.lab.scoring import outputs
    from gnomon.lab.tasks import build_task
    from gnomon.lab.training import build_optimiser
    from gnomon.lab.variants import build_model, build_placements

    task = build_task(cell)
    with torch.random.fork_rng(devices=[]):
        parts = build_placements(cell.parts, cell.model, task, seed=cell.seed)
        _check_rows_of_tables(parts, max(task.length, *cell.training.lengths, 0))
        model = build_model(parts, cell.model, task)
        build_optimiser(model, cell.training)
        for length in (None, *cell.training.lengths):
            outputs(model, task.batch(np.random.default_rng(0), 2, length))
        take_measures(measures, model, task.batch(np.random.default_rng(0), 2))


def _check_rows_of_tables(parts: Sequence[Placement], length: int) -> None:
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
        reported=tuple(_report_row(progress, one) for one in selected),
        cpu_seconds=round(sum(one.cpu_seconds or 0.0 for _, one in records), 1),
    )


def _report_row(progress: Progress, chosen: Selection) -> dict[str, Any]:
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


LOCK = ".running"
_AT = 1 << 20
"""The byte that is locked on Windows: far from the number of the process, which others read."""
_HELD = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Refuse a folder in which another run is under way, and keep others out for so long."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / LOCK).open("a+b", buffering=0)
    except OSError:
        yield  # what cannot be written is said where records are
        return
    with handle:
        _take_lock(handle, folder)
        with suppress(OSError):  # a full disk: the same
            handle.truncate(0)
            handle.write(str(os.getpid()).encode())
        yield


def _take_lock(handle: Any, folder: Path) -> None:
    try:
        _lock_file(handle)
    except OSError as error:
        if error.errno not in _HELD:
            return  # no locks here
        handle.seek(0)
        process = handle.read(20).decode("ascii", "replace") or "unknown"
        raise LabError(
            f"Another run is under way in {folder} (process {process}); wait until it has ended, "
            "stop it, or name another folder."
        ) from error


def _lock_file(handle: Any) -> None:
    """Take the lock of an open file, or raise OSError; it is given back when the file is closed."""
    if sys.platform == "win32":
        import msvcrt

        handle.seek(_AT)
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
