"""A source made of stored files and one reader for their format.

Its fingerprint is blake2b over the stored bytes of all files in order, and over the reading
options that change documents. Names are left out: a corpus that is moved stays the same corpus.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from gnomon.corpus.reading.streams import StoredFile, rebatch_ids, rebatch_texts, unreadable
from gnomon.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gnomon.corpus.documents import IdBatch, TextBatch
    from gnomon.corpus.options import ReadOptions

_CHUNK = 4 << 20


class Reader(Protocol):
    """What a format must offer: pieces of any bounded size, with their place in the file."""

    @property
    def kind(self) -> Literal["text", "ids"]:
        """Whether pieces hold text or ids."""

    @property
    def axes(self) -> tuple[int, ...] | None:
        """Sizes of the position axes of a grid."""

    def read(self, file: StoredFile) -> Iterator[Any]:
        """Yield the documents of one file as TextBatch or IdBatch."""


@runtime_checkable
class Noting(Protocol):
    """A reader that decides something which a user may want to know."""

    def note(self, file: StoredFile) -> str | None:
        """Say what was decided for this file, if anything was."""


@dataclass(frozen=True)
class FileSource:
    """Documents in stored files."""

    name: str
    files: tuple[StoredFile, ...]
    reader: Reader
    options: ReadOptions
    vocabulary_size: int | None = None

    @property
    def kind(self) -> Literal["text", "ids"]:
        """Whether batches hold text or ids."""
        return self.reader.kind

    @property
    def axes(self) -> tuple[int, ...] | None:
        """Sizes of the position axes of a grid corpus."""
        return self.reader.axes

    @property
    def size(self) -> int | None:
        """Bytes as stored, where all of them are known."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of how the files are read: which column, which header.

        Asked before reading, since what comes through a pipe can be looked at only then.
        """
        if not isinstance(self.reader, Noting):
            return ()
        note = self.reader.note(self.files[0])
        many = f" (the first of {len(self.files)} files)" if len(self.files) > 1 else ""
        return () if note is None else (f"{note}{many}",)

    def fingerprint(self) -> str | None:
        """Return the digest of stored bytes and options; None for standard input."""
        if any(file.once for file in self.files):
            return None
        digest = blake2b(self.options.stamp(), digest_size=16)
        for file in self.files:
            length = _feed(digest.update, file)
            # The length keeps apart two files and their concatenation.
            digest.update(f"|{file.compression}|{length}|".encode())
        return digest.hexdigest()

    def batches(self) -> Iterator[TextBatch] | Iterator[IdBatch]:
        """Read all files from the beginning, in bounded memory."""
        rebatch: Callable[[Iterable[Any]], Iterator[Any]]
        rebatch = rebatch_texts if self.kind == "text" else rebatch_ids
        return nonempty(rebatch(self._pieces()), self.name)

    def _pieces(self) -> Iterator[Any]:
        before = 0
        for file in self.files:
            for piece in self.reader.read(file):
                yield replace(piece, bytes_read=before + piece.bytes_read)
            before += file.size or 0


def nonempty(batches: Iterator[Any], name: str) -> Iterator[Any]:
    """Pass batches on, and refuse a corpus that has none."""
    empty = True
    for batch in batches:
        empty = False
        yield batch
    if empty:
        raise CorpusError(f"{name} holds no document; pass a corpus with at least one.")


def _feed(update: Callable[[bytes], None], file: StoredFile) -> int:
    length = 0
    try:
        with file.open_raw() as raw:
            while chunk := raw.read(_CHUNK):
                update(chunk)
                length += len(chunk)
    except OSError as error:
        raise unreadable(file.path, error) from error
    return length
