"""Reading back the fitted encoding that a survey wrote (`encoding.safetensors`).

The file holds `vectors` (positions, dimension), `positions` (positions, axes) and, in its header, a
card: which way of fitting, its rank, what it minimises. Masked positions have no row, so row i is
not position i; that is why such a file is no plain table. Nothing of it is believed unchecked.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.encodings.fitted import CARDS, Fitted
from gnomon.encodings.table import checked_table
from gnomon.errors import EncodingError

MEMBERS = {"vectors", "positions"}


def open_fitted(file: Path) -> Fitted | None:
    """Return the fitted encoding in a `.safetensors` file, or None where it holds something else.

    A file that can not be opened is also None: who reads it as a table says why.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(os.fspath(file), framework="np") as tensors:
            about = (tensors.metadata() or {}).get("card")
            if about is None or set(tensors.keys()) != MEMBERS:
                return None
            vectors, positions = (tensors.get_tensor(name) for name in ("vectors", "positions"))
    except (OSError, SafetensorError, TypeError):
        return None
    return _checked(file, vectors, positions, about)


def _checked(file: Path, vectors: Any, positions: Any, about: str) -> Fitted:
    table = checked_table(vectors, f"{file}:vectors")
    try:
        card = json.loads(about)
        family, minimises = str(card["name"]), str(card["minimises"])
        rank = int(card["parameters"]["rank"])
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(file, "its card can not be read") from error
    if family not in CARDS:
        raise _damaged(file, f"its card names {family!r}, which is no way of fitting")
    if not 1 <= rank <= table.shape[1] or table[:, rank:].any():
        raise _damaged(file, f"its card says rank {rank}, and its vectors do not keep to that")
    if positions.ndim != 2 or len(positions) != len(table) or positions.dtype.kind not in "iu":
        raise _damaged(file, f"positions of shape {positions.shape} for {len(table)} vectors")
    return Fitted(
        axes=int(positions.shape[1]),
        family=family,
        minimises=minimises,
        dimension=int(table.shape[1]),
        rank=rank,
        factored=family == "mds-low-rank",
        left=np.ascontiguousarray(table[:, :rank]),
        positions=positions.astype(np.int64),
    )


def _damaged(file: Path, found: str) -> EncodingError:
    return EncodingError(f"{file} is no whole fitted encoding ({found}); write it again.")
