"""Counting tokens by fold and position: ragged windows of ids -> a sparse matrix of counts.

Row p * F + f of the result holds how often each token stood at position p in the windows of fold
f (of F). The result is exact and depends neither on the order of windows nor on threads.
Two routes give equal results: compiled stripes (`kernel_numba`) and NumPy sorting.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gnomon.corpus.documents import Ids
from gnomon.numeric.parallel import threads as all_threads
from gnomon.numeric.parallel import use_numba

_STRIPE_BYTES = 2 * 2**20
_COMPRESS_FROM = 2**17


@dataclass(frozen=True, kw_only=True)
class Slots:
    """Windows to count: token p of window w is values[starts[w] + step * p], p < lengths[w]."""

    values: Ids
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    folds: NDArray[np.uint8]
    step: int = 1

    @property
    def tokens(self) -> int:
        """How many tokens are to be counted."""
        return int(self.lengths.sum())


def count_slots(
    slots: Slots, *, length: int, vocabulary: int, folds: int, threads: int | None = None
) -> csr_array:
    """Return the (length * folds) x vocabulary matrix of counts, integers, indices sorted.

    Cost: one pass over the tokens plus one over the rows that are met.

    >>> slots = Slots(values=np.array([3, 1, 3], np.int32), starts=np.array([0, 2]),
    ...               lengths=np.array([2, 1]), folds=np.array([0, 0], np.uint8))
    >>> count_slots(slots, length=2, vocabulary=4, folds=1).toarray()
    array([[0, 0, 0, 2],
           [0, 1, 0, 0]])
    """
    if vocabulary > _COMPRESS_FROM:
        return _compress(slots, length=length, vocabulary=vocabulary, folds=folds, threads=threads)
    route = _stripes if use_numba() else _sort
    return route(slots, length, vocabulary, folds, threads)


def _compress(
    slots: Slots, *, length: int, vocabulary: int, folds: int, threads: int | None
) -> csr_array:
    """Count a huge, mostly unused vocabulary (code points) through the ids that occur."""
    seen = np.zeros(vocabulary, bool)
    seen[slots.values] = True
    used = np.flatnonzero(seen)
    rank = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    small = Slots(
        values=rank[slots.values],
        starts=slots.starts,
        lengths=slots.lengths,
        folds=slots.folds,
        step=slots.step,
    )
    route = _stripes if use_numba() else _sort
    inner = route(small, length, len(used), folds, threads)
    indices = used[inner.indices].astype(inner.indices.dtype)
    return csr_array((inner.data, indices, inner.indptr), shape=(length * folds, vocabulary))


def _sort(slots: Slots, length: int, vocabulary: int, folds: int, threads: int | None) -> csr_array:
    """Count by sorting the keys (fold, position, token)."""
    del threads
    lengths = slots.lengths
    begin = np.repeat(np.cumsum(lengths) - lengths, lengths)
    position = np.arange(slots.tokens, dtype=np.int64) - begin
    tokens = slots.values[np.repeat(slots.starts, lengths) + slots.step * position]
    rows = position * folds + np.repeat(slots.folds.astype(np.int64), lengths)
    keys, counts = np.unique(rows * vocabulary + tokens, return_counts=True)
    indptr = np.searchsorted(keys, np.arange(length * folds + 1, dtype=np.int64) * vocabulary)
    return _matrix(counts, keys % vocabulary, indptr, (length * folds, vocabulary))


def _stripes(
    slots: Slots, length: int, vocabulary: int, folds: int, threads: int | None
) -> csr_array:
    """Count by compiled stripes, one stripe a thread at a time."""
    from gnomon.corpus import kernel_numba as kernel

    order, bounds = kernel.order_windows(slots.folds, slots.lengths, folds, length)
    starts, lengths = slots.starts[order], slots.lengths[order]
    rows = _row_tokens(slots.folds, slots.lengths, folds, length)
    height = int(np.clip(_STRIPE_BYTES // (4 * max(vocabulary, 1)), 1, 16))
    filled = np.zeros((length, folds), np.int64)
    workers = min(threads or all_threads(), -(-length // height))
    idle = [_Scratch(height, vocabulary) for _ in range(workers)]

    def stripe(first: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        scratch = idle.pop()  # list.pop and append are atomic: each worker holds one scratch
        capacity = np.concatenate([[0], np.cumsum(rows[first : first + height].ravel())])
        tokens, counts = scratch.room(int(capacity[-1]))
        used = kernel.count_stripe(
            slots.values, starts, lengths, slots.step, bounds, capacity, first,
            scratch.counters, tokens, counts, filled[first : first + height],
        )  # fmt: skip
        entries = tokens[:used].copy(), counts[:used].copy()
        idle.append(scratch)
        return entries

    with ThreadPoolExecutor(workers) as pool:
        parts = list(pool.map(stripe, range(0, length, height)))
    indptr = np.concatenate([[0], np.cumsum(filled.ravel())])
    tokens, counts = (np.concatenate(side) for side in zip(*parts, strict=True))
    return _matrix(counts, tokens, indptr, (length * folds, vocabulary))


class _Scratch:
    """What one worker counts in, reused from stripe to stripe."""

    def __init__(self, height: int, vocabulary: int) -> None:
        self.counters = np.zeros((height, vocabulary), np.int32)
        self._tokens = np.empty(0, np.int32)
        self._counts = np.empty(0, np.int32)

    def room(self, entries: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return two arrays of at least `entries` entries."""
        if len(self._tokens) < entries:
            self._tokens = np.empty(entries, np.int32)
            self._counts = np.empty(entries, np.int32)
        return self._tokens, self._counts


def _row_tokens(
    folds: NDArray[np.uint8], lengths: NDArray[np.int64], fold_count: int, length: int
) -> NDArray[np.int64]:
    """Return the tokens at each (position, fold): one of every window that is longer."""
    keys = folds.astype(np.int64) * (length + 1) + lengths
    histogram = np.bincount(keys, minlength=fold_count * (length + 1))
    by_length = histogram.reshape(fold_count, length + 1)
    longer = by_length[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    return np.ascontiguousarray(longer.T)


def _matrix(
    counts: NDArray[np.integer],
    tokens: NDArray[np.integer],
    indptr: NDArray[np.int64],
    shape: tuple[int, int],
) -> csr_array:
    """Assemble a CSR matrix whose rows are sorted already."""
    small = indptr[-1] < 2**31
    index = np.int32 if small else np.int64
    matrix = csr_array(
        (
            counts.astype(np.int64),
            tokens.astype(index, copy=False),
            indptr.astype(index, copy=False),
        ),
        shape=shape,
    )
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix
