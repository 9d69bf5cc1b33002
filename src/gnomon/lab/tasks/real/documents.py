"""Documents with labels, held in memory, in three parts: training, validation and test.

    fold f of eight        test         what is reported is scored on it
    fold f + 1 (modulo 8)  validation   what is chosen, the learning rate first, is chosen on it
    the other six          train

A document has its fold by a hash of its content (of its file, for source code): equal documents
fall in the same part on every machine, whatever order they are read in. Another `fold` tests on
others. A rate that were chosen on the documents that are reported would report the luck of the
choice.
"""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import Keys, fold_of, open_source
from gnomon.errors import LabError
from gnomon.lab.ceilings import Ceiling
from gnomon.lab.tasks.base import Batch, Ints, Rng, Task, check_whole
from gnomon.lab.tasks.real.observers import observed

FOLDS = 8
TRAIN, VALIDATION, TEST = PARTS = ("train", "validation", "test")
SCORED = {"selection": VALIDATION, "report": TEST}
"""The part that a phase of a grid is scored on."""
DIGITS = 16


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


def in_part(folds: Any, fold: int, part: str) -> NDArray[np.bool_]:
    """Return which documents are in a part, where `fold` is the one that is tested on.

    >>> [in_part(range(8), 7, part).nonzero()[0].tolist() for part in PARTS]
    [[1, 2, 3, 4, 5, 6], [0], [7]]
    """
    after = (np.asarray(folds, np.int64) - fold) % FOLDS
    if part == TRAIN:
        return np.asarray(after > 1)
    return np.asarray(after == (0 if part == TEST else 1))


def digest_of(arrays: Iterable[NDArray[Any]]) -> str:
    """Return 16 hexadecimal digits that stand for arrays of numbers, in their order."""
    made = hashlib.sha256()
    for one in arrays:
        whole = np.ascontiguousarray(one, "<i8")
        made.update(repr(whole.shape).encode())
        made.update(whole.tobytes())
    return made.hexdigest()[:DIGITS]


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
            f"task {task} reads real data: name the folder that holds {names[0]} (--data, or "
            "data= in Python)."
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
    """Which fold of eight is tested on; the next one is the validation."""
    part: str = TRAIN
    edition: ClassVar[int] = 2
    least: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check what can be checked before anything is read."""
        check_whole(self.name, "length", self.length, least=self.least)
        check_fold(self.name, self.fold, self.part)

    @abstractmethod
    def documents(self) -> Documents:
        """Return all documents, read once."""

    def held_out(self, phase: str = "report") -> Labelled:
        """Return the task on documents of the test, or on those that choices are made on."""
        return replace(self, part=SCORED[phase])

    def data_read(self) -> dict[str, Any]:
        """Return the digest of what was read, and how many documents each part has."""
        return dict(_told(replace(self, part=TRAIN)))

    def raw(self) -> tuple[NDArray[Any], ...]:
        """Return what was read, as numbers."""
        found = self.documents()
        return found.tokens, found.labels

    def size_of(self, documents: Documents, part: str) -> int:
        """Return how many documents of a part are used, at the length of the task."""
        rows = replace(self, part=part).chosen(documents, None)
        return len(np.unique(rows % len(documents.tokens)))  # a document may give several rows

    def chosen(self, documents: Documents, length: int | None) -> Ints:
        """Return the rows of this part; those of another length only where lengths differ."""
        if length not in (None, self.length):
            raise LabError(
                f"task {self.name}: all rows have {self.length} tokens, so there are none of "
                f"{length}; leave the length out."
            )
        return self.of_part(documents)

    def batch(self, rng: Rng, size: int, length: int | None = None) -> Batch:
        """Return rows: with replacement for training, each at most once otherwise."""
        check_whole(self.name, "size", size, least=1)
        documents = self.documents()
        rows = self.chosen(documents, length)
        if not len(rows):
            raise LabError(
                f"task {self.name}: no {self.part} document has the length asked for; ask for "
                "another length."
            )
        if self.part == TRAIN:
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
        return _ceiling(replace(self, part=TRAIN))

    def of_part(self, documents: Documents) -> Ints:
        """Return the rows of this part."""
        return np.flatnonzero(in_part(documents.folds, self.fold, self.part))


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


@lru_cache(maxsize=32)
def _told(task: Labelled) -> dict[str, Any]:
    found = task.documents()
    sizes = {part: task.size_of(found, part) for part in PARTS}
    return {"digest": digest_of(task.raw()), "one_answer": True, **sizes}
