r"""Stored files as streams: bytes, then lines, then text, then batches of bounded size.

A compressed file may hold far more than it seems to. So both sides are counted while reading,
and a stream is refused as soon as

    decompressed > expansion * compressed + 64 MiB,

long before the rest would fill the memory or the day. Nothing here seeks: what can be read once
(standard input, a socket) reads the same way as a file on disk.

A line ends with \n, \r\n or \r. A line that never ends is refused at the limit: no more than the
limit and one block is ever held.

Bytes that are no UTF-8 are either named (strict) or become U+FFFD (replace); nothing is guessed.

A batch holds at most about 4 MiB of text or 4096 documents, or about a million ids. Documents of
nothing but white space, or of no ids, are no documents: they are dropped here, for every format.

A source is made of stored files and one reader for their format. Its fingerprint is blake2b over
the stored bytes of all files in order, and over the reading options that change documents. Names
are left out: a corpus that is moved stays the same corpus.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import sys
import zlib
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path, PurePath
from typing import (
    TYPE_CHECKING,
    Any,
    BinaryIO,
    ClassVar,
    Literal,
    Protocol,
    cast,
    runtime_checkable,
)

import numpy as np

from gnomon.corpus.documents import IdBatch, Ids, Keys, Offsets, TextBatch, id_keys, text_keys
from gnomon.corpus.tokenizers import without_surrogates
from gnomon.errors import CorpusError
from gnomon.reading import UnreadableError, check_no_device

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gnomon.corpus.options import Limits, OnError, ReadOptions


BLOCK = 1 << 20
SLACK = 64 << 20
_UNREADABLE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
Place = Callable[[int], str]
TEXT_CHARACTERS = 4 << 20
TEXT_DOCUMENTS = 4096
ID_TOKENS = 1 << 20
_CHUNK = 4 << 20


@dataclass(eq=False)
class StoredFile:
    """A file that can be opened again and again; `path` is what the user is told."""

    path: str
    open_raw: Callable[[], BinaryIO]
    size: int | None = None
    local: Path | None = None
    shared: bool = False
    """True where the handle belongs to others and must not be closed here."""
    once: ClassVar[bool] = False

    @property
    def compression(self) -> str | None:
        """The compression that the suffix names, if any."""
        suffix = PurePath(self.path).suffix.lower()
        return suffix[1:] if suffix in COMPRESSIONS else None

    def stream(self, limits: Limits) -> ByteStream:
        """Open the decompressed bytes from the beginning."""
        try:
            return ByteStream(_Decompressed(self, limits))
        except OSError as error:
            raise unreadable(self.path, error) from error

    def head(self, limits: Limits) -> bytes:
        """Return the first mebibyte (less where the file ends), decompressed."""
        with self.stream(limits) as stream:
            return stream.peek(BLOCK)


class PassingFile(StoredFile):
    """What can be read once (standard input, a pipe): its head can be looked at before that."""

    once: ClassVar[bool] = True

    def __init__(
        self, path: str, open_raw: Callable[[], BinaryIO], *, shared: bool = False
    ) -> None:
        super().__init__(path, open_raw, shared=shared)
        self._stream: ByteStream | None = None
        self._taken = False

    def head(self, limits: Limits) -> bytes:
        """Return the first mebibyte without consuming it."""
        return self._only(limits).peek(BLOCK)

    def stream(self, limits: Limits) -> ByteStream:
        """Hand over the only stream there is; a second time is refused."""
        stream = self._only(limits)
        self._taken = True
        return stream

    def _only(self, limits: Limits) -> ByteStream:
        if self._taken:
            raise CorpusError(
                f"{self.path} can be read only once; save it to a file and pass that file."
            )
        self._stream = self._stream or super().stream(limits)
        return self._stream


def standard_input() -> StoredFile:
    """Describe standard input."""
    if sys.stdin is None:
        raise CorpusError("this process has no standard input; pass a file instead of `-`.")
    return PassingFile("standard input", lambda: sys.stdin.buffer, shared=True)


def local_file(path: Path) -> StoredFile:
    """Describe a file of this machine; it is opened later. A pipe is opened once."""

    def open_raw() -> BinaryIO:
        return cast("BinaryIO", path.open("rb", buffering=0))

    try:
        status = path.stat()
        check_no_device(path)
    except (OSError, UnreadableError) as error:
        raise unreadable(str(path), error) from error
    if not stat.S_ISREG(status.st_mode):
        return PassingFile(str(path), open_raw)
    return StoredFile(str(path), open_raw, status.st_size, path)


def unreadable(path: str, error: BaseException) -> CorpusError:
    """Return the sentence for a file that the system does not let us read."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return CorpusError(f"{path} cannot be read ({reason}); check the path and its permissions.")


