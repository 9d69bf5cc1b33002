"""Numbers of a page: each array once, in base64, with what is needed to read it again.

A symmetric matrix travels as its upper triangle with the diagonal, row by row, in 16-bit steps:
value = low + code * step, code 65535 for what is not there, so that an error is at most step / 2.
A vector travels as float64, bit for bit. Everything stands in one JSON text inside a script element
that is not run; no text of a stranger can end that element, since "<" is never written.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.report.figure import Figure, Symmetric, Triangles

ABSENT = 65535
"""The code of an entry that has no value."""
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_LONG = 32
"""Vectors of numbers longer than this are packed; shorter ones stay legible."""


class Packer:
    """Collects arrays; a matrix that several figures or a table use is stored once."""

    def __init__(self) -> None:
        self.arrays: list[dict[str, Any]] = []
        self._known: dict[tuple[str, bytes], int] = {}

    def figure(self, figure: Figure, *, file: str) -> dict[str, Any]:
        """Return a figure as plain values, its arrays as references."""
        return {
            "file": file,
            "height": figure.height,
            "data": self.value(figure.data),
            "layout": self.value(figure.layout),
            "narrow": self.value(figure.narrow),
            "table": self._table(figure.table),
        }

    def value(self, value: Any) -> Any:
        """Return a value that JSON can hold; what is undefined becomes null."""
        if isinstance(value, Symmetric):
            return self._stored(np.asarray(value.matrix, np.float64), pack_symmetric)
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(np.asarray(value))
        if isinstance(value, Mapping):
            return {str(key): self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return value

    def _array(self, array: NDArray[Any]) -> Any:
        if array.ndim == 1 and array.dtype.kind in "fiu" and len(array) > _LONG:
            return self._stored(array.astype("<f8"), pack_vector)
        return self.value(array.tolist())

    def _table(self, table: Any) -> Any:
        if isinstance(table, Triangles):
            return {
                "positions": self.value(list(table.positions)),
                "matrices": [[k, self.value(Symmetric(m))] for k, m in table.matrices.items()],
            }
        return {"columns": [[name, self.value(column)] for name, column in (table or {}).items()]}

    def _stored(self, array: NDArray[np.float64], pack: Any) -> dict[str, int]:
        key = (pack.__name__, np.ascontiguousarray(array).tobytes())
        if key not in self._known:
            self._known[key] = len(self.arrays)
            self.arrays.append(pack(array))
        return {"$array": self._known[key]}


def pack_vector(vector: NDArray[np.float64]) -> dict[str, Any]:
    """Return a vector as float64 in base64.

    >>> pack_vector(np.array([1.0]))
    {'kind': 'vector', 'bytes': 'AAAAAAAA8D8='}
    """
    return {"kind": "vector", "bytes": _base64(vector.astype("<f8").tobytes())}


def pack_symmetric(matrix: NDArray[np.float64]) -> dict[str, Any]:
    """Return the upper triangle of a symmetric matrix in 16-bit steps between its extremes."""
    upper = matrix[np.triu_indices(len(matrix))]
    there = np.isfinite(upper)
    low, high = (upper[there].min(), upper[there].max()) if there.any() else (0.0, 0.0)
    step = float(high - low) / (ABSENT - 1)
    codes = np.full(len(upper), ABSENT, "<u2")
    codes[there] = np.rint((upper[there] - low) / step) if step > 0 else 0
    return {
        "kind": "symmetric",
        "n": len(matrix),
        "low": float(low),
        "step": step,
        "bytes": _base64(codes.tobytes()),
    }


def script_json(value: Any) -> str:
    r"""Return JSON that may stand inside a script element, whatever its strings hold.

    >>> script_json("</script><!--")
    '"\\u003c/script\\u003e\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
