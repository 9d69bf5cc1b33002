"""Encodings of times: periods in place of frequencies, and a linear function of the time.

rope-time   pair k turns by 2 pi t / P_k, P_k geometric from the shortest to the longest period
            [gao2024]
ctlpe       a (t - origin) / unit + b                                                  [kim2024]
"""

from __future__ import annotations

from typing import Any

from gnomon.oracle.definition import Definition, Point, Vector
from gnomon.oracle.exact import context, number
from gnomon.oracle.more_biases import ladder, unit
from gnomon.oracle.rotary import Turning, along_axes, rotary


def _rope_time(encoding: Any, head: int) -> Turning:
    del head
    mp = context()
    periods = ladder(encoding.shortest, encoding.longest, encoding.dimension // 2)
    return Turning(waves=along_axes([2 * mp.pi / (p * unit(encoding)) for p in periods], 1))


def linear(encoding: Any, at: Point) -> Vector:
    """Return the linear function of a time."""
    passed = (at[0] - number(encoding.origin)) / unit(encoding)
    slopes, offsets = encoding.slope, encoding.offset
    return [number(a) * passed + number(b) for a, b in zip(slopes, offsets, strict=True)]


DEFINITIONS = {"RopeTime": rotary(_rope_time), "Ctlpe": Definition(vectors=linear)}
