"""Any encoding as a `.safetensors` file: what it is made of, its card, and where it came from.

A `.safetensors` file is eight bytes of length, a JSON header padded to a multiple of eight, and the
data. `format` in the header says which of ours it is: `gnomon.encoding.1` is a fitted table
(`gnomon.encodings.fitted.files`), `gnomon.encoding.2` any encoding, as here:

`definition` (JSON of `gnomon.encodings.definitions`), `card`, `origin` (JSON of whatever the maker
says of it), and `digest`, BLAKE2 of those texts and of all tensors. Tensors, as wide as they are:
what the definition names, and under `constants.` the other numbers of its formula, such as
frequencies, so that a reader in any language needs no formula of ours for them. They are made anew
here, and a file whose constants are others is refused: it was written by a version with another
formula. Nothing of a file is believed unchecked, and nothing of it is run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.encodings.base import Encoding
from gnomon.encodings.definitions import REFUSALS, DefinitionError, Tensors, made, written
from gnomon.errors import EncodingError
from gnomon.files import write_with
from gnomon.reading import parse_json
from gnomon.results import plain

_CONSTANTS = "constants."
TEXTS = ("definition", "card", "origin")
_SAME = 1e-9
"""Share by which constants may differ between machines, whose powers round for themselves."""


def encoding_bytes(encoding: Encoding, origin: Mapping[str, Any] | None = None) -> bytes:
    """Return the contents of the file of an encoding."""
    from safetensors.numpy import save

    definition, tensors = written(encoding)
    for name, values in _constants(encoding).items():
        tensors[f"{_CONSTANTS}{name}"] = np.array(values, order="C")
    contents = {"definition": definition, "card": encoding.card.to_dict(), "origin": origin or {}}
    texts = {name: json.dumps(plain(part), allow_nan=False) for name, part in contents.items()}
    digest = digest_of(tensors, *(texts[name] for name in TEXTS))
    return ordered(save(tensors, metadata={"format": ANY, **texts, "digest": digest}))


def write_encoding(
    encoding: Encoding, path: str | os.PathLike[str], *, origin: Mapping[str, Any] | None = None
) -> None:
    """Write an encoding, whole or not at all; `origin` says where it came from."""
    file = Path(path)
    if file.suffix != ".safetensors":
        raise EncodingError(f"{file} does not end in .safetensors; name such a file.")
    stored = encoding_bytes(encoding, origin)
    write_with(file, lambda handle: handle.write(stored))


def read_encoding(path: str | os.PathLike[str]) -> Encoding:
    """Return the encoding in a file of any of our formats, or say why there is none."""
    file = Path(path)
    if not os.path.isfile(file):  # noqa: PTH113 - a name that is too long is no file, not an error
        raise EncodingError(f"There is no file {file}; check the path of the encoding.")
    about, tensors = read_tensors(file, ANY)
    kind = about.get("format", "")
    if kind != ANY:
        from gnomon.encodings.fitted.files import read_fitted

        return read_fitted(file)  # a fitted table, or the sentence for what is none of ours
    return _checked(file, about, tensors)


def open_encoding(file: Path) -> Encoding | None:
    """Return the encoding in a file, or None where it holds something else."""
    kind = format_of(file)
    if kind is None:
        return None
    check_known(file, kind)
    return read_encoding(file)


def origin_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what the maker of a file said of it; nothing of it was checked but that it is whole.

    A fitted table has it in its card, as the field `origin`.
    """
    file = Path(path)
    read_encoding(file)
    about, _ = read_tensors(file, ANY)
    found = json.loads(about["origin"] if about["format"] == ANY else about["card"])
    return dict(found if about["format"] == ANY else found["origin"])


def _constants(encoding: Encoding) -> dict[str, Any]:
    numbers, learned = encoding.numbers, encoding.learnable
    return {name: np.asarray(values) for name, values in numbers.items() if name not in learned}


def _checked(file: Path, about: dict[str, str], tensors: Tensors) -> Encoding:
    try:
        texts = _texts(about)
        _check_whole(about, tensors)
        own = {n: v for n, v in tensors.items() if not n.startswith(_CONSTANTS)}
        encoding = made(texts["definition"], own)
        _check_constants(encoding, tensors)
    except (DefinitionError, RecursionError) as error:
        raise EncodingError(
            f"{file} is no whole encoding ({error}); save it again, or copy it again."
        ) from error
    return encoding


def _check_whole(about: dict[str, str], tensors: Tensors) -> None:
    """Refuse what is not as it was written, or is no number."""
    if about.get("digest") != digest_of(tensors, *(about[name] for name in TEXTS)):
        raise DefinitionError("it is not what was written")
    for name, values in tensors.items():
        if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
            raise DefinitionError(f"its tensor {name!r} holds what is no finite number")


