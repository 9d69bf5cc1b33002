"""Running the grids that claims rest on, and putting what they show into one reproduction.

A grid is that of the package, or the NAME.toml in the folder of records, so that another size can
be judged by the same rules. Its records lie in a folder of the same name beside it; what is there
is not trained again.

Numbers of a grid by task, encoding and seed, and their contrasts.

score   at the end        area    under the learning curve
index   deposit index of the first layer, of runs that have learned their task and have a head
        whose removal is above its noise
share   of the way from the best constant answer to the ceiling
order   the same from what the best order-blind observer reaches

Runs that diverged or failed have no numbers. They are *lost*: a contrast names them, and where too
few seeds are left it has no values, so that no claim holds for want of a rival.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.corpus import Progress
from gnomon.lab import (
    DATA,
    Executor,
    Grid,
    Processes,
    folder_table,
    read_grid,
    run_grid,
)
from gnomon.pipeline import provenance
from gnomon.reproduce.claims import (
    Claim,
    Contrast,
    Figure,
    Published,
    Reproduction,
    Row,
    Side,
    list_contrasts,
    spread,
)
from gnomon.reproduce.subjects import Options

PLACE = "laboratory"
"""Under which `corpora` of a reproduction holds grids and evidence."""
INDEX = "index, layer 0"
UNCLEAR = "no run that learned the task loses more than its noise without one head of layer 0"
ABSENT = "not in it: the document has no such row"
FIXED = (
    "intervals are over seeds on one fixed test set, and do not hold the choice of its documents; "
    "rates are chosen on other documents."
)


def grid_named(name: str, records: Path) -> Grid:
    """Return the grid of that name in the folder of records, or the one that ships."""
    own = records / f"{name}.toml"
    return read_grid(own if own.is_file() else name)


def run_named(
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
    return folder_table(folder, grid=grid)


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
    grid = run_named(grid_named(name, options.records), options, progress)
    told = [*notes, *data_notes(grid)]
    judged = claims(Table(grid))
    return report_grids(name, title, source=source, grids=[grid], claims=judged, notes=told)


def report_grids(
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
        setting=_describe_grids(grids),
        rows=tuple(row for grid in grids for row in rows_of(grid, published or {})),
        verdicts=tuple(one.verdict for one in claims),
        notes=(*notes, *filter(None, map(lost_runs, grids))),
        corpora={
            PLACE: {
                "grids": {grid["name"]: grid for grid in grids},
                "evidence": list_contrasts(claims),
                **(more or {}),
            }
        },
        provenance=provenance(0),
    )


def _describe_grids(grids: Sequence[Mapping[str, Any]]) -> str:
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


LEARNED = 0.5
"""Share of the way to the ceiling from which a run has learned its task."""
FEWEST = 2
FROM = {"share": "constant", "order": "prior"}
Values = dict[int, float]


class Table:
    """The compact rows of one grid, looked up by task and encoding."""

    def __init__(self, grid: Mapping[str, Any]) -> None:
        self.name = str(grid["name"])
        self.known: dict[tuple[str, str], Mapping[str, Any]] = {
            (row["task"], row["encoding"]): row for row in grid["rows"]
        }
        """Every row, those without a finished run among them."""
        self.rows = {key: row for key, row in self.known.items() if row["scores"]}

    @property
    def tasks(self) -> list[str]:
        """Return the tasks that have runs, finished or not."""
        return list(dict.fromkeys(task for task, _ in self.known))

    def encodings(self, task: str) -> list[str]:
        """Return the encodings that have finished runs on a task."""
        return [encoding for found, encoding in self.rows if found == task]

    def lost(self, task: str, encoding: str) -> str:
        """Say how many runs diverged or failed, nothing where all ended."""
        row = self.known.get((task, encoding), {"scores": ()})
        counts = {state: int(row.get(state, 0)) for state in ("diverged", "failed")}
        runs = len(row["scores"]) + sum(counts.values())
        told = [f"{count} of {runs} runs {state}" for state, count in counts.items() if count]
        return f"{encoding}: {' and '.join(told)}" if told else ""

    def absent(self, task: str, encoding: str) -> list[Contrast]:
        """Return a contrast without values, where too few runs ended for any: a list of one."""
        words = self.lost(task, encoding)
        found = words and self._too_few((task, encoding))
        return [Contrast(what=f"{words} on {task}", values=())] if found else []

    def _too_few(self, *keys: tuple[str, str]) -> bool:
        """Whether these are rows that have too few finished seeds in common."""
        if not self.known.keys() >= {*keys}:
            return False
        return len(set.intersection(*({*self.known[key]["seeds"]} for key in keys))) < FEWEST

    def values(self, task: str, encoding: str, quantity: str) -> Values:
        """Return one number for every seed; none where there are no runs."""
        row = self.rows.get((task, encoding))
        if row is None:
            return {}
        if quantity in FROM:
            pairs = zip(row["seeds"], row["scores"], strict=True)
            return {seed: share_of(row, score, FROM[quantity]) for seed, score in pairs}
        if quantity.startswith("index"):
            return _indices(row, quantity.partition(" ")[2] or "zero")
        if quantity == "cpu_seconds":
            pairs = zip(row["seeds"], row["cpu_seconds"], strict=True)
            return {seed: float(np.log(cost)) for seed, cost in pairs if cost}
        return dict(zip(row["seeds"], row[quantity], strict=True))

    def has_learned(self, task: str, encoding: str, least: float = LEARNED) -> bool:
        """Whether the runs have learned their task, in their mean."""
        found = self.values(task, encoding, "share")
        return bool(found) and float(np.mean(list(found.values()))) >= least

    def level(
        self, task: str, encoding: str, quantity: str, *, bound: float, note: str = ""
    ) -> list[Contrast]:
        """Return the numbers themselves against a bound: a list of one, empty without two seeds."""
        found = self.values(task, encoding, quantity)
        if len(found) < FEWEST:
            return []
        what = f"{encoding}, {note or quantity.rstrip('s')} on {task}"
        return [Contrast(what=what, values=tuple(found.values()), bound=bound)]

    def contrast(
        self,
        first: tuple[str, str],
        second: tuple[str, str],
        quantity: str,
        *,
        relation: Side = ">",
        bound: float = 0.0,
        note: str = "",
    ) -> list[Contrast]:
        """Return first less second by common seeds: a list of one, empty without common seeds.

        Where runs were lost it names them, and has no values if too few seeds are left.
        """
        one, other = self.values(*first, quantity), self.values(*second, quantity)
        common = sorted(one.keys() & other.keys())
        lost = [words for words in (self.lost(*first), self.lost(*second)) if words]
        if len(common) < FEWEST and not (lost and self._too_few(first, second)):
            return []
        same = first[0] == second[0]
        names = (
            (first[1], second[1]) if same else tuple(" on ".join(x[::-1]) for x in (first, second))
        )
        what = f"{names[0]} less {names[1]}, {note or quantity.rstrip('s')}"
        if same:
            what += f" on {first[0]}"
        runs = set.intersection(*({*self.known[key]["seeds"]} for key in (first, second)))
        if lost or len(common) < len(runs):
            what += f" ({', '.join(lost) or f'{len(common)} of {len(runs)} seeds'})"
        kept = common if len(common) >= FEWEST else []
        return [
            Contrast(
                what=what,
                values=tuple(one[seed] - other[seed] for seed in kept),
                relation=relation,
                bound=bound,
            )
        ]


def share_of(row: Mapping[str, Any], score: float, low_end: str = "constant") -> float:
    """Return where a score lies between the best constant answer (0) and the ceiling (1)."""
    ceiling = row["ceiling"]
    low, high = float(ceiling.get(low_end, 0.0)), float(ceiling.get("value", 1.0))
    return (score - low) / (high - low) if high > low else 0.0


def _indices(row: Mapping[str, Any], ablation: str) -> Values:
    """Return the index of the first layer, by run, where there is something to share out."""
    if not row.get("heads"):
        return {}
    told = row["heads"][ablation]
    learned = [share_of(row, score) >= LEARNED for score in row["scores"]]
    runs = zip(row["seeds"], learned, told["index"], strict=True)
    clear = [
        top[0] > band[0] for top, band in zip(told["largest"], told["noise_band"], strict=True)
    ]
    return {
        seed: index[0]
        for (seed, done, index), above in zip(runs, clear, strict=True)
        if done and above and index[0] is not None
    }


def words(table: Table, task: str, quantity: str, encodings: Sequence[str]) -> str:
    """Return means by encoding in words, of those that have runs."""
    told = []
    for encoding in encodings:
        found = list(table.values(task, encoding, quantity).values())
        if found:
            told.append(f"{encoding} {np.mean(found):.3f}")
    return ", ".join(told)


def data_notes(table: Mapping[str, Any]) -> list[str]:
    """Say on how many documents the scores of a table rest, and what these alone leave open."""
    told = {}
    for row in table["rows"]:
        data = row.get("data")
        if data and row["scores"] and row["task"] not in told:
            told[row["task"]] = _blocks_in_words(row["task"], table["rows"], data)
    if not told:
        return []
    return [
        FIXED,
        f"test documents and the standard error they alone give: {'; '.join(told.values())}.",
    ]


def _blocks_in_words(task: str, rows: Iterable[Mapping[str, Any]], data: Mapping[str, Any]) -> str:
    """Return the number of documents, and the smallest and the largest standard error."""
    if not data["one_answer"]:
        return f"{task} {data['test']:,} files of many answers each"
    own = [one["data"]["standard_error"] for one in rows if one["task"] == task and one.get("data")]
    known = [error for error in own if error is not None]
    ends = sorted({f"{min(known):.3f}", f"{max(known):.3f}"}) if known else ["not known"]
    return f"{task} {data['test']:,}, {' to '.join(ends)}"
