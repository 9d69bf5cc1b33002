"""Whose the token cache is: a folder for this user alone, and a secret that signs its entries.

Tokens are as private as the corpus that they were made from, and an entry is believed in its place.
So the folder is made for this user alone, and one that is another's, or that others can write to,
is not used. The secret stands in it, readable by nobody else; where it is missing, or others could
have read or written it, entries are not believed, and it is made anew.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from gnomon.errors import StorageError
from gnomon.files import write_with

_FILE = "secret"
_BYTES = 32


def why_not(folder: Path) -> str | None:
    """Return why a folder can not be used as a cache; None where it can, or is not there yet."""
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
        raise StorageError(f"{path} can not be replaced ({error.strerror}); remove it.") from error
    made = secrets.token_bytes(_BYTES)
    write_with(mine, lambda handle: handle.write(made), private=True)
    try:
        os.link(mine, path)  # in one step, and only where no other process was first
    except FileExistsError:
        pass
    finally:
        mine.unlink(missing_ok=True)
    return own_secret(folder) or made
