"""Stored files as streams of bytes: opened, decompressed, and counted on both sides.

A compressed file may hold far more than it seems to. So both sides are counted while reading,
and a stream is refused as soon as

    decompressed > expansion * compressed + 64 MiB,

long before the rest would fill the memory or the day. Nothing here seeks: what can be read once
(standard input, a socket) reads the same way as a file on disk.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, cast

from gnomon.errors import CorpusError
from gnomon.reading import UnreadableError, check_no_device

if TYPE_CHECKING:
    from collections.abc import Callable

    from gnomon.corpus.limits import Limits

BLOCK = 1 << 20
SLACK = 64 << 20
_UNREADABLE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)


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
    return CorpusError(f"{path} can not be read ({reason}); check the path and its permissions.")


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
