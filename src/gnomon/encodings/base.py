"""What every encoding offers: vectors, a transform, or a bias, at explicit positions.

An encoding is a frozen definition with its hyper-parameters. Its *kinds* say what it can do:

* vectors(i) is added to the embedding at position i;
* transform(q, k) acts on queries and keys, so that logits see positions;
* bias(i, j) is added to the logit of query i and key j.

How it is given distances between positions is its *lift* (`gnomon.encodings.lifts`). An encoding
whose kernel depends on the lag alone says so by `lag_distances`, which makes every lift O(n d).
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import EncodingError
from gnomon.results import html_fields, plain

if TYPE_CHECKING:
    from gnomon.encodings.card import Card
    from gnomon.encodings.positions import Array

LagDistances = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""From lags (..., axes) to distances (...,)."""
DRAWN = 512
"""Positions that a picture shows at most."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Encoding(ABC):
    """Base of all encodings; a subclass is a frozen dataclass whose fields are its parameters."""

    kinds: ClassVar[tuple[str, ...]] = ()
    on_grids: ClassVar[bool] = True
    """Whether it can be made for positions with several axes."""
    axes: int = 1

    @property
    @abstractmethod
    def card(self) -> Card:
        """Say what this encoding is, who defined it and what it was verified against."""

    @property
    def name(self) -> str:
        """Return the name under which the registry knows this encoding."""
        return self.card.name

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as plain values."""
        shown = (field for field in dataclasses.fields(self) if field.repr)
        return {field.name: plain(getattr(self, field.name)) for field in shown}

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name the ways in which this encoding can be given distances."""
        names = ["kernel"] if self.kinds != ("transform",) else []
        names += ["vectors"] if "vectors" in self.kinds else []
        names += ["probe"] if "transform" in self.kinds else []
        return tuple(names)

    def vectors(self, positions: Array) -> Array:
        """Return one vector per position, shape (..., dimension)."""
        del positions
        raise self._lacks("vectors")

    def transform(
        self, q: Array, k: Array, positions_q: Array, positions_k: Array | None = None
    ) -> tuple[Array, Array]:
        """Return queries and keys (..., n, dimension) as seen from their positions."""
        del q, k, positions_q, positions_k
        raise self._lacks("transform of queries and keys")

    def bias(self, positions_q: Array, positions_k: Array | None = None) -> Array:
        """Return what is added to the logits, shape (heads, queries, keys)."""
        del positions_q, positions_k
        raise self._lacks("bias")

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the closed form from lag to distance under a lift, or None where there is none."""
        del lift, probe
        return None

    def plot(self) -> Any:
        """Return the distances between its positions (the first 64 where it has no end) drawn."""
        from gnomon.encodings.lifts import lift

        return lift(self, self._drawn_positions(), lift=self.lifts[0]).plot()

    def _drawn_positions(self) -> NDArray[np.int64]:
        """Return the positions that a picture shows: all rows there are, or 64 of them."""
        known = getattr(self, "values", None)
        shape = (64,) if self.axes == 1 else (8,) * self.axes
        shape = tuple(getattr(self, "shape", shape if known is None else (len(known),)))
        points = np.indices(shape).reshape(len(shape), -1).T
        left = getattr(self, "left", None)  # of fitted rows some may be refused: they are NaN
        points = points if left is None else points[np.isfinite(left).all(axis=1)]
        return points[:DRAWN, 0] if self.axes == 1 else points[:DRAWN]

    def _repr_html_(self) -> str:
        """Show what this encoding is, with its hyper-parameters."""
        card = self.card
        about = {"formula": card.formula, "level": card.level, "source": card.source}
        return html_fields(card.name, {**about, **self.parameters})

    def _lacks(self, wanted: str) -> EncodingError:
        return EncodingError(
            f"The encoding {self.name!r} has no {wanted}; it offers {' and '.join(self.kinds)}."
        )
