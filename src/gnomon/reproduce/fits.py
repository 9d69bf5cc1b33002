"""Encodings fitted to the training rows of a task, as parts of a grid.

Rows of the test and of the validation are never counted: an encoding that had seen them would be
judged on what it knows. A fit is kept in a file whose name has the digest of the rows it was made
of: other data, another fold or another window are another fit.
MDS is the encoding of `gnomon.fit` (debiased, at its effective rank) at the dimension of the model;
the group is that of `gnomon.dependence`, periods and half-lives of the lag structure, at the width
of a head.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import count, real_digits
from gnomon.encodings import encoding as build_encoding
from gnomon.errors import LabError
from gnomon.lab import (
    DATA,
    TRAIN,
    Alignment,
    Digits,
    DigitsRaster,
    EncodingEntry,
    Grid,
    Labelled,
    PartConfig,
    Task,
    TaskEntry,
    digest_of,
)
from gnomon.lab import task as made_task
from gnomon.lags import Dependence
from gnomon.pipeline import dependence, fit, fit_group, longest_life
from gnomon.reproduce.subjects import Options

ROWS = 4000
"""Rows that are drawn of a task without documents."""
MOST_LAGS = 64
NEED_DATA = ("splice", "promoters", "promoter-alignment", "sentences")
LEFT = "left out, since their data are not here (a folder by --data, or scikit-learn for digits)"
Documents = list[NDArray[np.int64]]


def with_data(grid: Grid, options: Options) -> tuple[Grid, list[str]]:
    """Return the grid without the tasks whose data are not there, and the names of these."""
    folder = options.data is not None or bool(os.environ.get(DATA))
    left = [label for label, one in grid.tasks.items() if not _readable(one, folder=folder)]
    if not left:
        return grid, []
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


def _readable(entry: TaskEntry, *, folder: bool) -> bool:
    """Whether the data of a task are here."""
    if entry.name in NEED_DATA:
        return folder
    if entry.name in (Digits.name, DigitsRaster.name) and not entry.parameters.get("drawn"):
        return real_digits() is not None
    return True


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
        rows = found.tokens[replace(task, part=TRAIN).of_part(found)]
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
    """Return MDS of the positions of a task, kept in a file: STEM-DIGEST beside `path`."""
    rows = corpus_of(task)
    sizes = np.array([task.length, dimension])
    kept = path.with_name(f"{path.stem}-{digest_of((sizes, *rows))}{path.suffix}")
    if not kept.is_file():
        counts = count(rows, length=task.length, cache=False)
        kept.parent.mkdir(parents=True, exist_ok=True)
        fit(counts, dimension=dimension).save(kept)
    contents = hashlib.sha256(kept.read_bytes()).hexdigest()[:16]
    return PartConfig(name=str(kept), contents=contents)


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
    lives = [min(one.half_life, longest_life(found)) for one in found.modes]
    slopes = [float(np.log(2.0) / lives[head % len(lives)]) for head in range(heads)]
    return turning, PartConfig(name="alibi", parameters={"slopes": slopes, "symmetric": True})


def group_in_words(parts: Sequence[PartConfig]) -> str:
    """Return the periods and half-lives of a group, the shortest first.

    >>> turns = {"order": 1, "frequencies": [[0.0], [np.pi]], "decays": [-7.0, -7.0]}
    >>> slopes = PartConfig(name="alibi", parameters={"slopes": [0.5, 0.25, 0.5]})
    >>> group_in_words((PartConfig(name="jordan", parameters=turns), slopes))
    'periods 2, half-lives 1.4 and 2.8'
    """
    given = parts[0].parameters
    turning: Any = build_encoding("jordan", dimension=2 * len(given["decays"]), **given)
    waves = np.ravel(turning.frequencies)
    rates = parts[1].parameters["slopes"] if len(parts) > 1 else -np.ravel(turning.rates)
    told = []
    for name, lengths in (
        ("periods", 2.0 * np.pi / waves[waves > 0.0]),
        ("half-lives", np.log(2.0) / np.array(rates)),
    ):
        found = dict.fromkeys(f"{length:.2g}" for length in np.sort(lengths))
        told.append(f"{name} {' and '.join(found)}" if found else f"no {name}")
    return ", ".join(told)


def _jordan(found: Dependence, width: int) -> PartConfig:
    made: Any = fit_group(found, dimension=width)
    numbers = {name: np.asarray(made.numbers[name]).tolist() for name in ("frequencies", "decays")}
    given = {"order": 1, **numbers}
    return PartConfig(name="jordan", parameters=given, both_directions=True, frozen=True)


def with_parts(grid: Grid, parts: Mapping[tuple[str, str], EncodingEntry]) -> Grid:
    """Return the grid with encodings of single tasks, called LABEL.TASK."""
    more = {f"{label}.{task}": replace(one, tasks=(task,)) for (label, task), one in parts.items()}
    return replace(grid, encodings={**grid.encodings, **more})


def name_rows(table: dict[str, Any], labels: Iterable[str]) -> dict[str, Any]:
    """Return a table of a grid in which LABEL.TASK is called LABEL again."""
    known = set(labels)
    for row in (*table["rows"], *table.get("compared", ())):
        for key in ("encoding", "reference"):
            label, _, task = str(row.get(key, "")).rpartition(".")
            if label in known and task == row["task"]:
                row[key] = label
    return table
