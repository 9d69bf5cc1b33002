"""The token cache: a corpus is tokenised once, and later surveys begin with its ids.

One Parquet file per entry in one folder. An entry's key is a hash of everything that decides its
content (source, tokenizer, grouping, format), so a stale entry is simply never found. The folder
has a size limit; entries unused for longest go first. Files are renamed into place, so two
processes that build the same entry do not disturb each other.

Folder and files are for this user alone, and an entry proves what it was made from
(`gnomon.corpus.cache.layout`). A folder that others own or can write to is not used.

The cache may always be deleted, and never makes a survey fail: what can not be kept is noted.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.corpus.cache.entry import CacheEntry, CacheWriter
from gnomon.corpus.cache.layout import FORMAT, DamagedCacheError
from gnomon.corpus.cache.owner import why_not
from gnomon.errors import InputError
from gnomon.files import is_abandoned

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """Return the entry, marked as used now; None if there is none, or it can not be trusted."""
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
    return _listed(_ENTRY)


def _listed(pattern: re.Pattern[str]) -> list[Path]:
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
    for path in _listed(_TEMPORARY):
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
