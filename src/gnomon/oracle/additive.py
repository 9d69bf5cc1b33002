"""Vectors that are added: the sinusoid, random rows, rows of tables, and times.

sinusoid   p[2k] = sin <W_k, i>, p[2k+1] = cos <W_k, i>, each axis with the ladder
           base^(-2k/d') of its share d' of the dimension                  [vaswani2017 sec. 3.5]
random     the normal number of (seed, i, k): SplitMix64 words [steele2014] in whole-number
           arithmetic, Box and Muller's transform [box1958] in this one's
tables     the row as it is; of factors U W, its exact product
ctlpe      a (t - origin) / unit + b, a linear function of the time                  [kim2024]
"""

from __future__ import annotations

from typing import Any

from gnomon.errors import EncodingError
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
from gnomon.oracle.rotary import plain, unit_of_time


def sinusoidal(encoding: Any, at: Point) -> Vector:
    """Return sine and cosine of every phase, axis after axis."""
    mp = context()
    ladder = plain(encoding.dimension // encoding.axes, number(encoding.base))
    phases = [x * w for x in at for w in ladder]
    return [turn(phase) for phase in phases for turn in (mp.sin, mp.cos)]


def random(encoding: Any, at: Point) -> Vector:
    """Return sigma times the normal numbers of a whole position."""
    normal = normal_row([_whole(x) for x in at], encoding.dimension, encoding.seed)
    return [number(encoding.sigma) * z for z in normal]


def row(encoding: Any, at: Point) -> Vector:
    """Return row i of a table of vectors."""
    return [number(value) for value in _row(encoding.values, _whole(at[0]))]


def learned(encoding: Any, at: Point) -> Vector:
    """Return row i as it was learned, or as it starts: random."""
    if encoding.values is not None:
        return row(encoding, at)
    _row(range(encoding.rows), _whole(at[0]))
    return random(encoding, at)


def fitted(encoding: Any, at: Point) -> Vector:
    """Return row i of U W times the gain; positions on a grid count in row-major order."""
    index = 0
    for x, size in zip(at, encoding.shape, strict=True):
        place = _whole(x)
        place = min(place, size - 1) if encoding.beyond == "clamp" else place
        if not 0 <= place < size:
            raise EncodingError(f"Position {place} is outside of 0 to {size - 1}; ask within it.")
        index = index * size + place
    left = [number(value) for value in encoding.left[index]]
    if encoding.right is not None:
        columns = encoding.right.T
        left = [dot(left, [number(value) for value in column]) for column in columns]
    return [number(encoding.gain) * value for value in left]


def linear(encoding: Any, at: Point) -> Vector:
    """Return the linear function of a time."""
    passed = (at[0] - number(encoding.origin)) / unit_of_time(encoding)
    slopes, offsets = encoding.slope, encoding.offset
    return [number(a) * passed + number(b) for a, b in zip(slopes, offsets, strict=True)]


def _row(values: Any, index: int) -> Any:
    if not 0 <= index < len(values):
        raise EncodingError(
            f"Position {index} is outside of the table's rows 0 to {len(values) - 1}; ask within."
        )
    return values[index]


def _whole(value: Real) -> int:
    """Return a whole number as an int; tables have nothing between their rows."""
    if value != int(value):
        raise EncodingError(f"Position {value} is not a whole number; a table has no such row.")
    return int(value)


DEFINITIONS = {
    "Sinusoidal": Definition(vectors=sinusoidal),
    "Random": Definition(vectors=random),
    "Table": Definition(vectors=row),
    "Learned": Definition(vectors=learned),
    "Fitted": Definition(vectors=fitted),
    "Ctlpe": Definition(vectors=linear),
}
