"""Multi-query recall: which value was told with this key?

    tokens   . c 3 . a 1 b 3 | a c      pairs key, value; dots fillers; then queries
    targets  - - - - - - - - | 1 3      class = value, at the queries only

Keys of a row are distinct, values drawn independently, and the queries are different keys of the
row in random order. Pairs stand at random places before the queries. An order-blind observer knows
the values told and names the commonest (`gnomon.lab.ceilings`). The task is that of [arora2023] at
a size that a small model learns: two layers with RoPE bind 4 keys to 4 values within 250 steps of
32 rows, and 8 keys to 8 values not within 800 (one seed each).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gnomon.errors import LabError
from gnomon.lab.ceilings import Ceiling, commonest_share
from gnomon.lab.tasks.base import Batch, Bools, Drawn, Ints, Rng, check_whole

FILLER = 1
KEYS_FROM = 2


@dataclass(frozen=True, kw_only=True)
class Recall(Drawn):
    """Name the value of every queried key.

    >>> task = Recall(length=8, pairs=2, queries=2)
    >>> rows = task.batch(np.random.default_rng(0), 1)
    >>> row, told = rows.tokens[0].tolist(), rows.targets[0].tolist()
    >>> [row[row.index(key) + 1] - task.values_from for key in row[-2:]] == told[-2:]
    True
    """

    name: ClassVar[str] = "recall"
    output: ClassVar[str] = "tokens"

    length: int = 16
    pairs: int = 4
    queries: int = 4
    keys: int = 4
    choices: int = 4
    """How many values there are."""

    def __post_init__(self) -> None:
        """Check the parameters, then the lengths that they allow."""
        for parameter, least in (("pairs", 1), ("queries", 1), ("keys", 1), ("choices", 2)):
            check_whole(self.name, parameter, getattr(self, parameter), least=least)
        for fewer, more in (("queries", "pairs"), ("pairs", "keys")):
            if getattr(self, fewer) > getattr(self, more):
                raise LabError(
                    f"task recall: {getattr(self, fewer)} {fewer} need as many {more}, and there "
                    f"are {getattr(self, more)}; make {fewer} smaller."
                )
        super().__post_init__()

    @property
    def values_from(self) -> int:
        """The token of the first value."""
        return KEYS_FROM + self.keys

    @property
    def vocabulary(self) -> int:
        """Padding, the filler, keys, values."""
        return self.values_from + self.choices

    @property
    def classes(self) -> int:
        """One for every value."""
        return self.choices

    @property
    def least_length(self) -> int:
        """All pairs and queries fit."""
        return 2 * self.pairs + self.queries

    def ceiling(self) -> Ceiling:
        """The pairs tell everything; the bag tells which values are common."""
        return Ceiling(
            measure="accuracy",
            value=1.0,
            prior=commonest_share(self.pairs, self.choices),
            constant=1.0 / self.choices,
        )

    def draw(self, rng: Rng, mask: Bools) -> Batch:
        """Draw pairs, their places, and the order of the queries."""
        size, width = mask.shape
        rows = np.arange(size)[:, None]
        keys = _distinct(rng, (size, self.keys))[:, : self.pairs]
        values = rng.integers(0, self.choices, (size, self.pairs))
        lengths = mask.sum(axis=1)
        slots = self._slots(rng, lengths)
        asked = _distinct(rng, (size, self.pairs))[:, : self.queries]
        ends = lengths[:, None] - self.queries + np.arange(self.queries)
        tokens = np.full((size, width), FILLER, np.int64)
        tokens[rows, slots] = KEYS_FROM + keys
        tokens[rows, slots + 1] = self.values_from + values
        tokens[rows, ends] = KEYS_FROM + keys[rows, asked]
        targets = np.zeros((size, width), np.int64)
        targets[rows, ends] = values[rows, asked]
        weights = np.zeros((size, width), np.float32)
        weights[rows, ends] = 1.0
        return Batch(tokens=tokens, targets=targets, mask=mask, weights=weights)

    def _slots(self, rng: Rng, lengths: Ints) -> Ints:
        """Return the slots of the keys, ascending, every arrangement equally likely.

        p pairs and f fillers are p + f things in a row; the p-th smallest of a random choice of p
        of them is moved by the second slots of the pairs before it.
        """
        things = lengths - self.queries - self.pairs
        inside = np.arange(things.max()) < things[:, None]
        order = np.argsort(np.where(inside, rng.random(inside.shape), 2.0), axis=1)
        return np.sort(order[:, : self.pairs], axis=1) + np.arange(self.pairs)


def _distinct(rng: Rng, shape: tuple[int, int]) -> Ints:
    """Return a random permutation in every row."""
    return np.argsort(rng.random(shape), axis=1)
