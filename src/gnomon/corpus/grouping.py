r"""Documents that depend on each other: parts of longer ones, near-copies, equal ones.

`--group contained`: in some corpora (SST-2) most rows are phrases cut out of another row, hence not
independent of it. Rows are taken longest first (ties by text); a row joins the first root whose
words contain the row's words as a run, and becomes a root itself when there is none. Words are what
stands between white space. The outcome depends on the set of rows only, not on their order.

A row can be contained only in roots that hold its rarest pair of neighbouring words, so roots are
listed under such pairs, and a search compares texts with the few roots listed under one pair. A
single word or a single pair needs no comparison at all.

`--group near-copies`: one template with a word or two changed. Equal documents share a group by
themselves. Near-copies do not, and what the copies of a template share by being copies looks like a
finding when they are counted as independent. Two documents are taken for near-copies where they
agree

- in place: in three quarters of their tokens, having the same length (of documents of five to
  seven tokens in all but one); or
- from both ends: in a beginning and an end that make four fifths of the longer one, so that words
  put in or taken out somewhere between do not matter; or
- in more places than chance: in three tenths of the places of the shorter one and in eight at
  least (a phrase is no copy), where the chance of so many, at most exp(-n KL(share, q)) with q the
  mean chance that another document has the tokens of the more ordinary of the two [hoeffding1963],
  times the number of documents is below a thousandth,

and where chance gives less than a hundredth of such a partner to a document. Chance is that of
tokens drawn independently at each place from the law of that place: documents of a single form with
open slots agree as often as that, and are no copies.

For the third, 1,024 documents are compared with all others. For the first two documents are not
compared pair by pair. Cut into eight stretches, each has 70 keys, the sums of the
hashes of four of them: two that differ in up to four places have one key in common at least, and
only neighbours by a key are looked at. Families are the connected components of both relations.

Boilerplate (a header, a disclaimer) makes documents alike that have nothing else in common, and a
group of all that share it would take its own share of the corpus out of every comparison of folds.
A family of a twentieth of the documents or more is therefore taken for documents that share a text,
unless the corpus is made of copies: more than half of all documents are in families, and no family
holds more than half. What half of such a family has at a place, counted from either end, is left
out, and its documents are joined only where what remains is alike, in families that are smaller.

Equal documents are one group, since a text that stands twice in a corpus was most likely copied.
Short documents are equal by chance: of two tokens each, many are. To hold these together takes
independence away where there was some. Among n_l documents of l tokens, drawn independently at each
position i from its law p_i, the number of equal pairs is expected to be

    E = sum_l n_l (n_l - 1) / 2  prod_{i < l} sum_v p_iv^2,

each sum of squares estimated from tokens of different folds, sum_v (x^2 - sum_g x_g^2) over
N^2 - sum_g N_g^2: copies of one document are in one fold, and say nothing of chance.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus.documents import mix, offsets_of
from gnomon.results import Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gnomon.corpus.counts import PositionCounts
    from gnomon.corpus.documents import Ids, Keys, Offsets
    from gnomon.corpus.windows import Windows

SAMPLE = 4096
"""Documents that are looked at: those of the smallest mixed keys, the same in any order."""
LONGEST = 128
"""Tokens of a document that are looked at."""
LEAST_TOKENS = 5
STRETCHES = 8
IN_PLACE = 0.75
ENDS = 0.8
CHANCE = 0.01
HEADS = 1024
"""Documents that are compared with all others, place by place."""
RELATED, LEAST_ALIKE, RARELY = 0.3, 8, 1e-3
"""Share and number of places that agree, at least; partners that chance gives, at most."""
LARGE, LEAST_LARGE = 0.05, 8
"""Share and number of documents from which a family is one of documents that share a text."""
_ROWS = 64
_NEIGHBOURS = 8
_TINY = 1e-12
LEAST = 0.01
"""Share of documents that equal another one below which nothing is asked."""
ENOUGH = 0.5
"""Pairs that chance gives for each document too many, from which chance made them."""
HELD_TOGETHER = (
    "equal documents are held together as copies, and about as many are equal as chance gives: "
    "estimates are pulled down; count with --group rows"
)


def find_roots(texts: Sequence[str]) -> list[str]:
    """Return for every row its root, with white space made single blanks.

    >>> find_roots(["a b c", "b  c", "c b", "a"])
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
    words, offsets = _number_words(rows)
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


def _number_words(rows: list[str]) -> tuple[NDArray[np.int64], Offsets]:
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


