"""One entry of the token cache: read with proof, or written whole or not at all."""

from __future__ import annotations

import contextlib
import time
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gnomon.corpus.cache.layout import (
    FORMAT,
    ROW_GROUP,
    DamagedCacheError,
    checksum,
    joined,
    open_writer,
    read_about,
    read_batch,
    reading,
    split,
    to_table,
    write_about,
)
from gnomon.corpus.cache.owner import made_secret, make_private, own_secret
from gnomon.corpus.counts import Vocabulary
from gnomon.errors import StorageError
from gnomon.files import replace_file
from gnomon.reading import UnreadableError, check_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType

    from gnomon.corpus.documents import IdBatch


_DESCRIBED = ("source", "rows", "tokens", "created", "extra")


@dataclass(frozen=True, kw_only=True)
class CacheEntry:
    """A whole entry, described by its footer; `batches` proves the rest while reading it."""

    path: Path
    key: str
    source: str
    rows: int
    tokens: int
    vocabulary: Vocabulary = field(repr=False)
    created: float
    used: float
    bytes: int
    extra: dict[str, Any]
    parts: tuple[tuple[str, int], ...] = field(repr=False)
    """For every row group its digest, and how much of the source was read by its end."""

    @classmethod
    def open(cls, path: Path, key: str) -> CacheEntry | None:
        """Read the footer; None where there is no file, an error where it is not this entry."""
        try:
            found = path.stat()
            check_regular(path)
        except OSError:
            return None
        except UnreadableError as error:  # a pipe would be waited for without end
            raise DamagedCacheError(path, f"is none: {error}") from error
        about = read_about(path, own_secret(path.parent))
        if about.get("format") != FORMAT or about.get("key") != key:
            raise DamagedCacheError(path, "is the entry of something else")
        try:
            return cls(
                path=path,
                key=key,
                vocabulary=_vocabulary(about["vocabulary"]),
                used=found.st_mtime,
                bytes=found.st_size,
                parts=tuple((check, place) for check, place in about["parts"]),
                **{name: about[name] for name in _DESCRIBED},
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedCacheError(path, "was written by another version") from error

    def batches(self) -> Iterator[IdBatch]:
        """Yield the documents, about a million tokens at a time; the arrays are read-only.

        Raises DamagedCacheError before a batch that is not what was written is handed on.
        """
        with reading(self.path) as file:
            if file.num_row_groups != len(self.parts):
                raise DamagedCacheError(self.path, "does not have the row groups it should")
            for group, (check, place) in enumerate(self.parts):
                batch = read_batch(file, group)
                if checksum(batch) != check:
                    raise DamagedCacheError(self.path, f"was changed in its row group {group}")
                yield replace(batch, bytes_read=place)


class CacheWriter(AbstractContextManager["CacheWriter"]):
    """Writes an entry batch by batch; see `gnomon.corpus.cache.writer`."""

    def __init__(self, path: Path, *, key: str, source: str, limit: int) -> None:
        self.path = path
        self.notes: tuple[str, ...] = ()
        self.kept = False
        self._limit = limit
        self._about: dict[str, Any] = {"format": FORMAT, "key": key, "source": source}
        self._counts = {"rows": 0, "tokens": 0}
        self._parts: list[tuple[str, int]] = []
        self._waiting: list[IdBatch] = []
        self._weight = 0
        self._stack = ExitStack()
        self._temporary: Path | None = None
        self._parquet: Any = None
        self._safely(self._begin)

    @property
    def active(self) -> bool:
        """Whether batches are still being written; False once there was trouble."""
        return self._parquet is not None

    def add(self, batch: IdBatch) -> None:
        """Append documents."""
        for piece in split(batch) if self.active else ():
            self._waiting.append(piece)
            self._weight += piece.rows + int(piece.offsets[-1] - piece.offsets[0])
            if self._weight >= ROW_GROUP:
                self._safely(self._flush)

    def finish(self, vocabulary: Vocabulary, **extra: Any) -> None:
        """Keep the entry, with the vocabulary met and any further JSON values."""
        if self.active:
            self._safely(self._flush)
        if self.active:
            self._safely(lambda: self._keep(vocabulary, extra))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave nothing of an entry that was not finished."""
        if self.active:
            self._abandon()

    def _begin(self) -> None:
        make_private(self.path.parent)
        self._temporary = self._stack.enter_context(replace_file(self.path, private=True))
        self._parquet = open_writer(self._temporary)

    def _flush(self) -> None:
        if not self._waiting:
            return
        batch = joined(self._waiting)
        self._waiting, self._weight = [], 0
        self._parquet.write_table(to_table(batch), row_group_size=max(batch.rows, 1))
        self._parts.append((checksum(batch), batch.bytes_read))
        self._counts["rows"] += batch.rows
        self._counts["tokens"] += len(batch.values)
        self._mind_limit()

    def _mind_limit(self) -> None:
        if self._temporary is not None and self._temporary.stat().st_size > self._limit:
            self._abandon(
                f"they exceed the cache limit of {self._limit:,} bytes (GNOMON_CACHE_LIMIT)"
            )

    def _keep(self, vocabulary: Vocabulary, extra: dict[str, Any]) -> None:
        """Write the footer and rename the file into place."""
        about = self._about | self._counts
        about |= {"created": time.time(), "parts": self._parts, "extra": extra}
        about["vocabulary"] = {
            "size": vocabulary.size,
            "digest": vocabulary.digest,
            "tokens": vocabulary.tokens,
            "open": vocabulary.open,
        }
        write_about(self._parquet, about, made_secret(self.path.parent))
        self._parquet.close()
        self._mind_limit()
        if self.active:
            self._parquet = None
            self._stack.close()
            self.kept = True

    def _abandon(self, reason: str | None = None) -> None:
        """Close and remove the temporary file, whatever state it is in."""
        if reason is not None:
            self.notes = (*self.notes, f"the tokens were not kept in the cache: {reason}")
        parquet, self._parquet = self._parquet, None
        self._waiting = []
        with contextlib.suppress(OSError, ValueError):  # it may be what just failed
            if parquet is not None:
                parquet.close()
        self._stack.__exit__(_AbandonedError, _AbandonedError(), None)

    def _safely(self, action: Callable[[], None]) -> None:
        """Do it; trouble with the folder or the disk becomes a note, and the writer rests."""
        try:
            action()
        except (OSError, StorageError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            self._abandon(reason)


class _AbandonedError(Exception):
    """Tells `replace_file` to remove its temporary file instead of renaming it."""


def _vocabulary(about: dict[str, Any]) -> Vocabulary:
    tokens = about["tokens"]
    return Vocabulary(
        size=about["size"],
        digest=about["digest"],
        tokens=None if tokens is None else tuple(tokens),
        open=about["open"],
    )
