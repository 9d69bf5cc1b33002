"""Rotary encodings: pairs of coordinates turned by <W_k, i>, and each family's matrix W.

    (a, b) -> c (a cos p - b sin p, a sin p + b cos p),  p = <W_k, i>           [su2021 sec. 3.4]

with c the scaling's factor. A family is told by three things: its frequency vectors W_k (one for
each turned pair, in order), the first coordinate that turns, and c. Everything else passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gnomon.oracle.definition import Definition, Point, Vector
from gnomon.oracle.exact import Real, context, dot
from gnomon.oracle.ladders import attention_factor, frequencies


@dataclass(frozen=True, kw_only=True)
class Turning:
    """What decides a rotary encoding."""

    waves: list[Point]
    """The frequency vector of every turned pair."""
    first: int = 0
    factor: Real = field(default_factory=lambda: context().one)


def along_axes(ladder: Sequence[Real], axes: int) -> list[Point]:
    """Return the frequency vectors in which each axis has this ladder, axis after axis."""
    zero = context().zero
    return [
        [w if axis == own else zero for axis in range(axes)] for own in range(axes) for w in ladder
    ]


def turn(x: Vector, at: Point, turning: Turning, layout: str) -> Vector:
    """Return x with its pairs turned to a position."""
    mp, made, pairs = context(), list(x), len(turning.waves)
    for k, wave in enumerate(turning.waves):
        a, b = (2 * k, 2 * k + 1) if layout == "interleaved" else (k, k + pairs)
        a, b, phase = turning.first + a, turning.first + b, dot(wave, at)
        cosine, sine = mp.cos(phase), mp.sin(phase)
        made[a] = turning.factor * (x[a] * cosine - x[b] * sine)
        made[b] = turning.factor * (x[a] * sine + x[b] * cosine)
    return made


def rotary(turning_of: Callable[[Any, int], Turning]) -> Definition:
    """Return the definition of a family from its function (encoding, head) -> turning."""

    def turned(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
        del side
        return turn(x, at, turning_of(encoding, head), encoding.layout)

    return Definition(turned=turned)


def _rope(encoding: Any, head: int) -> Turning:
    del head
    share = int(encoding.dimension * encoding.fraction) // encoding.axes
    scaling = encoding.scaling.parameters
    ladder = frequencies(share, encoding.base, scaling)
    return Turning(waves=along_axes(ladder, encoding.axes), factor=attention_factor(scaling))


def same(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
    """Return a vector as it is: no encoding."""
    del encoding, at, side, head
    return x


def nothing(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return no bias."""
    del encoding, at_q, at_k, head
    return context().zero


DEFINITIONS = {
    "Nope": Definition(turned=same, bias=nothing),
    "Rope": rotary(_rope),
}
