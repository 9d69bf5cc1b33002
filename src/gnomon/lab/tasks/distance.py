"""Trigger distance: how far is b behind a?

    tokens   . . a . . . b . .        a at s, b at s + d, every other token a filler
    target   3                        class d - 1, here of d = 4

d is uniform on 1..D and s uniform on 0..n-D-1, independent of d, so that the place of a says
nothing. Fillers are never triggers and there is exactly one of each: the ceiling is 1, and the bag
of tokens is independent of d: the best order-blind answer is right 1 / D of the time. The task is
that of [gu2025] without its extra triggers, which put the ceiling of the published one at 97.5 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gnomon.lab.ceilings import Ceiling
from gnomon.lab.tasks.base import Batch, Bools, Drawn, Rng, check_whole
from gnomon.lab.tasks.places import put, whole_below

FIRST, SECOND, FILLERS_FROM = 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class Distance(Drawn):
    """Name the distance from a to b.

    >>> rows = Distance(length=8, distances=4).batch(np.random.default_rng(0), 100)
    >>> places = (rows.tokens == SECOND).argmax(1) - (rows.tokens == FIRST).argmax(1)
    >>> bool((places == rows.targets + 1).all())
    True
    """

    name: ClassVar[str] = "distance"

    distances: int = 16
    fillers: int = 29

    def __post_init__(self) -> None:
        """Check the parameters, then the lengths that they allow."""
        check_whole(self.name, "distances", self.distances, least=2)
        check_whole(self.name, "fillers", self.fillers, least=1)
        super().__post_init__()

    @property
    def vocabulary(self) -> int:
        """Padding, two triggers, fillers."""
        return FILLERS_FROM + self.fillers

    @property
    def classes(self) -> int:
        """One for every distance."""
        return self.distances

    @property
    def least_length(self) -> int:
        """The largest distance fits."""
        return self.distances + 1

    def ceiling(self) -> Ceiling:
        """Everything is told by order, and nothing by the bag."""
        guess = 1.0 / self.distances
        return Ceiling(measure="accuracy", value=1.0, prior=guess, constant=guess)

    def draw(self, rng: Rng, mask: Bools) -> Batch:
        """Draw distance and start independently of each other."""
        size, width = mask.shape
        distance = rng.integers(1, self.distances + 1, mask.shape[:1])
        start = whole_below(rng, mask.sum(axis=1) - self.distances)
        tokens = rng.integers(FILLERS_FROM, self.vocabulary, (size, width))
        slots = np.stack([start, start + distance], axis=1)
        triggers = np.broadcast_to([FIRST, SECOND], (size, 2))
        return Batch(tokens=put(tokens, slots, triggers), targets=distance - 1, mask=mask)
