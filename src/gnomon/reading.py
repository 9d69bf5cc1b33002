"""How a file that may come from anywhere is read without harm.

A file is opened only if it is a regular one: a device never ends, and a pipe may never begin.
Memory is taken only for what the file really holds, so a header that promises more is refused
before anything is allocated, and text is refused by its size before it is parsed and by its depth
and its numbers before it is used. Nothing is ever loaded by pickle.

What is wrong is raised as `UnreadableError`, whose text is a clause ("it is cut short"): who reads
knows what the file was for, and says the whole sentence.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import stat
import tomllib
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import GnomonError, InputError

DEEPEST = 100
"""Levels of nesting in JSON or TOML; ours have less than ten."""
MOST_DIGITS = 100
"""Digits of an integer in JSON; TOML has integers of 64 bits."""
LARGEST = 1e100
"""Largest number in a file that Gnomon wrote: its square is a float, too."""
MOST_TOML = 2**20
MOST_JSON = 256 * 2**20
MOST_MEMBERS = 10_000
"""Arrays in one archive; counts have three for each fold."""
MOST_EXPANSION = 100
"""Largest ratio of what an archive unpacks to and what it takes, beyond a first 256 MiB."""
_SLACK = 256 * 2**20
_MOST_HEADER = 10_000
_BLOCK = 16 * 2**20
_MOST_AXES = 64
_SPECIAL = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
_KEYS = re.compile(r"""[\w"'-]+(?:[ \t]*\.[ \t]*[\w"'-]+)*""")


class UnreadableError(ValueError):
    """What is wrong with a file, as a clause without a full stop."""


class ArchiveError(UnreadableError):
    """Several arrays where one was asked for."""


def check_regular(path: str | os.PathLike[str]) -> int:
    """Refuse what is no regular file, links followed; return its size."""
    status = os.stat(path)  # noqa: PTH116 - also takes what is no Path
    if not stat.S_ISREG(status.st_mode):
        what = _SPECIAL.get(stat.S_IFMT(status.st_mode), "something special")
        raise UnreadableError(f"it is {what}, not a regular file")
    return status.st_size


def check_no_device(path: str | os.PathLike[str]) -> None:
    """Refuse a device, which may never end; a pipe or a terminal can be read as a stream."""
    status = os.stat(path)  # noqa: PTH116
    if stat.S_ISBLK(status.st_mode) or (stat.S_ISCHR(status.st_mode) and not _is_terminal(path)):
        raise UnreadableError("it is a device, not a file or a pipe")


def _is_terminal(path: str | os.PathLike[str]) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOCTTY", 0))
    except OSError:
        return False
    try:
        return os.isatty(descriptor)
    finally:
        os.close(descriptor)


def read_bytes(path: str | os.PathLike[str], *, most: int) -> bytes:
    """Return the contents of a regular file of at most so many bytes."""
    check_regular(path)
    with Path(path).open("rb") as handle:
        data = handle.read(most + 1)
    if len(data) > most:
        raise UnreadableError(f"it has more than {most:,} bytes, the most that is read")
    return data


def read_json(path: str | os.PathLike[str], *, most: int = MOST_JSON, **hooks: Any) -> Any:
    """Return the JSON in a regular file; `hooks` are those of `json.loads`."""
    return parse_json(_decode(read_bytes(path, most=most)), **hooks)


def parse_json(text: str | bytes, **hooks: Any) -> Any:
    """Return the value of a JSON text that is neither too deep nor has integers beyond use.

    >>> parse_json("[" * 101 + "]" * 101)
    Traceback (most recent call last):
    gnomon.reading.UnreadableError: it is nested deeper than 100 levels
    """
    try:
        value = json.loads(_decode(text), **{"parse_int": _integer, **hooks})
    except RecursionError as error:
        raise UnreadableError(f"it is nested deeper than {DEEPEST} levels") from error
    _check_depth(value)
    return value


def read_written(path: str | os.PathLike[str], *, most: int = MOST_JSON) -> Any:
    """Return the JSON in a file that Gnomon wrote, which somebody may have changed since.

    It never wrote NaN or Infinity, nor a number whose square is none: those are refused here, so
    that whoever computes or draws with the rest need not look again.
    """
    return read_json(path, most=most, parse_constant=_no_number, parse_float=_float, parse_int=_int)


def _no_number(name: str) -> float:
    raise UnreadableError(f"it holds {name}")


def _float(digits: str) -> float:
    value = float(digits)
    return value if abs(value) <= LARGEST else _no_number(digits[:20])


def _int(digits: str) -> int:
    value = _integer(digits)
    return value if abs(value) <= LARGEST else int(_no_number(f"{digits[:20]}..."))


@contextmanager
def refuse_mismatch(what: str, advice: str) -> Iterator[None]:
    """Refuse a file whose values are of the right types, but do not go together.

    A check of types cannot see that a list is shorter than another one says it is. Whatever such
    a file makes its reader raise is said of the file, and what to do: `advice`.
    """
    try:
        yield
    except (GnomonError, OSError, MemoryError):
        raise
    except Exception as error:
        raise InputError(
            f"{what} is not as Gnomon wrote it ({_clause(error)}); {advice}."
        ) from error


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the table in a regular file of TOML."""
    return parse_toml(_decode(read_bytes(path, most=MOST_TOML)))


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text; `tomllib.TOMLDecodeError` where it is none.

    >>> parse_toml("seed = 99999999999999999999")
    Traceback (most recent call last):
    gnomon.reading.UnreadableError: it holds an integer beyond 64 bits
    """
    # A key of a million dots is a million tables before anybody could count them.
    if any(found[0].count(".") > DEEPEST for found in _KEYS.finditer(text)):
        raise UnreadableError(f"it is nested deeper than {DEEPEST} levels")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError as error:
        raise UnreadableError(f"it is nested deeper than {DEEPEST} levels") from error
    except ValueError as error:  # Python refuses to read integers of thousands of digits
        raise UnreadableError("it holds an integer or a date beyond use") from error
    _check_depth(table, most_bits=64)
    return table


def _decode(text: str | bytes) -> str:
    """Return text; bytes that are no UTF-8 are named by their place."""
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableError(
            f"byte {error.start} (counted from 0) is 0x{text[error.start]:02x} and not UTF-8"
        ) from error


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise UnreadableError(f"it holds an integer of more than {MOST_DIGITS} digits")
    return int(digits)


def _check_depth(value: Any, *, most_bits: int | None = None) -> None:
    """Refuse nesting that would exhaust the stack of whoever walks it; itself it needs none."""
    level, depth = [[value]], 0
    while level:
        below: list[Any] = []
        for one in level:
            inside = list(one.values()) if isinstance(one, dict) else one
            below += [item for item in inside if isinstance(item, (dict, list))]
            if most_bits is not None:
                _check_integers(inside, most_bits)
        if depth > DEEPEST:
            raise UnreadableError(f"it is nested deeper than {DEEPEST} levels")
        level, depth = below, depth + 1


def _check_integers(values: list[Any], bits: int) -> None:
    if any(isinstance(one, int) and not -(1 << bits - 1) <= one < 1 << bits - 1 for one in values):
        raise UnreadableError(f"it holds an integer beyond {bits} bits")


def load_array(path: str | os.PathLike[str], *, mapped: bool = False) -> NDArray[Any]:
    """Return the one array of a `.npy` file, mapped from the disk where that is asked for."""
    size = check_regular(path)
    with Path(path).open("rb") as handle:
        if handle.read(4) == b"PK\x03\x04":
            raise ArchiveError("it is an archive of arrays, not one array")
        handle.seek(0)
        shape, fortran, dtype = _header(handle)
        begin, order = handle.tell(), "F" if fortran else "C"
        if size - begin < math.prod(shape) * dtype.itemsize:
            raise UnreadableError(
                f"it is cut short: its header promises {math.prod(shape) * dtype.itemsize:,} "
                f"bytes, and {size - begin:,} are there"
            )
        if mapped and math.prod(shape) * dtype.itemsize:
            return np.memmap(handle, dtype, mode="r", offset=begin, shape=shape, order=order)  # type: ignore[call-overload]
        return _fill(handle, shape, dtype, order)


def size_in_header(head: bytes) -> int:
    """Return how many bytes a `.npy` file has that begins like this."""
    handle = io.BytesIO(head)
    shape, _, dtype = _header(handle)
    return handle.tell() + math.prod(shape) * dtype.itemsize


class Archive(Mapping[str, NDArray[Any]]):
    """The arrays of a `.npz`, each read when it is asked for; several may be more than memory."""

    def __init__(self, opened: zipfile.ZipFile, size: int) -> None:
        self._opened = opened
        self._members = {one.filename.removesuffix(".npy"): one for one in opened.infolist()}
        self._check(opened.infolist(), size)

    @staticmethod
    def _check(members: list[zipfile.ZipInfo], size: int) -> None:
        if len(members) > MOST_MEMBERS:
            raise UnreadableError(f"it holds more than {MOST_MEMBERS:,} arrays")
        # Members may overlap, so that each of them alone is small.
        if sum(one.file_size for one in members) > MOST_EXPANSION * size + _SLACK:
            raise UnreadableError(
                f"it unpacks to more than {MOST_EXPANSION} times its size; save it with "
                "numpy.savez, uncompressed, if you trust it"
            )

    def __getitem__(self, name: str) -> NDArray[Any]:
        member = self._members[name]
        with self._opened.open(member) as handle:
            shape, fortran, dtype = _header(handle)  # type: ignore[arg-type]
            if handle.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
                raise UnreadableError(f"the header of its array {name!r} does not fit its size")
            return _fill(handle, shape, dtype, "F" if fortran else "C")  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


@contextmanager
def open_archive(path: str | os.PathLike[str]) -> Iterator[Archive]:
    """Open a `.npz`; whatever a damaged one raises inside the block becomes `UnreadableError`."""
    size = check_regular(path)
    try:
        with zipfile.ZipFile(Path(path)) as opened:
            yield Archive(opened, size)
    except (UnreadableError, OSError):
        raise
    except zipfile.BadZipFile as error:
        raise UnreadableError(f"it is no whole .npz file ({error})") from error
    except (NotImplementedError, RuntimeError, zipfile.LargeZipFile, EOFError) as error:
        raise UnreadableError(_clause(error)) from error
    except _DAMAGED as error:
        raise UnreadableError(f"it is damaged: {_clause(error)}") from error


def _damages() -> tuple[type[Exception], ...]:
    import lzma
    import struct
    import zlib

    return (zlib.error, lzma.LZMAError, struct.error, KeyError, IndexError, UnicodeError)


_DAMAGED = _damages()


def _clause(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return f"{type(error).__name__}: {text[:120]}" if text else type(error).__name__


def _header(handle: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return what a `.npy` header says; a damaged one makes NumPy raise almost anything."""
    from numpy.lib import format as npy

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers of Python 2 are read all the same
            version = npy.read_magic(handle)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(handle, max_header_size=_MOST_HEADER)
    except OSError:
        raise
    except Exception as error:
        if "magic string is not correct" in str(error):
            raise UnreadableError("it holds no plain numbers") from error
        raise UnreadableError(f"it has no whole .npy header ({_clause(error)})") from error
    if dtype.hasobject:
        raise UnreadableError("it holds no plain numbers")  # but objects, which are pickled
    if len(shape) > _MOST_AXES or any(n < 0 or n > 2**62 for n in shape) or not dtype.itemsize:
        raise UnreadableError(f"it has a header of {dtype} with shape {shape[:9]}")
    return shape, fortran, dtype


def _fill(
    handle: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any], order: str
) -> NDArray[Any]:
    size, filled = math.prod(shape) * dtype.itemsize, 0
    buffer = np.empty(size, np.uint8)
    view = memoryview(buffer)  # type: ignore[arg-type]
    while filled < size:
        part = handle.read(min(_BLOCK, size - filled))
        if not part:
            raise UnreadableError(f"it is cut short after {filled:,} bytes")
        view[filled : filled + len(part)] = part
        filled += len(part)
    return buffer.view(dtype).reshape(shape, order=order)  # type: ignore[call-overload]
