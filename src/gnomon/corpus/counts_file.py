"""Counts on disk: one `.npz` without pickle, a sparse block per fold, and JSON metadata.

Integers are stored in the smallest type that holds them. A file is written whole or not at all,
and nothing in it is believed before it is checked.
"""

from __future__ import annotations

import json
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gnomon.corpus.binning import Binning
from gnomon.corpus.counts import PositionCounts, vstack_folds
from gnomon.corpus.folds import GroupSketch
from gnomon.corpus.vocabulary import Vocabulary
from gnomon.errors import CountsError
from gnomon.files import write_with

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
        # The handle is ours, so that it is closed even where np.load gives up half-way.
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
            return _read(stored)
    except FileNotFoundError as error:
        raise CountsError(f"there is no file {path}; check the path.") from error
    except CountsError as error:
        raise CountsError(f"{path} can not be used: {error}") from error
    except Exception as error:  # a damaged archive can raise almost anything
        raise CountsError(
            f"{path} is damaged or holds no counts of Gnomon ({_reason(path, error)}); "
            "pass a counts.npz, or count the corpus again."
        ) from error


def _reason(path: Path, error: Exception) -> str:
    """Say why a file holds no counts; NumPy's own advice would be to trust it blindly."""
    if not zipfile.is_zipfile(path):
        return "it is no whole .npz file"
    return "it holds pickled objects" if "pickle" in str(error) else str(error)


def _metadata(counts: PositionCounts) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(counts, name) for name in _PLAIN}
    vocabulary = counts.vocabulary
    if counts.binning is not None:
        values |= {"bins": counts.binning.to_dict()}
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


def _read(stored: Any) -> PositionCounts:
    metadata = json.loads(_array_text(stored["metadata"]))
    if metadata.get("format") not in (FORMAT, BINNED_FORMAT):
        raise CountsError(
            f"counts of format {metadata.get('format')} can not be read by this version; "
            "count the corpus again."
        )
    size = int(metadata["vocabulary"]["size"])
    tokens = tuple(json.loads(_array_text(stored["tokens"]))) if "tokens" in stored else None
    if tokens is not None and len(tokens) != size:
        raise CountsError("the vocabulary of the counts file is damaged; count the corpus again.")
    axes = tuple(int(a) for a in metadata["axes"])
    blocks = [_block(stored, f, int(np.prod(axes)), size) for f in range(int(metadata["folds"]))]
    return PositionCounts(
        blocks=vstack_folds(blocks),
        axes=axes,
        vocabulary=Vocabulary(
            size=size,
            digest=str(metadata["vocabulary"]["digest"]),
            tokens=tokens,
            open=bool(metadata["vocabulary"]["open"]),
        ),
        groups=GroupSketch.from_array(stored["groups"]),
        notes=tuple(metadata["notes"]),
        binning=_binning(metadata, axes),
        **{name: metadata[name] for name in _PLAIN},
    )


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


def _block(stored: Any, fold: int, length: int, vocabulary: int) -> csr_array:
    """Read one fold and refuse anything that is no canonical matrix of counts."""
    indptr, indices, data = (
        stored[f"fold_{fold:03d}_{part}"].astype(np.int64) for part in ("indptr", "indices", "data")
    )
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
    return array.astype(np.uint8).tobytes().decode("utf-8", "surrogatepass")