@dataclass(frozen=True, kw_only=True, eq=False)
class NearCopies(Result):
    """How many of the documents looked at are near-copies of another one of another group."""

    documents: int
    """All there are."""
    looked_at: int
    copies: int
    """Documents looked at that have a near-copy among them."""
    families: int
    largest: int
    partners: float
    """Near-copies that a document has on average in the whole corpus."""
    shared: int = 0
    """Documents looked at that share a text with a large part of them, and are no copies."""

    @property
    def share(self) -> float:
        """Share of the documents looked at that have a near-copy among them."""
        return self.copies / max(self.looked_at, 1)


class CopySketch:
    """A sample of documents as they are counted, in bounded memory."""

    def __init__(self, sample: int = SAMPLE) -> None:
        self._sample = sample
        self._rows = 0
        self._mixed: Keys = np.empty(0, np.uint64)
        self._held: list[Ids] = []
        self._limit = np.uint64(2**64 - 1)

    def add(self, windows: Windows) -> None:
        """Meet the windows of a batch; equal keys are one group, of which one window is enough."""
        mixed = mix(mix(windows.keys))
        self._rows += len(mixed)
        near = mixed <= self._limit
        for row in np.flatnonzero(near).tolist():
            length = min(int(windows.lengths[row]), LONGEST)
            start = int(windows.starts[row])
            stop = start + windows.step * length
            part = windows.values[start : stop if stop >= 0 else None : windows.step]
            self._held.append(part.copy())  # so that the batch can be freed
        self._mixed = np.concatenate((self._mixed, mixed[near]))
        if len(self._mixed) > 2 * self._sample:
            self._settle()

    def result(self) -> NearCopies:
        """Return what was found among the documents that were kept."""
        self._settle()
        offsets = offsets_of([len(one) for one in self._held])
        values = np.concatenate([np.empty(0, np.int32), *self._held])
        labels, shared = split_families(values, offsets)
        return _count_families(labels, documents=self._rows, shared=int(shared.sum()))

    def _settle(self) -> None:
        """Keep one window of each group, those with the smallest keys."""
        kept = np.unique(self._mixed, return_index=True)[1][: self._sample]
        self._mixed = self._mixed[kept]
        self._held = [self._held[k] for k in kept.tolist()]
        if len(kept) == self._sample:
            self._limit = self._mixed[-1]


def _count_families(labels: NDArray[Any], *, documents: int, shared: int) -> NearCopies:
    sizes = np.bincount(labels, minlength=1)
    large = sizes[sizes > 1]
    looked_at = len(labels)
    within = float((large * (large - 1)).sum()) / max(looked_at, 1)
    return NearCopies(
        documents=documents,
        looked_at=looked_at,
        copies=int(large.sum()),
        families=len(large),
        largest=int(large.max(initial=0)),
        partners=within * max(documents / max(looked_at, 1), 1.0),
        shared=shared,
    )


def families_in_words(labels: NDArray[Any], shared: NDArray[np.bool_]) -> str:
    """Say how documents are grouped.

    >>> families_in_words(np.array([0, 0, 1, 2]), np.array([False, False, False, False]))
    '4 documents are 3 groups of near-copies, the largest of 2 (50 %)'
    """
    rows, largest = len(labels), int(np.bincount(labels, minlength=1).max())
    told = (
        f"{rows:,} documents are {len(np.unique(labels)):,} groups of near-copies, the largest "
        f"of {largest:,} ({100 * largest / max(rows, 1):.2g} %)"
    )
    if not shared.any():
        return told
    return (
        f"{told}; {int(shared.sum()):,} documents share a text with {100 * LARGE:.0f} % of all or "
        "more, which makes no copies of them"
    )


def families(values: Ids, offsets: Offsets) -> NDArray[Any]:
    """Return a number for each document, the same for near-copies.

    >>> texts = [[1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 9, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 1]]
    >>> families(np.concatenate(texts), np.array([0, 8, 16, 24])).tolist()
    [0, 0, 1]
    """
    return split_families(values, offsets)[0]


