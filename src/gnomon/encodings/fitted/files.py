"""A fitted encoding on disk: `encoding.safetensors`.

Tensors: `weight` (rows, dimension), or `left` (rows, rank) and `right` (rank, dimension), float32;
`status` (rows,), uint8. The header holds `format`, `card`, the JSON of `Fitted.to_dict`, and
`digest`, BLAKE2 of the tensors: a damaged number is found as well as a damaged header. Row i is
position i, so that any reader of the format can use the file; nothing of it is believed unchecked.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings.files.container import (
    ANY,
    OURS,
    TABLE,
    check_known,
    digest_of,
    ordered,
    unreadable,
)
from gnomon.encodings.fitted.filling import FILLED, MEASURED
from gnomon.encodings.fitted.fitted import Fitted
from gnomon.encodings.fitted.reading import CardError, read_card
from gnomon.errors import EncodingError
from gnomon.files import write_with

FORMAT = TABLE
DENSE, FACTORED = {"weight", "status"}, {"left", "right", "status"}
LARGEST = float(np.finfo(np.float32).max)


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
    from safetensors import SafetensorError

    file = Path(path)
    if not os.path.isfile(file):  # noqa: PTH113 - a name that is too long is no file, not an error
        raise EncodingError(
            f"There is no file {file}; pass the .safetensors file of gnomon fit or gnomon survey."
        )
    try:
        about, tensors = _opened(file)
    except EncodingError:
        raise
    except (OSError, SafetensorError, TypeError, ValueError, AttributeError, KeyError) as error:
        raise unreadable(file, error) from error
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


def _opened(file: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the header, and the tensors where the header says they are ours."""
    from safetensors import safe_open

    with safe_open(os.fspath(file), framework="np") as opened:
        about, names = opened.metadata() or {}, sorted(opened.keys())
        ours = about.get("format") == FORMAT
        if ours and set(names) not in (DENSE, FACTORED):
            raise _damaged(file, f"it holds {', '.join(names[:9]) or 'no tensor'}")
        return about, {name: opened.get_tensor(name) for name in names if ours}


def _checked(file: Path, about: dict[str, str], tensors: dict[str, Any]) -> Fitted:
    try:
        known = read_card(about.get("card", ""))
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
    if largest * len(right) > LARGEST:
        raise _damaged(file, "the product of its factors is too large for float32")
    return left, right


def _not_finite(left: NDArray[Any], status: NDArray[Any], rule: str) -> NDArray[np.int64]:
    """Return rows that are no numbers, but for masked ones that are refused when asked for."""
    empty = (status == FILLED) & (rule == "refuse")
    return np.flatnonzero(~np.isfinite(left).all(axis=1) & ~empty)


def _damaged(file: Path, found: str) -> EncodingError:
    return EncodingError(f"{file} is no whole fitted encoding ({found}); fit it again.")
