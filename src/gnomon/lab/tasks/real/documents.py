"""Documents with labels, held in memory, and which of them are held out.

A document is held out by a hash of its content (of its file, for source code): equal documents fall
on the same side on every machine, whatever order they are read in. One fold of eight is held out;
another `fold` holds out others.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus.documents import Keys
from gnomon.corpus.folds import fold_of
from gnomon.corpus.reading.resolve import open_source
from gnomon.errors import LabError
from gnomon.lab.ceilings import Ceiling
from gnomon.lab.tasks.base import Batch, Ints, Rng, Task, check_whole
from gnomon.lab.tasks.real.observers import observed

FOLDS = 8
PARTS = ("train", "held-out")


@dataclass(frozen=True, kw_only=True, eq=False)
class Documents:
    """Rows of tokens, padded with 0, with their labels and the fold each falls in."""

    tokens: Ints
    """(rows, longest)"""
    labels: Ints
    folds: NDArray[np.uint8]

    @property
    def lengths(self) -> Ints:
        """How many tokens every row has."""
        return np.asarray((self.tokens > 0).sum(axis=1), np.int64)


def folds_of(keys: Keys) -> NDArray[np.uint8]:
    """Return the fold of every content key, of eight."""
    return fold_of(keys, FOLDS)


def padded(values: NDArray[np.int32], offsets: NDArray[np.int64]) -> Ints:
    """Return documents of ids 0, 1, ... as rows of tokens 1, 2, ..., padded with 0.

    >>> padded(np.array([5, 6, 7], np.int32), np.array([0, 1, 3])).tolist()
    [[6, 0], [7, 8]]
    """
    lengths = np.diff(offsets)
    mask = np.arange(lengths.max(initial=0)) < lengths[:, None]
    rows = np.zeros(mask.shape, np.int64)
    rows[mask] = values[offsets[0] : offsets[-1]].astype(np.int64) + 1
    return rows


def read_texts(
    path: Path, *, column: str | None = None, label: str | None = None
) -> tuple[list[str], list[str]]:
    """Return the texts of a file and the values of its label column, by the corpus reader."""
    formats = {".tsv": "tsv", ".data": "csv", ".csv": "csv"}
    kind = formats.get(path.suffix) if column is not None else None
    source = open_source(path, format=kind, column=column, group=label)
    texts: list[str] = []
    labels: list[str] = []
    for batch in source.batches():
        texts += getattr(batch, "texts", [])
        labels += getattr(batch, "groups", None) or []
    return texts, labels


def data_file(task: str, data: str, *names: str) -> Path:
    """Return the first of the files that is there, in the folder or as the path itself."""
    if not data:
        raise LabError(
            f"task {task} reads real data: pass data=FOLDER, a folder that holds {names[0]}."
        )
    places = [Path(data), *(Path(data, name) for name in names)]
    places += [Path(data, Path(name).name) for name in names]
    for place in places:
        if place.is_file():
            return place
    raise LabError(
        f"task {task}: {os.fspath(data)} holds no {names[0]}; pass the folder that does, or the "
        "file itself."
    )


@dataclass(frozen=True, kw_only=True)
class Labelled(Task):
    """Base of tasks that name the label of a document."""

    data: str = ""
    """The folder of the real corpora, or the file."""
    fold: int = 0
    """Which fold of eight is held out."""
    part: str = "train"
    least: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check what can be checked before anything is read."""
        check_whole(self.name, "length", self.length, least=self.least)
        check_fold(self.name, self.fold, self.part)

    @abstractmethod
    def documents(self) -> Documents:
        """Return all documents, read once."""

    def held_out(self) -> Labelled:
        """Return the task on the documents of the held-out fold."""
        return replace(self, part="held-out")

    def chosen(self, documents: Documents, length: int | None) -> Ints:
        """Return the rows of this part; those of another length only where lengths differ."""
        if length not in (None, self.length):
            raise LabError(
                f"task {self.name}: all rows have {self.length} tokens, so there are none of "
                f"{length}; leave the length out."
            )
        return self._of_part(documents)

    def batch(self, rng: Rng, size: int, length: int | None = None) -> Batch:
        """Return rows: with replacement for training, each at most once where held out."""
        check_whole(self.name, "size", size, least=1)
        documents = self.documents()
        rows = self.chosen(documents, length)
        if not len(rows):
            raise LabError(
                f"task {self.name}: no {self.part} document has the length asked for; ask for "
                "another length."
            )
        if self.part == "train":
            picked = rows[rng.integers(0, len(rows), size)]
        else:
            picked = rng.permutation(rows)[:size]
        return self.made(rng, documents, picked)

    def made(self, rng: Rng, documents: Documents, picked: Ints) -> Batch:  # noqa: ARG002 - for tasks that draw
        """Return the picked rows as a batch, cut at the longest of them."""
        tokens = documents.tokens[picked]
        mask = tokens > 0
        width = max(1, int(mask.sum(axis=1).max()))
        return Batch(
            tokens=tokens[:, :width], targets=documents.labels[picked], mask=mask[:, :width]
        )

    def ceiling(self) -> Ceiling:
        """Return what two naive observers reach, and what contradictions leave possible."""
        return _ceiling(replace(self, part="train"))

    def _of_part(self, documents: Documents) -> Ints:
        held = documents.folds == self.fold
        return np.flatnonzero(held if self.part == "held-out" else ~held)


def check_fold(name: str, fold: int, part: str) -> None:
    """Refuse a fold or a part that is not there."""
    check_whole(name, "fold", fold, least=0)
    if fold >= FOLDS:
        raise LabError(f"task {name}: fold is {fold}; there are {FOLDS}, numbered from 0.")
    if part not in PARTS:
        raise LabError(f"task {name}: part is {part!r}; it is one of {', '.join(PARTS)}.")


@lru_cache(maxsize=32)
def _ceiling(task: Labelled) -> Ceiling:
    return observed(task)
