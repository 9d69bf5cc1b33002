"""Tasks of marked tokens among fillers: order, distance, number, first and last occurrence.

Marks stand at random places, fillers are never marks, and what the bag of tokens tells is known
exactly: nothing in order, distance and occurrence, everything in counting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gnomon.lab.tasks.base import (
    Batch,
    Bools,
    Ceiling,
    Drawn,
    Ints,
    Rng,
    put_tokens,
    shuffle_slots,
)

FIRST, SECOND, FILLERS_FROM = 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class Order(Drawn):
    """Say whether a comes before b.

    Order: does a come before b?

        tokens   . b . . . a . .          one a and one b at random places, the rest fillers
        target   0                        1 where a comes first

    Both answers are equally likely and independent of the bag of tokens, so an order-blind observer
    is right half of the time. So is every model that cannot tell a row from its reverse: one with
    a symmetric bias and no other position, read out by its mean.

    >>> rows = Order(length=5).batch(np.random.default_rng(0), 50)
    >>> before = (rows.tokens == FIRST).argmax(1) < (rows.tokens == SECOND).argmax(1)
    >>> bool((before == rows.targets).all())
    True
    """

    name: ClassVar[str] = "order"
    least: ClassVar[Mapping[str, int]] = {"fillers": 1}

    fillers: int = 29

    @property
    def vocabulary(self) -> int:
        """Padding, two triggers, fillers."""
        return FILLERS_FROM + self.fillers

    @property
    def classes(self) -> int:
        """Before, or not."""
        return 2

    @property
    def least_length(self) -> int:
        """Both triggers fit."""
        return 2

    def ceiling(self) -> Ceiling:
        """Everything is told by order, and nothing by the bag."""
        return Ceiling(measure="accuracy", value=1.0, prior=0.5, constant=0.5)

    def draw(self, rng: Rng, mask: Bools) -> Batch:
        """Draw two places; the first of them gets a."""
        slots = shuffle_slots(rng, mask)[:, :2]
        tokens = rng.integers(FILLERS_FROM, self.vocabulary, mask.shape)
        tokens = put_tokens(tokens, slots, np.broadcast_to([FIRST, SECOND], slots.shape))
        targets = (slots[:, 0] < slots[:, 1]).astype(np.int64)
        return Batch(tokens=tokens, targets=targets, mask=mask)


@dataclass(frozen=True, kw_only=True)
class Distance(Drawn):
    """Name the distance from a to b.

    Trigger distance: how far is b behind a?

        tokens   . . a . . . b . .        a at s, b at s + d, every other token a filler
        target   3                        class d - 1, here of d = 4

    d is uniform on 1..D and s uniform on 0..n-D-1, independent of d, so that the place of a says
    nothing. Fillers are never triggers and there is exactly one of each: the ceiling is 1, and the
    bag of tokens is independent of d: the best order-blind answer is right 1 / D of the time. The
    task is that of [gu2025] without its extra triggers, which put the ceiling of the published one
    at 97.5 %.

    >>> rows = Distance(length=8, distances=4).batch(np.random.default_rng(0), 100)
    >>> places = (rows.tokens == SECOND).argmax(1) - (rows.tokens == FIRST).argmax(1)
    >>> bool((places == rows.targets + 1).all())
    True
    """

    name: ClassVar[str] = "distance"
    least: ClassVar[Mapping[str, int]] = {"distances": 2, "fillers": 1}

    distances: int = 16
    fillers: int = 29

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
        start = rng.integers(0, mask.sum(axis=1) - self.distances)
        tokens = rng.integers(FILLERS_FROM, self.vocabulary, (size, width))
        slots = np.stack([start, start + distance], axis=1)
        triggers = np.broadcast_to([FIRST, SECOND], (size, 2))
        return Batch(tokens=put_tokens(tokens, slots, triggers), targets=distance - 1, mask=mask)


@dataclass(frozen=True, kw_only=True)
class Counting(Drawn):
    """Count the triggers.

    Trigger counting: how many tokens are triggers?

        tokens   . A . B A . . C          A, B, C any of the trigger types, dots fillers
        target   4                        class = count

    The count is uniform on 0..m, where m is the shortest length of the task, so that length says
    nothing. Order says nothing either: the bag of tokens decides, and an encoding can only be in
    the way. It is the control of [gu2025], with its count of 0 kept.

    >>> task = Counting(length=6, triggers=2)
    >>> rows = task.batch(np.random.default_rng(0), 50)
    >>> bool((((rows.tokens >= 1) & (rows.tokens <= 2)).sum(1) == rows.targets).all())
    True
    """

    name: ClassVar[str] = "counting"
    least: ClassVar[Mapping[str, int]] = {"triggers": 1, "fillers": 1}

    triggers: int = 8
    fillers: int = 23

    @property
    def largest(self) -> int:
        """The largest count."""
        return self.length if self.shortest is None else self.shortest

    @property
    def vocabulary(self) -> int:
        """Padding, triggers, fillers."""
        return 1 + self.triggers + self.fillers

    @property
    def classes(self) -> int:
        """One for every count, 0 included."""
        return self.largest + 1

    def ceiling(self) -> Ceiling:
        """The bag of tokens tells everything."""
        constant = 1.0 / self.classes
        return Ceiling(
            measure="accuracy",
            value=1.0,
            prior=1.0,
            constant=constant,
            note="a control: the bag of tokens decides, so an order-blind observer can be right",
        )

    def draw(self, rng: Rng, mask: Bools) -> Batch:
        """Draw the count first, then the places of the triggers."""
        # At a test length below the task's own only counts that fit are drawn.
        count = rng.integers(0, np.minimum(mask.sum(axis=1), self.largest) + 1)
        rank = np.argsort(shuffle_slots(rng, mask), axis=1)
        triggers = rng.integers(1, 1 + self.triggers, mask.shape)
        fillers = rng.integers(1 + self.triggers, self.vocabulary, mask.shape)
        tokens = np.where(rank < count[:, None], triggers, fillers)
        return Batch(tokens=tokens, targets=count, mask=mask)


@dataclass(frozen=True, kw_only=True)
class FirstOccurrence(Drawn):
    """Name the marker that comes first.

    First and last occurrence: which of the marked tokens comes first, or last?

        tokens   . . C . A . . B          every marker once, at random places; dots fillers
        target   C (first), B (last)      class = marker

    Every row holds the same markers, so the bag of tokens says nothing and an order-blind observer
    is right 1 / m of the time. A model needs a direction (a symmetric bias fails, as in `order`)
    but no distances.

    >>> rows = FirstOccurrence(length=6, markers=3).batch(np.random.default_rng(0), 1)
    >>> marked = [token for token in rows.tokens[0].tolist() if 1 <= token <= 3]
    >>> marked[0] == int(rows.targets[0]) + 1
    True
    """

    name: ClassVar[str] = "first-occurrence"
    least: ClassVar[Mapping[str, int]] = {"markers": 2, "fillers": 1}

    markers: int = 8
    fillers: int = 23

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
        slots = shuffle_slots(rng, mask)[:, : self.markers]
        tokens = rng.integers(1 + self.markers, self.vocabulary, mask.shape)
        markers = np.broadcast_to(np.arange(1, 1 + self.markers), slots.shape)
        return Batch(
            tokens=put_tokens(tokens, slots, markers), targets=self.chosen(slots), mask=mask
        )


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
