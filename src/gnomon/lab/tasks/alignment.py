"""Alignment: rows whose laws of tokens are planted by slot, and the same rows turned round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import LabError, nearest
from gnomon.lab.tasks.base import Batch, Bools, Ceiling, Drawn, Ints, Rng

LAWS = ("regimes", "periodic", "drift")
REGIMES = 3
SAMPLES = 4000
"""Rows on which the ceiling is estimated."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Alignment(Drawn):
    """Tell aligned rows (1) from turned ones (0).

    Alignment: does this row begin where rows of its corpus begin, or was it turned round?

        laws      A A A B B B C C C       the law of tokens at every slot (here three regimes)
        aligned   a a' a b b' b c c c'    one token of each law: 1
        turned    b' b c c c' a a' a b    the same row turned by a quarter to three quarters: 0

    Both kinds of rows have the same bags of tokens, so an order-blind observer is right half of the
    time. How the laws change with the slot is planted, and with it the geometry of positions:

        regimes    three laws, one after the other                          three points
        periodic   `period` laws in turn                                    a closed polygon
        drift      from one law to another, in equal steps                  a line

    Laws are drawn from a Dirichlet distribution, once for a `corpus`. The best observer knows them
    and compares the likelihood of the row with its mean over all turns; its accuracy is estimated
    on drawn rows.

    >>> rows = Alignment(length=12).batch(np.random.default_rng(0), 6)
    >>> rows.tokens.shape, sorted(set(rows.targets.tolist()))
    ((6, 12), [0, 1])
    """

    name: ClassVar[str] = "alignment"
    least: ClassVar[Mapping[str, int]] = {"symbols": 2, "period": 2, "corpus": 0}
    positive: ClassVar[tuple[str, ...]] = ("concentration",)

    law: str = "regimes"
    symbols: int = 16
    concentration: float = 0.3
    """Of the Dirichlet distribution; the smaller, the further laws are apart."""
    period: int = 8
    corpus: int = 0
    """Seed of the laws."""

    def __post_init__(self) -> None:
        """Check the parameters, then the lengths."""
        if self.law not in LAWS:
            raise LabError(f"task {self.name}: law is {self.law!r}; {nearest(self.law, LAWS)}.")
        super().__post_init__()

    @property
    def vocabulary(self) -> int:
        """Padding and symbols."""
        return 1 + self.symbols

    @property
    def classes(self) -> int:
        """Aligned, or not."""
        return 2

    @property
    def least_length(self) -> int:
        """A quarter is a slot or more."""
        return 4

    def laws(self) -> Floats:
        """Return the law of tokens at every slot, (length, symbols)."""
        count = {"regimes": REGIMES, "periodic": self.period, "drift": 2}[self.law]
        rng = np.random.default_rng([self.corpus, LAWS.index(self.law)])
        drawn = rng.dirichlet(np.full(self.symbols, self.concentration), count)
        slots = np.arange(self.length)
        if self.law == "drift":
            along = (slots / max(1, self.length - 1))[:, None]
            return np.asarray((1.0 - along) * drawn[0] + along * drawn[1])
        which = slots * REGIMES // self.length if self.law == "regimes" else slots % self.period
        return np.asarray(drawn[which])

    def rows(self, rng: Rng, size: int, width: int) -> Ints:
        """Return aligned rows; slots beyond the length have the law of the last one."""
        edges = self.laws()[np.minimum(np.arange(width), self.length - 1)].cumsum(axis=1)
        drawn = rng.random((size, width, 1))
        return 1 + (drawn > edges[:, :-1]).sum(axis=2).astype(np.int64)

    def draw(self, rng: Rng, mask: Bools) -> Batch:
        """Draw rows, and turn half of them round within their own length."""
        size, width = mask.shape
        lengths = mask.sum(axis=1)
        tokens = self.rows(rng, size, width)
        targets: Ints = np.asarray(rng.integers(0, 2, size), np.int64)
        least = lengths // 4
        turns = least + (rng.random(size) * (lengths - 2 * least + 1)).astype(np.int64)
        turns = np.where(targets == 1, 0, turns)
        slots = (np.arange(width) + turns[:, None]) % lengths[:, None]
        return Batch(tokens=np.take_along_axis(tokens, slots, axis=1), targets=targets, mask=mask)

    def ceiling(self) -> Ceiling:
        """Return what the observer reaches who knows the laws; half is told by bags, exactly."""
        return _estimate_ceiling(self)


def likelihoods(laws: Floats, tokens: Ints, turns: Ints) -> Floats:
    """Return log P(row | turned by s) of rows of full length for every turn s, (rows, turns)."""
    logs = np.log(np.maximum(laws, 1e-300))
    slots = np.arange(len(laws))
    return np.stack([logs[(slots + s) % len(laws), tokens - 1].sum(axis=1) for s in turns], axis=1)


@lru_cache(maxsize=16)
def _estimate_ceiling(task: Alignment) -> Ceiling:
    """Estimate on rows of full length; shorter ones tell less, so it bounds them from above."""
    rng = np.random.default_rng(0)
    batch = task.batch(rng, SAMPLES, task.length)
    least = task.length // 4
    turns = np.arange(least, task.length - least + 1)
    laws = task.laws()
    whole = likelihoods(laws, batch.tokens, np.array([0]))[:, 0]
    turned = np.logaddexp.reduce(likelihoods(laws, batch.tokens, turns), axis=1) - np.log(
        len(turns)
    )
    right = float(((whole > turned).astype(np.int64) == batch.targets).mean())
    half = 1.96 * float(np.sqrt(max(right * (1.0 - right), 1.0 / SAMPLES) / SAMPLES))
    return Ceiling(
        measure="accuracy",
        value=right,
        prior=0.5,
        constant=0.5,
        how="estimated",
        interval=(max(0.5, right - half), min(1.0, right + half)),
        note="the likelihood ratio of the planted laws, on drawn rows of full length",
    )
