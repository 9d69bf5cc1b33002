"""The token cache: a corpus is tokenised once, and later surveys begin with its ids.

One Parquet file per entry in one folder. An entry's key is a hash of everything that decides its
content (source, tokenizer, grouping, format), so a stale entry is simply never found. The folder
has a size limit; entries unused for longest go first. Files are renamed into place, so two
processes that build the same entry do not disturb each other.

The cache may always be deleted, and never makes a survey fail: what cannot be kept is noted.

Of an entry: columns `ids` (a list of int32), `document` and `group` (64-bit keys); any Parquet
reader can read them. The ids are split by byte and compressed: of seven ways tried on 7.8 million
WordPiece ids the smallest, a third of plain, and as fast to read as any.

Nothing is trusted. The footer holds, as JSON under `gnomon`, what the entry is: its key, which is a
digest of all that it was made from, and a digest of the decoded arrays of every row group, since
Parquet's page checksums cover neither page headers nor the footer. `gnomon.digest` proves that JSON
by a secret that only this user can read: an entry that others made is none.

Tokens are as private as the corpus that they were made from, and an entry is believed in its place.
So the folder is made for this user alone, and one that is another's, or that others can write to,
is not used. The secret stands in it, readable by nobody else; where it is missing, or others could
have read or written it, entries are not believed, and it is made anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import stat
import sys
import time
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from hmac import compare_digest
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.corpus.counts import Vocabulary
from gnomon.corpus.documents import IdBatch, offsets_of
from gnomon.errors import GnomonError, InputError, StorageError
from gnomon.files import is_abandoned, replace_file, write_with
from gnomon.reading import UnreadableError, check_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType


__all__ = [
    "CacheEntry",
    "CacheWriter",
    "DamagedCacheError",
    "clear",
    "discard",
    "entries",
    "folder",
    "key_of",
    "limit_bytes",
    "lookup",
    "total_bytes",
    "writer",
]
_DEFAULT_LIMIT = 20 * 10**9
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", re.IGNORECASE)
# Only files named like this are ever removed: the folder may be shared by mistake.
_ENTRY = re.compile(r"[0-9a-f]{32}\.parquet")
_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.parquet\..*\.tmp")
_DAY = 86_400.0
_DESCRIBED = ("source", "rows", "tokens", "created", "extra")
FORMAT = 2
ROW_GROUP = 2**20
"""Tokens (and documents) of a row group, about."""
_ABOUT, _DIGEST = b"gnomon", b"gnomon.digest"
_FILE = "secret"
_BYTES = 32


def folder() -> Path:
    """Return where entries are: GNOMON_CACHE, or the platform's folder for caches."""
    if chosen := os.environ.get("GNOMON_CACHE"):
        return Path(chosen).expanduser()
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen).expanduser() / "gnomon"
    if sys.platform == "win32" and (chosen := os.environ.get("LOCALAPPDATA")):
        return Path(chosen) / "gnomon" / "cache"
    place = {"win32": "AppData/Local/gnomon/cache", "darwin": "Library/Caches/gnomon"}
    try:
        return Path.home() / place.get(sys.platform, ".cache/gnomon")
    except RuntimeError:
        raise InputError(
            "this user has no home folder to keep the token cache in; set GNOMON_CACHE to a folder."
        ) from None


def limit_bytes() -> int:
    """Return how large the folder may become: GNOMON_CACHE_LIMIT (as `5GB`), or 20 GB."""
    written = os.environ.get("GNOMON_CACHE_LIMIT")
    if not written:
        return _DEFAULT_LIMIT
    found = _SIZE.fullmatch(written)
    if found is None:
        raise InputError(
            f"GNOMON_CACHE_LIMIT is {written!r}, which is no size; write it like 500MB or 20GB."
        )
    return int(float(found[1]) * _UNITS[found[2].upper()])


def key_of(source: str, tokenizer: str, group: str | None) -> str:
    """Return the key of an entry: fingerprint of the source, digest of the tokenizer, grouping."""
    parts = (f"format {FORMAT}", source, tokenizer, "" if group is None else f"group {group}")
    framed = b"".join(len(p.encode()).to_bytes(8, "little") + p.encode() for p in parts)
    return blake2b(framed, digest_size=16).hexdigest()


def lookup(key: str) -> CacheEntry | None:
    """Return the entry, marked as used now; None if there is none, or it cannot be trusted."""
    path = _path(key)
    if why_not(path.parent) is not None:
        return None  # who builds the entry says why
    try:
        entry = CacheEntry.open(path, key)
    except DamagedCacheError:
        _remove(path)
        return None
    if entry is not None:
        with contextlib.suppress(OSError):  # a read-only cache can be used all the same
            os.utime(path)
    return entry


def discard(key: str) -> None:
    """Remove an entry, if it is there: it was found damaged while it was read."""
    _remove(_path(key))


