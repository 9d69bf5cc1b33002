"""Any encoding as a `.safetensors` file: what it is made of, its card, and where it came from.

A `.safetensors` file is eight bytes of length, a JSON header padded to a multiple of eight, and the
data. `format` in the header says which of ours it is: `gnomon.encoding.1` is a fitted table
(`gnomon.encodings.files`), `gnomon.encoding.2` any encoding, as here:

`definition` (JSON of `gnomon.encodings.files`), `card`, `origin` (JSON of whatever the maker
says of it), and `digest`, BLAKE2 of those texts and of all tensors. Tensors, as wide as they are:
what the definition names, and under `constants.` the other numbers of its formula, such as
frequencies, so that a reader in any language needs no formula of ours for them. They are made anew
here, and a file whose constants are others is refused: it was written by a version with another
formula. Nothing of a file is believed unchecked, and nothing of it is run.

An encoding as plain values and tensors, and back: the two directions of a file.

    {"entry": "jordan", "parameters": {"dimension": 8, "decays": {"tensor": "decays"}, ...}}

The entry is that of the catalogue whose maker is the encoding's class, so that nothing can be made
from a file but what the catalogue has. Every parameter is one of: a plain value, a *tensor* under
the path of its field, a *block* of a generator, a *scaling*, or another *encoding*, inside of a
wrapper. Numbers that training may change are tensors even where they are still those that it starts
from: the file then does not depend on how those are drawn.

A fitted encoding on disk: `encoding.safetensors`.

Tensors: `weight` (rows, dimension), or `left` (rows, rank) and `right` (rank, dimension), float32;
`status` (rows,), uint8. The header holds `format`, `card`, the JSON of `Fitted.to_dict`, and
`digest`, BLAKE2 of the tensors: a damaged number is found as well as a damaged header. Row i is
position i, so that any reader of the format can use the file; nothing of it is believed unchecked.

The card is JSON that anybody may have written. Each field is checked by itself, and then what they
say together: an encoding that was not stretched has as many rows as it has positions.

Folders and names of the hub hold `encoding.safetensors` beside its card as `config.json`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import numbers
import os
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.distances import METHODS
from gnomon.encodings.base import Encoding
from gnomon.encodings.fitted import BEYOND, FAMILIES, MASKED_RULES, SCALES, Fitted
from gnomon.encodings.frequencies import Scaling
from gnomon.encodings.registry import ENTRIES
from gnomon.errors import EncodingError, MissingExtraError, nearest
from gnomon.files import check_writable, dump_json, write_together, write_with
from gnomon.groups import Block
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
        from gnomon.encodings.files import read_fitted

        return read_fitted(file)  # a fitted table, or the sentence for what is none of ours
    return _decode(file, about, tensors)


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


def _decode(file: Path, about: dict[str, str], tensors: Tensors) -> Encoding:
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
            raise DefinitionError(f"its {name} cannot be read") from error
        if not isinstance(found[name], dict):
            raise DefinitionError(f"its {name} cannot be read")
    return found


def _check_constants(encoding: Encoding, tensors: Tensors) -> None:
    """Refuse constants that this version would not make of the same parameters."""
    try:
        wanted = _constants(encoding)
    except REFUSALS as error:
        reason = " ".join(str(error).split()).partition(";")[0][:160]
        raise DefinitionError(f"its formula cannot be made: {reason}") from error
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

    A file that cannot be opened is also None: who reads it next says why.
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
        f"{file} cannot be read as .safetensors ({reason}); save it again, or copy it again."
    )


Tensors = dict[str, Any]
REFUSALS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, MemoryError)
"""What constructors raise for values they were not made for, beside sentences of ours."""


class DefinitionError(ValueError):
    """What is wrong with a definition, as a clause."""


def entry_name(encoding: Encoding) -> str:
    """Return the entry of the catalogue that an encoding's class belongs to, or refuse it."""
    entry = encoding.own_entry
    if entry is None:
        raise EncodingError(
            f"The encoding {encoding.name!r} is a {type(encoding).__qualname__}, which no entry of "
            "the catalogue makes by itself; save one that is, or the numbers of this one."
        )
    return entry.card.name


def written(encoding: Encoding) -> tuple[dict[str, Any], Tensors]:
    """Return the definition of an encoding and its tensors; `made` is the inverse."""
    tensors: Tensors = {}
    return _written(encoding, "", tensors), tensors


def _written(encoding: Encoding, path: str, tensors: Tensors) -> dict[str, Any]:
    entry = entry_name(encoding)
    learned = encoding.numbers if encoding.learnable else {}
    parameters = {}
    for field in _fields(type(encoding)).values():
        own = field.name in encoding.learnable and field.name in learned
        value = learned[field.name] if own else getattr(encoding, field.name)
        parameters[field.name] = _value(value, f"{path}{field.name}", tensors)
    return {"entry": entry, "parameters": parameters}


