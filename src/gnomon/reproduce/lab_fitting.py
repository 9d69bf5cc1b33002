"""Encodings fitted to the training rows of a task, as parts of a grid.

Held-out rows are never counted: an encoding that had seen them would be judged on what it knows.
MDS is the encoding of `gnomon.fit` (debiased, at its effective rank) at the dimension of the model;
the group is that of `gnomon.dependence`, periods and half-lives of the lag structure, at the width
of a head.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus.counting import count
from gnomon.encodings.fitted.group import LONG, encoding_of
from gnomon.errors import LabError
from gnomon.groups.dependence import Dependence
from gnomon.lab.building import DATA
from gnomon.lab.config import PartConfig
from gnomon.lab.grid import EncodingEntry, Grid
from gnomon.lab.tasks.alignment import Alignment
from gnomon.lab.tasks.base import Task
from gnomon.lab.tasks.real.documents import Labelled
from gnomon.lab.tasks.registry import task as made_task
from gnomon.reproduce.samples import Options
from gnomon.survey.fitting import fit
from gnomon.survey.lag_structure import dependence

ROWS = 4000
"""Rows that are drawn of a task without documents."""
MOST_LAGS = 64
NEED_DATA = ("splice", "promoters", "promoter-alignment", "sentences")
Documents = list[NDArray[np.int64]]


def with_data(grid: Grid, options: Options) -> tuple[Grid, list[str]]:
    """Return the grid without the tasks whose data are not there, and the names of these."""
    if options.data is not None or os.environ.get(DATA):
        return grid, []
    left = [label for label, one in grid.tasks.items() if one.name in NEED_DATA]
    kept = {label: one for label, one in grid.tasks.items() if label not in left}
    if not kept:
        raise LabError(
            f"Every task of the grid {grid.name!r} reads real data; name their folder with --data."
        )
    encodings = {
        label: one if one.tasks is None else replace(one, tasks=tuple(set(one.tasks) & set(kept)))
        for label, one in grid.encodings.items()
    }
    return replace(grid, tasks=kept, encodings=encodings), left


def task_in(grid: Grid, label: str, options: Options) -> Task:
    """Return a task of a grid, with the folder of real data where it reads them."""
    entry = grid.tasks[label]
    given: dict[str, Any] = dict(entry.parameters)
    if entry.name in NEED_DATA and "data" not in given:
        given["data"] = str(options.data or os.environ.get(DATA, ""))
    return made_task(entry.name, **given)


def corpus_of(task: Task) -> Documents:
    """Return the training rows of a task as token numbers, one document each."""
    if isinstance(task, Labelled):
        found = task.documents()
        rows = found.tokens[np.flatnonzero(found.folds != task.fold)]
        lengths = (rows > 0).sum(axis=1)
        return [
            row[:length]
            for row, length in zip(rows, lengths, strict=True)
            if 0 < length <= task.length
        ]
    rng = np.random.default_rng(0)
    if isinstance(task, Alignment):
        return list(task.rows(rng, ROWS, task.length))
    batch = task.batch(rng, ROWS)
    return [row[kept] for row, kept in zip(batch.tokens, batch.mask, strict=True)]


def mds_part(task: Task, path: Path, dimension: int) -> PartConfig:
    """Return MDS of the positions of a task, kept in a file."""
    if not path.is_file():
        counts = count(corpus_of(task), length=task.length, cache=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        fit(counts, dimension=dimension).save(path)
    contents = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return PartConfig(name=str(path), contents=contents)


def group_parts(task: Task, *, width: int, heads: int) -> tuple[PartConfig, ...]:
    """Return the group of a task's lags for heads of a width; refused where there is none.

    What decays to one side grows to the other, so that a model that sees both has the periods
    alone, and the half-lives h as slopes log(2) / h of a symmetric bias, head by head.
    """
    found = dependence(corpus_of(task), lags=min(MOST_LAGS, task.length - 1), cache=False).found
    if task.causal:
        return (_jordan(found, width),)
    lasting = replace(found, modes=tuple(replace(one, half_life=np.inf) for one in found.modes))
    turning = _jordan(lasting, width)
    lives = [min(one.half_life, LONG * found.lags) for one in found.modes]
    slopes = [float(np.log(2.0) / lives[head % len(lives)]) for head in range(heads)]
    return turning, PartConfig(name="alibi", parameters={"slopes": slopes, "symmetric": True})


def _jordan(found: Dependence, width: int) -> PartConfig:
    made: Any = encoding_of(found, dimension=width)
    numbers = {name: np.asarray(made.numbers[name]).tolist() for name in ("frequencies", "decays")}
    return PartConfig(name="jordan", parameters={"order": 1, **numbers}, both_directions=True)


def with_parts(grid: Grid, parts: Mapping[tuple[str, str], EncodingEntry]) -> Grid:
    """Return the grid with encodings of single tasks, called LABEL.TASK."""
    more = {f"{label}.{task}": replace(one, tasks=(task,)) for (label, task), one in parts.items()}
    return replace(grid, encodings={**grid.encodings, **more})


def named(table: dict[str, Any], labels: Iterable[str]) -> dict[str, Any]:
    """Return a table of a grid in which LABEL.TASK is called LABEL again."""
    known = set(labels)
    for row in table["rows"]:
        label, _, task = str(row["encoding"]).rpartition(".")
        if label in known and task == row["task"]:
            row["encoding"] = label
    return table
