"""Tasks with an answer at every token: lag copy, reversal, modular position, recall.

Tokens are drawn independently; the answer is another token of the row, or the place alone.

Where the answer is one of m tokens drawn independently from V, an order-blind observer can do no
better than name the commonest of them, which is right for the share max_v N_v / m. With N
multinomial,

    P(max_v N_v <= k) = m! V^-m [x^m] (sum_(j<=k) x^j / j!)^V,

so its expectation, sum_k P(max_v N_v > k), takes powers of polynomials and is exact to rounding.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import lgamma, log
from typing import ClassVar

import numpy as np

from gnomon.errors import LabError
from gnomon.lab.tasks.base import (
    Batch,
    Bools,
    Ceiling,
    Drawn,
    Ints,
    Rng,
)

_NEGLIGIBLE = 1e-13
"""Probability below which the rest of a tail, which falls faster still, is left out."""


@dataclass(frozen=True, kw_only=True)
class Copying(Drawn):
    """Base of tasks in which every answer is a token of another slot.

    Lag copy and reversal: repeat the token that stands k slots back, or in the mirrored slot.

        lag 2      tokens   d a c b c        reversal   tokens   d a c b
                   targets  - - d a c                   targets  b c a d

    Tokens are drawn independently from V symbols. Where there is no source (the first k slots, the
    middle of an odd row, which is its own mirror) the answer does not count. The source of an
    answer is one of the other n - 1 tokens, and an order-blind observer cannot tell which: the
    best answer is the commonest of them (`commonest_share`).

    Lag copy is a function of lag, so it suits relative encodings; reversal is one of absolute
    places: together they are in balance.
    """

    output: ClassVar[str] = "tokens"
    least: ClassVar[Mapping[str, int]] = {"symbols": 2}

    symbols: int = 31

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
    least: ClassVar[Mapping[str, int]] = {"lag": 1}

    lag: int = 5

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


@dataclass(frozen=True, kw_only=True)
class Modular(Drawn):
    """Name the slot modulo m.

    Modular position: on which beat of m does a token stand?

        tokens   x y x x z x              any symbols
        targets  0 1 2 0 1 2              slot t modulo m, here m = 3

    Tokens are drawn independently and say nothing. An order-blind observer names a residue that n
    slots meet most often: right for ceil(n / m) of n. Only a place counted from the start of the
    row helps, so relative encodings must find the edge first.

    >>> Modular(length=5, modulus=3).batch(np.random.default_rng(0), 1).targets.tolist()
    [[0, 1, 2, 0, 1]]
    """

    name: ClassVar[str] = "modular"
    output: ClassVar[str] = "tokens"
    tells_on: ClassVar[bool] = True
    least: ClassVar[Mapping[str, int]] = {"modulus": 2, "symbols": 1}

    modulus: int = 8
    symbols: int = 31

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


FILLER = 1
KEYS_FROM = 2


@dataclass(frozen=True, kw_only=True)
class Recall(Drawn):
    """Name the value of every queried key.

    Multi-query recall: which value was told with this key?

        tokens   . c 3 . a 1 b 3 | a c      pairs key, value; dots fillers; then queries
        targets  - - - - - - - - | 1 3      class = value, at the queries only

    Keys of a row are distinct, values drawn independently, and the queries are different keys of
    the row in random order. Pairs stand at random places before the queries. An order-blind
    observer knows the values told and names the commonest (`commonest_share`). The task is that
    of [arora2023] at a size that a small model learns: two layers with RoPE bind 4 keys to 4 values
    within 250 steps of 32 rows, and 8 keys to 8 values not within 800 (one seed each).

    >>> task = Recall(length=8, pairs=2, queries=2)
    >>> rows = task.batch(np.random.default_rng(0), 1)
    >>> row, told = rows.tokens[0].tolist(), rows.targets[0].tolist()
    >>> [row[row.index(key) + 1] - task.values_from for key in row[-2:]] == told[-2:]
    True
    """

    name: ClassVar[str] = "recall"
    output: ClassVar[str] = "tokens"
    least: ClassVar[Mapping[str, int]] = {"pairs": 1, "queries": 1, "keys": 1, "choices": 2}

    length: int = 16
    pairs: int = 4
    queries: int = 4
    keys: int = 4
    choices: int = 4
    """How many values there are."""

    def __post_init__(self) -> None:
        """Check the parameters, then the lengths that they allow."""
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
        keys = _permutations(rng, (size, self.keys))[:, : self.pairs]
        values = rng.integers(0, self.choices, (size, self.pairs))
        lengths = mask.sum(axis=1)
        slots = self._slots(rng, lengths)
        asked = _permutations(rng, (size, self.pairs))[:, : self.queries]
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


def _permutations(rng: Rng, shape: tuple[int, int]) -> Ints:
    """Return a random permutation in every row."""
    return np.argsort(rng.random(shape), axis=1)


@lru_cache(maxsize=256)
def commonest_share(drawn: int, symbols: int) -> float:
    """Return E max_v N_v / m for m tokens drawn independently and uniformly from V.

    >>> commonest_share(2, 2)
    0.75
    """
    if drawn < 1 or symbols < 1:
        raise LabError(
            f"the commonest of {drawn} tokens out of {symbols} is not defined; both must be 1 or "
            "more."
        )
    least = -(-drawn // symbols)  # some symbol comes at least so often
    total = float(least)
    for most in range(least, drawn):
        above = 1.0 - _all_at_most(most, drawn, symbols)
        total += above
        if above < _NEGLIGIBLE:
            break
    return total / drawn


def _all_at_most(most: int, drawn: int, symbols: int) -> float:
    """P(max_v N_v <= most), by repeated squaring of the truncated exponential series.

    Coefficients are those of N Poisson(m / V), so that none overflows: the multinomial law is that
    of independent Poisson counts given their sum.
    """
    rate = drawn / symbols
    counts = np.arange(most + 1)
    base = np.exp(counts * log(rate) - rate - np.array([lgamma(c + 1.0) for c in counts]))
    power, left = np.ones(1), symbols
    while left:
        if left & 1:
            power = np.convolve(power, base)[: drawn + 1]
        base, left = np.convolve(base, base)[: drawn + 1], left >> 1
    total = drawn * log(drawn) - drawn - lgamma(drawn + 1.0)
    return float(power[drawn] / np.exp(total)) if len(power) > drawn else 0.0
