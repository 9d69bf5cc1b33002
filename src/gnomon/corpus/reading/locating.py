"""From what the user wrote to stored files: a path, a folder, a glob, or a URL.

Folders and globs give their files in sorted order, so that a corpus reads the same everywhere;
hidden files are left out. URLs go through fsspec; a protocol whose library is missing is named.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from gnomon.corpus.reading.opening import StoredFile, local_file, standard_input, unreadable
from gnomon.errors import CorpusError, MissingExtraError

_MAGIC = frozenset("*?[")


def is_url(corpus: str) -> bool:
    """Say whether this names a protocol, as in `s3://bucket/file`."""
    return "://" in corpus


def locate(corpus: str) -> tuple[StoredFile, ...]:
    """Return the stored files that a path, folder, glob, URL or `-` stands for; () if none."""
    if corpus == "-":
        return (standard_input(),)
    if is_url(corpus):
        return _remote(corpus)
    path = Path(corpus)
    try:
        if path.is_dir():
            return _folder(path)
        if path.exists():
            return (local_file(path),)
    except OSError as error:
        raise unreadable(corpus, error) from error
    if _MAGIC & set(corpus):
        return _matches(corpus)
    return ()


def _folder(folder: Path) -> tuple[StoredFile, ...]:
    def fail(error: OSError) -> None:
        raise unreadable(str(error.filename or folder), error) from error

    found: list[Path] = []
    for parent, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(parent, name) for name in files if not name.startswith(".")]
    if not found:
        raise CorpusError(f"{folder} is a folder without readable files; pass one that has some.")
    return tuple(local_file(path) for path in sorted(found))


def _matches(pattern: str) -> tuple[StoredFile, ...]:
    found = sorted(Path(match) for match in glob.glob(pattern, recursive=True))  # noqa: PTH207 - a pattern may be absolute, which Path.glob refuses
    files = tuple(local_file(path) for path in found if path.is_file())
    if not files:
        raise CorpusError(f"no file matches {pattern}; check the pattern and the folder.")
    return files


def _remote(url: str) -> tuple[StoredFile, ...]:
    try:
        import fsspec

        system, path = fsspec.core.url_to_fs(url)
        if _MAGIC & set(path):
            paths = sorted(system.glob(path))
        elif system.isdir(path):
            paths = sorted(system.find(path))
        else:
            paths = [path] if system.exists(path) else []
        files = tuple(_remote_file(system, item) for item in paths)
    except ImportError as error:
        protocol = url.partition("://")[0]
        raise MissingExtraError(
            f"{url} needs a library for the protocol {protocol!r} that is not installed "
            f"({error}); install it, or copy the corpus to this machine."
        ) from error
    except Exception as error:  # each protocol has exceptions of its own
        reason = str(error) or type(error).__name__
        raise CorpusError(f"{url} can not be opened ({reason}); check the URL.") from error
    if not files:
        raise CorpusError(f"{url} holds no file; check the URL.")
    return files


def _remote_file(system: Any, path: str) -> StoredFile:
    shown = system.unstrip_protocol(path)
    return StoredFile(shown, lambda: system.open(path, "rb"), system.size(path))
