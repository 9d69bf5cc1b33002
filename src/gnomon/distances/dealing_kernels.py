"""Compiled loops of the dealt null: shuffle a list of tokens, tally the hand of every position.

The shuffle is Durstenfeld's (1964): for k = T-1 .. 1, swap places k and floor(u_k (k + 1) / 2^64),
with u_k the k-th output of splitmix64 [steele2014] from a 64-bit key. An output is a function of
its number, so the places are known ahead of the swaps and their cache misses overlap. A place is
off uniform by less than T / 2^64.
This module is imported only when the compiled route is taken: it loads numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint64

WEYL = uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = uint64(0xBF58476D1CE4E5B9), uint64(0x94D049BB133111EB)
LOW = uint64(0xFFFFFFFF)


@njit(nogil=True, cache=True, inline="always")
def place(key: Any, k: Any) -> Any:
    """Return floor(u_k (k + 1) / 2^64), for k below 2^32 - 1."""
    z = key + (k + uint64(1)) * WEYL
    z = (z ^ (z >> uint64(30))) * FIRST
    z = (z ^ (z >> uint64(27))) * SECOND
    z = z ^ (z >> uint64(31))
    size = k + uint64(1)
    # Two halves, so that no product leaves 64 bits.
    return ((z >> uint64(32)) * size + (((z & LOW) * size) >> uint64(32))) >> uint64(32)


@njit(nogil=True, cache=True, boundscheck=False)
def shuffle(tokens: Any, key: Any) -> None:
    """Put the tokens in random order, in place."""
    for k in range(tokens.size - 1, 0, -1):
        j = place(key, uint64(k))
        held = tokens[k]
        tokens[k] = tokens[j]
        tokens[j] = held


@njit(nogil=True, cache=True)
def tally(
    tokens: Any, starts: Any, vocabulary: int, counts: Any, sizes: Any, first: int, last: int
) -> None:
    """Make of every hand tokens[starts[i]:starts[i + 1]] its distinct tokens, ascending.

    They are written over the hand itself, their counts beside them, and how many in `sizes`.
    A hand of few tokens is sorted; the counters of a hand of many are scanned.
    """
    counters = np.zeros(vocabulary, np.int32)
    for i in range(first, last):
        hand = tokens[starts[i] : starts[i + 1]]
        if hand.size * np.log2(hand.size + 1.0) * 4.0 < vocabulary:
            hand.sort()
            sizes[i] = _runs(hand, counts[starts[i] : starts[i + 1]])
        else:
            for token in hand:
                counters[token] += 1
            sizes[i] = _scan(counters, hand, counts[starts[i] : starts[i + 1]])


@njit(nogil=True, cache=True, boundscheck=False)
def _runs(hand: Any, counts: Any) -> int:
    """Merge equal neighbours of a sorted hand; return how many remain."""
    used = 0
    for k in range(hand.size):
        if used > 0 and hand[used - 1] == hand[k]:
            counts[used - 1] += 1
        else:
            hand[used] = hand[k]
            counts[used] = 1
            used += 1
    return used


@njit(nogil=True, cache=True, boundscheck=False)
def _scan(counters: Any, hand: Any, counts: Any) -> int:
    """Write the counters that are not zero, clear them, return how many they were."""
    used = 0
    for token in range(counters.size):
        if counters[token] != 0:
            hand[used] = token
            counts[used] = counters[token]
            counters[token] = 0
            used += 1
    return used


@njit(nogil=True, cache=True, boundscheck=False)
def close_gaps(starts: Any, sizes: Any, tokens: Any, counts: Any) -> int:
    """Move the entries of all hands together, to the left; return how many there are."""
    used = 0
    for i in range(sizes.size):
        begin = starts[i]
        for k in range(sizes[i]):
            tokens[used] = tokens[begin + k]
            counts[used] = counts[begin + k]
            used += 1
    return used
