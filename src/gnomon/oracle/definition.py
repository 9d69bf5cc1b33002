"""What every definition of the oracle is made of: exact numbers, drawn ones, and its five rules.

*Numbers* are exact on the way in, have 80 digits while computing, and 60 good ones when they come
out. A whole number, a fraction and a decimal text are taken as they are written; a float is the
binary fraction that it holds, so 0.1 is 0.1000000000000000055511151231257827...; that is what an
array formula is given, too. Twenty guard digits pay for positions up to 10^20. The context is the
oracle's own: the precision that others set in mpmath [mpmath] is neither used nor changed.

*Random numbers* of a seed are made in whole-number arithmetic. A stream of SplitMix64 words starts
at the finaliser of seed + golden; its word n is the finaliser of start + n golden, all modulo 2^64
[steele2014]. A position on axes x_1, x_2, ... moves the start: it becomes the finaliser of
(start xor x) + golden, once for each axis. Normal numbers are made of pairs of words by Box and
Muller's transform [box1958]; a sample without repetition takes the places of the least words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

from gnomon.errors import EncodingError, MissingExtraError

Real = Any
"""A real number of mpmath."""

Context = Any
"""The functions of mpmath at one precision."""

Point = list[Real]
"""One exact number for each axis."""

Vector = list[Real]

DIGITS = 60
"""Digits that a result is good for."""

GUARD = 20

_WORD = 2**64

_GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True, kw_only=True)
class Definition:
    """The mathematics of a class of encodings; the first argument is always the encoding."""

    vectors: Callable[[Any, Point], Vector] | None = None
    """(encoding, i) -> what is added at position i."""
    transform: Callable[[Any, Vector, Point, str, int], Vector] | None = None
    """(encoding, x, i, side, head) -> a query ("q") or key ("k") as seen from position i."""
    between: Callable[[Any, Vector, Point, Point, int], Vector] | None = None
    """(encoding, k, i, j, head) -> a key at j as a query at i sees it, where two turned sides would
    need more digits than there are: one of them grows as the other fades."""
    bias: Callable[[Any, Point, Point, int], Real] | None = None
    """(encoding, i, j, head) -> what is added to the logit of query i and key j."""
    content: Callable[[Any, Content], list[Vector]] | None = None
    """(encoding, queries, keys and tokens of one head) -> the logits of every query, unmasked."""


@dataclass(frozen=True, kw_only=True)
class Content:
    """Queries, keys and tokens of one head, in order, with where they stand."""

    queries: list[Vector]
    keys: list[Vector]
    at_queries: list[Point]
    at_keys: list[Point]
    tokens: list[Vector]
    """What a rule reads of each key's token: the keys, unless something else is given."""
    head: int
    scale: Real
    beside: list[tuple[list[Vector], list[Vector]]] = field(default_factory=list)
    """Queries and keys of all heads, this one among them, for a rule that mixes heads."""

    def index(self, query: int) -> int:
        """Return which of the keys a query is: the queries are the last of them."""
        return len(self.keys) - len(self.queries) + query


@cache
def context() -> Context:
    """Return mpmath at the oracle's precision."""
    try:
        import mpmath
    except ImportError as error:
        raise MissingExtraError(
            "gnomon.oracle needs mpmath, which is not installed; run `pip install gnomon[oracle]`."
        ) from error
    own = mpmath.MPContext()
    own.dps = DIGITS + GUARD
    return own


def number(value: Any, name: str = "position") -> Real:
    """Return a number exactly as it is given.

    >>> number("1/3") * 3 == 1
    True
    >>> number(0.1) > number("0.1")
    True
    """
    mp = context()
    value = value.item() if hasattr(value, "item") else value
    try:
        if isinstance(value, Fraction | Decimal):
            exact = Fraction(value)
            return mp.mpf(exact.numerator) / exact.denominator
        made = mp.mpf(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise EncodingError(
            f"The {name} is {value!r}; pass a whole number, a float, a Fraction, or a text such as "
            "'0.1' or '1/3'."
        ) from error
    if not mp.isfinite(made):
        raise EncodingError(f"The {name} is {value!r}; pass a finite number.")
    return made


def coordinates(position: Any, axes: int) -> list[Real]:
    """Return a position as one exact number for each axis."""
    whole = axes == 1 or isinstance(position, str) or not hasattr(position, "__iter__")
    parts = [position] if whole else list(position)
    if len(parts) != axes:
        raise EncodingError(
            f"The position {position!r} has {len(parts)} coordinates, but this encoding has {axes} "
            f"axes; pass {axes} for each position."
        )
    return [number(part) for part in parts]


def vector(values: Any, name: str) -> list[Real]:
    """Return the entries of one vector, exactly."""
    return [number(value, f"entry of {name}") for value in values]


def dot(left: Sequence[Real], right: Sequence[Real]) -> Real:
    """Return the sum of products."""
    return context().fsum(a * b for a, b in zip(left, right, strict=True))


def sigmoid(x: Real) -> Real:
    """Return 1 / (1 + e^-x)."""
    return 1 / (1 + context().exp(-x))


def softplus(x: Real) -> Real:
    """Return ln(1 + e^x)."""
    return context().log1p(context().exp(x))


def words(start: int, count: int) -> list[int]:
    """Return the first words of the stream from a start.

    >>> f"{words(1234567, 1)[0]:x}"  # as published with the generator, for the seed 1234567
    '599ed017fb08fc85'
    """
    return [mix(start + step * _GOLDEN) for step in range(1, count + 1)]


def start_of(seed: int, at: list[int]) -> int:
    """Return where the stream of a whole position starts."""
    start = mix(seed + _GOLDEN)
    for x in at:
        start = mix((start ^ x % _WORD) + _GOLDEN)
    return start


def normal_row(at: list[int], dimension: int, seed: int) -> Vector:
    """Return the standard normal numbers of a whole position."""
    mp, pairs = context(), (dimension + 1) // 2
    draws = [_uniform(word) for word in words(start_of(seed, at), 2 * pairs)]
    radii = [mp.sqrt(-2 * mp.log(u)) for u in draws[:pairs]]
    angles = [2 * mp.pi * u for u in draws[pairs:]]
    normal = [r * mp.cos(a) for r, a in zip(radii, angles, strict=True)]
    normal += [r * mp.sin(a) for r, a in zip(radii, angles, strict=True)]
    return normal[:dimension]


def sample(largest: int, count: int, seed: int) -> list[int]:
    """Return `count` of 0 ... largest - 1, increasing: those with the least words."""
    drawn = words(start_of(seed, []), largest)
    return sorted(sorted(range(largest), key=drawn.__getitem__)[:count])


def mix(state: int) -> int:
    """Return SplitMix64's finaliser of a 64-bit word."""
    state %= _WORD
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % _WORD
    return state ^ (state >> 31)


def _uniform(word: int) -> Real:
    """Return the middle of one of 2^53 cells of (0, 1)."""
    return (word // 2**11 + number("0.5")) / 2**53
