"""Lag copy and reversal: repeat the token that stands k slots back, or in the mirrored slot.

    lag 2      tokens   d a c b c        reversal   tokens   d a c b
               targets  - - d a c                   targets  b c a d

Tokens are drawn independently from V symbols. Where there is no source (the first k slots, the
middle of an odd row, which is its own mirror) the answer does not count. The source of an answer
is one of the other n - 1 tokens, and an order-blind observer can not tell which: the best answer is
the commonest of them (`gnomon.lab.ceilings`).

Lag copy is a function of lag, so it suits relative encodings; reversal is one of absolute places:
together they are in balance.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gnomon.lab.ceilings import Ceiling, commonest_share
from gnomon.lab.tasks.base import Batch, Bools, Drawn, Ints, Rng, check_whole


@dataclass(frozen=True, kw_only=True)
class Copying(Drawn):
    """Base of tasks in which every answer is a token of another slot."""

    output: ClassVar[str] = "tokens"

    symbols: int = 31

    def __post_init__(self) -> None:
        """Check the parameters, then the lengths."""
        check_whole(self.name, "symbols", self.symbols, least=2)
        super().__post_init__()

    @property
    def vocabulary(self) -> int:
        """Padding and symbols."""
        return 1 + self.symbols

    @property
    def classes(self) -> int:
        """One for every symbol."""
        return self.symbols

    @property
    def least_length(self) -> int:
        """There is a slot with a source."""
        return 2

    def ceiling(self) -> Ceiling:
        """Order tells everything; the bag tells which tokens are common."""
        shortest = self.length if self.shortest is None else self.shortest
        lengths = np.arange(shortest, self.length + 1)
        answers = np.array([self.answers(int(n)) for n in lengths])
        # Every length is equally likely, and a longer row has more answers.
        shares = np.array([commonest_share(int(n) - 1, self.symbols) for n in lengths])
        return Ceiling(
            measure="accuracy",
            value=1.0,
            prior=float(answers @ shares / answers.sum()),
            constant=1.0 / self.symbols,
        )

    def answers(self, length: int) -> int:
        """Return how many slots of a row have a source."""
        slots, lengths = np.arange(length)[None, :], np.array([length])
        source = self.source(slots, lengths)
        return int(((source >= 0) & (source != slots)).sum())

    @abstractmethod
    def source(self, slots: Ints, lengths: Ints) -> Ints:
        """Return the slot (rows, n) that every answer is read from, negative for none."""

    def draw(self, rng: Rng, mask: Bools) -> Batch:
        """Draw symbols; every answer is one of them."""
        tokens = rng.integers(1, self.vocabulary, mask.shape)
        slots = np.broadcast_to(np.arange(mask.shape[1]), mask.shape)
        source = self.source(slots, mask.sum(axis=1))
        has = (source >= 0) & (source != slots) & mask
        targets = np.take_along_axis(tokens, np.maximum(source, 0), axis=1) - 1
        return Batch(
            tokens=tokens,
            targets=np.where(has, targets, 0),
            mask=mask,
            weights=has.astype(np.float32),
        )


@dataclass(frozen=True, kw_only=True)
class LagCopy(Copying):
    """Repeat the token `lag` slots back.

    >>> rows = LagCopy(length=6, lag=2).batch(np.random.default_rng(0), 4)
    >>> bool((rows.targets[:, 2:] + 1 == rows.tokens[:, :-2]).all())
    True
    """

    name: ClassVar[str] = "lag"
    causal: ClassVar[bool] = False

    lag: int = 5

    def __post_init__(self) -> None:
        """Check the parameters, then the lengths."""
        check_whole(self.name, "lag", self.lag, least=1)
        super().__post_init__()

    @property
    def least_length(self) -> int:
        """There is a slot with a source."""
        return self.lag + 1

    def source(self, slots: Ints, lengths: Ints) -> Ints:  # noqa: ARG002 - of the shared signature
        """Return t - lag."""
        return slots - self.lag


@dataclass(frozen=True, kw_only=True)
class Reversal(Copying):
    """Repeat the token of the mirrored slot.

    >>> rows = Reversal(length=6).batch(np.random.default_rng(0), 4)
    >>> bool((rows.targets + 1 == rows.tokens[:, ::-1]).all())
    True
    """

    name: ClassVar[str] = "reversal"

    def source(self, slots: Ints, lengths: Ints) -> Ints:
        """Return n - 1 - t."""
        return lengths[:, None] - 1 - slots
