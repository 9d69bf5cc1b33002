"""Documents with labels, held in memory, in three parts: training, validation and test.

    fold f of eight        test         what is reported is scored on it
    fold f + 1 (modulo 8)  validation   what is chosen, the learning rate first, is chosen on it
    the other six          train

A document has its fold by a hash of its content (of its file, for source code): equal documents
fall in the same part on every machine, whatever order they are read in. Another `fold` tests on
others. A rate that were chosen on the documents that are reported would report the luck of the
choice.

Naive observers: what simple counting reaches on real rows, with order and without.

    bag    argmax_c log P(c) + sum_t log P(x_t | c)          the order of tokens is not used
    slots  argmax_c log P(c) + sum_t log P(x_t | c, t)       one law per slot, tokens independent

with one added to every count (naive Bayes). The ceiling of a real task is not known; it lies
between what the better observer reaches on held-out rows and what contradictions allow: equal rows
with different labels cannot all be answered. The share of the prior is what the bag reaches.
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
from gnomon.lab.tasks.base import Batch, Ceiling, Ints, Rng, Task, check_int

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


def pad_documents(values: NDArray[np.int32], offsets: NDArray[np.int64]) -> Ints:
    """Return documents of ids 0, 1, ... as rows of tokens 1, 2, ..., padded with 0.

    >>> pad_documents(np.array([5, 6, 7], np.int32), np.array([0, 1, 3])).tolist()
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
    least_length: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check what can be checked before anything is read."""
        check_int(self.name, "length", self.length, least=self.least_length)
        check_fold(self.name, self.fold, self.part)

    @abstractmethod
    def documents(self) -> Documents:
        """Return all documents, read once."""

    def held_out(self, phase: str = "report") -> Labelled:
        """Return the task on documents of the test, or on those that choices are made on."""
        return replace(self, part=SCORED[phase])

    def data_read(self) -> dict[str, Any]:
        """Return the digest of what was read, and how many documents each part has."""
        return dict(_describe_data(replace(self, part=TRAIN)))

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
        check_int(self.name, "size", size, least=1)
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
        return _observe_once(replace(self, part=TRAIN))

    def of_part(self, documents: Documents) -> Ints:
        """Return the rows of this part."""
        return np.flatnonzero(in_part(documents.folds, self.fold, self.part))


def check_fold(name: str, fold: int, part: str) -> None:
    """Refuse a fold or a part that is not there."""
    check_int(name, "fold", fold, least=0)
    if fold >= FOLDS:
        raise LabError(f"task {name}: fold is {fold}; there are {FOLDS}, numbered from 0.")
    if part not in PARTS:
        raise LabError(f"task {name}: part is {part!r}; it is one of {', '.join(PARTS)}.")


@lru_cache(maxsize=32)
def _observe_once(task: Labelled) -> Ceiling:
    return observe_ceiling(task)


@lru_cache(maxsize=32)
def _describe_data(task: Labelled) -> dict[str, Any]:
    found = task.documents()
    sizes = {part: task.size_of(found, part) for part in PARTS}
    return {"digest": digest_of(task.raw()), "one_answer": True, **sizes}


ROWS = 6000
Floats = NDArray[np.float64]


def observe_ceiling(task: Labelled) -> Ceiling:
    """Return the ceiling of a task by counting on its training rows; some tenths of a second."""
    train = task.batch(np.random.default_rng(0), ROWS)
    test = task.held_out().batch(np.random.default_rng(1), ROWS)
    classes, vocabulary = int(task.classes or 0), task.vocabulary
    seen = np.bincount(train.targets, minlength=classes)
    constant = float((test.targets == seen.argmax()).mean())
    bag = bag_accuracy(train, test, classes=classes, vocabulary=vocabulary)
    slots = slot_accuracy(train, test, classes=classes, vocabulary=vocabulary)
    most = consistent_share(test)
    return Ceiling(
        measure="accuracy",
        value=most,
        prior=max(bag, constant),
        constant=constant,
        how="estimated",
        interval=(max(bag, slots, constant), most),
        note="from what naive Bayes reaches on held-out rows to what equal rows with different "
        "labels allow; the prior is naive Bayes on bags of tokens",
    )


def bag_accuracy(train: Batch, test: Batch, *, classes: int, vocabulary: int) -> float:
    """Return the accuracy of naive Bayes on bags of tokens."""
    counts = np.ones((classes, vocabulary))
    rows, slots = np.nonzero(train.mask)
    np.add.at(counts, (train.targets[rows], train.tokens[rows, slots]), 1.0)
    laws = np.log(counts / counts.sum(axis=1, keepdims=True))
    scores = np.where(test.mask[..., None], laws.T[test.tokens], 0.0).sum(axis=1)
    return _accuracy(scores + _priors(train, classes), test)


def slot_accuracy(train: Batch, test: Batch, *, classes: int, vocabulary: int) -> float:
    """Return the accuracy of naive Bayes with one law per slot."""
    width = max(train.tokens.shape[1], test.tokens.shape[1])
    scores = np.zeros((test.size, classes)) + _priors(train, classes)
    for slot in range(min(width, train.tokens.shape[1], test.tokens.shape[1])):
        counts = np.ones((classes, vocabulary))
        kept = train.mask[:, slot]
        np.add.at(counts, (train.targets[kept], train.tokens[kept, slot]), 1.0)
        laws = np.log(counts / counts.sum(axis=1, keepdims=True))
        scores += np.where(test.mask[:, slot, None], laws.T[test.tokens[:, slot]], 0.0)
    return _accuracy(scores, test)


def consistent_share(batch: Batch) -> float:
    """Return the share of rows that a function of the tokens can answer.

    >>> rows = np.array([[1, 2], [1, 2], [1, 3]])
    >>> round(consistent_share(Batch(tokens=rows, targets=np.array([0, 1, 0]), mask=rows > 0)), 3)
    0.667
    """
    _, which = np.unique(batch.tokens, axis=0, return_inverse=True)
    table = np.zeros((int(which.max()) + 1, int(batch.targets.max()) + 1))
    np.add.at(table, (which.reshape(-1), batch.targets), 1.0)
    return float(table.max(axis=1).sum() / len(batch.targets))


def _priors(train: Batch, classes: int) -> Floats:
    seen = np.bincount(train.targets, minlength=classes) + 1.0
    priors: Floats = np.log(seen / seen.sum())
    return priors


def _accuracy(scores: Floats, test: Batch) -> float:
    return float((scores.argmax(axis=1) == test.targets).mean())
