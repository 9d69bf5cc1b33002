"""Rotary encodings of several axes and of parts of a head: each family's frequency vectors.

m-rope        one ladder base^(-2k/r); pair k turns by one axis, dealt by sections    [wang2024]
mixed         W_hk as learned, for each head                                [heo2024 sec. 3.2]
pixel         pi times evenly spaced numbers from 1 to m/2, on each axis            [wang2021]
patches       2 pi base^(-2k/r) on each axis                                     [simeoni2025]
mla           a ladder of its own for the last coordinates of a head  [deepseek2024 sec. 2.1.3]
proportional  the fastest of base^(-2k/d), d the whole head; the rest stands still
                                                                        [barbero2025 sec. 6]
"""

from __future__ import annotations

from typing import Any

from gnomon.oracle.exact import context, number, vector
from gnomon.oracle.ladders import attention_factor, frequencies, plain
from gnomon.oracle.rotary import Turning, along_axes, rotary


def dealt(sections: tuple[int, ...], arrangement: str) -> list[int]:
    """Return the axis of every pair, by dealing pairs one at a time.

    >>> dealt((2, 1, 1), "interleaved")
    [0, 1, 2, 0]
    """
    if arrangement == "chunked":
        return [axis for axis, count in enumerate(sections) for _ in range(count)]
    if arrangement == "spatial-first":
        spatial = [axis for _ in range(sections[1]) for axis in range(1, len(sections))]
        return spatial + [0] * sections[0]
    left, made = list(sections), []
    for pair in range(sum(sections)):
        axis = pair % len(sections)
        # A spent axis leaves its turn to the first, which has the most.
        axis = axis if left[axis] and pair < len(sections) * sections[axis] else 0
        left[axis] -= 1
        made.append(axis)
    return made


def _mrope(encoding: Any, head: int) -> Turning:
    del head
    zero, scaling = context().zero, encoding.scaling.parameters
    ladder = frequencies(int(encoding.dimension * encoding.fraction), encoding.base, scaling)
    chosen = dealt(encoding.sections, encoding.arrangement)
    waves = [
        [w if axis == own else zero for axis in range(encoding.axes)]
        for w, own in zip(ladder, chosen, strict=True)
    ]
    return Turning(waves=waves, factor=attention_factor(scaling))


def _mixed(encoding: Any, head: int) -> Turning:
    return Turning(waves=[vector(row, "frequencies") for row in encoding.frequencies[head]])


def _pixel(encoding: Any, head: int) -> Turning:
    del head
    mp = context()
    pairs = int(encoding.dimension * encoding.fraction) // (2 * encoding.axes)
    last = number(encoding.max_frequency) / 2
    steps = [mp.mpf(k) / max(1, pairs - 1) for k in range(pairs)]
    return Turning(waves=along_axes([mp.pi * (1 + s * (last - 1)) for s in steps], encoding.axes))


def _patches(encoding: Any, head: int) -> Turning:
    del head
    ladder = plain(encoding.dimension // encoding.axes, number(encoding.base))
    return Turning(waves=along_axes([2 * context().pi * w for w in ladder], encoding.axes))


def _mla(encoding: Any, head: int) -> Turning:
    del head
    scaling, first = encoding.scaling.parameters, encoding.content_dimension
    ladder = frequencies(encoding.dimension - first, encoding.base, scaling)
    return Turning(waves=along_axes(ladder, 1), first=first, factor=attention_factor(scaling))


def _proportional(encoding: Any, head: int) -> Turning:
    del head
    turning = int(encoding.fraction * encoding.dimension // 2)
    ladder = plain(encoding.dimension, number(encoding.base))
    still = [context().zero] * (len(ladder) - turning)
    waves = [w / number(encoding.factor) for w in ladder[:turning]] + still
    return Turning(waves=along_axes(waves, 1))


DEFINITIONS = {
    "MRope": rotary(_mrope),
    "Mixed": rotary(_mixed),
    "Pixel": rotary(_pixel),
    "Patches": rotary(_patches),
    "Mla": rotary(_mla),
    "Proportional": rotary(_proportional),
}
