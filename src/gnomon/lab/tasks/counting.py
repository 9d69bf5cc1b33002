"""Trigger counting: how many tokens are triggers?

    tokens   . A . B A . . C          A, B, C any of the trigger types, dots fillers
    target   4                        class = count

The count is uniform on 0..m, where m is the shortest length of the task, so that length says
nothing. Order says nothing either: the bag of tokens decides, and an encoding can only be in the
way. It is the control of [gu2025], with its count of 0 kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gnomon.lab.ceilings import Ceiling
from gnomon.lab.tasks.base import Batch, Bools, Drawn, Rng, check_whole
from gnomon.lab.tasks.places import shuffled_slots


@dataclass(frozen=True, kw_only=True)
class Counting(Drawn):
    """Count the triggers.

    >>> task = Counting(length=6, triggers=2)
    >>> rows = task.batch(np.random.default_rng(0), 50)
    >>> bool((((rows.tokens >= 1) & (rows.tokens <= 2)).sum(1) == rows.targets).all())
    True
    """

    name: ClassVar[str] = "counting"

    triggers: int = 8
    fillers: int = 23

    def __post_init__(self) -> None:
        """Check the parameters, then the lengths."""
        check_whole(self.name, "triggers", self.triggers, least=1)
        check_whole(self.name, "fillers", self.fillers, least=1)
        super().__post_init__()

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
        rank = np.argsort(shuffled_slots(rng, mask), axis=1)
        triggers = rng.integers(1, 1 + self.triggers, mask.shape)
        fillers = rng.integers(1 + self.triggers, self.vocabulary, mask.shape)
        tokens = np.where(rank < count[:, None], triggers, fillers)
        return Batch(tokens=tokens, targets=count, mask=mask)
