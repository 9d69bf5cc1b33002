"""Arrays of token ids: rows x length are sequences, rows x h x w (or more) are grids.

A row is a document of prod(shape[1:]) ids in C order, and `shape[1:]` are the position axes of a
grid. A `.npy` file on this machine is mapped, not loaded; one that is compressed or remote is
first copied to a temporary file. Pickled objects are refused.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal

import numpy as np

from gnomon.corpus.reading.arrowcolumns import checked_ids
from gnomon.corpus.reading.batching import ID_TOKENS, id_batch
from gnomon.corpus.reading.decoding import numbered
from gnomon.corpus.reading.opening import BLOCK
from gnomon.errors import CorpusError
from gnomon.files import scratch
from gnomon.reading import UnreadableError, load_array, promised_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.documents import IdBatch
    from gnomon.corpus.reading.opening import ByteStream, StoredFile
    from gnomon.corpus.reading.options import ReadingOptions


@dataclass(frozen=True)
class ArrayReader:
    """Reads `.npy` files of integers."""

    options: ReadingOptions
    axes: tuple[int, ...] | None
    kind: ClassVar[Literal["ids"]] = "ids"

    @classmethod
    def of(cls, file: StoredFile, options: ReadingOptions) -> ArrayReader:
        """Look at the shape to learn whether this is a grid."""
        with _mapped(file, options) as array:
            return cls(options, grid_axes(array))

    def read(self, file: StoredFile) -> Iterator[IdBatch]:
        """Yield the rows of one file."""
        with _mapped(file, self.options) as array:
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
    """Refuse what can not be rows of ids."""
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
        place = numbered(where, "row", start + 1)
        values = checked_ids(part.reshape(-1), offsets, place)
        yield id_batch(values, offsets, bytes_read=size * (start + len(part)) // len(rows))


@contextmanager
def _mapped(file: StoredFile, options: ReadingOptions) -> Iterator[Any]:
    with _on_disk(file, options) as path:
        try:
            array = load_array(path, mapped=True)
        except (OSError, UnreadableError) as error:
            raise _not_whole(file.path, error) from error
        check_array(array, file.path)
        yield array


@contextmanager
def _on_disk(file: StoredFile, options: ReadingOptions) -> Iterator[Path]:
    if file.local and not file.compression:
        yield file.local
        return
    with scratch("array") as path:
        with file.stream(options.limits) as stream, path.open("wb") as copy:
            _copied(stream, copy, path.parent, file.path)
        yield path


def _copied(stream: ByteStream, copy: BinaryIO, folder: Path, name: str) -> None:
    """Copy what the header promises, and no more: what comes through a pipe may never end."""
    try:
        left = promised_size(stream.peek(BLOCK))
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
