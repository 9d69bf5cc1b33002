"""Counts on disk: one `.npz` without pickle, a sparse block per fold, and JSON metadata.

Integers are stored in the smallest type that holds them. A file is written whole or not at all,
and nothing in it is believed before it is checked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gnomon.corpus.binning import Binning
from gnomon.corpus.counts import PositionCounts, Vocabulary, vstack_folds
from gnomon.corpus.folds import GroupSketch
from gnomon.corpus.near_copies import NearCopies
from gnomon.errors import CountsError
from gnomon.files import write_with
from gnomon.reading import Archive, UnreadableError, open_archive, parse_json

FORMAT = 1
BINNED_FORMAT = 2
"""Of counts whose positions were merged: who does not know of bins must not read them."""
_PLAIN = ("folds", "rows", "document_sum", "source", "tokenizer", "window", "minimum_count")


def save_counts(counts: PositionCounts, path: Path) -> None:
    """Write counts to `path`."""
    write_with(path, lambda handle: store_counts(counts, handle))


def store_counts(counts: PositionCounts, handle: BinaryIO) -> None:
    """Write counts to an open file."""
    arrays: dict[str, NDArray[Any]] = {"metadata": _text_array(json.dumps(_metadata(counts)))}
    arrays["groups"] = counts.groups.array
    if counts.vocabulary.tokens is not None:
        arrays["tokens"] = _text_array(json.dumps(counts.vocabulary.tokens, ensure_ascii=False))
    for index in range(counts.folds):
        block = counts.fold(index)
        for part in ("indptr", "indices", "data"):
            arrays[f"fold_{index:03d}_{part}"] = _small(getattr(block, part))
    np.savez(handle, allow_pickle=False, **arrays)


def load_counts(path: Path) -> PositionCounts:
    """Read counts that `save_counts` wrote, checking everything that is read."""
    try:
        with open_archive(path) as stored:
            return _read(stored)
    except FileNotFoundError as error:
        raise CountsError(f"there is no file {path}; check the path.") from error
    except CountsError as error:
        raise CountsError(f"{path} can not be used: {error}") from error
    except MemoryError:
        raise
    except Exception as error:  # what is not foreseen here is still damage, no fault of ours
        raise CountsError(
            f"{path} is damaged or holds no counts of Gnomon ({error}); "
            "pass a counts.npz, or count the corpus again."
        ) from error


def _metadata(counts: PositionCounts) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(counts, name) for name in _PLAIN}
    vocabulary = counts.vocabulary
    if counts.binning is not None:
        values |= {"bins": counts.binning.to_dict()}
    if counts.near_copies is not None:
        values |= {"near_copies": counts.near_copies.to_dict()}
    return values | {
        "format": FORMAT if counts.binning is None else BINNED_FORMAT,
        "axes": list(counts.axes),
        "notes": list(counts.notes),
        "vocabulary": {
            "size": vocabulary.size,
            "digest": vocabulary.digest,
            "open": vocabulary.open,
        },
    }


def _read(stored: Archive) -> PositionCounts:
    metadata = _checked(parse_json(_array_text(stored["metadata"])))
    if metadata.get("format") not in (FORMAT, BINNED_FORMAT):
        raise CountsError(
            f"counts of format {metadata.get('format')} can not be read by this version; "
            "count the corpus again."
        )
    size = metadata["vocabulary"]["size"]
    tokens = _tokens(stored, size) if "tokens" in stored else None
    axes = tuple(metadata["axes"])
    blocks = [_block(stored, f, math.prod(axes), size) for f in range(metadata["folds"])]
    return PositionCounts(
        blocks=vstack_folds(blocks),
        axes=axes,
        vocabulary=Vocabulary(
            size=size,
            digest=metadata["vocabulary"]["digest"],
            tokens=tokens,
            open=metadata["vocabulary"]["open"],
        ),
        groups=GroupSketch.from_array(stored["groups"]),
        notes=tuple(metadata["notes"]),
        binning=_binning(metadata, axes),
        near_copies=_near_copies(metadata),
        **{name: metadata[name] for name in _PLAIN},
    )


def _near_copies(metadata: dict[str, Any]) -> NearCopies | None:
    if "near_copies" not in metadata:
        return None
    _check_fields(metadata, {"near_copies": lambda value: isinstance(value, dict)}, "")
    found = metadata["near_copies"]
    found = {"shared": 0} | found  # counts of older versions do not know it
    _check_fields(found, _OF_COPIES, "near_copies.")
    return NearCopies(**{name: found[name] for name in _OF_COPIES})


def _checked(metadata: Any) -> dict[str, Any]:
    """Refuse metadata whose parts are not of their kind: later they would be believed."""
    if not isinstance(metadata, dict):
        raise UnreadableError("its metadata is no JSON object")
    _check_fields(metadata, _FIELDS, "")
    _check_fields(metadata["vocabulary"], _OF_VOCABULARY, "vocabulary.")
    return metadata


def _check_fields(found: dict[str, Any], fields: dict[str, Any], prefix: str) -> None:
    for key, fits in fields.items():
        if key not in found:
            raise UnreadableError(f"its metadata has no {prefix}{key}")
        if not fits(found[key]):
            shown = repr(found[key])
            raise UnreadableError(f"its metadata has {prefix}{key} = {shown[:40]}")


def _whole(least: int, most: int = 2**63 - 1) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= most  # True is no number here


def _words(value: Any) -> bool:
    return isinstance(value, str)


def _several(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _fit_axes(value: Any) -> bool:
    return bool(value) and _several(_whole(1, _MOST))(value) and math.prod(value) <= _MOST


_MOST = 2**31 - 1
_OF_COPIES: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("documents", "looked_at", "copies", "families", "largest", "shared"), _whole(0)
    ),
    "partners": lambda value: type(value) in (int, float) and 0 <= value < math.inf,
}
_FIELDS: dict[str, Callable[[Any], bool]] = {
    "format": lambda value: value is not None,
    "folds": _whole(1, 2**16),
    "rows": _whole(0),
    "document_sum": _whole(0, 2**64 - 1),
    "source": _words,
    "tokenizer": _words,
    "window": _words,
    "minimum_count": _whole(0),
    "axes": _fit_axes,
    "notes": _several(_words),
    "vocabulary": lambda value: isinstance(value, dict),
}
_OF_VOCABULARY: dict[str, Callable[[Any], bool]] = {
    "size": _whole(0, _MOST),
    "digest": _words,
    "open": lambda value: isinstance(value, bool),
}


def _tokens(stored: Archive, size: int) -> tuple[str, ...]:
    tokens = parse_json(_array_text(stored["tokens"]))
    if not _several(_words)(tokens) or len(tokens) != size:
        raise CountsError("the vocabulary of the counts file is damaged; count the corpus again.")
    return tuple(tokens)


def _binning(metadata: dict[str, Any], axes: tuple[int, ...]) -> Binning | None:
    """Read how positions were merged; files from before there were bins say nothing of it."""
    if metadata["format"] == FORMAT:
        return None
    bins = metadata["bins"]
    starts, span = tuple(map(int, bins["starts"])), int(bins["positions"])
    edges = (*starts, span)
    if starts[:1] != (0,) or axes != (len(starts),) or any(a >= b for a, b in pairwise(edges)):
        raise CountsError("the bins of the counts file are damaged; count the corpus again.")
    enough = bins.get("tokens_enough")
    return Binning(
        starts=starts,
        span=span,
        rule=str(bins["rule"]),
        enough=None if enough is None else int(enough),
    )


def _block(stored: Archive, fold: int, length: int, vocabulary: int) -> csr_array:
    """Read one fold and refuse anything that is no canonical matrix of counts."""
    parts = [stored[f"fold_{fold:03d}_{part}"] for part in ("indptr", "indices", "data")]
    if any(part.dtype.kind not in "iu" or part.ndim != 1 for part in parts):
        raise UnreadableError(f"fold {fold} holds no lists of whole numbers")
    indptr, indices, data = (part.astype(np.int64) for part in parts)
    sound = (
        len(indptr) == length + 1
        and indptr[0] == 0
        and indptr[-1] == len(indices) == len(data)
        and (np.diff(indptr) >= 0).all()
        and (data > 0).all()
        and (indices >= 0).all()
        and (indices < vocabulary).all()
    )
    if sound and len(indices) > 1:
        begins = np.zeros(len(indices), bool)
        begins[indptr[:-1][np.diff(indptr) > 0]] = True
        sound = bool((np.diff(indices)[~begins[1:]] > 0).all())
    if not sound:
        found = "holds a count that is negative or 0" if (data <= 0).any() else "is out of order"
        raise CountsError(
            f"fold {fold} of the counts file is damaged (it {found}); count the corpus again."
        )
    return csr_array((data, indices, indptr), shape=(length, vocabulary))


def _small(values: NDArray[Any]) -> NDArray[Any]:
    largest = int(values.max(initial=0))
    return values.astype(np.min_scalar_type(largest))


def _text_array(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _array_text(array: NDArray[np.uint8]) -> str:
    if array.dtype != np.uint8:
        raise UnreadableError("its text is no bytes")
    return array.tobytes().decode("utf-8", "surrogatepass")
