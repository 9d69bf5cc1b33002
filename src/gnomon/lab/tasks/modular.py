"""Modular position: on which beat of m does a token stand?

    tokens   x y x x z x              any symbols
    targets  0 1 2 0 1 2              slot t modulo m, here m = 3

Tokens are drawn independently and say nothing. An order-blind observer names a residue that n
slots meet most often: right for ceil(n / m) of n. Only a place counted from the start of the row
helps, so relative encodings must find the edge first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gnomon.lab.ceilings import Ceiling
from gnomon.lab.tasks.base import Batch, Bools, Drawn, Rng, check_whole


@dataclass(frozen=True, kw_only=True)
class Modular(Drawn):
    """Name the slot modulo m.

    >>> Modular(length=5, modulus=3).batch(np.random.default_rng(0), 1).targets.tolist()
    [[0, 1, 2, 0, 1]]
    """

    name: ClassVar[str] = "modular"
    output: ClassVar[str] = "tokens"
    tells_on: ClassVar[bool] = True

    modulus: int = 8
    symbols: int = 31

    def __post_init__(self) -> None:
        """Check the parameters, then the lengths."""
        check_whole(self.name, "modulus", self.modulus, least=2)
        check_whole(self.name, "symbols", self.symbols, least=1)
        super().__post_init__()

    @property
    def vocabulary(self) -> int:
        """Padding and symbols."""
        return 1 + self.symbols

    @property
    def classes(self) -> int:
        """One for every residue."""
        return self.modulus

    def ceiling(self) -> Ceiling:
        """The commonest residue is 0 at every length, so that an order-blind observer names it."""
        shortest = self.length if self.shortest is None else self.shortest
        lengths = np.arange(shortest, self.length + 1)
        guess = float((-(-lengths // self.modulus)).sum() / lengths.sum())
        return Ceiling(measure="accuracy", value=1.0, prior=guess, constant=guess)

    def draw(self, rng: Rng, mask: Bools) -> Batch:
        """Draw symbols that have nothing to do with the answer."""
        tokens = rng.integers(1, self.vocabulary, mask.shape)
        residues = np.arange(mask.shape[1]) % self.modulus
        targets = np.where(mask, residues, 0)
        return Batch(tokens=tokens, targets=targets, mask=mask, weights=mask.astype(np.float32))