@contextmanager
def writer(key: str, source: str) -> Iterator[CacheWriter]:
    """Build an entry: `add` batches, then `finish`; without `finish` nothing is kept.

    Trouble with the folder does not raise: the writer's `notes` say what happened.
    """
    limit = limit_bytes()
    path = _path(key)
    _remove_stale()
    with CacheWriter(path, key=key, source=source, limit=limit) as building:
        yield building
    if building.kept:
        _evict(limit, newest=path)


def entries() -> list[CacheEntry]:
    """Return all entries that are whole, the last used first."""
    found = []
    for path in _files():
        with contextlib.suppress(DamagedCacheError):
            entry = CacheEntry.open(path, path.stem)
            if entry is not None:
                found.append(entry)
    return sorted(found, key=lambda entry: entry.used, reverse=True)


def total_bytes() -> int:
    """Return the bytes of all entries, whole or damaged."""
    return sum(_stat(path)[0] for path in _files())


def clear(older_than: float | None = None) -> tuple[int, int]:
    """Remove entries not used for `older_than` days (None: all); return how many, and bytes."""
    before = time.time() - (older_than or 0.0) * _DAY
    removed = freed = 0
    for path in _files():
        size, used = _stat(path)
        if (older_than is None or used < before) and _remove(path):
            removed, freed = removed + 1, freed + size
    _remove_stale()
    return removed, freed


def _path(key: str) -> Path:
    return folder() / f"{key}.parquet"


def _files() -> list[Path]:
    return _files_like(_ENTRY)


def _files_like(pattern: re.Pattern[str]) -> list[Path]:
    try:
        return [path for path in folder().iterdir() if pattern.fullmatch(path.name)]
    except OSError:  # no folder yet, or not ours to read: no entries
        return []


def _evict(limit: int, newest: Path) -> None:
    """Remove the entries unused for longest until the rest fits the limit."""
    known = sorted((_stat(path)[1], path) for path in _files() if path != newest)
    total = total_bytes()
    for _, path in known:
        if total <= limit:
            return
        size = _stat(path)[0]
        if _remove(path):
            total -= size


def _remove_stale() -> None:
    """Remove what killed processes left behind: nobody is writing it any more."""
    for path in _files_like(_TEMPORARY):
        if is_abandoned(path):
            _remove(path)


def _stat(path: Path) -> tuple[int, float]:
    """Return size and time of last use; zeros where another process just removed it."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0.0
    return found.st_size, found.st_mtime


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:  # gone already, in use on Windows, or a folder that is not ours
        return False
    return True


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
        batch = join_batches(self._waiting)
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


class DamagedCacheError(GnomonError):
    """An entry is not what was written; the caller discards `key` and reads the corpus again."""

    def __init__(self, path: Path, found: str) -> None:
        super().__init__(f"the cache entry {path} {found}; it is discarded and made anew.")
        self.key = path.stem


def open_writer(path: Path) -> Any:
    """Return a Parquet writer of entries."""
    import pyarrow.parquet as pq

    return pq.ParquetWriter(
        path,
        _schema(),
        compression="zstd",
        use_dictionary=False,
        column_encoding={"ids.list.element": "BYTE_STREAM_SPLIT"},
        write_page_checksum=True,
        write_statistics=False,
    )


def write_about(parquet: Any, about: dict[str, Any], secret: bytes) -> None:
    """Put what the entry is into the footer, with its proof."""
    text = json.dumps(about, allow_nan=False).encode()
    parquet.add_key_value_metadata({_ABOUT: text, _DIGEST: _digest(text, secret)})


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """Yield the Parquet file; whatever goes wrong with it is damage."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except DamagedCacheError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DamagedCacheError(path, f"cannot be read ({reason})") from error


def read_about(path: Path, secret: bytes | None) -> dict[str, Any]:
    """Return what the footer says the entry is, proved by its digest; without a secret, none is."""
    with reading(path) as file:
        stored = file.metadata.metadata or {}
        text = stored.get(_ABOUT, b"")
        proof = stored.get(_DIGEST, b"")
        if secret is None or not compare_digest(proof, _digest(text, secret)):
            raise DamagedCacheError(path, "was not written by Gnomon, or was changed since")
        about: dict[str, Any] = json.loads(text)
    return about


def _digest(text: bytes, secret: bytes) -> bytes:
    return blake2b(text, digest_size=32, key=secret).hexdigest().encode()


def checksum(batch: IdBatch) -> str:
    """Return a digest of all that a batch holds."""
    made = blake2b(digest_size=16)
    for array in (batch.values, batch.offsets, batch.documents, batch.groups):
        made.update(len(array).to_bytes(8, "little"))
        made.update(np.ascontiguousarray(array).view(np.uint8).data)
    return made.hexdigest()


