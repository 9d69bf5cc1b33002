"""Files that are whole or absent.

A file is written under a temporary name in its own folder and then renamed,
so that a killed process leaves the old file or the new one, never half of either.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from gnomon.errors import StorageError

_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_DAY = 86_400.0
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
"""How files end that hold weights as pickles, which can run code and are never opened."""


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` if the block succeeds."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise _explained(error, path) from error
    finally:
        with suppress(OSError):  # it is gone, or never came to be; neither hides what went wrong
            temporary.unlink()


def _explained(error: OSError, path: Path) -> StorageError:
    if error.errno in _NO_ROOM:
        return StorageError(
            f"{path} could not be written: no room left on its disk; "
            "free some, or choose another folder."
        )
    taken = isinstance(error, FileExistsError)  # by a file, where a folder had to be made
    reason = f"{error.filename} is a file" if taken else error.strerror or str(error)
    return StorageError(
        f"{path} could not be written ({reason}); choose a folder you may write to."
    )


def write_with(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a binary file through `write`, whole or not at all, and flushed to the disk."""
    with writing(path) as temporary:
        fill(temporary, write)


def write_together(folder: Path, writers: Mapping[str, Callable[[BinaryIO], Any]]) -> None:
    """Write files that belong together; all are complete before the first one gets its name.

    The first of them is named last, and an older one is taken away before the others are renamed:
    where it is, the files beside it are whole and belong to it.
    """
    remove_leftovers(folder, writers)
    with ExitStack() as stack:  # leaves its contexts, and so renames, in reverse order
        for name, write in writers.items():
            fill(stack.enter_context(writing(folder / name)), write)
        for name in list(writers)[:1]:
            (folder / name).unlink(missing_ok=True)


def fill(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a binary file through `write` and flush it to the disk, before it gets its name."""
    with path.open("wb") as handle:
        write(handle)
        handle.flush()
        os.fsync(handle.fileno())


def check_writable(folder: Path) -> None:
    """Refuse a folder that could not be written to, before hours of work are done for it.

    Nothing is made: the folder, or the nearest one above it that exists, is only asked.
    """
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise _explained(NotADirectoryError(errno.ENOTDIR, f"{there} is a file"), folder)
    if not os.access(there, os.W_OK | os.X_OK):
        raise _explained(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), folder)


def check_place(path: Path) -> None:
    """Refuse a file that could not be written because of its folder, which must be there.

    A folder that was mistyped should not come to be; what makes folders uses `check_writable`.
    """
    if not path.absolute().parent.exists():
        raise StorageError(
            f"{path} can not be written: there is no folder {path.parent}; make it first, or "
            "choose another place."
        )
    check_writable(path.parent)


def remove_leftovers(folder: Path, names: Iterable[str]) -> None:
    """Remove the temporary files that killed processes left behind under these names."""
    for name in names:
        for path in folder.glob(f".{glob.escape(name)}.*.tmp"):
            if _abandoned(path):
                with suppress(OSError):
                    path.unlink()


def _abandoned(temporary: Path) -> bool:
    """Say whether nobody writes this file: its process is gone, or it is a day old."""
    with suppress(OSError):
        if time.time() - temporary.stat().st_mtime > _DAY:
            return True
    process = temporary.name.split(".")[-3]
    if os.name != "posix" or not process.isdigit():
        return False  # elsewhere signal 0 would not ask but kill
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    write_with(path, lambda handle: handle.write(text.encode("utf-8")))


def dump_dense_json(value: Any) -> str:
    """Return JSON text with every list of numbers on one line: for tables of many."""
    return re.sub(
        r"\[\n\s+([^\[\]{}\"]*?)\n\s+\]",
        lambda found: f"[{' '.join(found[1].split())}]",
        dump_json(value),
    )


def dump_json(value: Any) -> str:
    """Return JSON text; NaN or Infinity is refused rather than written."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # Half a character (a file name that is no UTF-8) becomes its JSON escape.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
