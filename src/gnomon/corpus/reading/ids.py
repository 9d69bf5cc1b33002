"""Documents in memory, and token ids in arrays and in flat files.

In memory: a list of strings, of id lists, or an array of ids.

Arrays of token ids: rows x length are sequences, rows x h x w (or more) are grids.

A row is a document of prod(shape[1:]) ids in C order, and `shape[1:]` are the position axes of a
grid. A `.npy` file on this machine is mapped, not loaded; one that is compressed or remote is
first copied to a temporary file. Pickled objects are refused.

Flat files of token ids, as training pipelines write them: uint16 or uint32, little endian.

Documents are what stands between occurrences of the separator id, which itself is no token. The
file is read in blocks; an open document is carried from block to block, so borders are exact.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal

import numpy as np

from gnomon.corpus.documents import IdBatch, TextBatch
from gnomon.corpus.reading.arrow import check_ids
from gnomon.corpus.reading.streams import (
    BLOCK,
    ID_TOKENS,
    encodable,
    id_batch,
    nonempty,
    number_places,
    rebatch_ids,
    rebatch_texts,
    too_long,
)
from gnomon.errors import CorpusError, nearest
from gnomon.files import scratch
from gnomon.numeric.checks import refuse_masked
from gnomon.reading import UnreadableError, load_array, size_in_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gnomon.corpus.options import OnError, ReadOptions
    from gnomon.corpus.reading.streams import ByteStream, StoredFile

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
            place = number_places(self.name, "document", start + 1)
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
    return MemoryIds(name, lambda: _batches_of_rows(corpus, name))


def _batches_of_rows(corpus: Sequence[Any], name: str) -> Iterator[IdBatch]:
    rows: list[Any] = []
    first = held = 0
    for index, document in enumerate(corpus):
        rows.append(_row(document, f"{name}, document {index + 1}"))
        held += len(rows[-1])
        if held >= ID_TOKENS:
            yield _join(rows, name, first)
            rows, first, held = [], index + 1, 0
    if rows:
        yield _join(rows, name, first)


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


def _join(rows: list[Any], name: str, first: int) -> IdBatch:
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    place = number_places(name, "document", first + 1)
    return id_batch(check_ids(np.concatenate(rows), offsets, place), offsets)


@dataclass(frozen=True)
class ArrayReader:
    """Reads `.npy` files of integers."""

    options: ReadOptions
    axes: tuple[int, ...] | None
    kind: ClassVar[Literal["ids"]] = "ids"

    @classmethod
    def of(cls, file: StoredFile, options: ReadOptions) -> ArrayReader:
        """Look at the shape to learn whether this is a grid."""
        with _map(file, options) as array:
            return cls(options, grid_axes(array))

    def read(self, file: StoredFile) -> Iterator[IdBatch]:
        """Yield the rows of one file."""
        with _map(file, self.options) as array:
            if grid_axes(array) != self.axes:
                raise CorpusError(
                    f"{file.path} has rows of shape {array.shape[1:]}, unlike the files before it; "
                    "read them apart."
                )
            yield from array_batches(array, file.path, size=file.size or 0)


def grid_axes(array: Any) -> tuple[int, ...] | None:
    """Return the position axes of an array with three axes or more."""
    return tuple(array.shape[1:]) if array.ndim > 2 else None


def check_array(array: Any, where: str) -> None:
    """Refuse what cannot be rows of ids."""
    if array.dtype.kind not in "iub":
        raise CorpusError(
            f"{where} holds {array.dtype} numbers; ids must be integers (pass text, or convert "
            "them with astype)."
        )
    if array.ndim == 0:
        raise CorpusError(f"{where} holds a single number; pass an array of rows x length.")


def array_batches(array: Any, where: str, *, size: int = 0) -> Iterator[IdBatch]:
    """Yield about a million ids at a time; a 1-D array is one document."""
    rows = array.reshape(1, -1) if array.ndim == 1 else array
    per_row = int(np.prod(rows.shape[1:]))
    step = max(1, ID_TOKENS // max(1, per_row))
    for start in range(0, len(rows), step):
        part = np.asarray(rows[start : start + step])
        offsets = np.arange(len(part) + 1, dtype=np.int64) * per_row
        place = number_places(where, "row", start + 1)
        values = check_ids(part.reshape(-1), offsets, place)
        yield id_batch(values, offsets, bytes_read=size * (start + len(part)) // len(rows))


@contextmanager
def _map(file: StoredFile, options: ReadOptions) -> Iterator[Any]:
    with _on_disk(file, options) as path:
        try:
            array = load_array(path, mapped=True)
        except (OSError, UnreadableError) as error:
            raise _not_whole(file.path, error) from error
        check_array(array, file.path)
        yield array


@contextmanager
def _on_disk(file: StoredFile, options: ReadOptions) -> Iterator[Path]:
    if file.local and not file.compression:
        yield file.local
        return
    with scratch("array") as path:
        with file.stream(options.limits) as stream, path.open("wb") as copy:
            _copy(stream, copy, path.parent, file.path)
        yield path


def _copy(stream: ByteStream, copy: BinaryIO, folder: Path, name: str) -> None:
    """Copy what the header promises, and no more: what comes through a pipe may never end."""
    try:
        left = size_in_header(stream.peek(BLOCK))
    except UnreadableError as error:
        raise _not_whole(name, error) from error
    if left > (room := shutil.disk_usage(folder).free):
        raise CorpusError(
            f"{name} promises {left:,} bytes, and the folder for temporary files has room for "
            f"{room:,}; unpack it to a disk that is large enough, and pass that file."
        )
    while left and (block := stream.read(min(BLOCK, left))):
        copy.write(block)
        left -= len(block)


def _not_whole(name: str, error: Exception) -> CorpusError:
    return CorpusError(
        f"{name} is not a whole .npy array ({error}); save it again with numpy.save."
    )


DTYPES: dict[str, np.dtype[Any]] = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}
SUFFIX_DTYPES = {".u16": "uint16", ".u32": "uint32"}


@dataclass(frozen=True)
class FlatReader:
    """Reads flat files of ids cut at a separator."""

    options: ReadOptions
    kind: ClassVar[Literal["ids"]] = "ids"
    axes: ClassVar[None] = None

    def __post_init__(self) -> None:
        """A flat file says nothing of itself, so both options are needed."""
        dtype = self.options.dtype
        if dtype is None:
            raise CorpusError(
                "a flat file of ids does not say how wide they are; pass --dtype uint16 or uint32."
            )
        if dtype not in DTYPES:
            raise CorpusError(f"--dtype {dtype} is not a width of ids; {nearest(dtype, DTYPES)}.")
        if self.options.separator is None:
            raise CorpusError(
                "a flat file of ids does not say where documents end; pass the id that ends them "
                "with --separator."
            )

    def read(self, file: StoredFile) -> Iterator[IdBatch]:
        """Yield the documents of one file."""
        dtype = DTYPES[self.options.dtype or ""]
        limit = self.options.limits.line_bytes // dtype.itemsize
        carried: list[Any] = []
        held = done = stored = 0
        for block, stored in self._blocks(file, dtype):
            ends = np.flatnonzero(block == self.options.separator)
            if not len(ends):
                carried.append(block)
                held += len(block)
            else:
                whole = np.concatenate([*carried, block[: ends[-1] + 1]])
                self._check_length(np.diff(ends, prepend=-1 - held).max(), limit, file.path, done)
                yield self._cut(whole, held + ends, done, file.path, stored)
                done += held + int(ends[-1]) + 1
                carried = [block[ends[-1] + 1 :]]
                held = len(carried[0])
            self._check_length(held, limit, file.path, done)
        rest = np.concatenate([np.zeros(0, dtype), *carried])
        yield self._cut(rest, np.array([len(rest)]), done, file.path, stored)

    def _blocks(self, file: StoredFile, dtype: Any) -> Iterator[tuple[Any, int]]:
        count = 0
        with file.stream(self.options.limits) as stream:
            while data := stream.read(ID_TOKENS * dtype.itemsize):
                count += len(data)
                if len(data) % dtype.itemsize:
                    raise CorpusError(
                        f"{file.path} has {count} bytes, which is no multiple of "
                        f"{dtype.itemsize}; it is cut short, or --dtype is wrong."
                    )
                yield np.frombuffer(data, dtype), stream.stored

    def _check_length(self, length: int, limit: int, path: str, done: int) -> None:
        if length > limit:
            raise too_long(f"{path}, a document after id {done}", self.options.limits)

    @staticmethod
    def _cut(ids: Any, ends: Any, done: int, path: str, stored: int) -> IdBatch:
        """Take the separators out; `ends` are their places in `ids`."""
        kept = np.ones(len(ids), bool)
        kept[ends[ends < len(ids)]] = False
        offsets = np.concatenate([np.zeros(1, np.int64), ends - np.arange(len(ends))])
        place = number_places(f"{path}, after id {done}", "document", 1)
        return id_batch(check_ids(ids[kept], offsets, place), offsets, bytes_read=stored)
