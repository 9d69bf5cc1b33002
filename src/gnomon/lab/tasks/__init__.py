"""Tasks by their names; each declares itself.

A task is a class with a `name` of its own (`gnomon.lab.tasks.base.Task`) in any module of this
folder: a new one is found because it is there. It says in its docstring what it asks, in one line
and then with a drawing of a row.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import pkgutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gnomon.errors import LabError, nearest
from gnomon.lab.tasks.base import Task

if TYPE_CHECKING:
    from gnomon.lab.grid import Cell

DATA = "GNOMON_DATA"
"""The variable that names the folder of real data."""


def _find_tasks() -> Iterator[type[Task]]:
    """Yield the tasks that modules of this folder define."""
    for found in pkgutil.iter_modules(__path__, f"{__name__}."):
        module = importlib.import_module(found.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Task) and "name" in vars(kind):
                yield kind


TASKS: dict[str, type[Task]] = {
    kind.name: kind for kind in sorted(_find_tasks(), key=lambda kind: kind.name)
}


def task(name: str, **parameters: Any) -> Task:
    """Return the task of that name with these parameters.

    >>> task("distance", length=64, distances=40).classes
    40
    """
    if name not in TASKS:
        raise LabError(f"{name!r} is no task; {nearest(str(name), TASKS)}.")
    kind = TASKS[name]
    known = [field.name for field in dataclasses.fields(kind)]
    for parameter in parameters:
        if parameter not in known:
            raise LabError(
                f"task {name} has no parameter {parameter!r}; {nearest(parameter, known)}."
            )
    return kind(**parameters)


def build_task(cell: Cell) -> Task:
    """Return the task of a cell.

    Real data are looked for in the folder that GNOMON_DATA names, where the cell names none: so a
    record is the same wherever its data lie.
    """
    given = dict(cell.task_parameters)
    kind = TASKS.get(cell.task_name)
    names = {one.name for one in dataclasses.fields(kind)} if kind is not None else set()
    if "data" in names and "data" not in given:
        given["data"] = os.environ.get(DATA, "")
    return task(cell.task_name, **given)


def edition_of(name: str) -> int:
    """Return the edition of a task; a name that is not known has the first one.

    >>> edition_of("distance"), edition_of("splice")
    (1, 2)
    """
    return TASKS[name].edition if name in TASKS else 1
