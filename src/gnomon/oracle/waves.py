"""Rotary encodings that do more than turn both sides by one phase: FoPE and RoPE++.

FoPE, pair m: (a, b) -> (a c - b s, a s + b c), c = sum_l C_lm cos(w_l i), s = sum_l S_lm sin(w_l i)
over the frequencies w_l = base^(-2l/d) with w_l length >= 2 pi; other pairs pass [hua2025].

RoPE++: rotary encoding, the queries of imaginary heads turned by 90 degrees less [liu2025].
"""

from __future__ import annotations

from typing import Any

from gnomon.oracle.definition import Definition, Point, Vector
from gnomon.oracle.exact import Real, context, number
from gnomon.oracle.ladders import attention_factor, frequencies
from gnomon.oracle.rotary import along_axes


def places(pair: int, pairs: int, layout: str) -> tuple[int, int]:
    """Return the two coordinates of a pair."""
    return (2 * pair, 2 * pair + 1) if layout == "interleaved" else (pair, pair + pairs)


def fope(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
    """Return a vector turned by the series at its position."""
    del side
    mp, made, pairs = context(), list(x), encoding.dimension // 2
    ladder = [number(encoding.base) ** (-mp.mpf(2 * m) / encoding.dimension) for m in range(pairs)]
    kept = [w for w in ladder if w * encoding.length >= 2 * mp.pi]
    own, waves = head if encoding.heads > 1 else 0, [*enumerate(kept)]
    for m in range(len(kept)):
        c = mp.fsum(_entry(encoding.cosines, own, n, m) * mp.cos(w * at[0]) for n, w in waves)
        s = mp.fsum(_entry(encoding.sines, own, n, m) * mp.sin(w * at[0]) for n, w in waves)
        a, b = places(m, pairs, encoding.layout)
        made[a], made[b] = x[a] * c - x[b] * s, x[a] * s + x[b] * c
    return made


def _entry(coefficients: Any, head: int, row: int, column: int) -> Real:
    return number(coefficients[head][row][column])


def plus(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
    """Return a key turned to its position, or a query, in an imaginary head by 90 degrees less."""
    mp, made, share = context(), list(x), int(encoding.dimension * encoding.fraction)
    scaling = encoding.scaling.parameters
    ladder = frequencies(share // encoding.axes, encoding.base, scaling)
    factor, waves = attention_factor(scaling), along_axes(ladder, encoding.axes)
    odd = head % 2 == 1 if encoding.arrangement == "interleaved" else 2 * head >= encoding.heads
    less = mp.pi / 2 if side == "q" and odd else mp.zero
    for k, wave in enumerate(waves):
        phase = mp.fsum(w * t for w, t in zip(wave, at, strict=True)) - less
        a, b = places(k, len(waves), encoding.layout)
        made[a] = factor * (x[a] * mp.cos(phase) - x[b] * mp.sin(phase))
        made[b] = factor * (x[a] * mp.sin(phase) + x[b] * mp.cos(phase))
    return made


DEFINITIONS = {"Fope": Definition(turned=fope), "RopePlusPlus": Definition(turned=plus)}