def split_families(values: Ids, offsets: Offsets) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the family of each document, and which documents only share a text with many."""
    labels = _connect(values, offsets)
    shared = _in_large(labels)
    if not shared.any():
        return labels, shared
    alone = labels.max() + 1 + np.arange(len(labels))
    rest = _connect(*_without_shared(values, offsets, labels, shared))
    renewed = np.where(_in_large(rest, even_so=True), alone, labels.max() + 1 + len(labels) + rest)
    found = np.unique(np.where(shared, renewed, labels), return_inverse=True)[1]
    return found, shared


def _connect(values: Ids, offsets: Offsets) -> NDArray[Any]:
    """Return the connected components of documents that agree."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows = len(offsets) - 1
    edges = np.concatenate(
        (_in_place(values, offsets), _from_ends(values, offsets), _pairs_alike(values, offsets))
    )
    graph = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(rows, rows))
    labels: NDArray[Any] = connected_components(graph, directed=False)[1]
    return labels


def _in_large(labels: NDArray[Any], *, even_so: bool = False) -> NDArray[np.bool_]:
    """Return which documents are in a family too large for one of copies.

    `even_so` is whether they are so in a corpus made of copies, too.
    """
    sizes = np.bincount(labels, minlength=1)
    rows = len(labels)
    copies = sizes[sizes > 1].sum() > 0.5 * rows and sizes.max() <= 0.5 * rows
    if copies and not even_so:
        return np.zeros(rows, np.bool_)
    large: NDArray[np.bool_] = (sizes >= max(LARGE * rows, LEAST_LARGE))[labels]
    return large


def _without_shared(
    values: Ids, offsets: Offsets, labels: NDArray[Any], chosen: NDArray[np.bool_]
) -> tuple[Ids, Offsets]:
    """Return the documents chosen without what half of their family has, the others empty.

    What is left out becomes tokens that occur once, so that places stay where they are.
    """
    lengths = np.where(chosen, np.diff(offsets), 0)
    inside = np.repeat(chosen, np.diff(offsets))
    kept, ends = values[inside].astype(np.int64), offsets_of(lengths)
    row = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(kept)) - ends[row]
    size, family = np.bincount(labels)[labels[row]], labels[row].astype(np.uint64)
    common = np.zeros(len(kept), np.bool_)
    for at in (place, lengths[row] - place):
        cell = mix(kept.astype(np.uint64) + mix(at.astype(np.uint64) + mix(family)))
        _, which, count = np.unique(cell, return_inverse=True, return_counts=True)
        common |= count[which] >= 0.5 * size
    once = int(values.max(initial=0)) + 1 + np.arange(len(kept))
    return np.where(common, once, kept).astype(np.int32), ends


