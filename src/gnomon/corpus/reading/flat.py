"""Flat files of token ids, as training pipelines write them: uint16 or uint32, little endian.

Documents are what stands between occurrences of the separator id, which itself is no token. The
file is read in blocks; an open document is carried from block to block, so borders are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from gnomon.corpus.reading.arrowcolumns import checked_ids
from gnomon.corpus.reading.batching import ID_TOKENS, id_batch
from gnomon.corpus.reading.decoding import numbered
from gnomon.corpus.reading.lines import too_long
from gnomon.errors import CorpusError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gnomon.corpus.documents import IdBatch
    from gnomon.corpus.reading.opening import StoredFile
    from gnomon.corpus.reading.options import ReadingOptions

DTYPES: dict[str, np.dtype[Any]] = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}
SUFFIX_DTYPES = {".u16": "uint16", ".u32": "uint32"}


@dataclass(frozen=True)
class FlatReader:
    """Reads flat files of ids cut at a separator."""

    options: ReadingOptions
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
        place = numbered(f"{path}, after id {done}", "document", 1)
        return id_batch(checked_ids(ids[kept], offsets, place), offsets, bytes_read=stored)
