"""Regression on real, irregular times: what depends on real lags and not on slots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.lab.tasks.base import (
    Batch,
    Bools,
    Ceiling,
    Drawn,
    Ints,
    Rng,
    put_tokens,
)

FIRST, SECOND, FILLERS_FROM = 1, 2, 3
Floats = NDArray[np.float64]


def irregular_times(rng: Rng, shape: tuple[int, ...], gap: float) -> Floats:
    """Return times (rows, n) that start at 0, with exponential gaps."""
    gaps = rng.exponential(gap, shape)
    gaps[:, 0] = 0.0
    return gaps.cumsum(axis=1)


@dataclass(frozen=True, kw_only=True)
class Regression(Drawn):
    """Base of tasks that ask for a number, at real times.

    Phase x distance and decay: regression on real, irregular times.

        times      0.0  0.4  2.1  3.0  3.2      gaps exponential with mean 1, or `gap`
        phase      .    a    .    .    b        y = (D / r) cos(2 pi D / p), D = 2.8 between a and b
        decay      v0   v1   v2   v3   v4       y_t = sum_(s<=t) exp(-(T_t - T_s) / tau) v_s

    Both are functions of real lags, not of slots. Phase x distance has the shape of a Jordan block
    (polynomial times oscillation), decay that of a real eigenvalue, so that each has a class of
    one-parameter groups that writes it down exactly.

    Phase: a at slot s, b at s + k with k uniform on 1..K and s independent of it; the bag of tokens
    says nothing and the best order-blind answer is the mean: R2 = 0.

    Decay, with values of mean 0 and variance V and a = 1 / (1 + g / tau), b = 1 / (1 + 2 g / tau)
    for gaps of mean g: E exp(-(T_t - T_(t-k)) / tau) = a^k, and of its square b^k, so

        Var y_t = V (1 + b + ... + b^t).

    An observer of v_t and of the bag of earlier tokens, but not of their order or times, predicts
    v_t + c_t mean(earlier), c_t = a + ... + a^t, and explains V (1 + c_t^2 / t).
    """

    @property
    def classes(self) -> None:
        """A number is asked for."""
        return


@dataclass(frozen=True, kw_only=True)
class Phase(Regression):
    """Give (D / r) cos(2 pi D / p), D the time between a and b.

    >>> rows = Phase(length=20).batch(np.random.default_rng(0), 3)
    >>> rows.positions.shape, rows.targets.dtype
    ((3, 20), dtype('float32'))
    """

    name: ClassVar[str] = "phase"
    least: ClassVar[Mapping[str, int]] = {"separation": 1, "fillers": 1}
    positive: ClassVar[tuple[str, ...]] = ("period", "reach", "gap")

    separation: int = 16
    """The largest number of slots from a to b."""
    period: float = 6.0
    reach: float = 8.0
    gap: float = 1.0
    fillers: int = 29

    @property
    def vocabulary(self) -> int:
        """Padding, two triggers, fillers."""
        return FILLERS_FROM + self.fillers

    @property
    def least_length(self) -> int:
        """The largest separation fits."""
        return self.separation + 1

    def ceiling(self) -> Ceiling:
        """The answer is a function of two times, without noise."""
        return Ceiling(measure="r2", value=1.0, prior=0.0, constant=0.0)

    def draw(self, rng: Rng, mask: Bools) -> Batch:
        """Draw times and places independently of each other."""
        size, width = mask.shape
        times = irregular_times(rng, (size, width), self.gap)
        start = rng.integers(0, mask.sum(axis=1) - self.separation)
        slots = np.stack([start, start + rng.integers(1, self.separation + 1, size)], axis=1)
        tokens = rng.integers(FILLERS_FROM, self.vocabulary, (size, width))
        tokens = put_tokens(tokens, slots, np.broadcast_to([FIRST, SECOND], slots.shape))
        ends = np.take_along_axis(times, slots, axis=1)
        apart = ends[:, 1] - ends[:, 0]
        targets = apart / self.reach * np.cos(2.0 * np.pi * apart / self.period)
        return Batch(tokens=tokens, targets=targets.astype(np.float32), mask=mask, positions=times)


@dataclass(frozen=True, kw_only=True)
class Decay(Regression):
    """Give the sum of earlier values, each faded by the time since.

    >>> rows = Decay(length=4).batch(np.random.default_rng(0), 2)
    >>> bool((rows.targets[:, 0] == Decay().values_of(rows.tokens[:, 0])).all())
    True
    """

    name: ClassVar[str] = "decay"
    output: ClassVar[str] = "tokens"
    causal: ClassVar[bool] = True
    least: ClassVar[Mapping[str, int]] = {"levels": 2}
    positive: ClassVar[tuple[str, ...]] = ("time", "gap")

    time: float = 3.0
    """tau: after so long a value has faded to 1 / e."""
    gap: float = 1.0
    levels: int = 9

    @property
    def vocabulary(self) -> int:
        """Padding and levels."""
        return 1 + self.levels

    def values_of(self, tokens: Ints) -> NDArray[np.float32]:
        """Return the values -1..1 of the levels 1..levels."""
        return (2.0 * (tokens - 1) / (self.levels - 1) - 1.0).astype(np.float32)

    def ceiling(self) -> Ceiling:
        """Order and times tell everything; the bag of earlier tokens a good part."""
        shortest = self.length if self.shortest is None else self.shortest
        lengths = np.arange(shortest, self.length + 1)
        slots = np.arange(self.length)
        weight = (slots[None, :] < lengths[:, None]).sum(axis=0)
        faded, squared = (1.0 / (1.0 + k * self.gap / self.time) for k in (1, 2))
        powers = np.arange(1, self.length)
        reached = np.concatenate([[0.0], np.cumsum(faded**powers)])
        total = 1.0 + np.concatenate([[0.0], np.cumsum(squared**powers)])
        blind = 1.0 + reached**2 / np.maximum(slots, 1)
        prior = float(weight @ blind / (weight @ total))
        return Ceiling(measure="r2", value=1.0, prior=prior, constant=0.0)

    def draw(self, rng: Rng, mask: Bools) -> Batch:
        """Draw times and levels, then sum slot by slot."""
        times = irregular_times(rng, mask.shape, self.gap)
        tokens = rng.integers(1, self.vocabulary, mask.shape)
        kept = np.exp(-np.diff(times, axis=1) / self.time)
        sums = self.values_of(tokens).astype(np.float64)
        for slot in range(1, mask.shape[1]):
            sums[:, slot] += kept[:, slot - 1] * sums[:, slot - 1]
        return Batch(
            tokens=tokens,
            targets=np.where(mask, sums, 0.0).astype(np.float32),
            mask=mask,
            positions=times,
            weights=mask.astype(np.float32),
        )
