"""First and last occurrence: which of the marked tokens comes first, or last?

    tokens   . . C . A . . B          every marker once, at random places; dots fillers
    target   C (first), B (last)      class = marker

Every row holds the same markers, so the bag of tokens says nothing and an order-blind observer is
right 1 / m of the time. A model needs a direction (a symmetric bias fails, as in `order`) but no
distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gnomon.lab.ceilings import Ceiling
from gnomon.lab.tasks.base import Batch, Bools, Drawn, Ints, Rng, check_whole
from gnomon.lab.tasks.places import put, shuffled_slots


@dataclass(frozen=True, kw_only=True)
class FirstOccurrence(Drawn):
    """Name the marker that comes first.

    >>> rows = FirstOccurrence(length=6, markers=3).batch(np.random.default_rng(0), 1)
    >>> marked = [token for token in rows.tokens[0].tolist() if 1 <= token <= 3]
    >>> marked[0] == int(rows.targets[0]) + 1
    True
    """

    name: ClassVar[str] = "first-occurrence"

    markers: int = 8
    fillers: int = 23

    def __post_init__(self) -> None:
        """Check the parameters, then the lengths."""
        check_whole(self.name, "markers", self.markers, least=2)
        check_whole(self.name, "fillers", self.fillers, least=1)
        super().__post_init__()

    @property
    def vocabulary(self) -> int:
        """Padding, markers, fillers."""
        return 1 + self.markers + self.fillers

    @property
    def classes(self) -> int:
        """One for every marker."""
        return self.markers

    @property
    def least_length(self) -> int:
        """Every marker fits."""
        return self.markers

    def ceiling(self) -> Ceiling:
        """Everything is told by order, and nothing by the bag."""
        guess = 1.0 / self.markers
        return Ceiling(measure="accuracy", value=1.0, prior=guess, constant=guess)

    def chosen(self, slots: Ints) -> Ints:
        """Return the marker asked for, given the slots (rows, markers) of all."""
        return slots.argmin(axis=1)

    def draw(self, rng: Rng, mask: Bools) -> Batch:
        """Draw a place for every marker."""
        slots = shuffled_slots(rng, mask)[:, : self.markers]
        tokens = rng.integers(1 + self.markers, self.vocabulary, mask.shape)
        markers = np.broadcast_to(np.arange(1, 1 + self.markers), slots.shape)
        return Batch(tokens=put(tokens, slots, markers), targets=self.chosen(slots), mask=mask)


@dataclass(frozen=True, kw_only=True)
class LastOccurrence(FirstOccurrence):
    """Name the marker that comes last.

    >>> rows = LastOccurrence(length=6, markers=3).batch(np.random.default_rng(0), 1)
    >>> marked = [token for token in rows.tokens[0].tolist() if 1 <= token <= 3]
    >>> marked[-1] == int(rows.targets[0]) + 1
    True
    """

    name: ClassVar[str] = "last-occurrence"

    def chosen(self, slots: Ints) -> Ints:
        """Return the marker asked for, given the slots (rows, markers) of all."""
        return slots.argmax(axis=1)
