"""From a source to batches of token ids: read as ids, tokenised, or taken from the token cache.

Tokenising runs one batch ahead in a thread of its own (the libraries release the interpreter
lock), so that reading, hashing and counting cost little beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from gnomon.corpus import cache
from gnomon.corpus.counts import Vocabulary
from gnomon.corpus.documents import (
    CONTAINED,
    FOUND,
    NEAR_COPIES,
    IdBatch,
    Ids,
    Keys,
    Offsets,
    Source,
    TextBatch,
    offsets_of,
    text_keys,
)
from gnomon.corpus.grouping import families_in_words, find_roots, split_families
from gnomon.corpus.reading.text import table_advice
from gnomon.corpus.tokenizers import Alphabet, LetterError, Tokenizer
from gnomon.errors import CorpusError, InputError


class TokenStream(Protocol):
    """Documents as ids, with the vocabulary they are ids of."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of how the ids came about."""

    @property
    def size(self) -> int | None:
        """Size of the vocabulary, None while it grows."""

    def batches(self) -> Iterator[IdBatch]:
        """Read from the beginning."""

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary; of a growing one, what was met so far."""

    def token_keys(self) -> Keys | None:
        """Return keys of provisional ids, None where ids are final."""


def open_tokens(
    source: Source,
    tokenizer: Tokenizer | None,
    *,
    group: str | None = None,
    vocabulary: int | None = None,
    use_cache: bool = True,
) -> TokenStream:
    """Return the ids of a source, from the cheapest place that can be trusted."""
    if source.kind == "ids":
        if group == CONTAINED:
            raise InputError(
                f"--group contained compares texts, but {source.name} holds token ids; leave "
                "--group out."
            )
        declared = _vocabulary_of(source, tokenizer, vocabulary)
        return FromIds(source, declared, near_copies=group == NEAR_COPIES)
    if vocabulary is not None:
        raise InputError(
            f"--vocabulary bounds token ids, but {source.name} holds text; leave --vocabulary out."
        )
    if tokenizer is None:
        raise InputError("this corpus is text; choose a tokenizer with --tokenizer.")
    fingerprint = source.fingerprint() if use_cache else None
    if fingerprint is None:
        return FromText(source, tokenizer, group, key=None)
    key = cache.key_of(fingerprint, tokenizer.digest, group)
    entry = cache.lookup(key)
    return FromText(source, tokenizer, group, key=key) if entry is None else FromCache(entry)


def _vocabulary_of(
    source: Source, tokenizer: Tokenizer | None, size: int | None
) -> Vocabulary | None:
    """Return the vocabulary that ids must keep to, if one is declared."""
    if size is not None:
        return Vocabulary.anonymous(size)
    if tokenizer is not None and tokenizer.grows:
        raise InputError(
            f"{source.name} holds token ids, and --tokenizer {tokenizer.name} has none of its own; "
            "pass the tokenizer.json that made them, or leave --tokenizer out."
        )
    if tokenizer is not None:
        return tokenizer.vocabulary()
    return None if source.vocabulary_size is None else Vocabulary.anonymous(source.vocabulary_size)


class FromIds:
    """Ids as they were read, checked against the vocabulary where one is declared."""

    def __init__(
        self, source: Source, declared: Vocabulary | None, *, near_copies: bool = False
    ) -> None:
        self._source = source
        self._near_copies = near_copies
        self._vocabulary_of = declared
        self._largest = 0
        self.notes: tuple[str, ...] = ()
        self.size = None if declared is None else declared.size

    def batches(self) -> Iterator[IdBatch]:
        """Read from the beginning."""
        if not self._near_copies:
            return self._read()
        batches, told = _in_families(list(self._read()))
        self.notes = (told,)
        return iter(batches)

    def _read(self) -> Iterator[IdBatch]:
        rows = 0
        for batch in self._source.batches():
            if not isinstance(batch, IdBatch):
                raise CorpusError(f"{self._source.name} gave text where ids were declared.")
            largest = int(batch.values.max(initial=0))
            self._largest = max(self._largest, largest)
            if self._vocabulary_of is not None and largest >= self._vocabulary_of.size:
                raise _outside(self._source.name, batch, rows, self._vocabulary_of.size)
            rows += batch.rows
            yield batch

    def vocabulary(self) -> Vocabulary:
        """Return the declared vocabulary, or as many ids as were met."""
        return self._vocabulary_of or Vocabulary.anonymous(self._largest + 1, grows=True)

    def token_keys(self) -> Keys | None:
        """Ids are final."""
        return None


def _outside(name: str, batch: IdBatch, rows: int, size: int) -> CorpusError:
    place = int(np.argmax(batch.values >= size))
    row = rows + int(np.searchsorted(batch.offsets, place, side="right"))
    return CorpusError(
        f"row {row} of {name} holds id {int(batch.values[place])}, "
        f"outside the vocabulary of {size}; pass the right --vocabulary or tokenizer."
    )


class FromCache:
    """Ids that were tokenised before."""

    def __init__(self, entry: cache.CacheEntry) -> None:
        self._entry = entry
        # What was noted while the texts were here is as true of the ids that were kept of them.
        self.notes: tuple[str, ...] = tuple(map(str, entry.extra.get("notes", ())))
        self.size: int | None = entry.vocabulary.size

    def batches(self) -> Iterator[IdBatch]:
        """Read from the beginning; damage raises `cache.DamagedCacheError`."""
        return self._entry.batches()

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary that was stored with the ids."""
        return self._entry.vocabulary

    def token_keys(self) -> Keys | None:
        """Ids of a grown vocabulary are provisional in the cache, too."""
        stored = self._entry.vocabulary
        return text_keys(list(stored.tokens)) if stored.open and stored.tokens else None


