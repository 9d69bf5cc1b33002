"""count: a corpus in, counts of token by position and fold out.

One pass: source -> ids (tokenised, or from the token cache) -> windows -> folds -> counts.
Memory does not grow with the corpus: batches are small, counts are sparse and bounded.

Windows are collected to chunks of some millions of tokens, each chunk becomes a sparse matrix, and
matrices are merged like the digits of a counter: only matrices of similar size
meet, so a count over N chunks costs O(log N) merges per entry. A matrix is held as blocks of rows
and merged block by block, so that a merge needs little room beside its result. Where the matrices
outgrow the memory allowed, folds are halved, exactly: fold f joins fold f mod F/2.

Sequences of letters (DNA, protein) have no spaces, so the tokenizer of words sees one position and
nothing to compare: documents of one word each are refused with what to do instead.

Row p * F + f of a matrix holds how often each token stood at position p in the windows of fold
f (of F). It is exact and depends neither on the order of windows nor on threads.
Two routes give equal results: compiled stripes (`kernel_numba`) and NumPy sorting.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from gnomon.corpus import cache
from gnomon.corpus.counts import PositionCounts, Vocabulary, merge_folds, renamed
from gnomon.corpus.documents import ROWS, GroupSketch, IdBatch, Ids, Source, fold_of, mix
from gnomon.corpus.grouping import HELD_TOGETHER, CopySketch, equal_by_chance
from gnomon.corpus.options import DEFAULT_LENGTH, DEFAULT_MEMORY, CountOptions
from gnomon.corpus.reading.resolve import open_with
from gnomon.corpus.tokenizers import Tokenizer, dna, open_tokenizer, protein
from gnomon.corpus.tokens import FromText, TokenStream, open_tokens
from gnomon.corpus.windows import Window, Windows, cutter
from gnomon.errors import CorpusError, InputError
from gnomon.numeric.parallel import stripes, use_numba
from gnomon.numeric.parallel import threads as all_threads
from gnomon.options import make_options, takes_options

Rearrange = Callable[[IdBatch, Windows], Windows]
"""What may be done to the windows of a batch before they are counted."""
SMALL_CHUNK = 2**20
_USUAL_TYPES = 2**22
"""Types that are counted whatever the memory: the largest tokenizers have a quarter of it."""
_BYTES_PER_TYPE = 96
"""Memory that a survey takes for each type of a vocabulary, whether it occurs or not (measured)."""
CHUNK_TOKENS = 2**23
Number = TypeVar("Number", bound=np.generic)
_BYTES_PER_ENTRY = 12
_BLOCKS = 16
"""Blocks of rows a matrix is held in."""
_SIMILAR = 4
"""A matrix is merged with the next one unless it has this many times its entries."""
_SAMPLE = 1000
_LONG = 10
"""Letters in a word that is more likely a sequence than a word."""
_STRIPE_BYTES = 2 * 2**20
_COMPRESS_FROM = 2**17


@takes_options(CountOptions)
def count(
    corpus: str | os.PathLike[str] | Sequence[Any] | Source,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> PositionCounts:
    """Count how often each token stands at each position of a corpus.

    >>> count(["a b a", "a c"], tokenizer="words", minimum_count=1).matrix.toarray()
    array([[2, 0, 0],
           [0, 1, 1],
           [1, 0, 0]])
    """
    (asked,) = make_options("count", options, CountOptions)
    counts = count_with(corpus, asked, progress=progress)
    if asked.group is not None or not equal_by_chance(counts):
        return counts
    return replace(counts, notes=(*counts.notes, HELD_TOGETHER))


def count_with(
    corpus: str | os.PathLike[str] | Sequence[Any] | Source,
    options: CountOptions,
    *,
    progress: Progress | None = None,
    rearrange: Rearrange | None = None,
) -> PositionCounts:
    """Count with options that were made before; a damaged cache entry is rebuilt."""
    source = open_corpus(corpus, options)
    tokenizer = tokenizer_for(source, options)
    listener = progress or Silence()
    try:
        return _Run(source, tokenizer, options, listener, rearrange).counts()
    except cache.DamagedCacheError as damage:
        cache.discard(damage.key)
        return _Run(source, tokenizer, options, listener, rearrange).counts()


def open_corpus(corpus: Any, options: CountOptions) -> Source:
    """Open a corpus by name, or take a source that is open already."""
    if hasattr(corpus, "batches"):
        source: Source = corpus
        return source
    return open_with(corpus, options, seed=options.seed)


def tokenizer_for(source: Source, options: CountOptions) -> Tokenizer | None:
    """Return the tokenizer asked for; by default words, and for FASTA its alphabet."""
    name = options.tokenizer
    if name is None and source.kind == "ids":
        return None
    if name is None:
        reading = getattr(source, "options", None)
        fasta = getattr(reading, "format", None) == "fasta"
        name = ("protein" if ".faa" in source.name else "dna") if fasta else "words"
    return open_tokenizer(name, limits=options.limits, errors=options.errors)


class _Run:
    """One pass over one corpus."""

    def __init__(
        self,
        source: Source,
        tokenizer: Tokenizer | None,
        options: CountOptions,
        progress: Progress,
        rearrange: Rearrange | None,
    ) -> None:
        self.source = source
        self.tokenizer = tokenizer
        self.options = options
        self.progress = progress
        self.rearrange = rearrange
        self.stream: TokenStream = open_tokens(
            source,
            tokenizer,
            group=None if options.group == ROWS else options.group,
            vocabulary=options.vocabulary,
            use_cache=options.cache,
        )
        self.axes = source.axes
        self.read_as = tuple(getattr(source, "notes", ()))
        self.size = source.size  # once: asking may cost a walk through folders
        self.window = Window(options.window, self._length(), options.stride)
        self.rows = 0
        self.tokens_read = 0
        self.document_sum = 0
        self.groups = GroupSketch()
        alike = rearrange is None and self.axes is None and options.window != "packed"
        self.copies = CopySketch() if alike else None

    def _length(self) -> int:
        if self.axes is None:
            return DEFAULT_LENGTH if self.options.length is None else self.options.length
        positions = int(np.prod(self.axes))
        if self.options.length not in (None, positions) or self.options.window != "start":
            raise InputError(
                f"{self.source.name} is a grid of {'x'.join(map(str, self.axes))} = {positions} "
                "positions; leave --length and --window out."
            )
        return positions

    def counts(self) -> PositionCounts:
        """Read everything and return the counts."""
        options = self.options
        tokenising = isinstance(self.stream, FromText)
        accumulator = Accumulator(
            self.window.length,
            options.folds,
            memory=int(options.memory),
            threads=options.threads,
            # Tokenising is the slow part and takes its own memory: count what it gives at once.
            chunk=SMALL_CHUNK if tokenising else None,
        )
        self._read(accumulator)
        self._check(accumulator)
        counts = self._assemble(accumulator)
        if options.top_k is not None:
            counts = counts.coarsened(options.top_k)
        return self._bin(counts)

    def _bin(self, counts: PositionCounts) -> PositionCounts:
        """Merge positions as asked; a single bin would have no distances."""
        found = counts.binned(self.options.bins)
        if found.bins is not None and found.length < 2:
            raise InputError(
                f"--bins {self.options.bins} merges all {counts.length} positions of "
                f"{counts.source} ({counts.tokens:,} tokens) into one bin, and distances need two; "
                "choose narrower bins, or use more documents."
            )
        return found

    def _read(self, accumulator: Accumulator) -> None:
        packed = self.window.kind == "packed"
        # Only packs are keyed by their tokens; a document's key is that of its text.
        cut = cutter(self.window, self.stream.token_keys if packed else None)
        for read in self.stream.batches():
            batch = _each_alone(read, self.rows) if self.options.group == ROWS else read
            windows = cut(batch)
            if self.rearrange is not None:
                windows = self.rearrange(batch, windows)
            size = self.stream.size or int(batch.values.max(initial=0)) + 1
            self._check_types(size)
            accumulator.add(windows, size)
            if self.copies is not None:
                self.copies.add(windows)
            self.groups.add(windows.keys if packed else batch.groups)
            self.rows += batch.rows
            self.tokens_read += len(batch.values)
            total = np.add.reduce(batch.documents, dtype=np.uint64)
            self.document_sum = (self.document_sum + int(total)) % 2**64
            self._report(batch.bytes_read)

    def _check_types(self, size: int) -> None:
        """Refuse ids whose vectors would not fit in the memory allowed, before they are made.

        One id that is far too large is enough: whatever counts types counts those below it.
        """
        need = size * _BYTES_PER_TYPE
        if size > _USUAL_TYPES and need > self.options.memory:
            raise InputError(
                f"{self.source.name} has ids up to {size - 1:,}, and measuring as many types takes "
                f"about {need / 2**30:.1f} GB, more than --memory allows "
                f"({self.options.memory / 2**30:.3g} GB); number the ids that occur from 0 on, or "
                "raise --memory."
            )

    def _report(self, bytes_read: int) -> None:
        fraction = min(bytes_read / self.size, 1.0) if self.size and bytes_read else None
        self.progress.update(rows=self.rows, tokens=self.tokens_read, fraction=fraction)

    def _check(self, accumulator: Accumulator) -> None:
        name, length = self.source.name, self.options.length
        if self.rows == 0:
            raise CorpusError(f"{name} holds no document; check the file and its --column.")
        if accumulator.longest == 0:
            short = self.window.kind == "packed" and self.tokens_read > 0
            need = f"fewer than the {self.window.length} of one pack" if short else "none at all"
            raise CorpusError(
                f"the {self.rows} documents of {name} hold {self.tokens_read} tokens, {need}; "
                "check the column and the tokenizer, or choose a smaller --length."
            )
        if length is not None and length > accumulator.longest:
            raise InputError(
                f"--length {length} is longer than the longest document of {name} "
                f"({accumulator.longest} tokens); choose {accumulator.longest} or less."
            )

    def _assemble(self, accumulator: Accumulator) -> PositionCounts:
        blocks = accumulator.finish()
        vocabulary, column = settle(self.stream.vocabulary(), blocks.indices)
        blocks = renamed(blocks, column, vocabulary.size)
        counts = PositionCounts(
            blocks=blocks,
            folds=accumulator.folds,
            axes=self.axes or (self.window.length,),
            vocabulary=vocabulary,
            rows=self.rows,
            groups=self.groups,
            document_sum=self.document_sum,
            source=self.source.name,
            tokenizer="ids" if self.tokenizer is None else self.tokenizer.name,
            window=_window_name(self.window),
            minimum_count=self.options.minimum_count,
            notes=self._notes(accumulator),
            near_copies=None if self.copies is None else self.copies.result(),
        )
        short = self.axes is None and accumulator.longest < self.window.length
        return counts.shortened(accumulator.longest) if short else counts

    def _notes(self, accumulator: Accumulator) -> tuple[str, ...]:
        notes = [*self.read_as, *self.stream.notes]
        if self.window.kind == "packed":
            notes.append("packed window: position is not document position, and groups are packs")
        if accumulator.folds < self.options.folds:
            notes.append(
                f"{accumulator.folds} folds instead of {self.options.folds}: "
                "the counts of all of them did not fit in the memory allowed"
            )
        if not self.groups.exact:
            error = 100 * self.groups.relative_error()
            notes.append(f"the number of groups is estimated (standard error {error:.1f} %)")
        return tuple(notes)


def _each_alone(batch: IdBatch, first: int) -> IdBatch:
    """Return a batch whose documents are groups of their own, equal ones too."""
    places = np.arange(first, first + batch.rows, dtype=np.uint64)
    return replace(batch, groups=mix(batch.groups + mix(places)))


def _window_name(window: Window) -> str:
    return window.kind if window.stride is None else f"{window.kind}, stride {window.stride}"


def settle(vocabulary: Vocabulary, used: Any) -> tuple[Vocabulary, Any]:
    """Return the final vocabulary and where each provisional id goes (None: it stays).

    Words are put in sorted order; code points, of which there are over a million, are reduced to
    those that occur. Either way the ids do not depend on the order of reading.
    """
    if vocabulary.open and vocabulary.tokens is not None:
        order = sorted(range(vocabulary.size), key=vocabulary.tokens.__getitem__)
        column = np.empty(vocabulary.size, np.int64)
        column[order] = np.arange(vocabulary.size)
        names = tuple(vocabulary.tokens[i] for i in order)
        return Vocabulary.of(names, grows=True), column
    if vocabulary.tokens is None and vocabulary.size == 0x110000:
        points = np.unique(used)
        column = np.zeros(vocabulary.size, np.int64)
        column[points] = np.arange(len(points))
        return Vocabulary.of(tuple(map(chr, points.tolist())), grows=True), column
    return vocabulary, None


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
        blocks = [self._widen(block) for block in self._matrices.pop()]
        return csr_array(vstack(blocks, format="csr"))

    def _count(self) -> None:
        if not self._pending:
            return
        slots = _join(self._pending, self.folds)
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
            merged.append(self._widen(first.pop()) + self._widen(second.pop()))
        self._matrices.append(merged[::-1])

    def _widen(self, matrix: csr_array) -> csr_array:
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


def _join(pending: list[Windows], folds: int) -> Slots:
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


def check_words(counts: PositionCounts) -> None:
    """Refuse counts of words where every document was a single one."""
    if counts.tokenizer != "words" or counts.axes != (1,) or counts.rows < 2:
        return
    raise CorpusError(
        f"each of the {counts.rows:,} documents of {counts.source} is at most one word, so there "
        f"is one position and no distance; {_advice(counts.vocabulary.tokens or ())}."
    )


def _advice(words: tuple[str, ...]) -> str:
    sample = words[:_SAMPLE]
    if sample and sum(map(len, sample)) >= _LONG * len(sample):
        for alphabet in (dna(), protein()):
            if all(alphabet.letters(word) is not None for word in sample):
                return (
                    f"if this is {_tokenizer_name(alphabet.name)}, as it looks, pass --tokenizer "
                    f"{alphabet.name} (or characters)"
                )
    return (
        "pass --tokenizer characters to read letters, or say what a document is (--unit, "
        "--column, --format)"
    )


def _tokenizer_name(name: str) -> str:
    return "DNA" if name == "dna" else name


class Progress(Protocol):
    """Somebody who wants to know how far the work is."""

    def stage(self, name: str) -> None:
        """Begin a stage of the work, in words."""

    def update(self, *, rows: int, tokens: int, fraction: float | None) -> None:
        """Say what was read so far, and which share of the whole it is where that is known."""


class Silence:
    """Nobody listens."""

    def stage(self, name: str) -> None:
        """Do nothing."""

    def update(self, *, rows: int, tokens: int, fraction: float | None) -> None:
        """Do nothing."""


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
