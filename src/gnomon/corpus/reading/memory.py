"""Documents that are already in memory: a list of strings, of id lists, or an array of ids."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from gnomon.corpus.documents import IdBatch, TextBatch
from gnomon.corpus.reading.arrays import array_batches, check_array, grid_axes
from gnomon.corpus.reading.arrowcolumns import checked_ids
from gnomon.corpus.reading.batching import ID_TOKENS, id_batch, rebatch_ids, rebatch_texts
from gnomon.corpus.reading.decoding import encodable, numbered
from gnomon.corpus.reading.filesource import nonempty
from gnomon.errors import CorpusError
from gnomon.numeric.checks import refuse_masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gnomon.corpus.reading.options import OnError

_SLICE = 1024


@dataclass(frozen=True)
class MemoryTexts:
    """A list of strings; `groups`, where given, has one name for each of them."""

    name: str
    texts: Sequence[str]
    groups: Sequence[str] | None = None
    errors: OnError = "strict"
    kind: ClassVar[Literal["text"]] = "text"
    axes: ClassVar[None] = None
    vocabulary_size: ClassVar[None] = None

    @property
    def size(self) -> int:
        """Number of characters, which stands for bytes here."""
        return sum(len(text) for text in self.texts)

    def fingerprint(self) -> str:
        """Return the digest of all texts and group names."""
        digest = blake2b(f"texts {self.errors}".encode(), digest_size=16)
        for values in (self.texts, self.groups or ()):
            for value in values:
                data = value.encode("utf-8", "surrogatepass")
                digest.update(len(data).to_bytes(8, "little") + data)
            digest.update(b"|")
        return digest.hexdigest()

    def batches(self) -> Iterator[TextBatch]:
        """Give the texts in order."""
        return nonempty(rebatch_texts(self._pieces()), self.name)

    def _pieces(self) -> Iterator[TextBatch]:
        read = 0
        for start in range(0, len(self.texts), _SLICE):
            texts = list(self.texts[start : start + _SLICE])
            place = numbered(self.name, "document", start + 1)
            for index, text in enumerate(texts):
                if not isinstance(text, str):
                    raise CorpusError(
                        f"{place(index)} is a {type(text).__name__} among strings; pass only "
                        "strings, or only lists of ids."
                    )
            read += sum(len(text) for text in texts)
            groups = None if self.groups is None else list(self.groups[start : start + _SLICE])
            clean = encodable(texts, self.errors, place)
            yield TextBatch(texts=clean, groups=groups, bytes_read=read)


@dataclass(frozen=True)
class MemoryIds:
    """Ids made by a function that gives pieces of bounded size, the same ones at every call."""

    name: str
    pieces: Callable[[], Iterator[IdBatch]]
    axes: tuple[int, ...] | None = None
    vocabulary_size: int | None = None
    size: int | None = None
    kind: ClassVar[Literal["ids"]] = "ids"

    def fingerprint(self) -> str:
        """Return the digest of all ids, their borders and the axes."""
        digest = blake2b(f"ids {self.axes} {self.vocabulary_size}".encode(), digest_size=16)
        for batch in self.batches():
            digest.update(np.diff(batch.offsets).tobytes())
            digest.update(np.ascontiguousarray(batch.values).tobytes())
        return digest.hexdigest()

    def batches(self) -> Iterator[IdBatch]:
        """Give the documents in order."""
        return nonempty(rebatch_ids(self.pieces()), self.name)


def memory_source(corpus: Any, errors: OnError) -> MemoryTexts | MemoryIds:
    """Wrap a list of strings, a list of id lists, or an array of ids."""
    if not isinstance(corpus, (list, tuple)) and hasattr(corpus, "tolist"):
        refuse_masked(corpus, "the corpus holds", kind=CorpusError)
        values = np.asarray(corpus)  # a column of a data frame, or an array
        corpus = values.tolist() if values.dtype.kind in "OUT" and values.ndim == 1 else values
    if isinstance(corpus, np.ndarray):
        name = f"array of shape {corpus.shape}"
        check_array(corpus, name)
        return MemoryIds(
            name,
            lambda: array_batches(corpus, name, size=corpus.nbytes),
            grid_axes(corpus),
            size=corpus.nbytes,
        )
    if not len(corpus):
        raise CorpusError("the list of documents is empty; pass at least one document.")
    name = f"list of {len(corpus)} documents"
    if isinstance(corpus[0], str):
        return MemoryTexts(name, corpus, errors=errors)
    return MemoryIds(name, lambda: _ragged(corpus, name))


def _ragged(corpus: Sequence[Any], name: str) -> Iterator[IdBatch]:
    rows: list[Any] = []
    first = held = 0
    for index, document in enumerate(corpus):
        rows.append(_row(document, f"{name}, document {index + 1}"))
        held += len(rows[-1])
        if held >= ID_TOKENS:
            yield _joined(rows, name, first)
            rows, first, held = [], index + 1, 0
    if rows:
        yield _joined(rows, name, first)


def _row(document: Any, place: str) -> Any:
    try:
        row = np.asarray(document)
    except (ValueError, OverflowError):
        row = np.zeros((), object)
    if row.ndim == 1 and not len(row):
        return np.zeros(0, np.int64)
    if row.ndim != 1 or row.dtype.kind not in "iu":
        raise CorpusError(f"{place} is not a list of integer ids; pass ids, or strings only.")
    return row


def _joined(rows: list[Any], name: str, first: int) -> IdBatch:
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    place = numbered(name, "document", first + 1)
    return id_batch(checked_ids(np.concatenate(rows), offsets, place), offsets)
