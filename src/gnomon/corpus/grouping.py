"""Rows that are parts of longer rows: `--group contained`.

In some corpora (SST-2) most rows are phrases cut out of another row, hence not independent of it.
Rows are taken longest first (ties by text); a row joins the first root whose words contain the
row's words as a run, and becomes a root itself when there is none. Words are what stands between
white space. The outcome depends on the set of rows only, not on their order.

A row can be contained only in roots that hold its rarest pair of neighbouring words, so roots are
listed under such pairs, and a search compares texts with the few roots listed under one pair. A
single word or a single pair needs no comparison at all.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from gnomon.corpus.documents import offsets_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gnomon.corpus.documents import Offsets


def contained(texts: Sequence[str]) -> list[str]:
    """Return for every row its root, with white space made single blanks.

    >>> contained(["a b c", "b  c", "c b", "a"])
    ['a b c', 'a b c', 'c b', 'a b c']
    """
    rows = [" ".join(text.split()) for text in texts]
    order = sorted(set(rows), key=lambda row: (-len(row), row))
    root_of = _join(order)
    return [root_of[row] for row in rows]


def _join(order: list[str]) -> dict[str, str]:
    """Return the root of every distinct row; `order` is longest first."""
    wanted, held = _marks(order)
    listed: defaultdict[int, list[str]] = defaultdict(list)
    root_of: dict[str, str] = {}
    for row, mark, marks in zip(order, wanted, held, strict=True):
        root = _first_containing(row, listed.get(mark, ()))
        root_of[row] = row if root is None else root
        if root is None:
            for m in set(marks):
                listed[m].append(row)
    return root_of


def _first_containing(row: str, roots: Sequence[str]) -> str | None:
    padded = f" {row} "
    return next((root for root in roots if padded in f" {root} "), None)


def _marks(rows: list[str]) -> tuple[list[int], Iterator[list[int]]]:
    """Return the mark each row is searched by, and the marks it is listed under as a root.

    A mark is the number of a word, or of a pair of neighbours; a row of one word is searched by
    the word, any other by its rarest pair. Marks that only one row has are never searched: -1.
    """
    words, offsets = _numbered(rows)
    base = np.int64(words.max(initial=0) + 1)
    lengths = np.diff(offsets)
    pairs = words[:-1] * base + words[1:] + base  # from `base` on, so that no pair is a word
    inside = np.ones(max(len(words) - 1, 0), dtype=np.bool_)
    inside[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(words))] - 1] = False
    pair_offsets = offsets_of(np.maximum(lengths - 1, 0))
    wanted = np.full(len(rows), -1, dtype=np.int64)
    single = lengths == 1
    wanted[single] = words[offsets[:-1][single]]
    several = np.flatnonzero(lengths > 1)
    wanted[several] = _rarest(pairs[inside], pair_offsets[:-1][several])
    held_words = _kept(words, offsets, wanted)
    held_pairs = _kept(pairs[inside], pair_offsets, wanted)
    return wanted.tolist(), (a + b for a, b in zip(held_words, held_pairs, strict=True))


def _numbered(rows: list[str]) -> tuple[NDArray[np.int64], Offsets]:
    """Return all words as numbers, and where each row begins."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    split = [row.split() for row in rows]
    offsets = offsets_of([len(words) for words in split])
    flat = map(numbers.__getitem__, chain.from_iterable(split))
    return np.fromiter(flat, dtype=np.int64, count=int(offsets[-1])), offsets


def _rarest(marks: NDArray[np.int64], starts: Offsets) -> NDArray[np.int64]:
    """Return, for the run of marks from each start to the next, the rarest one; -1 if unique."""
    if not len(starts):
        return starts
    names, numbers, counts = np.unique(marks, return_inverse=True, return_counts=True)
    # count and number in one integer: the smallest is the rarest, the same on every machine
    rank = np.minimum.reduceat(counts[numbers] * np.int64(len(names)) + numbers, starts)
    count, number = np.divmod(rank, len(names))
    return np.where(count > 1, names[number], -1)


def _kept(
    marks: NDArray[np.int64], offsets: Offsets, wanted: NDArray[np.int64]
) -> Iterator[list[int]]:
    """Yield for every row those of its marks that some row is searched by."""
    kept = np.isin(marks, wanted)
    chosen, bounds = marks[kept].tolist(), offsets_of(kept)[offsets].tolist()
    return (chosen[a:b] for a, b in pairwise(bounds))