@dataclass
class _Encoding:
    """A batch of text on its way through the tokenizer."""

    batch: TextBatch
    ids: Future[tuple[Ids, Offsets]]


class FromText:
    """Text, tokenised while it is read, and kept in the cache under `key`."""

    def __init__(
        self, source: Source, tokenizer: Tokenizer, group: str | None, *, key: str | None
    ) -> None:
        self._source = source
        self._tokenizer = tokenizer
        self._alphabet = tokenizer if isinstance(tokenizer, Alphabet) else None
        self._found = group if group in FOUND else None
        self._key = key
        self._keys: Keys = np.empty(0, np.uint64)
        self.size = None if tokenizer.grows else tokenizer.vocabulary().size
        self.notes: tuple[str, ...] = ()
        self._told: tuple[str, ...] = ()

    def batches(self) -> Iterator[IdBatch]:
        """Read from the beginning, tokenise, and write the cache behind."""
        if self._alphabet is not None:
            self._alphabet.tally.clear()
        with ExitStack() as stack:
            writer = self._writer(stack)
            for batch in self._encode():
                if writer is not None:
                    writer.add(batch)
                yield batch
            told = () if self._alphabet is None else self._alphabet.notes()
            self.notes = (*told, *self._told)
            if writer is not None:
                writer.finish(self._tokenizer.vocabulary(), notes=self.notes)
                self.notes += tuple(writer.notes)

    def vocabulary(self) -> Vocabulary:
        """Return the tokenizer's vocabulary."""
        return self._tokenizer.vocabulary()

    def token_keys(self) -> Keys | None:
        """Return keys of the words met so far, computing only those that are new."""
        if not self._tokenizer.grows:
            return None
        tokens = self._tokenizer.vocabulary().tokens or ()
        fresh = text_keys(list(tokens[len(self._keys) :]))
        self._keys = np.concatenate((self._keys, fresh))
        return self._keys

    def _writer(self, stack: ExitStack) -> Any:
        if self._key is None:
            return None
        return stack.enter_context(cache.writer(self._key, source=self._source.name))

    def _encode(self) -> Iterator[IdBatch]:
        rows = 0
        with ThreadPoolExecutor(1) as pool:
            ahead: _Encoding | None = None
            for batch in self._texts():
                started = _Encoding(batch, pool.submit(self._tokenizer.encode, batch.texts, rows))
                rows += len(batch.texts)
                if ahead is not None:
                    yield self._finish(ahead)
                ahead = started
            if ahead is not None:
                yield self._finish(ahead)

    def _finish(self, encoding: _Encoding) -> IdBatch:
        """Hash the texts while their ids are on the way, then join both."""
        batch = encoding.batch
        documents = text_keys(batch.texts)
        groups = documents if batch.groups is None else text_keys(batch.groups)
        try:
            values, offsets = encoding.ids.result()
        except CorpusError as error:  # a tokenizer knows the document, not the file
            placed = f"{self._source.name}: {self._advise(error, batch.texts)}"
            raise CorpusError(placed) from error
        return IdBatch(
            values=values,
            offsets=offsets,
            documents=documents,
            groups=groups,
            bytes_read=batch.bytes_read,
        )

    def _advise(self, error: CorpusError, texts: list[str]) -> str:
        """Return the sentence, with better advice where lines of plain text are rows of a table."""
        plain = getattr(getattr(self._source, "options", None), "format", None) == "text"
        if plain and self._alphabet is not None and isinstance(error, LetterError):
            advice = table_advice(texts, self._alphabet.letters)
            if advice is not None:
                return f"{error.found}; {advice}."
        return str(error)

    def _texts(self) -> Iterator[TextBatch]:
        batches = (b for b in self._source.batches() if isinstance(b, TextBatch))
        if self._found is None:
            return batches
        # Both are relations between all rows, so all of them must be here at once.
        held = list(batches)
        texts = [text for batch in held for text in batch.texts]
        if self._found == CONTAINED:
            found = find_roots(texts)
        else:
            found, told = _near_copies(texts)
            self._told = (told,)
        roots = iter(found)
        return (replace(b, groups=[next(roots) for _ in b.texts]) for b in held)


