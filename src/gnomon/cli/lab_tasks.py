"""`gnomon lab tasks`: what there is to be learned, and one task drawn, with what can be reached."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnomon.cli import options as o
from gnomon.cli.output import check_json, emit

if TYPE_CHECKING:
    from gnomon.lab import Task

Name = Annotated[str | None, typer.Argument(help="A task. Default: list all of them.")]


def tasks(name: Name = None, *, json_file: o.Json = None, quiet: o.Quiet = False) -> None:
    """List the tasks, or draw one: an example, its parameters, and its ceiling."""
    check_json(json_file)
    made, text = _listed() if name is None else _one(name)
    emit(made, text, json_file=json_file, quiet=quiet)


def _listed() -> tuple[dict[str, Any], str]:
    from gnomon.lab import TASKS
    from gnomon.report import table

    rows = [(name, _first(kind), kind.output) for name, kind in TASKS.items()]
    made = {"tasks": [{"name": n, "description": d, "output": out} for n, d, out in rows]}
    return made, table(["task", "what it asks", "answers"], rows)


def _one(name: str) -> tuple[dict[str, Any], str]:
    from gnomon.errors import LabError, nearest
    from gnomon.lab import TASKS

    if name not in TASKS:
        raise LabError(f"{name!r} is no task; {nearest(name, TASKS)}.")
    kind = TASKS[name]
    drawing = kind.describe()
    given = {one.name: _default(one) for one in dataclasses.fields(kind)}
    told = ", ".join(f"{key} = {value}" for key, value in given.items() if value not in (None, ""))
    known, words = _ceiling(kind)
    text = f"{drawing}\n\nparameters   {told}\nceiling      {words}"
    return {"name": name, "drawing": drawing, "parameters": given, "ceiling": known}, text


def _first(kind: type[Task]) -> str:
    return str(kind.__doc__).strip().splitlines()[0].rstrip(".")


def _default(one: dataclasses.Field[Any]) -> Any:
    return None if one.default is dataclasses.MISSING else one.default


def _ceiling(kind: type[Task]) -> tuple[dict[str, Any] | None, str]:
    """Return the ceiling with the default parameters, and in words; None where data are needed."""
    from gnomon.errors import GnomonError
    from gnomon.lab import DATA, task

    reads = any(one.name == "data" for one in dataclasses.fields(kind))
    given = {"data": os.environ.get(DATA, "")} if reads else {}
    try:
        found = task(kind.name, **given).ceiling()
    except GnomonError as error:
        return None, str(error)
    words = (
        f"{found.measure} {found.value:.4g} ({found.how}); without order {found.prior:.4g}, one "
        f"answer to all {found.constant:.4g}"
    )
    return found.to_dict(), words + (f"; {found.note}" if found.note else "")