def read_batch(file: Any, group: int) -> IdBatch:
    """Return one row group, its arrays shared with Arrow and hence read-only."""
    table = file.read_row_group(group, use_threads=False).combine_chunks()
    if not table.schema.equals(_schema(), check_metadata=False):
        raise TypeError("its columns are not those of an entry")  # `reading` makes this damage
    ids, documents, groups = (table[name].chunk(0) for name in ("ids", "document", "group"))
    return IdBatch(
        values=ids.values.to_numpy(),
        offsets=ids.offsets.to_numpy(),
        documents=documents.to_numpy(),
        groups=groups.to_numpy(),
    )


def _schema() -> Any:
    import pyarrow as pa

    ids = pa.large_list(pa.field("element", pa.int32(), nullable=False))
    columns = (("ids", ids), ("document", pa.uint64()), ("group", pa.uint64()))
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns])


def to_table(batch: IdBatch) -> Any:
    """Return an Arrow table of a batch whose offsets begin at zero."""
    import pyarrow as pa

    schema = _schema()
    ids = pa.LargeListArray.from_arrays(
        pa.array(batch.offsets), pa.array(batch.values), type=schema.field("ids").type
    )
    columns = [ids, pa.array(batch.documents), pa.array(batch.groups)]
    return pa.Table.from_arrays(columns, schema=schema)


def join_batches(batches: list[IdBatch]) -> IdBatch:
    """Return one batch whose offsets begin at zero."""
    offsets = offsets_of(np.concatenate([np.diff(b.offsets) for b in batches]))
    values = np.concatenate([b.values[b.offsets[0] : b.offsets[-1]] for b in batches])
    return IdBatch(
        values=values.astype(np.int32, copy=False),
        offsets=offsets,
        documents=np.concatenate([b.documents for b in batches]),
        groups=np.concatenate([b.groups for b in batches]),
        bytes_read=batches[-1].bytes_read,
    )


def split(batch: IdBatch) -> Iterator[IdBatch]:
    """Yield pieces of about a row group, cut between documents."""
    weights = batch.offsets - batch.offsets[0] + np.arange(batch.rows + 1)
    steps = np.searchsorted(weights, np.arange(0, weights[-1], ROW_GROUP))
    for a, b in pairwise((*steps.tolist(), batch.rows)):
        if a < b:
            yield IdBatch(
                values=batch.values,
                offsets=batch.offsets[a : b + 1],
                documents=batch.documents[a:b],
                groups=batch.groups[a:b],
                bytes_read=batch.bytes_read,
            )


def why_not(folder: Path) -> str | None:
    """Return why a folder cannot be used as a cache; None where it can, or is not there yet."""
    if os.name != "posix":
        return None
    try:
        found = folder.stat()
    except OSError:
        return None
    if found.st_uid != os.geteuid():
        return f"{folder} belongs to another user; set GNOMON_CACHE to a folder of your own"
    if stat.S_IMODE(found.st_mode) & 0o022:
        return f"others can write to {folder}; run `chmod 700 {folder}`, then `gnomon cache clear`"
    return None


def make_private(folder: Path) -> None:
    """Make the folder of a cache for this user alone, or raise StorageError with the reason."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    reason = why_not(folder)
    if reason is not None:
        raise StorageError(reason)
    if os.name == "posix" and stat.S_IMODE(folder.stat().st_mode) & 0o077 and _only_ours(folder):
        folder.chmod(0o700)


def _only_ours(folder: Path) -> bool:
    """Whether a folder holds nothing but a cache: one that was shared by mistake stays as it is."""
    return all(p.name == _FILE or ".parquet" in p.name for p in folder.iterdir())


def own_secret(folder: Path) -> bytes | None:
    """Return the secret of a cache; None where there is none that only this user knows."""
    # A pipe is opened without waiting for who writes to it, and then refused with all that is none.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(folder / _FILE, flags | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    try:
        text = os.read(handle, _BYTES + 1) if _is_ours(os.fstat(handle)) else b""
    finally:
        os.close(handle)
    return text if len(text) == _BYTES else None


def _is_ours(found: os.stat_result) -> bool:
    """Whether something is a regular file that nobody but this user can read or write."""
    if not stat.S_ISREG(found.st_mode):
        return False
    return os.name != "posix" or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)


def made_secret(folder: Path) -> bytes:
    """Return the secret of a cache, made where there is none to be trusted."""
    known = own_secret(folder)
    if known is not None:
        return known
    path, mine = folder / _FILE, folder / f"{_FILE}-{secrets.token_hex(8)}"
    try:
        path.unlink(missing_ok=True)  # a link, a pipe, or one that others know
    except OSError as error:
        raise StorageError(f"{path} cannot be replaced ({error.strerror}); remove it.") from error
    made = secrets.token_bytes(_BYTES)
    write_with(mine, lambda handle: handle.write(made), private=True)
    try:
        os.link(mine, path)  # in one step, and only where no other process was first
    except FileExistsError:
        pass
    finally:
        mine.unlink(missing_ok=True)
    return own_secret(folder) or made
