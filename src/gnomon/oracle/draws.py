"""Random numbers of a seed, in whole-number arithmetic: SplitMix64 words and what is made of them.

A stream starts at the finaliser of seed + golden; its word n is the finaliser of start + n golden,
all modulo 2^64 [steele2014]. A position on axes x_1, x_2, ... moves the start: it becomes the
finaliser of (start xor x) + golden, once for each axis. Normal numbers are made of pairs of words
by Box and Muller's transform [box1958]; a sample without repetition takes the places of the least
words.
"""

from __future__ import annotations

from gnomon.oracle.definition import Vector
from gnomon.oracle.exact import Real, context, number

_WORD = 2**64
_GOLDEN = 0x9E3779B97F4A7C15


def mixed(state: int) -> int:
    """Return SplitMix64's finaliser of a 64-bit word."""
    state %= _WORD
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % _WORD
    return state ^ (state >> 31)


def words(start: int, count: int) -> list[int]:
    """Return the first words of the stream from a start.

    >>> f"{words(1234567, 1)[0]:x}"  # as published with the generator, for the seed 1234567
    '599ed017fb08fc85'
    """
    return [mixed(start + step * _GOLDEN) for step in range(1, count + 1)]


def start_of(seed: int, at: list[int]) -> int:
    """Return where the stream of a whole position starts."""
    start = mixed(seed + _GOLDEN)
    for x in at:
        start = mixed((start ^ x % _WORD) + _GOLDEN)
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


def _uniform(word: int) -> Real:
    """Return the middle of one of 2^53 cells of (0, 1)."""
    return (word // 2**11 + number("0.5")) / 2**53


def sample(largest: int, count: int, seed: int) -> list[int]:
    """Return `count` of 0 ... largest - 1, increasing: those with the least words."""
    drawn = words(start_of(seed, []), largest)
    return sorted(sorted(range(largest), key=drawn.__getitem__)[:count])
