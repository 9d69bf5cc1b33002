"""Running the grids that claims rest on, and putting what they show into one reproduction.

A grid is that of the package, or the NAME.toml in the folder of records, so that another size can
be judged by the same rules. Its records lie in a folder of the same name beside it; what is there
is not trained again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.corpus import Progress
from gnomon.lab import DATA, Executor, Grid, Processes, compact_folder, read_grid, run_grid
from gnomon.pipeline import provenance
from gnomon.reproduce.claims import Figure, Published, Reproduction, Row, spread
from gnomon.reproduce.contrasts import Claim, evidence
from gnomon.reproduce.lab_fitting import data_notes
from gnomon.reproduce.lab_tables import Table
from gnomon.reproduce.samples import Options

PLACE = "laboratory"
"""Under which `corpora` of a reproduction holds grids and evidence."""
INDEX = "index, layer 0"
UNCLEAR = "no run that learned the task loses more than its noise without one head of layer 0"
ABSENT = "not in it: the document has no such row"


def grid_named(name: str, records: Path) -> Grid:
    """Return the grid of that name in the folder of records, or the one that ships."""
    own = records / f"{name}.toml"
    return read_grid(own if own.is_file() else name)


def ran(
    grid: Grid, options: Options, progress: Progress, *, executor: Executor | None = None
) -> dict[str, Any]:
    """Run what is left of a grid, and return its table."""
    if options.data is not None:
        os.environ[DATA] = str(options.data)  # workers read it, too
    folder = options.records / grid.name

    def told(done: int, cells: int, words: str) -> None:
        progress.stage(f"{grid.name}: {done} of {cells} cells; {words}")

    def checking(done: int, pairs: int) -> None:
        progress.stage(f"{grid.name}: checking {done} of {pairs} tasks with an encoding")

    use = Processes(options.workers) if executor is None else executor
    run_grid(grid, folder, executor=use, told=told, checking=checking)
    return compact_folder(folder, grid=grid)


def of_one_grid(
    name: str,
    title: str,
    options: Options,
    progress: Progress,
    *,
    source: str,
    claims: Callable[[Table], Sequence[Claim]],
    notes: Sequence[str],
) -> Reproduction:
    """Run or resume the grid of that name, and judge it."""
    grid = ran(grid_named(name, options.records), options, progress)
    told = [*notes, *data_notes(grid)]
    judged = claims(Table(grid))
    return reproduced(name, title, source=source, grids=[grid], claims=judged, notes=told)


def reproduced(
    name: str,
    title: str,
    *,
    source: str,
    grids: Sequence[Mapping[str, Any]],
    claims: Sequence[Claim],
    notes: Sequence[str],
    published: Mapping[tuple[str, str], float] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Reproduction:
    """Return rows of every grid, a verdict on every claim, and the evidence."""
    return Reproduction(
        name=name,
        title=title,
        source=source,
        setting=_setting(grids),
        rows=tuple(row for grid in grids for row in rows_of(grid, published or {})),
        verdicts=tuple(one.verdict for one in claims),
        notes=(*notes, *filter(None, map(lost_runs, grids))),
        corpora={
            PLACE: {
                "grids": {grid["name"]: grid for grid in grids},
                "evidence": evidence(claims),
                **(more or {}),
            }
        },
        provenance=provenance(0),
    )


def _setting(grids: Sequence[Mapping[str, Any]]) -> str:
    """Say in words what was trained."""
    parts = []
    for grid in grids:
        first = next((row for row in grid["rows"] if row["model"]), None)
        if first is None:
            continue
        size = first["model"]
        parts.append(
            f"{grid['name']}: {grid['runs']} runs, {size['layers']} layers of {size['heads']} "
            f"heads, dimension {size['dimension']}"
        )
    return "; ".join(parts) + "; shown as mean [smallest, largest] over report seeds"


def rows_of(grid: Mapping[str, Any], published: Mapping[tuple[str, str], float]) -> Iterator[Row]:
    """Yield a line for every task and encoding, by task; of lost runs it has their number."""
    table = Table(grid)
    keys = sorted(table.known, key=lambda key: table.tasks.index(key[0]))  # otherwise as they are
    for task, encoding in keys:
        value = published.get((task, encoding))
        ours = _ours(table, task, encoding, table.known[task, encoding])
        lost = table.lost(task, encoding)
        reasons = {key: lost for key, figure in ours.items() if figure is None and lost}
        if INDEX in ours and ours[INDEX] is None and not lost:
            reasons[INDEX] = UNCLEAR
        yield Row(
            what=encoding,
            published=Published(
                quantity="accuracy, %", value=value, reason=None if value else ABSENT
            ),
            ours=ours,
            group=f"{grid['name']}, {task}",
            reasons=reasons or None,
        )


def lost_runs(grid: Mapping[str, Any]) -> str:
    """Say which runs of a grid diverged or failed, nothing where all ended."""
    table = Table(grid)
    told = [f"{table.lost(*key)} on {key[0]}" for key in table.known if table.lost(*key)]
    return f"{grid['name']}: without a score: {'; '.join(told)}." if told else ""


def _ours(table: Table, task: str, encoding: str, row: Mapping[str, Any]) -> dict[str, Figure]:
    steps = [step for step in row["steps_to_90"] if step is not None]
    lost = sum(int(row.get(state, 0)) for state in ("diverged", "failed"))
    found: dict[str, Figure] = {
        "score": spread(row["scores"]) if row["scores"] else None,
        "area": spread(row["areas"]) if row["areas"] else None,
        "reached 90 %": f"{len(steps)} of {len(row['seeds']) + lost}",
    }
    if lost:
        found["diverged or failed"] = f"{lost} of {len(row['seeds']) + lost}"
    index = list(table.values(task, encoding, "index zero").values())
    if row.get("heads"):
        found[INDEX] = spread(index) if index else None
    return found
