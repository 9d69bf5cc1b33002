"""Files that are whole or absent, and written where the path leads.

A file is written under a temporary name in its own folder and then renamed, so that a killed
process leaves the old file or the new one, never half of either. What stood there stays what it
was: a link is followed and kept, and its target replaced; the new file has the mode of the old one,
and its owner and group where this user may give them; a device or a pipe is written through, once
all of it is there. A hard link is no exception: the name that was given gets the new file, and
other names keep the old one, as with any file that is replaced in one step.

Temporary files are locked while they are written. One that nobody holds, and whose process has
gone, was left by a killed run, and is removed by the next that writes there.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gnomon.errors import StorageError

_NO_ROOM = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_HELD = {errno.EAGAIN, errno.EWOULDBLOCK}
_DAY = 86_400.0
_ROUNDED = 2.0
"""Seconds by which the beginning of a process may be off: it is known to the second only."""
_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_LINKS = 40
"""Links that are followed from one to the next, as many as Linux does."""
_OURS = re.compile(r"\..+\.\d+\.[0-9a-f]{8}\.tmp")
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
"""How files end that hold weights as pickles, which can run code and are never opened."""


def say_converting(path: str | os.PathLike[str]) -> str:
    """Return what to do with weights in a pickle: the line that makes a safe file of them.

    >>> say_converting("w.pt")[:61]
    'if you trust it, convert it by `python -c "import torch, safe'
    """
    made = str(Path(path).with_suffix(".safetensors"))
    line = (
        "import torch, safetensors.torch as s; "
        f"s.save_file(torch.load({str(path)!r}, weights_only=True), {made!r})"
    )
    return f'if you trust it, convert it by `python -c "{line}"`'


@dataclass(frozen=True)
class _Place:
    """Where a path leads: to a file that is there or not yet, or to what is written through."""

    path: Path
    before: os.stat_result | None = None
    through: bool = False
    descriptor: int | None = None


@contextmanager
def replace_file(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path; what was written there takes its place if the block succeeds.

    A `private` file is for this user alone, whatever the mode of the one before it.
    """
    try:
        place = _place(path)
        if place.through:
            with scratch("through") as temporary:
                yield temporary
                _pour(temporary, place)
            return
        place.path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(place.path.parent, [place.path.name])
        secret = private or place.before is not None
        with _held(place.path.parent, place.path.name, 0o600 if secret else 0o666) as temporary:
            yield temporary
            if not private:
                _dress(temporary, place.before)
            temporary.replace(place.path)
    except OSError as error:
        raise _storage_error(error, path) from error


@contextmanager
def scratch(name: str) -> Iterator[Path]:
    """Yield an empty file of our own in the folder for temporary files, which goes with the block.

    What killed runs left there of the same name is removed.
    """
    folder = Path(tempfile.gettempdir())
    remove_leftovers(folder, [f"gnomon-{name}"])
    with _held(folder, f"gnomon-{name}", 0o600) as temporary:
        yield temporary


@contextmanager
def _held(folder: Path, name: str, mode: int) -> Iterator[Path]:
    """Make a file under a temporary name, hold its lock for the block, and leave nothing of it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    temporary, handle = folder, -1
    try:  # an interrupt may come as soon as there is a file
        while handle < 0:
            temporary = folder / f".{name}.{os.getpid()}.{secrets.token_hex(4)}.tmp"
            handle = os.open(temporary, flags, mode)
            if not _lock(handle) or (sys.platform != "win32" and not os.fstat(handle).st_nlink):
                os.close(handle)  # another run took it for a leftover before it was locked
                handle = -1
                with suppress(OSError):
                    temporary.unlink()
        if sys.platform == "win32":
            os.close(handle)  # an open file cannot be renamed there
        yield temporary
    finally:
        if sys.platform != "win32" and handle >= 0:
            os.close(handle)
        with suppress(OSError):  # it is renamed; neither hides what went wrong
            temporary.unlink()


def _lock(handle: int) -> bool:
    """Lock an open file; return whether nobody else holds it. OSError: there are no locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _HELD  # a file system without locks says so by another number
    return True


def _place(path: Path) -> _Place:
    """Return where a path leads, over links that may lead to nothing yet."""
    descriptor = _descriptor(path)
    if descriptor is not None:
        return _Place(path, through=True, descriptor=descriptor)
    end = Path(os.path.realpath(path))
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):  # what stands in the way is named later
        return _Place(end)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return _Place(end, found, through=not stat.S_ISREG(found.st_mode))


def _descriptor(path: Path) -> int | None:
    """Return the open file of this process that a path names, as /dev/stdout does.

    It is written as it stands, with its place in a file that output was redirected to.
    """
    if os.name != "posix":
        return None
    at = os.path.abspath(path)  # noqa: PTH100 - Path.absolute keeps the dots
    for _ in range(_LINKS):
        folder, name = os.path.split(at)
        own = ("/dev/fd", os.path.realpath("/proc/self/fd"))
        if at in _STANDARD:
            return _STANDARD[at]
        if name.isdigit() and (folder in own or os.path.realpath(folder) in own):
            return int(name)
        try:
            at = os.path.normpath(Path(os.path.realpath(folder), Path(at).readlink()))
        except OSError:  # no link
            return None
    return None


