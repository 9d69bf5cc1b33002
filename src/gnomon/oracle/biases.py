"""Biases on logits: published slopes and buckets, slow growth, networks, sinusoids and times.

alibi      -m_h (i - j), or -m_h |i - j|; for H a power of two m_h = 2^(-8 (h+1)/H), otherwise the
           slopes of the power below, then every other one of the power above  [press2021 sec. 3]
t5         the table at (bucket(i - j), h): small lags have a bucket each, larger ones share buckets
           whose bounds grow geometrically; the last takes all the rest        [raffel2020 sec. 2.1]
kerple     -s ln(1 + r |i - j|), or -s |i - j|^p                                     [chi2022]
fire       a network on ln(1 + |c| |i - j|) / (ln(1 + |c| max(i, L)) + e)             [li2024]
sandwich   sum_k cos((i - j) w_k) H / (8 (h + 1))                                     [chi2023]
mlp-bias   a network on the lag, or on its signed logarithm, on every axis            [wang2022]
decay      -ln 2 (t - s) / half-life, or of |t - s|                                   [press2021]

A network is evaluated number by number; the numbers themselves, drawn or learned, are taken from
the encoding as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.oracle.definition import (
    Definition,
    Point,
    Real,
    Vector,
    context,
    dot,
    normal_row,
    number,
)
from gnomon.oracle.rotary import geometric, plain, unit_of_time


def official_slopes(heads: int) -> list[Real]:
    """Return the published slopes, as powers of two with 60 digits."""
    mp = context()

    def powers(count: int) -> list[Real]:
        return [mp.power(2, mp.mpf(-8 * (head + 1)) / count) for head in range(count)]

    below = 1
    while 2 * below <= heads:
        below *= 2
    return powers(below) + powers(2 * below)[::2][: heads - below]


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


def alibi(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return minus slope times lag; keys after their query may have slopes of their own."""
    mp, steps = context(), [i - j for i, j in zip(at_q, at_k, strict=True)]
    slope, after = _slopes(encoding.slopes)[head], encoding.slopes_after
    if after is not None and steps[0] < 0:
        return number(after[head]) * steps[0]
    lag = mp.sqrt(mp.fsum(step * step for step in steps)) if encoding.symmetric else steps[0]
    return -slope * lag


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


def kerple_log(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return the logarithmic penalty."""
    mp, lag = context(), abs(at_q[0] - at_k[0])
    scale, rate = number(encoding.scale[head]), number(encoding.rate[head])
    return -scale * mp.log(1 + rate * lag)


def kerple_power(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return the penalty that is a power; 0 at lag 0."""
    mp, lag = context(), abs(at_q[0] - at_k[0])
    power = mp.power(lag, number(encoding.exponent[head])) if lag else mp.zero
    return -number(encoding.scale[head]) * power


def fire(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return what the network makes of the squashed lag over the squashed position."""
    mp, rate = context(), abs(number(encoding.rate))
    threshold = abs(number(encoding.multiplier)) * number(encoding.threshold)
    above = mp.log(1 + rate * abs(at_q[0] - at_k[0]))
    below = mp.log(1 + rate * max(at_q[0], threshold)) + number(encoding.epsilon)
    hidden = layer([above / below], encoding.weights_in, encoding.biases_in)
    positive = [max(x, mp.zero) for x in hidden]
    return layer(positive, encoding.weights_out, encoding.biases_out)[head]


def sandwich(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return the sum of cosines of the lag, divided as the head says."""
    mp, lag = context(), at_q[0] - at_k[0]
    geometric = plain(encoding.vector_dimension, number(encoding.base))
    total = mp.fsum(mp.cos(lag * w) for w in geometric)
    return total * encoding.heads / (8 * (head + 1))


def mlp(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return what the network makes of the lag."""
    mp, lags = context(), [i - j for i, j in zip(at_q, at_k, strict=True)]
    if encoding.logarithmic:
        lags = [mp.sign(x) * mp.log(1 + abs(x)) for x in lags]
    hidden = layer(lags, encoding.weights_in, encoding.biases_in)
    for weights, biases in zip(encoding.weights, encoding.biases, strict=True):
        hidden = layer(_gate(hidden), weights, biases)
    return layer(_gate(hidden), encoding.weights_out, encoding.biases_out)[head]


def decay_time(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return minus ln 2 for every half-life that has passed."""
    mp, passed = context(), at_q[0] - at_k[0]
    if encoding.half_lives is None:
        half = geometric(encoding.shortest, encoding.longest, encoding.heads)[head]
    else:
        half = number(encoding.half_lives[head])
    return (
        -mp.log(2)
        * (abs(passed) if encoding.symmetric else passed)
        / (half * unit_of_time(encoding))
    )


def layer(x: Vector, weights: Any, biases: Any) -> Vector:
    """Return x W + b."""
    columns = ([number(w) for w in column] for column in zip(*weights, strict=True))
    made = (dot(x, column) for column in columns)
    return [y + number(b) for y, b in zip(made, biases, strict=True)]


def _slopes(given: Any) -> list[Real]:
    """Return slopes as they are given; the official ones, rounded, stand for the official ones."""
    exact, slopes = official_slopes(len(given)), [number(slope) for slope in given]
    same = all(abs(a - b) <= 2.0**-50 * b for a, b in zip(slopes, exact, strict=True))
    return exact if same else slopes


def _gate(values: Vector) -> Vector:
    """Return x / (1 + e^(-x)) of every number."""
    return [x / (1 + context().exp(-x)) for x in values]


_RULES: dict[str, Callable[[Any, Point, Point, int], Real]] = {
    "Alibi": alibi,
    "T5": t5,
    "KerpleLog": kerple_log,
    "KerplePower": kerple_power,
    "Fire": fire,
    "Sandwich": sandwich,
    "MlpBias": mlp,
    "DecayTime": decay_time,
}

DEFINITIONS = {name: Definition(bias=rule) for name, rule in _RULES.items()}
