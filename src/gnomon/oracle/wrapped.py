"""Encodings around another one: layers that leave it out, positions drawn at random, clocks.

layers       layer l has the inner encoding where (l + 1) mod every is not 0; elsewhere queries
             are multiplied by 1 + s ln(1 + floor((i + 1) / L)), from position 0 on  [yang2025]
randomised   position i stands at the i-th of a sorted sample of larger ones       [ruoss2023]
clock        a position stands where a broken line through its knots shows it; between two
             knots it has slope c + (1 - c)(1 + p/2)^2, c = 2^-12; its ends go on  [ramsay1988]
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gnomon.errors import EncodingError
from gnomon.oracle.content import dape
from gnomon.oracle.definition import Definition, Point, Real, Vector, context, number, sample


def layers(encoding: Any, inner: Definition) -> Definition:
    """Return the inner definition, or that of a layer without it."""
    if (encoding.layer + 1) % encoding.every:
        return _on_inner(encoding, inner, lambda at: at)
    mp = context()

    def transform(_: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
        del head
        if side == "k" or not encoding.temperature:
            return x
        steps = max(mp.floor((at[0] + 1) / encoding.temperature_length), mp.zero)
        factor = 1 + number(encoding.temperature) * mp.log(1 + steps)
        return [factor * value for value in x]

    return Definition(transform=transform)


def randomised(encoding: Any, inner: Definition) -> Definition:
    """Return the inner definition at the places that are drawn."""
    places = _places(encoding.largest, encoding.length, encoding.seed)

    def place(at: Point) -> Point:
        index = at[0]
        if index != int(index) or not 0 <= index < len(places):
            raise EncodingError(
                f"Position {index} has no place; ask for whole ones from 0 to {len(places) - 1}."
            )
        return [number(places[int(index)])]

    return _on_inner(encoding, inner, place)


def clock(encoding: Any, inner: Definition) -> Definition:
    """Return the inner definition in the time of the clock."""
    mp = context()
    knots = [number(knot) for knot in encoding.knots]
    least = number(2) ** -12
    slopes = [least + (1 - least) * (1 + number(pace) / 2) ** 2 for pace in encoding.paces]
    heights = [mp.zero]  # what the clock shows at the knots
    for n, slope in enumerate(slopes):
        heights.append(heights[-1] + slope * (knots[n + 1] - knots[n]))

    def place(at: Point) -> Point:
        inside = [n for n, knot in enumerate(knots[:-1]) if knot <= at[0]]
        piece = inside[-1] if inside else 0
        return [heights[piece] + slopes[piece] * (at[0] - knots[piece])]

    return _on_inner(encoding, inner, place)


@lru_cache(maxsize=16)
def _places(largest: int, length: int, seed: int) -> tuple[int, ...]:
    """Return the sample; kept for a while, since every question asks for all of it."""
    return tuple(sample(largest, length, seed))


def _on_inner(encoding: Any, rule: Definition, place: Any) -> Definition:
    """Return a definition that asks the inner encoding at other positions."""
    inner = encoding.inner

    def vectors(_: Any, at: Point) -> Vector:
        return rule.vectors(inner, place(at)) if rule.vectors else []

    def transform(_: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
        return rule.transform(inner, x, place(at), side, head) if rule.transform else x

    def bias(_: Any, at_q: Point, at_k: Point, head: int) -> Real:
        return rule.bias(inner, place(at_q), place(at_k), head) if rule.bias else context().zero

    return Definition(
        vectors=vectors if rule.vectors else None,
        transform=transform if rule.transform else None,
        bias=bias if rule.bias else None,
    )


WRAPPERS = {"Interleaved": layers, "Randomised": randomised, "Clock": clock, "Dape": dape}