def _fields(kind: type[Encoding]) -> dict[str, Any]:
    return {field.name: field for field in dataclasses.fields(kind) if field.init}


def _value(value: Any, path: str, tensors: Tensors) -> Any:
    """Return one parameter as JSON, its array among the tensors."""
    if isinstance(value, Encoding):
        return _written(value, f"{path}.", tensors)
    if isinstance(value, Scaling):
        return {"scaling": value.parameters}
    if isinstance(value, Block):
        return {"block": vars(value)}
    if isinstance(value, np.ndarray):
        tensors[path] = _finite(path, value)
        return {"tensor": path}
    if isinstance(value, list | tuple):
        return [_value(item, path, tensors) for item in value]
    return _single(value, path)


def _single(value: Any, path: str) -> Any:
    """Return one number or word as the plain value that JSON gives back."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    raise EncodingError(
        f"{path} is {value!r}, which a file of numbers and words cannot hold; give the encoding "
        "plain values."
    )


def _finite(path: str, array: Any) -> Any:
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise EncodingError(
            f"{path} holds what is not a finite number, so it is not written; go back to numbers "
            "from before training diverged."
        )
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")


def made(definition: Any, tensors: Tensors) -> Encoding:
    """Return the encoding of a definition, or raise `DefinitionError`; every tensor is used."""
    left = dict(tensors)
    encoding = _made(definition, left)
    if left:
        raise DefinitionError(f"no parameter asks for its tensor {min(left)!r}")
    return encoding


def _made(definition: Any, tensors: Tensors) -> Encoding:
    entry, given = _parts(definition)
    kind = _class(entry)
    fields = _fields(kind)
    for name in given:
        if name not in fields:
            raise DefinitionError(f"{entry!r} has no parameter {name!r}: {nearest(name, fields)}")
    for name, field in fields.items():
        needed = field.default is dataclasses.MISSING
        if needed and field.default_factory is dataclasses.MISSING and name not in given:
            raise DefinitionError(f"it says no {name} of its {entry!r}")
    values = {name: _parameter(value, tensors) for name, value in given.items()}
    try:
        return kind(**values)
    except REFUSALS as error:
        reason = " ".join(str(error).split()).partition(";")[0][:160] or type(error).__name__
        raise DefinitionError(f"{entry!r} cannot have what it says: {reason}") from error


def _parts(definition: Any) -> tuple[str, dict[str, Any]]:
    """Return the entry and the parameters of a definition."""
    if not isinstance(definition, dict) or set(definition) != {"entry", "parameters"}:
        raise DefinitionError("its definition cannot be read")
    entry, given = definition["entry"], definition["parameters"]
    if not isinstance(entry, str) or not isinstance(given, dict):
        raise DefinitionError("its definition cannot be read")
    return entry, given


def _class(entry: str) -> type[Encoding]:
    """Return the class of an entry; entries that are made of a geometry have none here."""
    kind = ENTRIES[entry].makes if entry in ENTRIES else None
    if kind is None:
        known = [name for name, one in ENTRIES.items() if one.makes is not None]
        raise DefinitionError(f"this version knows no {entry!r}: {nearest(entry, known)}")
    return kind


def _parameter(value: Any, tensors: Tensors) -> Any:
    """Return one parameter from its JSON; a mapping is a tensor, block, scaling or encoding."""
    if isinstance(value, list):
        return tuple(_parameter(item, tensors) for item in value)
    if not isinstance(value, dict):
        return value
    if set(value) == {"tensor"}:
        if value["tensor"] not in tensors:
            raise DefinitionError(f"it holds no tensor {value['tensor']!r}")
        return tensors.pop(value["tensor"])
    if set(value) == {"block"}:
        return value["block"]  # its numbers, which the encoding checks
    return _read_scaling(value["scaling"]) if set(value) == {"scaling"} else _made(value, tensors)


def _read_scaling(value: Any) -> Scaling:
    from gnomon.encodings.frequencies import as_scaling

    if not isinstance(value, Mapping):
        raise DefinitionError("its scaling cannot be read")
    try:
        return as_scaling(value)
    except REFUSALS as error:
        reason = " ".join(str(error).split()).rstrip(".")[:160]
        raise DefinitionError(f"its scaling cannot be made: {reason}") from error


FORMAT = TABLE
_DENSE, _FACTORED = {"weight", "status"}, {"left", "right", "status"}
_LARGEST = float(np.finfo(np.float32).max)


def fitted_bytes(fitted: Fitted) -> bytes:
    """Return the contents of the file of a fitted encoding."""
    from safetensors.numpy import save

    _check_rows(fitted)
    if fitted.factored:
        tensors: dict[str, Any] = {"left": fitted.left, "right": fitted.right}
    else:
        tensors = {"weight": fitted.table()}
    tensors = {name: np.ascontiguousarray(t, dtype=np.float32) for name, t in tensors.items()}
    tensors["status"] = np.ascontiguousarray(fitted.status)
    card = json.dumps(fitted.to_dict(), allow_nan=False)
    about = {"format": FORMAT, "card": card, "digest": digest_of(tensors)}
    return ordered(save(tensors, metadata=about))


def _check_rows(fitted: Fitted) -> None:
    """Refuse to write what could not be read: numbers that training has driven out of range."""
    bad = _not_finite(fitted.left, fitted.status, fitted.masked_rule).tolist()
    right = fitted.right is None or np.isfinite(fitted.right).all()
    if bad or not right or not math.isfinite(fitted.gain):
        where = f"Row {bad[0]}" if bad else "The gain" if right else "The right factor"
        raise EncodingError(
            f"{where} of this encoding is not finite, so it is not written; go back to numbers "
            "from before training diverged."
        )


def write_fitted(fitted: Fitted, path: str | os.PathLike[str]) -> None:
    """Write a fitted encoding, whole or not at all."""
    stored = fitted_bytes(fitted)
    write_with(Path(path), lambda handle: handle.write(stored))


def read_fitted(path: str | os.PathLike[str]) -> Fitted:
    """Return the fitted encoding in a file, or say why it is none."""
    file = Path(path)
    if not os.path.isfile(file):  # noqa: PTH113 - a name that is too long is no file, not an error
        raise EncodingError(
            f"There is no file {file}; pass the .safetensors file of gnomon fit or gnomon survey."
        )
    about, tensors = read_tensors(file, FORMAT, check=lambda names: _check_names(file, names))
    kind = about.get("format")
    if kind is None or not kind.startswith(OURS):
        raise EncodingError(
            f"{file} is no fitted encoding of Gnomon: its header does not say so; read it as a "
            'table with gnomon.encoding("table", path=...), or fit one with gnomon fit.'
        )
    check_known(file, kind)
    if kind == ANY:
        raise EncodingError(
            f"{file} is no table of vectors but another encoding; open it with "
            "gnomon.encoding(path), or as a layer with gnomon.torch.layer or gnomon.jax.layer."
        )
    return _decode_fitted(file, about, tensors)


def _check_names(file: Path, names: list[str]) -> None:
    if set(names) not in (_DENSE, _FACTORED):
        raise _refuse_damaged(file, f"it holds {', '.join(names[:9]) or 'no tensor'}")


def _decode_fitted(file: Path, about: dict[str, str], tensors: dict[str, Any]) -> Fitted:
    try:
        known = _read_card(about.get("card", ""))
    except CardError as error:
        raise _refuse_damaged(file, str(error)) from error
    left, right = _factors(file, tensors)
    rows, inner = left.shape
    width, rank = inner if right is None else right.shape[1], known["rank"]
    if width != known["dimension"] or not (rank <= inner if right is None else rank == inner):
        raise _refuse_damaged(file, f"its card says rank {rank} and dimension {known['dimension']}")
    status = tensors["status"]
    if (
        status.shape != (rows,)
        or status.dtype != np.uint8
        or status.max(initial=0) > Fitted.MEASURED
    ):
        raise _refuse_damaged(file, f"its status does not fit its {rows} rows")
    if math.prod(known["shape"]) != rows:
        raise _refuse_damaged(file, f"its card says axes {known['shape']}, and it has {rows} rows")
    bad = _not_finite(left, status, known["masked_rule"])
    if bad.size:
        raise _refuse_damaged(file, f"row {bad[0]} holds numbers that are not finite")
    if about.get("digest", (found := digest_of(tensors))) != found:
        raise _refuse_damaged(file, "its numbers are not those that were written")
    return Fitted(
        axes=len(known["shape"]),
        factored=right is not None,
        left=left,
        right=right,
        status=status,
        **known,
    )


def _factors(file: Path, tensors: dict[str, Any]) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return both factors, or the whole table and None."""
    names = ["weight"] if "weight" in tensors else ["left", "right"]
    for name in names:
        found = tensors[name]
        if found.ndim != 2 or found.dtype != np.float32 or not found.size:
            raise _refuse_damaged(file, f"{name} is {found.dtype} of shape {found.shape}")
    left, *more = (tensors[name].astype(np.float64) for name in names)
    if not more:
        return left, None
    right = more[0]
    if left.shape[1] != right.shape[0]:
        raise _refuse_damaged(file, f"factors of shapes {left.shape} and {right.shape}")
    if not np.isfinite(right).all():
        raise _refuse_damaged(file, "right holds numbers that are not finite")
    largest = np.abs(left).max(where=np.isfinite(left), initial=0.0) * np.abs(right).max()
    if largest * len(right) > _LARGEST:
        raise _refuse_damaged(file, "the product of its factors is too large for float32")
    return left, right


