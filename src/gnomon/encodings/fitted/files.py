"""A fitted encoding on disk: `encoding.safetensors`.

Tensors: `weight` (rows, dimension), or `left` (rows, rank) and `right` (rank, dimension), float32;
`status` (rows,), uint8. The header holds `format`, `card`, the JSON of `Fitted.to_dict`, and
`digest`, BLAKE2 of the tensors: a damaged number is found as well as a damaged header. Row i is
position i, so that any reader of the format can use the file; nothing of it is believed unchecked.

The card is JSON that anybody may have written. Each field is checked by itself, and then what they
say together: an encoding that was not stretched has as many rows as it has positions.

Folders and names of the hub hold `encoding.safetensors` beside its card as `config.json`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.distances import METHODS
from gnomon.encodings.files import ANY, OURS, TABLE, check_known, digest_of, ordered, read_tensors
from gnomon.encodings.fitted.fitted import (
    BEYOND,
    FAMILIES,
    FILLED,
    MASKED_RULES,
    MEASURED,
    SCALES,
    Fitted,
)
from gnomon.errors import EncodingError, MissingExtraError
from gnomon.files import check_writable, dump_json, write_together, write_with
from gnomon.reading import parse_json

FORMAT = TABLE
_DENSE, _FACTORED = {"weight", "status"}, {"left", "right", "status"}
_LARGEST = float(np.finfo(np.float32).max)


def fitted_bytes(fitted: Fitted) -> bytes:
    """Return the contents of the file of a fitted encoding."""
    from safetensors.numpy import save

    _check_whole(fitted)
    if fitted.factored:
        tensors: dict[str, Any] = {"left": fitted.left, "right": fitted.right}
    else:
        tensors = {"weight": fitted.table()}
    tensors = {name: np.ascontiguousarray(t, dtype=np.float32) for name, t in tensors.items()}
    tensors["status"] = np.ascontiguousarray(fitted.status)
    card = json.dumps(fitted.to_dict(), allow_nan=False)
    about = {"format": FORMAT, "card": card, "digest": digest_of(tensors)}
    return ordered(save(tensors, metadata=about))


def _check_whole(fitted: Fitted) -> None:
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
    return _checked(file, about, tensors)


def _check_names(file: Path, names: list[str]) -> None:
    if set(names) not in (_DENSE, _FACTORED):
        raise _damaged(file, f"it holds {', '.join(names[:9]) or 'no tensor'}")


def _checked(file: Path, about: dict[str, str], tensors: dict[str, Any]) -> Fitted:
    try:
        known = _read_card(about.get("card", ""))
    except CardError as error:
        raise _damaged(file, str(error)) from error
    left, right = _factors(file, tensors)
    rows, inner = left.shape
    width, rank = inner if right is None else right.shape[1], known["rank"]
    if width != known["dimension"] or not (rank <= inner if right is None else rank == inner):
        raise _damaged(file, f"its card says rank {rank} and dimension {known['dimension']}")
    status = tensors["status"]
    if status.shape != (rows,) or status.dtype != np.uint8 or status.max(initial=0) > MEASURED:
        raise _damaged(file, f"its status does not fit its {rows} rows")
    if math.prod(known["shape"]) != rows:
        raise _damaged(file, f"its card says axes {known['shape']}, and it has {rows} rows")
    bad = _not_finite(left, status, known["masked_rule"])
    if bad.size:
        raise _damaged(file, f"row {bad[0]} holds numbers that are not finite")
    if about.get("digest", (found := digest_of(tensors))) != found:
        raise _damaged(file, "its numbers are not those that were written")
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
            raise _damaged(file, f"{name} is {found.dtype} of shape {found.shape}")
    left, *more = (tensors[name].astype(np.float64) for name in names)
    if not more:
        return left, None
    right = more[0]
    if left.shape[1] != right.shape[0]:
        raise _damaged(file, f"factors of shapes {left.shape} and {right.shape}")
    if not np.isfinite(right).all():
        raise _damaged(file, "right holds numbers that are not finite")
    largest = np.abs(left).max(where=np.isfinite(left), initial=0.0) * np.abs(right).max()
    if largest * len(right) > _LARGEST:
        raise _damaged(file, "the product of its factors is too large for float32")
    return left, right


def _not_finite(left: NDArray[Any], status: NDArray[Any], rule: str) -> NDArray[np.int64]:
    """Return rows that are no numbers, but for masked ones that are refused when asked for."""
    empty = (status == FILLED) & (rule == "refuse")
    return np.flatnonzero(~np.isfinite(left).all(axis=1) & ~empty)


def _damaged(file: Path, found: str) -> EncodingError:
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
    return read_fitted(_downloaded(text))


def _downloaded(name: str) -> str:
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
        raise CardError("its card can not be read") from error
    if not isinstance(card, dict):
        raise CardError("its card can not be read")
    for key, fits in _FIELDS.items():
        if key not in card:
            raise CardError(f"its card says no {key}")
        if not fits(card[key]):
            raise CardError(f"its card says {key} {_shortened(card[key])}")
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


def _shortened(value: Any, most: int = 40) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]} ..."


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and value >= least  # True is no number here


def _finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300


def _words(value: Any) -> bool:
    return isinstance(value, str)


def _listed(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "name": _one_of(*FAMILIES),
    "method": _one_of(*METHODS),
    "estimator": _words,
    "minimises": _words,
    "dimension": _whole(1),
    "rank": _whole(1),
    "shape": lambda value: bool(value) and _listed(_whole(1))(value),
    "length": _whole(1),
    "masked_rule": _one_of(*MASKED_RULES),
    "beyond": _one_of(*BEYOND),
    "scale": _one_of(*SCALES),
    "factor": lambda value: _finite(value) and value > 0,
    "gain": _finite,
    "rotation": lambda value: value is None or _whole(0)(value),
    "warnings": _listed(_words),
    "origin": lambda value: isinstance(value, dict),
}
