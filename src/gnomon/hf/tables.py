"""Vectors of an encoding in the rows of a model's table of positions.

The table stays the `nn.Embedding` that it was, under its own key, with other rows: those of the
encoding at positions 0, 1, 2, ..., cast last [wolf2020]. A model saved so opens without Gnomon and
computes the same. The rows from before are saved beside them, as `gnomon_before`, so that they can
be put back bit for bit. Rows before the first position, which models keep for padding, stay.

Vectors are fixed, unless they are a table that can be learned: then training moves its rows.
Functions that learn other numbers are computed anew in every step, in a module of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gnomon.encodings import Encoding, Fitted
from gnomon.errors import EncodingError
from gnomon.hf.places import (
    Table,
    Written,
    doubles,
    on_device_of,
    position_tables,
    rebuilt,
    written,
)
from gnomon.torch import layer, load

BEFORE = "gnomon_before"
COMPUTED = "gnomon"
_OLD, _FIRST = "_gnomon_old", "_gnomon_first"


def serves(encoding: Encoding) -> bool:
    """Whether an encoding can be rows: it has vectors, or leaves no trace."""
    return "vectors" in encoding.kinds or encoding.is_one_of("nope")


def check(model: Any, encoding: Encoding, *, learn: bool) -> None:
    """Refuse vectors of another dimension, and tables that are shorter than the context."""
    for table in position_tables(model):
        _rows_of(encoding, table)
        written(encoding, rows=table.rows)
        if learn and _is_computed(encoding) and type(table.module) is not nn.Embedding:
            raise EncodingError(
                f"The encoding {encoding.name!r} learns {', '.join(encoding.learnable)}, and the "
                f"table of this model ({type(table.module).__name__}) can hold rows alone; install "
                "it with learn=False."
            )


def _rows_of(encoding: Encoding, table: Table) -> np.ndarray[Any, Any]:
    """Return one row for each position of a table."""
    width = int(table.module.embedding_dim)
    if encoding.is_one_of("nope"):
        return np.zeros((table.rows, width))
    if encoding.axes != 1:
        raise EncodingError(
            f"The encoding {encoding.name!r} has {encoding.axes} axes, and the model counts its "
            "positions on one; make it with axes=1."
        )
    known = None if encoding.clamps else encoding.row_shape
    if known is not None and known[0] < table.rows:
        raise EncodingError(
            f"The encoding {encoding.name!r} has {known[0]} rows, and the model's context has "
            f"{table.rows} positions; make it with at least {table.rows} rows."
        )
    rows = _vectors(encoding, table.rows)
    if rows.shape[-1] != width:
        raise EncodingError(
            f"The encoding {encoding.name!r} has vectors of dimension {rows.shape[-1]}, and the "
            f"model adds vectors of dimension {width}; make it with dimension={width}."
        )
    return rows


def _vectors(encoding: Encoding, count: int) -> np.ndarray[Any, Any]:
    """Return vectors in float64, or those of a fitted table in the float32 that it ships."""
    if isinstance(encoding, Fitted):
        rows: np.ndarray[Any, Any] = load(encoding)(torch.arange(count)).detach().numpy()
        return rows
    return np.asarray(encoding.vectors(np.arange(count)))


def put(model: Any, encoding: Encoding, *, learn: bool) -> Written:
    """Set the rows of every table of a model, and return what its config is to say."""
    for table in position_tables(model):
        module, old = table.module, table.module.weight
        rows = torch.from_numpy(np.array(_rows_of(encoding, table))).to(old.device, old.dtype)
        weight = torch.cat([old.detach()[: table.first], rows])
        module.register_buffer(BEFORE, old.detach())
        module.__dict__[_OLD] = old
        module.weight = nn.Parameter(weight, requires_grad=learn and _is_table(encoding))
        if learn and _is_computed(encoding):
            _compute(table, encoding)
    return {**written(encoding, rows=position_tables(model)[0].rows), "learn": learn}


def prepare(model: Any, record: Mapping[str, Any]) -> None:
    """Give the tables of a model without weights room for what is saved beside their rows."""
    for table in position_tables(model):
        module = table.module
        module.register_buffer(BEFORE, torch.empty_like(module.weight))
        if record["learn"] and _is_computed(rebuilt(record)):
            _compute(table, rebuilt(record))


def finish(model: Any, record: Mapping[str, Any]) -> None:
    """Freeze what training is not to move, as it was when the model was saved."""
    for table in position_tables(model):
        moves = bool(record["learn"]) and _is_table(rebuilt(record))
        table.module.weight.requires_grad_(moves)


def take_out(model: Any) -> None:
    """Put back the rows from before: the same parameter, or the same numbers after loading."""
    for table in position_tables(model):
        module = table.module
        before: Tensor = getattr(module, BEFORE)
        old = module.__dict__.pop(_OLD, None)
        trained = True if old is None else old.requires_grad
        if old is None or old.device != before.device or old.dtype != before.dtype:
            old = nn.Parameter(before.clone(), requires_grad=trained)
        delattr(module, BEFORE)
        module.weight = old
        if hasattr(module, COMPUTED):
            delattr(module, COMPUTED)
            del module.__dict__["forward"], module.__dict__[_FIRST]


def _is_table(encoding: Encoding) -> bool:
    """Whether the rows themselves are what is learned."""
    return encoding.learnable == ("values",)


def _is_computed(encoding: Encoding) -> bool:
    """Whether vectors are functions of other learned numbers."""
    return bool(encoding.learnable) and not _is_table(encoding)


def _compute(table: Table, encoding: Encoding) -> None:
    """Let a table ask a module of the encoding, through which its numbers are trained."""
    module, weight = table.module, table.module.weight
    made = layer(encoding, kind="vectors", dtype=weight.dtype)
    setattr(module, COMPUTED, on_device_of(weight, made))
    module.__dict__[_FIRST] = table.first
    # no bound method, which could not be pickled
    module.__dict__["forward"] = partial(compute_vectors, module)


def compute_vectors(self: Any, positions: Tensor) -> Tensor:
    """Return vectors at positions; rows before the first position are those of the table."""
    first = self.__dict__[_FIRST]
    vectors: Tensor = getattr(self, COMPUTED)((positions - first).clamp(min=0))
    if first == 0:
        return vectors
    padding = functional.embedding(positions.clamp(max=first - 1), self.weight)
    return torch.where((positions < first)[..., None], padding, vectors)


def found(model: Any, record: Mapping[str, Any]) -> Encoding:
    """Return the encoding whose rows a model has at present."""
    table = position_tables(model)[0]
    if hasattr(table.module, COMPUTED):
        made: Encoding = getattr(table.module, COMPUTED).encoding
        return made
    if record["name"] != "learned":
        return rebuilt(record)
    rows = doubles(table.module.weight)[table.first :]
    parameters = {**record["parameters"], "rows": len(rows), "dimension": rows.shape[1]}
    return rebuilt({**record, "parameters": parameters}, values=rows)
