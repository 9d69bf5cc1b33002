"""One run at a time in a folder: a lock that the system takes back when its process is gone.

Two runs of one grid would train the same cells twice, beside one another. The lock is that of the
operating system on an open file, not the file itself, which stays: a run that was killed leaves
nothing in the way. A file system that knows no locks is used without one.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gnomon.errors import LabError

FILE = ".running"
_AT = 1 << 20
"""The byte that is locked on Windows: far from the number of the process, which others read."""
_HELD = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Refuse a folder in which another run is under way, and keep others out for so long."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / FILE).open("a+b", buffering=0)
    except OSError:
        yield  # what can not be written is said where records are
        return
    with handle:
        _take(handle, folder)
        with suppress(OSError):  # a full disk: the same
            handle.truncate(0)
            handle.write(str(os.getpid()).encode())
        yield


def _take(handle: Any, folder: Path) -> None:
    try:
        _lock(handle)
    except OSError as error:
        if error.errno not in _HELD:
            return  # no locks here
        handle.seek(0)
        process = handle.read(20).decode("ascii", "replace") or "unknown"
        raise LabError(
            f"Another run is under way in {folder} (process {process}); wait until it has ended, "
            "stop it, or name another folder."
        ) from error


def _lock(handle: Any) -> None:
    """Take the lock of an open file, or raise OSError; it is given back when the file is closed."""
    if sys.platform == "win32":
        import msvcrt

        handle.seek(_AT)
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
