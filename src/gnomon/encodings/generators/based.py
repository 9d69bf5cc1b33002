"""Turns in another basis: R_i = P Rot_i P^T, P orthogonal and the same for queries and keys.

    q~ = Rot_i P^T q,   k~ = Rot_j P^T k,   q~.k~ = q^T P Rot_(j-i) P^T k

The outer P of R_i would cancel in every logit, so it is left out: one product with P for a vector
instead of two. Every set of commuting skew generators has this form [schenck2025 sec. 3].
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gnomon.encodings.arrays import beside_heads
from gnomon.encodings.base import LagDistances, Numbers
from gnomon.encodings.generated import of_head, of_turns, pair_columns
from gnomon.encodings.rotary.rope import Rotating, turn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Coordinates, Namespace
    from gnomon.groups import Commuting, Generator


@dataclass(frozen=True, kw_only=True, eq=False)
class Based(Rotating):
    """Base of rotary encodings that turn in a basis of their own."""

    @abstractmethod
    def basis_in(self, numbers: Numbers, like: Array, *, xp: Namespace) -> Array:
        """Return P (..., d, d), its columns the new coordinates, in the type of an array.

        That is the type of phases, float64 where there is: P is rounded once.
        """

    def turned(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors in the basis, each turned to its position."""
        self.check_vectors(x, side, numbers["frequencies"])
        cosine, sine = self.tables(beside_heads(coordinates, x), numbers, xp=xp)
        wide = xp.astype(x, xp.result_type(x.dtype, xp.float32))
        basis = xp.astype(self.basis_in(numbers, cosine, xp=xp), wide.dtype)
        moved = xp.matmul(wide, basis)
        return xp.astype(turn(moved, cosine, sine, layout=self.layout, xp=xp), x.dtype)

    def generator(self, head: int = 0) -> Generator | Commuting:
        """Return the turns of a head in its basis."""
        basis = of_head(self.basis_in(self.numbers, np.zeros(()), xp=np), head, 2)
        columns = pair_columns(self.dimension, layout=self.layout, first=0, rotated=self.rotated)
        return of_turns(of_head(self.frequencies, head, 2), basis @ columns)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the closed form of the kernel; a probe is carried, since its pairs are P's."""
        del probe
        return super().lag_distances(lift, None) if lift == "kernel" else None
