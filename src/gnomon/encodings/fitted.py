"""Encodings fitted to a geometry: vectors whose distances are those of the corpus.

*classical*: P = V_d Lambda_d^(1/2) from the centred Gram matrix, which minimises strain
||B - P P^T||_F [torgerson1952]; exact when d reaches the rank of B. *smacof*: minimises raw stress
itself from that start [deleeuw1977]. With a rank r < d the vectors are kept factored, P = U W, U of
shape (n, r) and W = [I 0] of shape (r, d): r (n + d) numbers instead of n d
[cirrincione2026 rem. 8].

A fitted encoding knows the positions it was fitted at and no others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings import checks
from gnomon.encodings.base import Encoding
from gnomon.encodings.card import Card, in_words
from gnomon.encodings.positions import Array, whole_coordinates
from gnomon.errors import EncodingError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _card(name: str, formula: str, source: str, verified: tuple[str, ...]) -> Card:
    return Card(
        name=name,
        family="fitted",
        kind=("vectors",),
        formula=formula,
        source=source,
        level=in_words("L6"),
        relative=False,
        verified_against=verified,
    )


CARDS = {
    "mds": _card(
        "mds",
        "P = V_d Lambda_d^(1/2), B = V Lambda V^T",
        "torgerson1952",
        ("scikit-learn ClassicalMDS", "scikit-bio pcoa"),
    ),
    "mds-low-rank": _card(
        "mds-low-rank",
        "P = U W, U = V_r Lambda_r^(1/2), W = [I 0]",
        "cirrincione2026",
        ("classical MDS of the same rank",),
    ),
    "smacof": _card(
        "smacof",
        "P minimises sum (|p_i - p_j| - h_ij)^2, from classical MDS",
        "deleeuw1977",
        ("scikit-learn MDS",),
    ),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted(Encoding):
    """Vectors U W at the positions they were fitted at."""

    kinds: ClassVar[tuple[str, ...]] = ("vectors",)
    family: str
    minimises: str
    dimension: int
    rank: int
    factored: bool
    left: NDArray[np.float64] = field(repr=False)
    positions: NDArray[np.int64] = field(repr=False)

    @property
    def card(self) -> Card:
        """Return the card of this way of fitting."""
        return CARDS[self.family]

    @property
    def parameters(self) -> dict[str, Any]:
        """Return dimension, rank, what was minimised, and how many numbers are stored."""
        return {
            "dimension": self.dimension,
            "rank": self.rank,
            "minimises": self.minimises,
            "positions": len(self.left),
            "stored": self.stored,
        }

    @property
    def right(self) -> NDArray[np.float64]:
        """Return W = [I 0], shape (rank, dimension)."""
        return np.eye(self.rank, self.dimension)

    @property
    def stored(self) -> int:
        """Return how many numbers this encoding takes: r (n + d) factored, n d otherwise."""
        rows = len(self.left)
        return self.rank * (rows + self.dimension) if self.factored else rows * self.dimension

    def vectors(self, positions: Array) -> NDArray[np.float64]:
        """Return the fitted vectors at these positions, shape (..., dimension)."""
        wanted = whole_coordinates(positions, self.axes, what="a fitted encoding")
        rows = self._rows(wanted.reshape(-1, self.axes))
        made = self.left[rows] @ self.right
        return made.reshape(*wanted.shape[:-1], self.dimension)

    def _rows(self, wanted: NDArray[np.int64]) -> list[int]:
        known = {tuple(position): row for row, position in enumerate(self.positions.tolist())}
        rows = [known.get(tuple(position), -1) for position in wanted.tolist()]
        if -1 in rows:
            missing = ", ".join(map(str, wanted[rows.index(-1)]))
            last = ", ".join(map(str, self.positions[-1]))
            raise EncodingError(
                f"Position {missing} was not fitted: {self.name} knows {len(self.left)} positions, "
                f"the last being {last}; ask for those, or fit at a greater length."
            )
        return rows


def fit(
    geometry: Any, *, method: str = "classical", dimension: int, rank: int | None = None
) -> Fitted:
    """Return the encoding of `dimension` coordinates whose distances fit those of a geometry.

    `geometry` is a result of the geometry room, or a square array of distances. With `rank`, the
    vectors span only that many directions and are stored factored.
    """
    from gnomon.geometry.mds import METHODS, scale

    checks.one_of("method", method, METHODS)
    checks.whole("dimension", dimension, least=1)
    kept = dimension if rank is None else rank
    checks.whole("rank", kept, least=1)
    if kept > dimension:
        raise EncodingError(f"rank is {kept} and dimension {dimension}; pass a rank up to it.")
    positions = _positions(geometry)
    kept = min(kept, max(len(positions) - 1, 1))  # a centred Gram matrix has no more directions
    coordinates = scale(geometry, method, dimension=kept)
    low = rank is not None and method == "classical"
    return Fitted(
        axes=positions.shape[1],
        family="mds-low-rank" if low else {"classical": "mds"}.get(method, method),
        minimises=str(coordinates.minimises),
        dimension=dimension,
        rank=kept,
        factored=rank is not None,
        left=np.asarray(coordinates.vectors, dtype=np.float64),
        positions=positions,
    )


def _positions(geometry: Any) -> NDArray[np.int64]:
    """Return where the rows of a geometry, or of an array of distances, stand: (rows, axes)."""
    if hasattr(geometry, "distances"):
        coordinates = np.asarray(geometry.coordinates)
        axes = coordinates.shape[1]
        given = coordinates if axes > 1 else coordinates[:, 0]
        return whole_coordinates(given, axes, what="a fitted encoding")
    shape = np.shape(geometry)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise EncodingError(f"The distances have shape {shape}; pass a square array or a geometry.")
    return np.arange(shape[0])[:, None]
