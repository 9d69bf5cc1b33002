"""Adding windows up to counts in bounded memory.

Windows are collected to chunks of some millions of tokens, each chunk becomes a sparse matrix
(`kernel`), and matrices are merged like the digits of a counter: only matrices of similar size
meet, so a count over N chunks costs O(log N) merges per entry. A matrix is held as blocks of rows
and merged block by block, so that a merge needs little room beside its result. Where the matrices
outgrow the memory allowed, folds are halved, exactly: fold f joins fold f mod F/2.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from gnomon.corpus.counts import merge_folds
from gnomon.corpus.folds import fold_of
from gnomon.corpus.kernel import Slots, count_slots
from gnomon.corpus.windows import Windows
from gnomon.numeric.parallel import stripes

CHUNK_TOKENS = 2**23
DEFAULT_MEMORY = 4 * 2**30
Number = TypeVar("Number", bound=np.generic)
_BYTES_PER_ENTRY = 12
_BLOCKS = 16
"""Blocks of rows a matrix is held in."""
_SIMILAR = 4
"""A matrix is merged with the next one unless it has this many times its entries."""


class Accumulator:
    """Counts windows of `length` positions in `folds` folds, within `memory` bytes of counts."""

    def __init__(
        self,
        length: int,
        folds: int,
        *,
        memory: int = DEFAULT_MEMORY,
        threads: int | None = None,
        chunk: int | None = None,
    ) -> None:
        self.length = length
        self.folds = folds
        self.longest = 0
        self._memory = memory
        self._chunk = chunk or CHUNK_TOKENS
        self._threads = threads
        self._vocabulary = 1
        self._pending: list[Windows] = []
        self._waiting = 0
        self._matrices: list[list[csr_array]] = []

    def add(self, windows: Windows, vocabulary: int) -> None:
        """Count these windows, whose ids are all below `vocabulary`."""
        self._vocabulary = max(self._vocabulary, vocabulary)
        if len(windows.starts) == 0:
            return
        lengths = windows.lengths
        self.longest = max(self.longest, int(lengths.max()))
        self._pending.append(windows)
        self._waiting += int(lengths.sum())
        if self._waiting >= self._chunk:
            self._count()

    def finish(self) -> csr_array:
        """Return all counts, (length * folds) x vocabulary, row p * folds + f."""
        self._count()
        if not self._matrices:
            return csr_array((self.length * self.folds, self._vocabulary), dtype=np.int64)
        while len(self._matrices) > 1:
            self._merge()
        blocks = [self._widened(block) for block in self._matrices.pop()]
        return csr_array(vstack(blocks, format="csr"))

    def _count(self) -> None:
        if not self._pending:
            return
        slots = _joined(self._pending, self.folds)
        self._pending, self._waiting = [], 0
        counted = count_slots(
            slots,
            length=self.length,
            vocabulary=self._vocabulary,
            folds=self.folds,
            threads=self._threads,
        )
        edges = stripes(0, self.length, -(-self.length // _BLOCKS))
        self._matrices.append([counted[a * self.folds : b * self.folds] for a, b in edges])
        while len(self._matrices) > 1 and _entries(self._matrices[-2]) < _SIMILAR * _entries(
            self._matrices[-1]
        ):
            self._merge()
        while self.folds > 1 and self._bytes() > self._memory:
            self._halve()

    def _merge(self) -> None:
        second, first = self._matrices.pop(), self._matrices.pop()
        merged = []
        while first:  # blocks leave their lists as they are merged, and so the memory
            merged.append(self._widened(first.pop()) + self._widened(second.pop()))
        self._matrices.append(merged[::-1])

    def _widened(self, matrix: csr_array) -> csr_array:
        """Give a matrix of an earlier, smaller vocabulary today's width."""
        shape = (matrix.shape[0], self._vocabulary)
        return csr_array((matrix.data, matrix.indices, matrix.indptr), shape=shape)

    def _bytes(self) -> int:
        return _BYTES_PER_ENTRY * sum(map(_entries, self._matrices))

    def _halve(self) -> None:
        while len(self._matrices) > 1:
            self._merge()
        if self._bytes() > self._memory:
            fewer = self.folds // 2
            self._matrices = [[merge_folds(b, self.folds, fewer) for b in self._matrices[0]]]
            self.folds = fewer


def _entries(blocks: list[csr_array]) -> int:
    return sum(int(block.nnz) for block in blocks)


def _joined(pending: list[Windows], folds: int) -> Slots:
    """Lay several batches of windows behind one another."""
    values = _flat([w.values for w in pending])
    shifts = np.cumsum([0, *(len(w.values) for w in pending[:-1])])
    starts = _flat([w.starts + shift for w, shift in zip(pending, shifts, strict=True)])
    keys = _flat([w.keys for w in pending])
    lengths = _flat([w.lengths for w in pending])
    return Slots(
        values=values,
        starts=starts,
        lengths=lengths,
        folds=fold_of(keys, folds),
        step=pending[0].step,
    )


def _flat(parts: list[NDArray[Number]]) -> NDArray[Number]:
    """Join arrays, without a copy where there is only one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
