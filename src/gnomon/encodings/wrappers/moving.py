"""Positions that are moved first: an encoding `inner` acts where they come to stand.

What moves them is a clock that is learned (`clock`), or places that are drawn (`randomised`)
[ruoss2023].
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnomon.encodings.base import Encoding, Numbers

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Coordinates, Namespace


@dataclass(frozen=True, kw_only=True, eq=False)
class Moving(Encoding):
    """Base of wrappers that move positions."""

    inner: Any

    @abstractmethod
    def moved(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Coordinates:
        """Return where coordinates (..., 1) come to stand."""

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the inner vectors there."""
        return self.inner.vectors_at(self.moved(coordinates, numbers, xp=xp), numbers, xp=xp)

    def turned(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return queries or keys as the inner encoding turns them there."""
        at = self.moved(coordinates, numbers, xp=xp)
        return self.inner.turned(x, at, numbers, side=side, xp=xp)

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the inner bias between these places."""
        at_q, at_k = (self.moved(at, numbers, xp=xp) for at in (queries, keys))
        return self.inner.bias_between(at_q, at_k, numbers, xp=xp)

    def value_terms(
        self,
        weights: Array,
        queries: Coordinates,
        keys: Coordinates,
        numbers: Numbers,
        *,
        xp: Namespace,
    ) -> Array | None:
        """Return what the inner encoding adds to values there."""
        at_q, at_k = (self.moved(at, numbers, xp=xp) for at in (queries, keys))
        return self.inner.value_terms(weights, at_q, at_k, numbers, xp=xp)
