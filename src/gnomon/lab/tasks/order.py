"""Order: does a come before b?

    tokens   . b . . . a . .          one a and one b at random places, the rest fillers
    target   0                        1 where a comes first

Both answers are equally likely and independent of the bag of tokens, so an order-blind observer is
right half of the time. So is every model that can not tell a row from its reverse: one with a
symmetric bias and no other position, read out by its mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gnomon.lab.ceilings import Ceiling
from gnomon.lab.tasks.base import Batch, Bools, Drawn, Rng, check_whole
from gnomon.lab.tasks.places import put, shuffled_slots

FIRST, SECOND, FILLERS_FROM = 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class Order(Drawn):
    """Say whether a comes before b.

    >>> rows = Order(length=5).batch(np.random.default_rng(0), 50)
    >>> before = (rows.tokens == FIRST).argmax(1) < (rows.tokens == SECOND).argmax(1)
    >>> bool((before == rows.targets).all())
    True
    """

    name: ClassVar[str] = "order"

    fillers: int = 29

    def __post_init__(self) -> None:
        """Check the parameters, then the lengths."""
        check_whole(self.name, "fillers", self.fillers, least=1)
        super().__post_init__()

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
        slots = shuffled_slots(rng, mask)[:, :2]
        tokens = rng.integers(FILLERS_FROM, self.vocabulary, mask.shape)
        tokens = put(tokens, slots, np.broadcast_to([FIRST, SECOND], slots.shape))
        targets = (slots[:, 0] < slots[:, 1]).astype(np.int64)
        return Batch(tokens=tokens, targets=targets, mask=mask)
