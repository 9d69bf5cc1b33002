"""`gnomon lab`: run a grid of encodings x tasks x seeds, say how far it is, and show it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnomon.cli import options as o
from gnomon.cli.lab_report import report
from gnomon.cli.lab_tasks import tasks
from gnomon.cli.output import check_json, emit
from gnomon.cli.progress import TerminalProgress
from gnomon.errors import InputError

if TYPE_CHECKING:
    from gnomon.lab import Selection, Status

UNFINISHED = 1
GridFile = Annotated[
    Path,
    typer.Argument(
        help="The grid: a file of TOML, or the name of one that ships, such as deposit."
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option("--out", help="Folder of the records. Default: the grid's name, beside it."),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Processes, of one thread each. Default: all cores.", min=1),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of real data. Default: what GNOMON_DATA names."),
]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Say more: every setting that was tried.")
]

app = typer.Typer(
    help="Train encodings on tasks, by a grid in TOML; records are kept and runs go on.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("report")(report)
app.command("tasks")(tasks)


@app.command("run")
def run(
    grid: GridFile,
    *,
    out: Folder = None,
    workers: Workers = None,
    data: Data = None,
    json_file: o.Json = None,
    quiet: o.Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train every cell that has no record yet; a grid that was stopped goes on where it was.

    Exit code 1 says that cells failed; they are tried again when the grid is run again.
    """
    from gnomon.lab import DATA, Processes, read_grid, run_grid

    check_json(json_file)
    asked = read_grid(grid)
    if data is not None:
        os.environ[DATA] = str(data)  # workers read it, too
    shown = _Shown(quiet=quiet)
    try:
        made = run_grid(
            asked,
            _folder(grid, out),
            executor=Processes(workers),
            told=shown.finished,
            checking=shown.checking,
        )
    finally:
        shown.close()
    emit(made.to_dict(), text_of(made, verbose=verbose), json_file=json_file, quiet=quiet)
    if not made.complete:
        raise typer.Exit(UNFINISHED)


@app.command("status")
def status(
    grid: GridFile,
    *,
    out: Folder = None,
    json_file: o.Json = None,
    quiet: o.Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Say how far a grid has come, what was chosen, and the scores that are there.

    Exit code 1 says that cells are left, or failed.
    """
    from gnomon.lab import read_grid
    from gnomon.lab import status as stands

    check_json(json_file)
    folder = _folder(grid, out)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name the folder of the records with --out.")
    made = stands(read_grid(grid), folder)
    emit(made.to_dict(), text_of(made, verbose=verbose), json_file=json_file, quiet=quiet)
    if not made.complete:
        raise typer.Exit(UNFINISHED)


def text_of(made: Status, *, verbose: bool = False) -> str:
    """Return how a grid stands as text: one row for each task and encoding."""
    from gnomon.report import table

    lines = [f"{made.name}: {made.done} of {made.cells} cells, {made.cpu_seconds:,.0f} s of CPU"]
    header = ["task", "encoding", "chosen", "seeds", "score", "area", "steps to 90 %", "ceiling"]
    rows = [_row(one) for one in made.reported]
    if rows:
        lines.append(table(header, rows))
        lines.append("mean over seeds [95 % interval of the mean]")
    if any(one["at_edge"] for one in made.reported):
        lines.append("* the best learning rate is the first or last that was tried")
    if verbose:
        lines += [_tried(one) for one in made.selected if one.tried]
    lines += [f"diverged: {words}" for words in made.diverged]
    lines += [f"failed: {words}" for words in made.failed]
    return "\n".join(lines)


def _tried(one: Selection) -> str:
    """Return every setting of a sweep with the mean over its seeds that it was chosen by."""
    told = []
    for setting in one.tried:
        given = {key: value for key, value in setting.items() if key != "mean"}
        mean = "diverged" if setting["mean"] is None else f"{setting['mean']:.3f}"
        told.append(f"{_setting(given)}: {mean}")
    return f"tried for {one.task}, {one.encoding}: {'; '.join(told)}"


def _setting(given: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in given.items()
    )


def _row(one: dict[str, Any]) -> list[Any]:
    scores = [value for value in one["scores"] if value is not None]
    areas = [value for value in one["areas"] if value is not None]
    steps = ["never" if value is None else str(value) for value in one["steps_to_90"]]
    steps = ["never"] if set(steps) == {"never"} else steps
    chosen = _setting(one["choice"])
    return [
        one["task"],
        one["encoding"],
        chosen + ("*" if one["at_edge"] else ""),
        len(one["scores"]),
        _span(scores),
        _span(areas),
        " ".join(steps),
        one["ceiling"],
    ]


def _span(values: list[float]) -> str:
    """Return the mean over seeds with its 95 % interval; one seed has none."""
    from gnomon.lab import over_seeds

    if not values:
        return "-"
    made = over_seeds(values)
    ends = "" if made.interval is None else " [{:.3f}, {:.3f}]".format(*made.interval)
    return f"{made.mean:.3f}{ends}"


def _folder(grid: Path, out: Path | None) -> Path:
    return grid.with_suffix("") if out is None else out


class _Shown:
    """Progress of a grid: cells, and the time that is probably left."""

    def __init__(self, *, quiet: bool) -> None:
        self._line = TerminalProgress(quiet=quiet)
        self._begun, self._first = time.monotonic(), -1

    def checking(self, done: int, pairs: int) -> None:
        """Say how many tasks with an encoding were tried before anything is trained."""
        self._line.stage(f"checking {done} of {pairs} tasks with an encoding")
        self._begun = time.monotonic()

    def finished(self, done: int, cells: int, words: str) -> None:
        """Say which cell has ended."""
        self._first = done - 1 if self._first < 0 else self._first
        pace = (time.monotonic() - self._begun) / max(1, done - self._first)
        left = pace * (cells - done) / 60
        self._line.stage(f"{done} of {cells} cells, {left:.0f} min remaining; {words}")

    def close(self) -> None:
        """Remove the line."""
        self._line.close()
