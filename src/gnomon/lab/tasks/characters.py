"""The next character of source code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from gnomon.corpus import TextBatch, python_stdlib, text_keys
from gnomon.errors import LabError
from gnomon.lab.tasks.base import Batch, Ceiling, Ints, Rng, Task, check_int
from gnomon.lab.tasks.documents import (
    PARTS,
    SCORED,
    TRAIN,
    check_fold,
    digest_of,
    folds_of,
    in_part,
)

FIRST, LAST = 32, 126
UNKNOWN_CHARACTER, NEWLINE = 1, 2
SIZE = NEWLINE + LAST - FIRST + 2
"""Padding, the unknown character, the newline, and printable ASCII."""
ORDER = 5
COUNTED = 2_000_000
"""Characters that are counted, and a tenth as many that are predicted."""


@dataclass(frozen=True, kw_only=True)
class Characters(Task):
    """Name the next character of Python source.

    Next character: what comes next in the source of Python's standard library?

        tokens   d e f _ r e a d ( s e
        targets  e f _ r e a d ( s e l            every character but the last has an answer

    The corpus is that of the survey's `python-stdlib`: functions and classes, here one after the
    other with an empty line between. A file is in one part as a whole. Characters are printable
    ASCII and the newline; any other is one unknown. Windows start anywhere, so absolute places mean
    nothing.

    No ceiling is known. The one given is what counting reaches on files of the test: the commonest
    successor of the longest of the last five, four, ... characters that was met in training. The
    prior is that of the last character alone.
    """

    name: ClassVar[str] = "characters"
    output: ClassVar[str] = "tokens"
    causal: ClassVar[bool] = True
    edition: ClassVar[int] = 2
    tells_ahead: ClassVar[bool] = True

    length: int = 64
    fold: int = 0
    part: str = TRAIN

    def __post_init__(self) -> None:
        """Check length and fold."""
        check_int(self.name, "length", self.length, least=1)
        check_fold(self.name, self.fold, self.part)

    @property
    def vocabulary(self) -> int:
        """Padding, the unknown character, the newline, printable ASCII."""
        return SIZE

    @property
    def classes(self) -> int:
        """Every token but padding."""
        return SIZE - 1

    def held_out(self, phase: str = "report") -> Characters:
        """Return the task on files of the test, or on those that choices are made on."""
        return replace(self, part=SCORED[phase])

    def data_read(self) -> dict[str, Any]:
        """Return digest and numbers of the files."""
        return dict(_describe_characters(self.fold))

    def stream(self) -> Ints:
        """Return all characters of this part, in order."""
        documents, folds = _read_characters()
        kept = in_part(folds, self.fold, self.part)
        return np.concatenate([one for one, own in zip(documents, kept, strict=True) if own])

    def batch(self, rng: Rng, size: int, length: int | None = None) -> Batch:
        """Return windows that start anywhere; held-out ones start at different places."""
        check_int(self.name, "size", size, least=1)
        width = self.length if length is None else length
        check_int(self.name, "length", width, least=1)
        stream = _stream(replace(self, length=1))
        starts = len(stream) - width
        if starts < size:
            raise LabError(
                f"task characters: {size} windows of {width} do not fit {len(stream)} characters; "
                "ask for fewer or shorter ones."
            )
        if self.part == TRAIN:
            first = rng.integers(0, starts, size)
        else:
            first = rng.choice(starts, size, replace=False)
        windows = stream[first[:, None] + np.arange(width + 1)]
        tokens, targets = windows[:, :-1], windows[:, 1:] - 1
        return Batch(tokens=tokens, targets=targets, mask=np.ones(tokens.shape, np.bool_))

    def ceiling(self) -> Ceiling:
        """Return what counting reaches; some seconds at the first call."""
        return _count_ceiling(replace(self, part=TRAIN, length=1))


@lru_cache(maxsize=1)
def _read_characters() -> tuple[list[Ints], list[int]]:
    """Return every file as tokens, and its fold."""
    codes = np.full(256, UNKNOWN_CHARACTER, np.int64)
    codes[FIRST : LAST + 1] = NEWLINE + 1 + np.arange(LAST - FIRST + 1)
    codes[ord("\n")] = NEWLINE
    files: dict[str, list[str]] = {}
    for batch in python_stdlib().batches():
        if isinstance(batch, TextBatch):
            for text, name in zip(batch.texts, batch.groups or [], strict=True):
                files.setdefault(name, []).append(text)
    folds = folds_of(text_keys(list(files))).tolist()
    sources = ("\n\n".join(texts) + "\n\n" for texts in files.values())
    raw = (np.frombuffer(text.encode("latin-1", "replace"), np.uint8) for text in sources)
    return [codes[letters] for letters in raw], folds


@lru_cache(maxsize=8)
def _describe_characters(fold: int) -> dict[str, Any]:
    documents, folds = _read_characters()
    sizes = {part: int(in_part(folds, fold, part).sum()) for part in PARTS}
    return {"digest": digest_of(documents), "one_answer": False, **sizes}


@lru_cache(maxsize=4)
def _stream(task: Characters) -> Ints:
    return task.stream()


@lru_cache(maxsize=4)
def _count_ceiling(task: Characters) -> Ceiling:
    train, test = _stream(task)[:COUNTED], _stream(task.held_out())[: COUNTED // 10]
    best = [successors(train, test, order) for order in range(ORDER + 1)]
    wanted = test[ORDER:]
    guess = best[0][-len(wanted) :]
    for made in best[1:]:
        named = made[-len(wanted) :]
        guess = np.where(named > 0, named, guess)
    last = np.where(best[1] > 0, best[1], best[0][-len(best[1]) :])[-len(wanted) :]
    reached = float((guess == wanted).mean())
    return Ceiling(
        measure="accuracy",
        value=reached,
        prior=float((last == wanted).mean()),
        constant=float((best[0][-len(wanted) :] == wanted).mean()),
        how="estimated",
        interval=(reached, 1.0),
        note=f"the commonest successor of up to {ORDER} characters, counted in training files; the "
        "ceiling itself is not known, and the prior is that of the last character alone",
    )


def successors(train: Ints, test: Ints, order: int) -> Ints:
    """Return for test[order:] the commonest successor in training of `order` characters, or 0.

    >>> successors(np.array([3, 4, 3, 4, 3, 5]), np.array([3, 9, 4]), 1).tolist()
    [4, 0]
    """
    keys, following = _contexts(train, order), train[order:]
    pairs, counts = np.unique(keys * SIZE + following, return_counts=True)
    contexts = pairs // SIZE
    ranked = np.lexsort((counts, contexts))  # the commonest successor comes last of its context
    final = np.append(np.flatnonzero(np.diff(contexts[ranked])), len(ranked) - 1)
    known, named = contexts[ranked][final], (pairs % SIZE)[ranked][final]
    asked = _contexts(test, order)
    place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.where(known[place] == asked, named[place], 0)


def _contexts(stream: Ints, order: int) -> Ints:
    """Return the `order` characters before every character from `order` on, as one number."""
    count = len(stream) - order
    keys = np.zeros(count, np.int64)
    for back in range(order):
        keys = keys * SIZE + stream[back : back + count]
    return keys