def _in_place(values: Ids, offsets: Offsets) -> NDArray[Any]:
    """Return pairs of documents of one length that agree in all but two stretches."""
    lengths = np.diff(offsets)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(int(offsets[-1]), dtype=np.int64) - np.repeat(offsets[:-1], lengths)
    stretch = place * STRETCHES // np.maximum(lengths[rows], 1)
    token = mix(values.astype(np.uint64) + mix(place.astype(np.uint64)))
    sums = np.zeros((len(lengths), STRETCHES), np.uint64)
    chance = np.zeros((len(lengths), STRETCHES))
    cell = rows * STRETCHES + stretch
    begins = np.flatnonzero(np.diff(cell, prepend=-1))
    if len(begins):
        sums.ravel()[cell[begins]] = np.add.reduceat(token, begins)
        agree = np.log(_agreement(values, place))
        chance.ravel()[cell[begins]] = np.add.reduceat(agree[place], begins)
    found = []
    for few, kept in ((True, STRETCHES - 1), (False, STRETCHES // 2)):
        able = (lengths >= (LEAST_TOKENS if few else STRETCHES)) & ((lengths < STRETCHES) == few)
        chosen = np.flatnonzero(able)
        partners = _by_chance(chance[chosen], 1 if few else 2, lengths[chosen])
        chosen = chosen[partners < CHANCE]
        pairs = _of_equal_stretches(sums[chosen], lengths[chosen], kept)
        found.append(chosen[pairs] if few else _alike(values, offsets, chosen[pairs]))
    return np.concatenate(found)


def _by_chance(chance: NDArray[Any], out: int, lengths: NDArray[Any]) -> NDArray[Any]:
    """Return how many documents of its length agree with one in all but `out` stretches."""
    likely = np.zeros(len(chance))
    for left in combinations(range(STRETCHES), out):
        likely += np.exp(np.delete(chance, left, axis=1).sum(axis=1))
    return likely * np.bincount(lengths, minlength=1)[lengths]


def _of_equal_stretches(sums: NDArray[np.uint64], lengths: NDArray[Any], kept: int) -> NDArray[Any]:
    """Return pairs of one length that have so many stretches in common."""
    found = [np.empty((0, 2), np.int64)]
    for chosen in combinations(range(STRETCHES), kept):
        whole = sums[:, chosen].sum(axis=1, dtype=np.uint64)
        found.append(_neighbours(mix(whole + lengths.astype(np.uint64)), 2))
    return np.unique(np.sort(np.concatenate(found), axis=1), axis=0)


def _alike(values: Ids, offsets: Offsets, pairs: NDArray[Any]) -> NDArray[Any]:
    """Return the pairs of one length that agree in three quarters of their first tokens."""
    if not len(pairs):
        return pairs
    rows, at = np.unique(pairs, return_inverse=True)
    lengths = np.diff(offsets)[rows]
    table = _pad(values, offsets[:-1][rows], lengths, 1)
    one, other = at.reshape(pairs.shape).T
    size = np.minimum(lengths, LONGEST)[one]
    same = ((table[one] == table[other]) & (table[one] >= 0)).sum(axis=1)
    return pairs[same >= IN_PLACE * size]


def _from_ends(values: Ids, offsets: Offsets) -> NDArray[Any]:
    """Return pairs that share a beginning and an end that make most of the longer document."""
    lengths = np.diff(offsets)
    chosen = np.flatnonzero(lengths >= STRETCHES)
    if len(chosen) < 2:
        return np.empty((0, 2), np.int64)
    forth = _pad(values, offsets[:-1][chosen], lengths[chosen], 1)
    back = _pad(values, offsets[1:][chosen] - 1, lengths[chosen], -1)
    size = np.minimum(lengths[chosen], LONGEST)
    pairs = np.concatenate([_candidates(one, size) for one in (forth, back)])
    pairs = np.unique(pairs, axis=0)
    a, b = pairs[:, 0], pairs[:, 1]
    shorter, longer = np.minimum(size[a], size[b]), np.maximum(size[a], size[b])
    before = np.minimum(_common(forth, a, b), shorter)
    behind = np.minimum(_common(back, a, b), shorter - before)
    expected = len(chosen) * np.exp(_chance(forth)[before] + _chance(back)[behind])
    near = (before + behind >= ENDS * longer) & (expected < CHANCE)
    found: NDArray[Any] = chosen[pairs[near]]
    return found


def _pairs_alike(values: Ids, offsets: Offsets) -> NDArray[Any]:
    """Return pairs, one of them of the first documents, that agree in more places than chance."""
    from scipy.sparse import csr_array

    lengths = np.minimum(np.diff(offsets), LONGEST)
    rows = np.repeat(np.arange(len(lengths)), np.diff(offsets))
    place = np.arange(int(offsets[-1]), dtype=np.int64) - np.repeat(offsets[:-1], np.diff(offsets))
    inside = (place < LONGEST) & (lengths[rows] >= STRETCHES)
    if not inside.any():
        return np.empty((0, 2), np.int64)
    rows, place, kept = rows[inside], place[inside], values[inside]
    types = int(kept.max()) + 1
    column = np.unique(place * types + kept, return_inverse=True)[1]
    typical = _typical(rows, place, column)
    table = csr_array((np.ones(len(kept), np.int32), (rows, column)))
    turned, found = table.T.tocsr(), [np.empty((0, 2), np.int64)]
    for first in range(0, min(HEADS, table.shape[0]), _ROWS):
        same = (table[first : first + _ROWS] @ turned).tocoo()
        one, other = same.row + first, same.col
        size = np.minimum(lengths[one], lengths[other])
        near = (one != other) & (same.data >= np.maximum(RELATED * size, LEAST_ALIKE))
        one, other, size, agree = one[near], other[near], size[near], same.data[near]
        chance = np.minimum(np.maximum(typical[one], typical[other]), 0.999)
        rarely = -size * _divergence(agree / size, chance) < np.log(RARELY / table.shape[0])
        found.append(np.stack([one[rarely], other[rarely]], axis=1))
    return np.concatenate(found)


def _typical(rows: NDArray[Any], place: NDArray[Any], column: NDArray[Any]) -> NDArray[Any]:
    """Return for every document how likely another one has its token, on average over places.

    A document that is nearly all blanks agrees with many, which the mean of documents hides.
    """
    share = np.bincount(column)[column] - 1.0
    share /= np.maximum(np.bincount(place)[place] - 1.0, 1.0)
    likely: NDArray[Any] = np.bincount(rows, weights=share)
    return likely / np.maximum(np.bincount(rows), 1.0)


def _divergence(share: NDArray[Any], chance: NDArray[Any]) -> NDArray[Any]:
    """Return KL(share, chance) of two coins, 0 where the share is not above the chance."""
    from scipy.special import rel_entr

    divergence = rel_entr(share, chance) + rel_entr(1.0 - share, 1.0 - chance)
    return np.where(share > chance, divergence, 0.0)


def _pad(values: Ids, starts: Offsets, lengths: Offsets, step: int) -> NDArray[Any]:
    """Return the first tokens of documents from one end, a row each; -1 behind their ends."""
    width = int(min(lengths.max(), LONGEST))
    column = np.arange(width)
    inside = column[None, :] < lengths[:, None]
    at = np.where(inside, starts[:, None] + step * column[None, :], 0)
    return np.where(inside, values[at], -1)


def _candidates(table: NDArray[Any], size: NDArray[Any]) -> NDArray[Any]:
    """Return pairs whose first quarter or half (a power of two tokens) is the same."""
    half = 2 ** np.floor(np.log2(np.maximum(size, 2) / 2)).astype(np.int64)
    column = np.arange(table.shape[1])
    token = mix(table.astype(np.uint64) + mix(column.astype(np.uint64)))
    sums = np.cumsum(token, axis=1, dtype=np.uint64)
    rows = np.arange(len(table))
    # Both lengths in one list: what is half of one document may be a quarter of a longer one.
    first = np.concatenate((half, np.maximum(half // 2, 1)))
    key = mix(sums[np.tile(rows, 2), first - 1] + first.astype(np.uint64))
    pairs = _neighbours(key, _NEIGHBOURS) % len(rows)
    return np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)


def _neighbours(keys: Keys, most: int) -> NDArray[Any]:
    """Return pairs of equal keys: each with its next few, which joins all of them."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    found = []
    for step in range(1, most + 1):
        same = np.flatnonzero(ranked[step:] == ranked[:-step])
        found.append(np.stack((order[same], order[same + step]), axis=1))
    return np.concatenate(found)


def _common(table: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return how many tokens two rows share from the beginning."""
    differ = np.ones((len(a), table.shape[1] + 1), np.bool_)
    differ[:, :-1] = table[a] != table[b]
    return differ.argmax(axis=1)


def _agreement(values: Ids, place: NDArray[Any]) -> NDArray[Any]:
    """Return for every place how likely two documents have the same token there."""
    order = np.lexsort((values, place))
    token, at = values[order], place[order]
    begins = np.flatnonzero(np.diff(token, prepend=token[:1] - 1) | np.diff(at, prepend=-1))
    counts = np.diff(np.append(begins, len(token))).astype(np.float64)
    size = int(place.max(initial=0)) + 1
    total = np.bincount(place, minlength=size).astype(np.float64)
    pairs = np.bincount(at[begins], counts * (counts - 1.0), size)
    return np.maximum(pairs / np.maximum(total * (total - 1.0), 1.0), _TINY)


def _chance(table: NDArray[Any]) -> NDArray[Any]:
    """Return the logarithm of the chance that the first 0, 1, 2, ... tokens of two rows agree."""
    inside = table >= 0
    place = np.broadcast_to(np.arange(table.shape[1]), table.shape)[inside]
    return np.concatenate(([0.0], np.cumsum(np.log(_agreement(table[inside], place)))))


def equal_by_chance(counts: PositionCounts) -> bool:
    """Say whether documents that equal others are so by chance."""
    again = counts.rows - counts.groups.estimate()
    if again < max(1.0, LEAST * counts.rows) or counts.window != "start" or counts.bins is not None:
        return False
    return equal_pairs(counts) >= ENOUGH * again


def equal_pairs(counts: PositionCounts) -> float:
    """Return how many pairs of documents are equal by chance."""
    folds = [counts.fold(g).astype(np.float64) for g in range(counts.folds)]
    whole = counts.matrix.tocsr().astype(np.float64)
    again = _squares(whole) - np.sum([_squares(fold) for fold in folds], axis=0)
    tokens = [np.asarray(one.sum(axis=1)).ravel() for one in (whole, *folds)]
    pairs = tokens[0] ** 2 - np.square(tokens[1:]).sum(axis=0)
    alike = np.divide(again, pairs, out=np.zeros_like(again), where=pairs > 0.0)
    ended = tokens[0] - np.append(tokens[0][1:], 0.0)
    return float((0.5 * ended * (ended - 1.0).clip(0.0) * np.cumprod(alike)).sum())


def _squares(matrix: Any) -> NDArray[np.float64]:
    return np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64).ravel()