def _texts(about: dict[str, str]) -> dict[str, Any]:
    """Return the JSON of a header, each part of which must be an object."""
    found = {}
    for name in TEXTS:
        try:
            found[name] = parse_json(about[name])
        except KeyError as error:
            raise DefinitionError(f"its header has no {name}") from error
        except ValueError as error:
            raise DefinitionError(f"its {name} can not be read") from error
        if not isinstance(found[name], dict):
            raise DefinitionError(f"its {name} can not be read")
    return found


def _check_constants(encoding: Encoding, tensors: Tensors) -> None:
    """Refuse constants that this version would not make of the same parameters."""
    try:
        wanted = _constants(encoding)
    except REFUSALS as error:
        reason = " ".join(str(error).split()).partition(";")[0][:160]
        raise DefinitionError(f"its formula can not be made: {reason}") from error
    stored = {n.removeprefix(_CONSTANTS): v for n, v in tensors.items() if n.startswith(_CONSTANTS)}
    for name in sorted(wanted.keys() | stored.keys()):
        first, second = wanted.get(name), stored.get(name)
        if first is None or second is None or not _same(first, second):
            raise DefinitionError(f"its {name} are not those that this version makes of it")


def _same(first: Any, second: Any) -> bool:
    if first.shape != second.shape:
        return False
    size = float(np.abs(first).max(initial=0.0))
    return bool(np.allclose(first, second, rtol=_SAME, atol=_SAME * 1e-3 * size))


OURS = "gnomon.encoding."
TABLE, ANY = f"{OURS}1", f"{OURS}2"
_KNOWN = (TABLE, ANY)


def digest_of(tensors: Mapping[str, Any], *texts: str) -> str:
    """Return BLAKE2 of texts and then of tensors with their names and shapes."""
    digest = blake2b(digest_size=16)
    for text in texts:
        digest.update(f"{len(text)} {text}".encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].shape}".encode())
        digest.update(np.ascontiguousarray(tensors[name]).data)
    return digest.hexdigest()


def ordered(stored: bytes) -> bytes:
    """Put the header in one order: the library has none, and equal encodings are equal files."""
    length = 8 + int.from_bytes(stored[:8], "little")
    header = json.dumps(json.loads(stored[8:length]), sort_keys=True).encode("ascii")
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + stored[length:]


def format_of(file: Path) -> str | None:
    """Return which of our formats a file has; None where it holds something else.

    A file that can not be opened is also None: who reads it next says why.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(file), framework="np") as opened:
            kind = (opened.metadata() or {}).get("format", "")
    except (OSError, SafetensorError, TypeError, ValueError):
        return None
    return kind if kind.startswith(OURS) else None


def check_known(file: Path, kind: str) -> None:
    """Refuse a format of ours that this version does not read."""
    if kind not in _KNOWN:
        raise EncodingError(
            f"{file} has the format {kind}, and this version of Gnomon reads "
            f"{' and '.join(_KNOWN)}; use a newer one, or save the encoding again."
        )


def read_tensors(
    file: Path, kind: str, *, check: Callable[[list[str]], None] | None = None
) -> tuple[dict[str, str], Tensors]:
    """Return the header, and the tensors where it says that they are of a format.

    Names of tensors are checked before any is read.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(file), framework="np") as opened:
            about, names = opened.metadata() or {}, sorted(opened.keys())
            ours = about.get("format") == kind
            if ours and check is not None:
                check(names)
            return about, {name: opened.get_tensor(name) for name in names if ours}
    except EncodingError:
        raise
    except (OSError, SafetensorError, TypeError, ValueError, AttributeError, KeyError) as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> EncodingError:
    """Return the sentence for a file that is no `.safetensors` at all."""
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return EncodingError(
        f"{file} can not be read as .safetensors ({reason}); save it again, or copy it again."
    )


def given_encoding(given: Any) -> Encoding:
    """Return an encoding, read from its file where a path was given."""
    if isinstance(given, Encoding):
        return given
    if isinstance(given, str | PathLike):
        from gnomon.encodings.registry import encoding
        from gnomon.encodings.tables import names_table

        if names_table(fspath(given)):
            return encoding(given)
        raise EncodingError(
            f"{fspath(given)!r} names no file of an encoding; pass the path of a .safetensors "
            "file, or what gnomon.encoding(...) returns."
        )
    raise EncodingError(
        f"A layer is made of an encoding, and this is {type(given).__name__}; pass what "
        "gnomon.encoding(...) returns, or the path of its file."
    )
