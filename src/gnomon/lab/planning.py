"""What a grid has to do next: a function of the grid and of the records that are there.

For each task and encoding the settings of the sweep are run on the selection seeds; the setting
with the best mean is then run on the report seeds. A run that diverged counts as the worst there
is. Where the best learning rate is the first or last of the list, the list goes on by the same
ratio, as often as `extend` allows; if it still is, the choice is marked *at the edge*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.errors import LabError
from gnomon.lab.cells import Cell
from gnomon.lab.grid import Grid
from gnomon.lab.records import Record, read_record
from gnomon.results import Result

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

    def pending(self) -> list[Cell]:
        """Return the cells that can be run now; none: the grid is done."""
        found = []
        for task, encoding in self.grid.pairs():
            chosen = self.selection(task, encoding)
            if chosen is None:
                found += self._missing(self.selection_cells(task, encoding))
            else:
                found += self._missing(self.report_cells(chosen))
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
            done += sum(one is not None and one.finished for one in records)
        return done, whole

    def selection(self, task: str, encoding: str) -> Selection | None:
        """Return the chosen setting, or None where cells of the sweep are missing."""
        choices = self._choices(task, encoding)
        if len(choices) == 1 and not self.grid.sweep.seeds:
            return Selection(
                task=task, encoding=encoding, choice=choices[0], at_edge=False, tried=()
            )
        if self._missing(self._cells(task, encoding, choices)):
            return None
        means = [self._mean(task, encoding, choice) for choice in choices]
        best = max(range(len(choices)), key=lambda i: (means[i], -i))
        tried = tuple(
            {**choice, "mean": None if mean == WORST else mean}
            for choice, mean in zip(choices, means, strict=True)
        )
        edge = _at_edge(choices, choices[best]) is not None
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

    def _missing(self, cells: list[Cell]) -> list[Cell]:
        return [cell for cell in cells if self.record(cell) is None]

    def _choices(self, task: str, encoding: str) -> list[dict[str, Any]]:
        """Return the settings of the sweep, with those that the records so far ask for."""
        choices = self.grid.choices(encoding)
        for _ in range(self.grid.sweep.extend):
            if self._missing(self._cells(task, encoding, choices)):
                break
            means = [self._mean(task, encoding, choice) for choice in choices]
            best = choices[max(range(len(choices)), key=lambda i: (means[i], -i))]
            further = _at_edge(choices, best)
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


def _at_edge(choices: list[dict[str, Any]], best: Mapping[str, Any]) -> float | None:
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