def _not_finite(left: NDArray[Any], status: NDArray[Any], rule: str) -> NDArray[np.int64]:
    """Return rows that are no numbers, but for masked ones that are refused when asked for."""
    empty = (status == Fitted.FILLED) & (rule == "refuse")
    return np.flatnonzero(~np.isfinite(left).all(axis=1) & ~empty)


def _refuse_damaged(file: Path, found: str) -> EncodingError:
    return EncodingError(f"{file} is no whole fitted encoding ({found}); fit it again.")


FILE = "encoding.safetensors"
_CONFIG = "config.json"


def save_pretrained(fitted: Fitted, folder: str | os.PathLike[str]) -> None:
    """Write the encoding and its card to a folder, which is made where it is missing."""
    place = Path(folder)
    check_writable(place)
    stored, card = fitted_bytes(fitted), dump_json(fitted.to_dict()).encode("utf-8")
    write_together(
        place,
        {FILE: lambda handle: handle.write(stored), _CONFIG: lambda handle: handle.write(card)},
    )


def from_pretrained(name: str | os.PathLike[str]) -> Fitted:
    """Read an encoding from a folder (or its file), or by its name on the Hugging Face hub."""
    text = os.fspath(name)
    if os.path.isdir(text):  # noqa: PTH112 - a name that is too long is none, not an error
        return read_fitted(Path(text) / FILE)
    if text.endswith(".safetensors"):
        return read_fitted(text)
    if text.count("/") != 1 or text.startswith((".", "/", "~")):
        raise EncodingError(
            f"There is no folder {text}; pass one that save_pretrained wrote, or a name of the hub "
            "such as owner/name."
        )
    return read_fitted(_download(text))


