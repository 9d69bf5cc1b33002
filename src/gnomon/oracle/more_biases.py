"""Biases that grow slowly, that a network makes, and that come from sinusoids or from times.

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

from gnomon.oracle.definition import Definition, Point, Vector
from gnomon.oracle.exact import Real, context, dot, number
from gnomon.oracle.ladders import plain

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "year": 31556952}


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


def layer(x: Vector, weights: Any, biases: Any) -> Vector:
    """Return x W + b."""
    columns = ([number(w) for w in column] for column in zip(*weights, strict=True))
    made = (dot(x, column) for column in columns)
    return [y + number(b) for y, b in zip(made, biases, strict=True)]


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
    ladder = plain(encoding.vector_dimension, number(encoding.base))
    total = mp.fsum(mp.cos(lag * w) for w in ladder)
    return total * encoding.heads / (8 * (head + 1))


def mlp(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return what the network makes of the lag."""
    mp, lags = context(), [i - j for i, j in zip(at_q, at_k, strict=True)]
    if encoding.logarithmic:
        lags = [mp.sign(x) * mp.log(1 + abs(x)) for x in lags]
    hidden = layer(lags, encoding.weights_in, encoding.biases_in)
    for weights, biases in zip(encoding.weights, encoding.biases, strict=True):
        hidden = layer(_gated(hidden), weights, biases)
    return layer(_gated(hidden), encoding.weights_out, encoding.biases_out)[head]


def _gated(values: Vector) -> Vector:
    """Return x / (1 + e^(-x)) of every number."""
    return [x / (1 + context().exp(-x)) for x in values]


def unit(encoding: Any) -> Real:
    """Return the unit of an encoding of times, in positions."""
    given = encoding.unit
    return number(SECONDS[given] if isinstance(given, str) else given)


def ladder(shortest: Any, longest: Any, count: int) -> list[Real]:
    """Return a geometric ladder between two spans."""
    mp, first = context(), number(shortest)
    ratio = number(longest) / first
    return [first * mp.power(ratio, mp.mpf(k) / max(1, count - 1)) for k in range(count)]


def decay_time(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return minus ln 2 for every half-life that has passed."""
    mp, passed = context(), at_q[0] - at_k[0]
    if encoding.half_lives is None:
        half = ladder(encoding.shortest, encoding.longest, encoding.heads)[head]
    else:
        half = number(encoding.half_lives[head])
    return -mp.log(2) * (abs(passed) if encoding.symmetric else passed) / (half * unit(encoding))


Bias = Callable[[Any, Point, Point, int], Real]
_RULES: dict[str, Bias] = {
    "KerpleLog": kerple_log,
    "KerplePower": kerple_power,
    "Fire": fire,
    "Sandwich": sandwich,
    "MlpBias": mlp,
    "DecayTime": decay_time,
}
DEFINITIONS = {name: Definition(bias=rule) for name, rule in _RULES.items()}
