"""Rules on content that walk from token to token: clocks, reflections, and gates along the path.

selective-rope  pairs turned by w_c sum over l <= i of (U x_l / |x_l| + d)_c     [movahedi2026]
path            k_j multiplied by I - b_l w_l w_l^T for l = j+1 ... i            [yang2025path]
grape-path      sum over j < l <= i of m_h ln sigmoid(<p_i, exp(l J) p_l> / r)      [zhang2025]
"""

from __future__ import annotations

from typing import Any

from gnomon.oracle.biases import official_slopes
from gnomon.oracle.content import (
    numbers,
    plain,
    rows_of,
    sigmoid,
    uniform,
    unit,
    weights_of,
)
from gnomon.oracle.definition import Content, Definition, Vector
from gnomon.oracle.exact import context, dot, number


def taps_of(encoding: Any, purpose: int, head: int, channels: int, channel: int) -> Vector:
    """Return the taps of one channel, the last that of the token itself."""
    held, size = encoding.taps, encoding.kernel
    if size == 1:
        return [number(1)]
    if held is not None:
        return [number(value) for value in held[head][channel]]
    first = (head * channels + channel) * size
    root = context().sqrt(number(size))
    return [uniform(encoding, purpose, first + tap) / root for tap in range(size)]


def convolved(encoding: Any, purpose: int, content: Content, x: list[Vector]) -> list[Vector]:
    """Return channels after the short convolution, which stops where positions do not rise."""
    channels = len(x[0])
    taps = [taps_of(encoding, purpose, content.head, channels, c) for c in range(channels)]
    made = []
    for now in range(len(x)):
        total = [taps[c][-1] * x[now][c] for c in range(channels)]
        for back in range(1, encoding.kernel):
            before = now - back
            if before < 0 or content.at_keys[before + 1][0] <= content.at_keys[before][0]:
                break
            total = [t + taps[c][-1 - back] * x[before][c] for c, t in enumerate(total)]
        made.append(total)
    return made


def selective(encoding: Any, content: Content) -> list[Vector]:
    """Return logits of vectors turned by clocks that tokens drive."""
    mp, head, pairs = context(), content.head, encoding.dimension // 2
    width = len(content.tokens[0])
    rows = rows_of(encoding, "clock_weights", 0, head, (pairs, width))
    if encoding.clock_weights is None:
        rows = [[value / mp.sqrt(dot(row, row)) for value in row] for row in rows]
    steps = [[dot(row, unit(x)) for row in rows] for x in content.tokens]
    steps = convolved(encoding, 1, content, steps)
    drift = [numbers(encoding, "drift", (head, c), lambda: mp.zero) for c in range(pairs)]
    base = number(encoding.base)
    rates = [mp.power(base, -number(2 * c) / encoding.dimension) for c in range(pairs)]
    turned, clock = [], [mp.zero] * pairs
    for step in steps:
        clock = [t + s + d for t, s, d in zip(clock, step, drift, strict=True)]
        turned.append([w * t for w, t in zip(rates, clock, strict=True)])
    keys = [turn(encoding, k, at) for k, at in zip(content.keys, turned, strict=True)]
    queries = [turn(encoding, q, turned[content.index(i)]) for i, q in enumerate(content.queries)]
    return [[content.scale * dot(q, k) for k in keys] for q in queries]


def turn(encoding: Any, x: Vector, angles: Vector) -> Vector:
    """Return a vector whose pairs are turned by angles, in the layout of the encoding."""
    mp, made, pairs = context(), list(x), len(angles)
    for c, angle in enumerate(angles):
        half = encoding.layout == "half"
        first, second = (c, c + pairs) if half else (2 * c, 2 * c + 1)
        cosine, sine = mp.cos(angle), mp.sin(angle)
        made[first] = x[first] * cosine - x[second] * sine
        made[second] = x[first] * sine + x[second] * cosine
    return made


def path(encoding: Any, content: Content) -> list[Vector]:
    """Return q.k with k carried over every token up to the query; 0 after it."""
    mp, head, d = context(), content.head, encoding.dimension
    width, by = len(content.tokens[0]), number(encoding.sigma)
    rows = rows_of(encoding, "directions", 0, head, (d, width))
    if encoding.directions is None:
        rows = [[by * value for value in row] for row in rows]
    named = [[dot(row, x) for row in rows] for x in content.tokens]
    if encoding.kernel > 1:
        named = [[v * sigmoid(v) for v in row] for row in convolved(encoding, 2, content, named)]
    named = [unit(row) for row in named]
    weights = weights_of(encoding, "step_weights", 1, head, width, by)
    bias = numbers(encoding, "step_bias", (head,), lambda: mp.zero)
    steps = [2 * sigmoid(dot(weights, x) + bias) for x in content.tokens]
    logits = [[mp.zero for _ in content.keys] for _ in content.queries]
    for j, key in enumerate(content.keys):
        moved = key
        for now in range(j, len(content.keys)):
            if now > j:
                size = steps[now] * dot(named[now], moved)
                moved = [v - size * w for v, w in zip(moved, named[now], strict=True)]
            i = now - content.index(0)
            if i >= 0:
                logits[i][j] = content.scale * dot(content.queries[i], moved)
    return logits


def grape_path(encoding: Any, content: Content) -> list[Vector]:
    """Return scale q.k plus the logarithms of gates between key and query."""
    mp, head, count = context(), content.head, encoding.features
    width = len(content.tokens[0])
    rows = rows_of(encoding, "projection", 0, head, (count, width))
    if encoding.projection is None:
        by = number(encoding.sigma) / mp.sqrt(number(width))
        rows = [[by * value for value in row] for row in rows]
    size = official_slopes(encoding.heads)[head]
    read = [[dot(row, x) for row in rows] for x in content.tokens]
    even = []
    for p in read:
        rms = mp.sqrt(dot(p, p) / count + mp.power(2, -23))
        even.append([value / rms for value in p])
    along = []
    for p, at in zip(even, content.at_keys, strict=True):
        turned = list(p)
        for c in range(0, count, 2):
            turned[c] = p[c] * mp.cos(at[0]) - p[c + 1] * mp.sin(at[0])
            turned[c + 1] = p[c] * mp.sin(at[0]) + p[c + 1] * mp.cos(at[0])
        along.append(turned)
    logits = plain(content)
    for i, row in enumerate(logits):
        now, total = content.index(i), mp.zero
        here = even[now] if encoding.normed == "both" else read[now]
        for j in reversed(range(now)):
            total += size * mp.log(sigmoid(dot(here, along[j + 1]) / count))
            row[j] += total
    return logits


DEFINITIONS = {
    "SelectiveRope": Definition(content=selective),
    "Path": Definition(content=path),
    "GrapePath": Definition(content=grape_path),
}
