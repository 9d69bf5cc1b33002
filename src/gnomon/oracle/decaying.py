"""Turns that also shrink: xPos and RetNet, as one pair of factors that grow and fall apart.

    q~ = e^(a (i - r)) R_i q,  k~ = e^(a (r - j)) R_j k,  q~.k~ ~ e^(a (i - j)),  a <= 0,

with r a reference point that cancels. Here exponents have no limit, so nothing overflows.

    xpos     a_k = ln((2k/d + gamma) / (1 + gamma)) / scale_base                [sun2022 sec. 3.2]
    retnet   a = ln(1 - 2^(-5-h)) for all pairs of head h, and frequencies base^(-k/(pairs - 1)),
             closed at both ends, as its code has them                          [sun2023 sec. 2]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.oracle.definition import Definition, Point, Vector
from gnomon.oracle.exact import Real, context, number
from gnomon.oracle.ladders import plain
from gnomon.oracle.rotary import Turning, along_axes, turn


def decaying(
    turning_of: Callable[[Any, int], Turning], rates_of: Callable[[Any, int], Sequence[Real]]
) -> Definition:
    """Return the definition of a family from its turns and its rates of decay, pair by pair."""

    def turned(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
        made = turn(x, at, turning_of(encoding, head), encoding.layout)
        away = at[0] - number(encoding.reference)
        away = away if side == "q" else -away
        rates = list(rates_of(encoding, head))
        by_coordinate = (
            [rate for rate in rates for _ in range(2)]
            if encoding.layout == "interleaved"
            else rates + rates
        )
        return [
            value * context().exp(rate * away)
            for value, rate in zip(made, by_coordinate, strict=True)
        ]

    return Definition(turned=turned)


def _xpos_turns(encoding: Any, head: int) -> Turning:
    del head
    return Turning(waves=along_axes(plain(encoding.dimension, number(encoding.base)), 1))


def _xpos_rates(encoding: Any, head: int) -> list[Real]:
    del head
    mp, gamma, d = context(), number(encoding.gamma), encoding.dimension
    zetas = [(mp.mpf(2 * k) / d + gamma) / (1 + gamma) for k in range(d // 2)]
    return [mp.log(zeta) / number(encoding.scale_base) for zeta in zetas]


def _retnet_turns(encoding: Any, head: int) -> Turning:
    del head
    mp, pairs, base = context(), encoding.dimension // 2, number(encoding.base)
    if encoding.spacing == "open":
        ladder = plain(encoding.dimension, base)
    else:
        ladder = [mp.power(base, -mp.mpf(k) / max(1, pairs - 1)) for k in range(pairs)]
    return Turning(waves=along_axes(ladder, 1))


def _retnet_rates(encoding: Any, head: int) -> list[Real]:
    mp = context()
    given = encoding.gammas
    gamma = 1 - mp.power(2, -5 - head) if given is None else number(given[head])
    return [mp.log(gamma)] * (encoding.dimension // 2)


DEFINITIONS = {
    "XPos": decaying(_xpos_turns, _xpos_rates),
    "RetNet": decaying(_retnet_turns, _retnet_rates),
}
