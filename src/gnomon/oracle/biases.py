"""Biases on logits: ALiBi and T5's buckets.

alibi   -m_h (i - j), or -m_h |i - j|; for H a power of two m_h = 2^(-8 (h+1)/H), otherwise the
        slopes of the power below, then every other one of the power above  [press2021 sec. 3]
t5      the table at (bucket(i - j), h): small lags have a bucket each, larger ones share buckets
        whose bounds grow geometrically; the last takes all the rest        [raffel2020 sec. 2.1]
"""

from __future__ import annotations

from typing import Any

from gnomon.oracle.definition import Definition, Point
from gnomon.oracle.draws import normal_row
from gnomon.oracle.exact import Real, context, number


def official_slopes(heads: int) -> list[Real]:
    """Return the published slopes, as powers of two with 60 digits."""
    mp = context()

    def powers(count: int) -> list[Real]:
        return [mp.power(2, mp.mpf(-8 * (head + 1)) / count) for head in range(count)]

    below = 1
    while 2 * below <= heads:
        below *= 2
    return powers(below) + powers(2 * below)[::2][: heads - below]


def _slopes(given: Any) -> list[Real]:
    """Return slopes as they are given; the official ones, rounded, stand for the official ones."""
    exact, slopes = official_slopes(len(given)), [number(slope) for slope in given]
    same = all(abs(a - b) <= 2.0**-50 * b for a, b in zip(slopes, exact, strict=True))
    return exact if same else slopes


def alibi(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return minus slope times lag; keys after their query may have slopes of their own."""
    mp, steps = context(), [i - j for i, j in zip(at_q, at_k, strict=True)]
    slope, after = _slopes(encoding.slopes)[head], getattr(encoding, "slopes_after", None)
    if after is not None and steps[0] < 0:
        return number(after[head]) * steps[0]
    lag = mp.sqrt(mp.fsum(step * step for step in steps)) if encoding.symmetric else steps[0]
    return -slope * lag


def bucket(lag: int, buckets: int, largest: int) -> int:
    """Return the bucket of a lag from 0 on, in whole numbers alone.

    With e = buckets/2 exact ones, a lag >= e has bucket e + m for the largest m with
    (lag/e)^(buckets - e) >= (largest/e)^m, and no more than buckets - 1.

    >>> [bucket(lag, 16, 128) for lag in (0, 7, 8, 11, 12, 127, 128, 10**6)]
    [0, 7, 8, 8, 9, 15, 15, 15]
    """
    exact = buckets // 2
    if lag < exact:
        return lag
    shared, step = buckets - exact, 0
    while (
        step + 1 < shared
        and lag**shared * exact ** (step + 1) >= largest ** (step + 1) * exact**shared
    ):
        step += 1
    return exact + step


def t5(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return the entry of the table for the bucket of the lag's whole part."""
    lag = at_q[0] - at_k[0]
    half = encoding.buckets // 2 if encoding.bidirectional else encoding.buckets
    whole = int(abs(lag)) if encoding.bidirectional or lag > 0 else 0
    place = bucket(whole, half, encoding.largest_lag)
    place += half if encoding.bidirectional and lag < 0 else 0
    if encoding.table is not None:
        return number(encoding.table[place][head])
    return number(encoding.sigma) * normal_row([place], encoding.heads, encoding.seed)[head]


DEFINITIONS = {"Alibi": Definition(bias=alibi), "T5": Definition(bias=t5)}
