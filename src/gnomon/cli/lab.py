"""`gnomon lab`: run a grid of encodings x tasks x seeds, say how far it is, and show it."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import gnomon
from gnomon.cli.options import check_page, takes
from gnomon.cli.output import Output, TerminalProgress
from gnomon.errors import InputError
from gnomon.files import write_with
from gnomon.reading import read_written, refuse_mismatch

if TYPE_CHECKING:
    from gnomon.lab import Task

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
Place = Annotated[
    Path,
    typer.Argument(
        help="A grid (TOML, or the name of one that ships), its folder of records, or the JSON of "
        "`gnomon reproduce`."
    ),
]
Records = Annotated[
    Path | None,
    typer.Option("--records", help="Folder of the grid's records. Default: its name, beside it."),
]
Page = Annotated[
    Path | None,
    typer.Option("--out", help="The page, an HTML file. Default: report.html in the folder."),
]
TaskName = Annotated[str | None, typer.Argument(help="A task. Default: list all of them.")]

app = typer.Typer(
    help="Train encodings on tasks, by a grid in TOML; records are kept and runs go on.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("run")
@takes(output=Output)
def run(
    grid: GridFile,
    *,
    out: Folder = None,
    workers: Workers = None,
    data: Data = None,
    output: Output,
    verbose: Verbose = False,
) -> None:
    """Train every cell that has no record yet; a grid that was stopped goes on where it was.

    Exit code 1 says that cells failed; they are tried again when the grid is run again.
    """
    from gnomon.lab import DATA, Processes, over_seeds, read_grid, run_grid
    from gnomon.report import grid_text

    output.check()
    asked = read_grid(grid)
    if data is not None:
        os.environ[DATA] = str(data)  # workers read it, too
    with output.progress() as line:
        shown = _GridProgress(line)
        made = run_grid(
            asked,
            _folder(grid, out),
            executor=Processes(workers),
            told=shown.note_end,
            checking=shown.note_check,
        )
    output.emit(made.to_dict(), grid_text(made, over_seeds, verbose=verbose))
    if not made.complete:
        raise typer.Exit(UNFINISHED)


@app.command("status")
@takes(output=Output)
def status(
    grid: GridFile,
    *,
    out: Folder = None,
    output: Output,
    verbose: Verbose = False,
) -> None:
    """Say how far a grid has come, what was chosen, and the scores that are there.

    Exit code 1 says that cells are left, or failed.
    """
    from gnomon.lab import over_seeds, read_grid
    from gnomon.lab import status as stands
    from gnomon.report import grid_text

    output.check()
    folder = _folder(grid, out)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name the folder of the records with --out.")
    made = stands(read_grid(grid), folder)
    output.emit(made.to_dict(), grid_text(made, over_seeds, verbose=verbose))
    if not made.complete:
        raise typer.Exit(UNFINISHED)


def _folder(grid: Path, out: Path | None) -> Path:
    return grid.with_suffix("") if out is None else out


class _GridProgress:
    """Progress of a grid: cells, and the time that is probably left."""

    def __init__(self, line: TerminalProgress) -> None:
        self._line = line
        self._begun, self._first = time.monotonic(), -1

    def note_check(self, done: int, pairs: int) -> None:
        """Say how many tasks with an encoding were tried before anything is trained."""
        self._line.stage(f"checking {done} of {pairs} tasks with an encoding")
        self._begun = time.monotonic()

    def note_end(self, done: int, cells: int, words: str) -> None:
        """Say which cell has ended."""
        self._first = done - 1 if self._first < 0 else self._first
        pace = (time.monotonic() - self._begun) / max(1, done - self._first)
        left = pace * (cells - done) / 60
        self._line.stage(f"{done} of {cells} cells, {left:.0f} min remaining; {words}")


@app.command("report")
@takes(output=Output)
def report(
    place: Place,
    *,
    records: Records = None,
    out: Page = None,
    output: Output,
) -> None:
    """Make one self-contained page of a grid: scores, curves, heads, lengths."""
    from gnomon.report import lab_page

    output.check()
    source = records or place
    with refuse_mismatch(
        str(source), "make it again, and report it if a fresh one is refused, too"
    ):
        contents, default = _contents_of(place, records)
        page = out or default
        check_page(page, "--out", "report.html")
        made = lab_page(contents, version=gnomon.__version__)
    write_with(page, lambda handle: handle.write(made))
    rows = sum(len(grid["rows"]) for grid in contents["grids"])
    value = {"page": str(page), "bytes": len(made), "name": contents["name"], "rows": rows}
    output.emit(value, f"page: {page}")


def _contents_of(place: Path, records: Path | None) -> tuple[dict[str, Any], Path]:
    """Return what is drawn, and where its page goes unless another place is named."""
    if records is None and place.suffix == ".json" and place.is_file():
        return _of_record(place), place.with_suffix(".html")
    from gnomon.lab import built_in_grids, folder_table, read_grid

    if records is None and place.is_dir():
        folder, grid = place, None
    elif place.suffix == ".toml" or str(place) in built_in_grids():
        folder, grid = records or place.with_suffix(""), read_grid(place)
    elif records is not None:
        raise InputError(f"{place} is no grid, which --records is for; name one, in TOML.")
    else:
        what = "is neither" if place.exists() else "does not exist"
        raise InputError(
            f"{place} {what}; name a grid, the folder of its records, or the JSON of "
            "`gnomon reproduce`."
        )
    made = folder_table(folder, grid=grid)
    if not made["rows"]:
        raise InputError(
            f"{folder} holds no records of reported runs{' of this grid' if grid else ''}; run the "
            "grid first, with `gnomon lab run`."
        )
    contents = {"name": made["name"], "question": made["question"], "grids": [made]}
    return contents, folder / "report.html"


def _of_record(place: Path) -> dict[str, Any]:
    """Return the contents of a record that `gnomon reproduce` wrote of grids."""
    try:
        record = read_written(place)
        laboratory = record["corpora"]["laboratory"]
        grids = list(laboratory["grids"].values())
        title, verdicts, notes = record["title"], record["verdicts"], record["notes"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{place} is no record of a grid ({_lack(error)}); pass the JSON that "
            "`gnomon reproduce deposit --json FILE` or another of its grids writes."
        ) from error
    beside = {key: laboratory.get(key) for key in ("optimisation", "stress", "correlations")}
    return {
        "name": record["name"],
        "question": title,
        "grids": grids,
        "verdicts": verdicts,
        "notes": notes,
        **beside,
    }


def _lack(error: Exception) -> str:
    """Say in words what a file lacks."""
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


@app.command("tasks")
@takes(output=Output)
def tasks(name: TaskName = None, *, output: Output) -> None:
    """List the tasks, or draw one: an example, its parameters, and its ceiling."""
    output.check()
    made, text = _list_tasks() if name is None else _draw_task(name)
    output.emit(made, text)


def _list_tasks() -> tuple[dict[str, Any], str]:
    from gnomon.lab import TASKS
    from gnomon.report import table

    rows = [(name, _question(kind), kind.output) for name, kind in TASKS.items()]
    made = {"tasks": [{"name": n, "description": d, "output": out} for n, d, out in rows]}
    return made, table(["task", "what it asks", "answers"], rows)


def _draw_task(name: str) -> tuple[dict[str, Any], str]:
    from gnomon.errors import LabError, nearest
    from gnomon.lab import TASKS

    if name not in TASKS:
        raise LabError(f"{name!r} is no task; {nearest(name, TASKS)}.")
    kind = TASKS[name]
    drawing = kind.describe()
    given = {one.name: _default(one) for one in dataclasses.fields(kind)}
    listed = ", ".join(
        f"{key} = {value}" for key, value in given.items() if value not in (None, "")
    )
    known, words = _ceiling(kind)
    text = f"{drawing}\n\nparameters   {listed}\nceiling      {words}"
    return {"name": name, "drawing": drawing, "parameters": given, "ceiling": known}, text


def _question(kind: type[Task]) -> str:
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