class ByteStream(io.BufferedReader):
    """Decompressed bytes with a look ahead of one block."""

    def __init__(self, source: _Decompressed) -> None:
        super().__init__(source, BLOCK)
        self._source = source

    @property
    def stored(self) -> int:
        """How many bytes, as stored, were taken so far."""
        return self._source.stored


class _Counted(io.RawIOBase):
    """The stored bytes, counted as they pass."""

    def __init__(self, raw: BinaryIO, *, keep_open: bool) -> None:
        self._raw: Any = raw
        self._keep_open = keep_open
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._raw.readinto(buffer) or 0
        self.count += size
        return size

    def close(self) -> None:
        if not self.closed and not self._keep_open:
            self._raw.close()
        super().close()


class _Decompressed(io.RawIOBase):
    """The bytes inside, refused when they are too many for what is stored."""

    def __init__(self, file: StoredFile, limits: Limits) -> None:
        self._path = file.path
        self._compression = file.compression
        self._expansion = limits.expansion
        self._stored = _Counted(file.open_raw(), keep_open=file.shared)
        wrap = COMPRESSIONS[f".{self._compression}"] if self._compression else None
        self._inner: Any = wrap(self._stored) if wrap else self._stored
        self._made = 0

    @property
    def stored(self) -> int:
        return self._stored.count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer unless the stream ends, so that a look ahead sees a whole block."""
        view, filled = memoryview(buffer).cast("B"), 0
        while filled < len(view):
            size = self._fill(view[filled:])
            if not size:
                break
            filled += size
        self._made += filled
        if self._compression:
            self._check_expansion()
        return filled

    def _fill(self, view: memoryview) -> int:
        try:
            return int(self._inner.readinto(view) or 0)
        except _UNREADABLE as error:
            if not self._compression:
                raise unreadable(self._path, error) from error
            raise CorpusError(
                f"{self._path} is damaged or cut short: its {self._compression} stream breaks off "
                f"after {self._made} decompressed bytes ({error}); fetch or compress it again."
            ) from error

    def _check_expansion(self) -> None:
        if self._made > self._expansion * self.stored + SLACK:
            raise CorpusError(
                f"{self._path} decompresses to more than {self._expansion:g} times its size "
                f"({self._made} bytes from {self.stored}); if you trust it, "
                "raise --limit-expansion."
            )

    def close(self) -> None:
        if not self.closed:
            self._inner.close()
            self._stored.close()
        super().close()


def _zstandard(stored: _Counted) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(stored, mode="r"), "zstd")


COMPRESSIONS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda stored: gzip.GzipFile(fileobj=stored, mode="rb"),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _zstandard,
}


@dataclass(frozen=True)
class LineBlock:
    """Consecutive lines without their ends; the first of them has number `first`, from 1."""

    lines: list[bytes]
    first: int
    stored: int


def line_blocks(file: StoredFile, limits: Limits) -> Iterator[LineBlock]:
    """Yield all lines of a file, about a mebibyte at a time."""
    first, held = 1, 0
    pieces: list[bytes] = []
    with file.stream(limits) as stream:
        if stream.peek(3)[:3] == BYTE_ORDER_MARK:
            stream.read(3)
        while block := stream.read(BLOCK):
            cut = _after_last_end(block)
            if cut:
                lines = b"".join([*pieces, block[:cut]]).splitlines()
                _check(lines, file.path, first, limits)
                yield LineBlock(lines, first, stream.stored)
                first, pieces, held = first + len(lines), [], 0
            pieces.append(block[cut:])
            held += len(block) - cut
            if held > limits.line_bytes:
                raise too_long(f"{file.path}, line {first}", limits)
        lines = b"".join(pieces).splitlines()
        _check(lines, file.path, first, limits)
        if lines:
            yield LineBlock(lines, first, stream.stored)


def _after_last_end(block: bytes) -> int:
    r"""Return where the last whole line ends; a \r at the very end may be half of \r\n."""
    return max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1


def _check(lines: list[bytes], path: str, first: int, limits: Limits) -> None:
    if lines and max(map(len, lines)) > limits.line_bytes:
        index = next(i for i, line in enumerate(lines) if len(line) > limits.line_bytes)
        raise too_long(f"{path}, line {first + index}", limits)


def too_long(place: str, limits: Limits) -> CorpusError:
    """Return the sentence for a line, field or document beyond the limit."""
    return CorpusError(
        f"{place} is longer than {limits.line_bytes} bytes; if you trust it, raise --limit-line."
    )


def number_places(path: str, word: str, first: int) -> Place:
    """Return where the i-th value stands, to be said in a message.

    >>> number_places("a.txt", "line", 7)(2)
    'a.txt, line 9'
    """
    return lambda index: f"{path}, {word} {first + index}"


def decode(values: Sequence[bytes], errors: OnError, place: Place) -> list[str]:
    r"""Decode every value; `place(index)` says where a value stands, for the message.

    >>> decode([b"a", b"\xff"], "replace", str) == ["a", "\ufffd"]
    True
    """
    if errors == "replace":
        return [value.decode("utf-8", "replace") for value in values]
    try:
        return [value.decode("utf-8") for value in values]
    except UnicodeDecodeError:
        raise _first_fault(values, place) from None


def _first_fault(values: Sequence[bytes], place: Place) -> CorpusError:
    for index, value in enumerate(values):
        try:
            value.decode("utf-8")
        except UnicodeDecodeError as error:
            binary = any(b"\0" in other for other in values)
            advice = (
                "zero bytes show that this is no plain text, or UTF-16: convert it to UTF-8, or "
                "name its format with --format"
                if binary
                else "pass --errors replace to read such bytes as U+FFFD"
            )
            return CorpusError(
                f"{place(index)}: byte {error.start} (counted from 0) is "
                f"0x{value[error.start]:02x} and not UTF-8; {advice}."
            )
    return CorpusError("a value is not UTF-8; pass --errors replace.")


def encodable(texts: list[str], errors: OnError, place: Place) -> list[str]:
    """Refuse or replace lone surrogates, which JSON escapes and Python strings may hold."""
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        if errors == "replace":
            return without_surrogates(texts, errors)
        raise _first_surrogate(texts, place) from None
    return texts


def _first_surrogate(texts: list[str], place: Place) -> CorpusError:
    for index, text in enumerate(texts):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            return CorpusError(
                f"{place(index)}: character {error.start} (counted from 0) is half of a surrogate "
                "pair, which is no text; pass --errors replace to read it as U+FFFD."
            )
    return CorpusError("a text holds half of a surrogate pair; pass --errors replace.")


def rebatch_texts(pieces: Iterable[TextBatch]) -> Iterator[TextBatch]:
    """Merge small pieces and cut large ones; order is kept.

    A batch that ends inside a piece has read its share of that piece, so that progress and
    estimates do not take a piece for done when it is begun.
    """
    texts: list[str] = []
    groups: list[str] = []
    held = read = 0
    for piece in pieces:
        before, read = read, piece.bytes_read
        fresh, names = _documents(piece)
        ends = list(accumulate(map(len, fresh), initial=0))
        start = 0
        while start < len(fresh):
            stop = bisect_left(ends, ends[start] + TEXT_CHARACTERS - held, start + 1)
            stop = min(stop, start + TEXT_DOCUMENTS - len(texts), len(fresh))
            texts += fresh[start:stop]
            groups += names[start:stop]
            held += ends[stop] - ends[start]
            start = stop
            if held >= TEXT_CHARACTERS or len(texts) >= TEXT_DOCUMENTS:
                share = before + (read - before) * ends[stop] // ends[-1]
                yield TextBatch(texts=texts, groups=groups or None, bytes_read=share)
                texts, groups, held = [], [], 0
    if texts:
        yield TextBatch(texts=texts, groups=groups or None, bytes_read=read)


def _documents(piece: TextBatch) -> tuple[list[str], list[str]]:
    """Return the texts that are documents, with the names of their groups where declared."""
    texts = [text for text in piece.texts if text and not text.isspace()]
    if piece.groups is None or len(texts) == len(piece.texts):
        return texts, piece.groups or []
    pairs = zip(piece.texts, piece.groups, strict=True)
    return texts, [group for text, group in pairs if text and not text.isspace()]


def id_batch(
    values: Ids, offsets: Offsets, *, groups: list[str] | None = None, bytes_read: int = 0
) -> IdBatch:
    """Make a batch with its keys; documents of no ids are dropped."""
    kept = np.diff(offsets) > 0
    if not kept.all():
        offsets = np.concatenate([offsets[:1], offsets[1:][kept]])
        groups = None if groups is None else [g for g, k in zip(groups, kept, strict=True) if k]
    documents = id_keys(values, offsets)
    keys: Keys = documents if groups is None else text_keys(groups)
    return IdBatch(
        values=values, offsets=offsets, documents=documents, groups=keys, bytes_read=bytes_read
    )


def rebatch_ids(pieces: Iterable[IdBatch]) -> Iterator[IdBatch]:
    """Merge small pieces until they hold about a million ids; order is kept."""
    held: list[IdBatch] = []
    tokens = 0
    for piece in pieces:
        if not piece.rows:
            continue
        held.append(piece)
        tokens += len(piece.values)
        if tokens >= ID_TOKENS:
            yield _merge(held)
            held, tokens = [], 0
    if held:
        yield _merge(held)


def _merge(pieces: list[IdBatch]) -> IdBatch:
    if len(pieces) == 1:
        return pieces[0]
    lengths = np.concatenate([np.diff(piece.offsets) for piece in pieces])
    return IdBatch(
        values=np.concatenate([piece.values for piece in pieces]),
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        documents=np.concatenate([piece.documents for piece in pieces]),
        groups=np.concatenate([piece.groups for piece in pieces]),
        bytes_read=pieces[-1].bytes_read,
    )


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