def _near_copies(texts: list[str]) -> tuple[list[str], str]:
    """Return for every text the first of its family in the order of characters, and a note.

    >>> _near_copies(["a b c d e f g h", "a b c d e f g x", "s t u v w x y z"])[0]
    ['a b c d e f g h', 'a b c d e f g h', 's t u v w x y z']
    """
    numbers: dict[str, int] = {}
    words = [[numbers.setdefault(word, len(numbers)) for word in text.split()] for text in texts]
    offsets = offsets_of([len(row) for row in words])
    flat = np.fromiter((w for row in words for w in row), dtype=np.int32, count=int(offsets[-1]))
    found, shared = split_families(flat, offsets)
    labels, first = found.tolist(), dict[int, str]()
    for label, text in zip(labels, texts, strict=True):
        first[label] = min(text, first.get(label, text))
    return [first[label] for label in labels], families_in_words(found, shared)


def _in_families(held: list[IdBatch]) -> tuple[list[IdBatch], str]:
    """Return the batches again, every document in the group of its family, and a note."""
    empty = [np.empty(0, np.int32)], [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    values = np.concatenate([*empty[0], *(b.values[b.offsets[0] : b.offsets[-1]] for b in held)])
    lengths = np.concatenate([*empty[1], *(np.diff(b.offsets) for b in held)])
    labels, shared = split_families(values, offsets_of(lengths))
    keys = np.concatenate([*empty[2], *(b.documents for b in held)])
    least = np.full(int(labels.max(initial=0)) + 1, 2**64 - 1, np.uint64)
    np.minimum.at(least, labels, keys)
    groups = least[labels]
    ends = np.cumsum([b.rows for b in held]).tolist()
    made = [
        replace(batch, groups=groups[end - batch.rows : end])
        for batch, end in zip(held, ends, strict=True)
    ]
    return made, families_in_words(labels, shared)