def _download(name: str) -> str:
    try:
        import huggingface_hub
    except ImportError as error:
        raise MissingExtraError(
            f"{name} is no folder here, and the hub needs huggingface_hub, which is not installed; "
            "run `pip install gnomon[hf]`."
        ) from error
    try:
        return str(huggingface_hub.hf_hub_download(repo_id=name, filename=FILE))
    except Exception as error:  # the hub client raises errors of several libraries
        reason = (" ".join(str(error).split()) or type(error).__name__)[:120].rstrip(".")
        raise EncodingError(
            f"{name} is no folder here and could not be had from the hub ({reason}); check the "
            "name and the network, or pass a folder."
        ) from error


class CardError(ValueError):
    """What is wrong with a card, as a clause."""


def _read_card(text: str) -> dict[str, Any]:
    """Return the fields of a card that an encoding is made of, or raise `CardError`."""
    try:
        card = parse_json(text)
    except ValueError as error:
        raise CardError("its card cannot be read") from error
    if not isinstance(card, dict):
        raise CardError("its card cannot be read")
    for key, fits in _FIELDS.items():
        if key not in card:
            raise CardError(f"its card says no {key}")
        if not fits(card[key]):
            raise CardError(f"its card says {key} {_shorten(card[key])}")
    _check_length(card)
    known = {key: card[key] for key in _FIELDS if key != "name"}
    lists = {key: tuple(card[key]) for key in ("shape", "warnings")}
    numbers = {key: float(card[key]) for key in ("factor", "gain")}
    return {"family": card["name"], **known, **lists, **numbers}


def _check_length(card: dict[str, Any]) -> None:
    """Refuse more positions than rows, or fewer where nothing was stretched."""
    rows, length = math.prod(card["shape"]), card["length"]
    if length > rows or (length < rows and card["beyond"] != "interpolate"):
        raise CardError(f"its card says length {length} and axes {tuple(card['shape'])}")


def _shorten(value: Any, most: int = 40) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]} ..."


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and value >= least  # True is no number here


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300


def _words(value: Any) -> bool:
    return isinstance(value, str)


def _is_list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "name": _one_of(*FAMILIES),
    "method": _one_of(*METHODS),
    "estimator": _words,
    "minimises": _words,
    "dimension": _whole(1),
    "rank": _whole(1),
    "shape": lambda value: bool(value) and _is_list_of(_whole(1))(value),
    "length": _whole(1),
    "masked_rule": _one_of(*MASKED_RULES),
    "beyond": _one_of(*BEYOND),
    "scale": _one_of(*SCALES),
    "factor": lambda value: _is_finite(value) and value > 0,
    "gain": _is_finite,
    "rotation": lambda value: value is None or _whole(0)(value),
    "warnings": _is_list_of(_words),
    "origin": lambda value: isinstance(value, dict),
}
