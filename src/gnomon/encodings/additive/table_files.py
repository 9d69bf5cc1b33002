"""Reading a table of numbers from a file that may come from anywhere.

`.npy` is mapped, so a header that promises more than the file holds is caught before memory is
taken. `.safetensors` is read through its own header: eight bytes of length, a JSON object, data.
bfloat16, which NumPy lacks, is the upper half of a float32. Nothing is ever loaded by pickle.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.additive.table import Table, checked_table
from gnomon.encodings.base import Encoding
from gnomon.errors import EncodingError, nearest
from gnomon.files import PICKLED, say_converting
from gnomon.numeric import checks
from gnomon.reading import ArchiveError, UnreadableError, load_array, open_archive

if TYPE_CHECKING:
    from collections.abc import Iterable

_PLAIN = {"F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"}
SUFFIXES = (".npy", ".npz", ".safetensors")


def open_table(
    path: str | os.PathLike[str] | Any, *, member: str | None = None, first_row: int = 0
) -> Encoding:
    """Return the table in a file, or of an array; `member` names one of several tensors.

    A file is also found as `FILE:MEMBER`. Position 0 has the row `first_row`; rows before it are
    left out. The file of an encoding, which knows what its numbers are for, is read as that.
    """
    checks.whole("first_row", first_row, least=0)
    if not isinstance(path, (str, os.PathLike)):
        return _beginning(path, "array", first_row)
    file, member = _split(os.fspath(path), member)
    if not file.is_file():
        what = f"{file} is no regular file" if file.exists() else f"There is no file {file}"
        raise EncodingError(f"{what}; check the path of the table.")
    readers = {".npy": _from_npy, ".npz": _from_npz, ".safetensors": _from_safetensors}
    reader = readers.get(file.suffix)
    if reader is None and file.suffix.lower() in PICKLED:
        raise EncodingError(
            f"{file} holds its numbers as a pickle, which can run code and is not opened; "
            f"{say_converting(file)}, and pass that."
        )
    if reader is None:
        raise EncodingError(
            f"{file} is no table that can be read; pass one of: {', '.join(SUFFIXES)}."
        )
    if file.suffix == ".safetensors" and member is None:
        from gnomon.encodings.files.stored import open_encoding

        stored = open_encoding(file)
        if stored is not None:
            if first_row:
                raise EncodingError(
                    f"{file} holds the encoding {stored.name!r}, which knows the rows of its "
                    f"positions; leave first_row {first_row} out."
                )
            return stored
    values, name = reader(file, member)
    source = file.name if name is None else f"{file.name}:{name}"
    return _beginning(values, source, first_row)


def _beginning(values: Any, source: str, first_row: int) -> Table:
    """Return the table whose position 0 is a given row of the values."""
    if not first_row:
        return Table(values=values, source=source)
    whole = checked_table(values, source)
    if first_row >= len(whole):
        raise EncodingError(
            f"first_row is {first_row}, and {source} has rows 0 to {len(whole) - 1}; choose one of "
            "them."
        )
    return Table(values=whole[first_row:], source=source, first_row=first_row)


def names_table(name: str) -> bool:
    """Say whether a name is that of a file of numbers, with or without a member.

    >>> names_table("model.safetensors:embed.weight"), names_table("rope")
    (True, False)
    """
    suffix = _split(name, None)[0].suffix
    return suffix in SUFFIXES or suffix.lower() in PICKLED  # the latter to be refused in words


def _split(path: str, member: str | None) -> tuple[Path, str | None]:
    head, colon, tail = path.rpartition(":")
    if member is None and colon and head.endswith((*SUFFIXES, *PICKLED)):
        return Path(head), tail
    return Path(path), member


def _from_npy(file: Path, member: str | None) -> tuple[Any, str | None]:
    if member is not None:
        raise EncodingError(f"{file} holds one array without a name; leave out {member!r}.")
    try:
        return load_array(file, mapped=True), None
    except ArchiveError as error:
        raise EncodingError(
            f"{file} is an archive of arrays, not one; name it {file.stem}.npz."
        ) from error
    except (OSError, UnreadableError) as error:
        raise _unreadable(file, ".npy", error) from error


def _from_npz(file: Path, member: str | None) -> tuple[Any, str]:
    try:
        with open_archive(file) as archive:
            name = _chosen(file, member, archive)
            return archive[name], name
    except (OSError, UnreadableError) as error:
        raise _unreadable(file, ".npz", error) from error


def _from_safetensors(file: Path, member: str | None) -> tuple[Any, str]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(file), framework="np") as tensors:
            name = _chosen(file, member, tensors.keys())
            dtype = tensors.get_slice(name).get_dtype()
            if dtype == "BF16":
                return _bfloat16(file, name), name
            _check_dtype(file, name, dtype)
            return tensors.get_tensor(name), name
    except EncodingError:
        raise
    except (OSError, SafetensorError, TypeError, ValueError, AttributeError, KeyError) as error:
        raise _unreadable(file, ".safetensors", error) from error


def _check_dtype(file: Path, name: str, dtype: str) -> None:
    """Refuse eight-bit floats and their like, for which NumPy has no type."""
    if dtype not in _PLAIN:
        raise EncodingError(
            f"{file} holds {name!r} as {dtype}, which NumPy has no type for; convert it to F32, "
            "F16 or BF16 and save it again."
        )


def _bfloat16(file: Path, name: str) -> Any:
    """Read one tensor by the header, which the library has checked before."""
    import json

    with file.open("rb") as handle:
        length = int.from_bytes(handle.read(8), "little")
        entry = json.loads(handle.read(length))[name]
        begin, end = entry["data_offsets"]
        handle.seek(8 + length + begin)
        halves = np.frombuffer(handle.read(end - begin), dtype="<u2")
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(entry["shape"])


def _chosen(file: Path, member: str | None, names: Iterable[str]) -> str:
    known = list(names)
    if member is None and len(known) == 1:
        return known[0]
    if member is None:
        raise EncodingError(
            f"{file} holds {len(known)} arrays; name one as {file.name}:NAME. "
            f"Known: {', '.join(sorted(known)[:20])}."
        )
    if member not in known:
        raise EncodingError(f"{file} holds no array {member!r}: {nearest(member, known)}.")
    return member


def _unreadable(file: Path, suffix: str, error: Exception) -> EncodingError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return EncodingError(
        f"{file} can not be read as {suffix} ({reason[:120]}); pass a whole file of plain numbers."
    )
