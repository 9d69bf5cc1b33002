"""Which row of a table a position asks for, and what happens where there is none.

A fitted encoding is a table with one row for each position, in row-major order: the position
(c_1, ..., c_k) on axes of sizes (n_1, ..., n_k) has row (...(c_1 n_2 + c_2) n_3 + ...) + c_k. Past
its end a table *clamps* (every coordinate is brought to the nearest one there is) or *refuses*;
some rows may be refused as well, since nothing was measured there. These rules are the same in
NumPy, PyTorch and JAX, and say the same sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import EncodingError


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a table does with positions; it can be compared and hashed, so compilers may key on it.

    >>> Rules(name="mds", shape=(2, 3), past="clamp").rows([[1, 2], [5, 0]]).tolist()
    [5, 3]
    """

    name: str
    shape: tuple[int, ...]
    past: str
    """"clamp" or "refuse"."""
    refused: tuple[int, ...] = ()
    """Rows that nothing was measured for and that may not be asked for."""
    flat: bool = False
    """Whether positions of a grid are given as row numbers rather than (..., axes)."""

    @property
    def size(self) -> int:
        """Return the number of rows."""
        return prod(self.shape)

    @property
    def limits(self) -> tuple[int, ...]:
        """Return the sizes of the axes that positions are given on."""
        return (self.size,) if self.flat else self.shape

    def coordinates(self, positions: Any) -> Any:
        """Return positions of any array library as (..., axes)."""
        axes = len(self.limits)
        if axes == 1:
            return positions[..., None]
        if positions.ndim == 0 or positions.shape[-1] != axes:
            raise EncodingError(
                f"The positions have shape {tuple(positions.shape)}, but this encoding has {axes} "
                f"axes; pass positions of shape (..., {axes}), or row numbers with flat=True."
            )
        return positions

    def rows(self, positions: Any) -> NDArray[np.int64]:
        """Return the rows of whole positions, or say which one has none."""
        coordinates = self.coordinates(np.asarray(positions).astype(np.int64))
        last = np.array(self.limits) - 1
        outside = coordinates < 0
        if self.past == "refuse":
            outside = outside | (coordinates > last)
        if outside.any():
            raise self._ends(coordinates[outside.any(axis=-1)][0])
        inside = np.minimum(coordinates, last)
        rows = np.ravel_multi_index(tuple(np.moveaxis(inside, -1, 0)), self.limits)
        found: NDArray[np.int64] = np.asarray(rows, dtype=np.int64)
        if self.refused:
            self._check_measured(found)
        return found

    def _ends(self, position: NDArray[Any]) -> EncodingError:
        last = _where(np.array(self.limits) - 1)
        if (position < 0).any():
            return EncodingError(
                f"Position {_where(position)} is negative; this encoding has positions "
                f"{_where(np.zeros_like(position))} to {last}: ask for those."
            )
        advice = "" if len(self.shape) > 1 else " or --beyond interpolate"
        return EncodingError(
            f"Position {_where(position)} is past the end of this encoding, whose last position is "
            f"{last}; ask for positions within it, or fit again with --beyond clamp{advice}."
        )

    def _check_measured(self, rows: NDArray[np.int64]) -> None:
        missing = rows[np.isin(rows, self.refused)]
        if missing.size:
            position = np.array(np.unravel_index(missing.flat[0], self.limits))
            raise EncodingError(
                f"Position {_where(position)} was masked, and this encoding refuses those; ask for "
                "others, or fit again with --masked continue or --masked interpolate."
            )


def _where(position: NDArray[Any]) -> str:
    return ", ".join(map(str, position.tolist()))