def _pour(temporary: Path, place: _Place) -> None:
    """Copy a whole file into a device, a pipe or an open file."""
    if place.descriptor is None:
        handle = os.open(place.path, os.O_WRONLY)
    else:
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):  # closed, or none
                stream.flush()
        handle = os.dup(place.descriptor)
    with temporary.open("rb") as source, os.fdopen(handle, "wb") as target:
        shutil.copyfileobj(source, target)


def _dress(temporary: Path, before: os.stat_result | None) -> None:
    """Give a file the owner, group and mode of the one that it will replace."""
    if before is None or os.name != "posix":
        return
    mode, own = stat.S_IMODE(before.st_mode), temporary.stat()
    if (own.st_uid, own.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.chown(temporary, before.st_uid, before.st_gid)
        except OSError:  # only root gives files away
            try:
                os.chown(temporary, -1, before.st_gid)
            except OSError:
                mode &= ~0o070  # what its group might do is not for another group
    temporary.chmod(mode)


def _storage_error(error: OSError, path: Path) -> StorageError:
    if error.errno in _NO_ROOM:
        return StorageError(
            f"{path} could not be written: no room left on its disk; "
            "free some, or choose another folder."
        )
    if isinstance(error, IsADirectoryError):
        return StorageError(
            f"{path} could not be written (it is a folder); choose a folder you may write to, and "
            "the name of a file in it."
        )
    taken = isinstance(error, FileExistsError)  # by a file, where a folder had to be made
    reason = f"{error.filename} is a file" if taken else error.strerror or str(error)
    return StorageError(
        f"{path} could not be written ({reason}); choose a folder you may write to."
    )


def write_with(path: Path, write: Callable[[BinaryIO], Any], *, private: bool = False) -> None:
    """Write a binary file through `write`, whole or not at all, and flushed to the disk."""
    with replace_file(path, private=private) as temporary:
        fill(temporary, write)


def write_together(folder: Path, writers: Mapping[str, Callable[[BinaryIO], Any]]) -> None:
    """Write files that belong together; all are complete before the first one gets its name.

    The first of them is named last, and an older one is taken away before the others are renamed:
    where it is, the files beside it are whole and belong to it.
    """
    with ExitStack() as stack:  # leaves its contexts, and so renames, in reverse order
        for name, write in writers.items():
            fill(stack.enter_context(replace_file(folder / name)), write)
        for name in list(writers)[:1]:
            place = _place(folder / name)
            if not place.through:
                place.path.unlink(missing_ok=True)


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
        raise _storage_error(NotADirectoryError(errno.ENOTDIR, f"{there} is a file"), folder)
    if not os.access(there, os.W_OK | os.X_OK):
        raise _storage_error(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), folder)


def check_place(path: Path) -> None:
    """Refuse a file that could not be written because of its folder, which must be there.

    A folder that was mistyped should not come to be; what makes folders uses `check_writable`.
    """
    try:
        place = _place(path)
    except OSError as error:
        raise _storage_error(error, path) from error
    if place.through:
        if place.descriptor is None and not os.access(path, os.W_OK):
            raise _storage_error(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), path)
        return
    folder = place.path.parent if path.is_symlink() else path.absolute().parent
    if not folder.exists():
        shown = folder if path.is_symlink() else path.parent
        raise StorageError(
            f"{path} cannot be written: there is no folder {shown}; make it first, or "
            "choose another place."
        )
    check_writable(folder if path.is_symlink() else path.parent)


def remove_leftovers(folder: Path, names: Iterable[str] | None = None) -> None:
    """Remove the temporary files that killed processes left behind, under these names or any."""
    patterns = [".*.tmp"] if names is None else [f".{glob.escape(name)}.*.tmp" for name in names]
    for pattern in patterns:
        for path in folder.glob(pattern):
            if _OURS.fullmatch(path.name) and is_abandoned(path):
                with suppress(OSError):
                    path.unlink()


def is_abandoned(temporary: Path) -> bool:
    """Say whether nobody writes a temporary file: it is not locked, and its process is gone.

    A process that began after the file was last written to has only inherited the number.
    """
    try:
        last = temporary.lstat().st_mtime
        if os.name != "posix":
            return time.time() - last > _DAY  # there signal 0 would not ask but kill
        handle = os.open(temporary, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        if not _lock(handle):
            return False
    finally:
        os.close(handle)
    process = temporary.name.split(".")[-3]
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass  # it is another's, and alive
    return _began(process) > last + _ROUNDED


def _began(process: str) -> float:
    """Return when a process began, in seconds of the clock; 0.0 where that is unknown."""
    with suppress(OSError, AttributeError, ValueError, IndexError):
        stat = Path("/proc", process, "stat").read_text(encoding="utf-8", errors="replace")
        ticks = int(stat.rpartition(")")[2].split()[19])
        kernel = Path("/proc/stat").read_text(encoding="utf-8")
        boot = int(kernel.partition("btime ")[2].split()[0])
        return boot + ticks / os.sysconf("SC_CLK_TCK")
    return 0.0


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
