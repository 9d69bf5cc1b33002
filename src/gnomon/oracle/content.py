"""Rules on content, one query and key after the other, from parameters alone.

fox             sum over j < l <= i of ln sigmoid(<w, x_l> + b)                       [lin2025]
cope            q.(k + e(p)), p the sum of sigmoid(scale q.x_l) over l = j ... i [golovneva2024]
grape-additive  ALiBi with slopes of softplus, of query and key                     [zhang2025]
dape            A + B + f(A, B) over heads                                          [zheng2024]
pope            softplus(x_c) at the angle w_c i, that of keys shifted     [gopalakrishnan2025]

and those that walk from token to token, with clocks, reflections, and gates along the path:

selective-rope  pairs turned by w_c sum over l <= i of (U x_l / |x_l| + d)_c     [movahedi2026]
path            k_j multiplied by I - b_l w_l w_l^T for l = j+1 ... i            [yang2025path]
grape-path      sum over j < l <= i of m_h ln sigmoid(<p_i, exp(l J) p_l> / r)      [zhang2025]
"""

from __future__ import annotations

from typing import Any

from gnomon.errors import EncodingError
from gnomon.oracle.biases import official_slopes
from gnomon.oracle.definition import (
    Content,
    Definition,
    Real,
    Vector,
    context,
    dot,
    normal_row,
    number,
    sigmoid,
    softplus,
    start_of,
    words,
)
from gnomon.oracle.rotary import rotate

SMALL = 1e-6


def fox(encoding: Any, content: Content) -> list[Vector]:
    """Return scale q.k and what was forgotten on the way."""
    mp, head, width = context(), content.head, len(content.tokens[0])
    weights = _weights_of(encoding, "gate_weights", 0, head, width, number(encoding.sigma))
    bias = numbers(encoding, "gate_bias", (head,), lambda: number(encoding.start))
    logs = [mp.log(sigmoid(dot(weights, x) + bias)) for x in content.tokens]
    logits = plain(content)
    for i, row in enumerate(logits):
        now = content.index(i)
        for j in range(min(now, len(row))):
            row[j] += mp.fsum(logs[j + 1 : now + 1])
    return logits


def cope(encoding: Any, content: Content) -> list[Vector]:
    """Return scale q.(k + e) with e between two rows of the table."""
    mp, logits, table = context(), plain(content), _table(encoding)
    for i, q in enumerate(content.queries):
        by_row = [content.scale * dot(q, row) for row in table]
        place = mp.zero
        for j in reversed(range(content.index(i) + 1)):
            place += sigmoid(content.scale * dot(q, content.tokens[j]))
            at = min(place, number(encoding.rows - 1))
            low = min(int(mp.floor(at)), encoding.rows - 2)
            logits[i][j] += by_row[low] + (at - low) * (by_row[low + 1] - by_row[low])
        for j in range(content.index(i) + 1, len(content.keys)):
            logits[i][j] += by_row[0]
    return logits


def grape(encoding: Any, content: Content) -> list[Vector]:
    """Return scale q.k minus lag times slope."""
    mp, head, d = context(), content.head, encoding.dimension
    by = 1 / mp.sqrt(number(d))
    factor = numbers(encoding, "factor", (head,), lambda: mp.log(mp.expm1(1)))
    size = official_slopes(encoding.heads)[head] * softplus(factor)

    def slopes(name: str, purpose: int, vectors: list[Vector]) -> Vector:
        way = _weights_of(encoding, name, purpose, head, d, by)
        length = mp.sqrt(dot(way, way))
        return [softplus(dot(way, x) / length * by) for x in vectors]

    nothing = mp.zero
    of_q = slopes("query_ways", 0, content.queries) if encoding.gated != "keys" else None
    of_k = slopes("key_ways", 1, content.keys) if encoding.gated != "queries" else None
    logits = plain(content)
    for i, at_q in enumerate(content.at_queries):
        for j, at_k in enumerate(content.at_keys):
            slope = (of_q[i] if of_q else nothing) + (of_k[j] if of_k else nothing)
            logits[i][j] -= (at_q[0] - at_k[0]) * size * slope
    return logits


def dape(encoding: Any, inner: Definition) -> Definition:
    """Return A + B + f(A, B), which needs queries and keys of all heads: `Content.beside`."""

    def rule(_: Any, content: Content) -> list[Vector]:
        if inner.bias is None:
            raise EncodingError(f"The oracle knows no bias of {encoding.inner.name!r}.")
        bias, every = inner.bias, content.beside or [(content.queries, content.keys)]
        network = _network(encoding, len(every))
        made = []
        for i, at_q in enumerate(content.at_queries):
            row = []
            for j, at_k in enumerate(content.at_keys):
                seen = [content.scale * dot(queries[i], keys[j]) for queries, keys in every]
                added = [bias(encoding.inner, at_q, at_k, head) for head in range(len(every))]
                change = _mix(network, [*seen, *added], content.head)
                row.append(seen[content.head] + added[content.head] + change)
            made.append(row)
        return made

    return Definition(content=rule)


def pope(encoding: Any, x: Vector, at: Vector, side: str, head: int) -> Vector:
    """Return magnitudes at the angles of their coordinates, all cosines before all sines."""
    mp, angles = context(), []
    for c in range(len(x)):
        angle = at[0] * mp.power(number(encoding.base), -number(c) / len(x))
        angles.append(angle if side == "q" else angle + _shift(encoding, head, c))
    polar = [*zip((softplus(value) for value in x), angles, strict=True)]
    return [r * mp.cos(a) for r, a in polar] + [r * mp.sin(a) for r, a in polar]


def selective(encoding: Any, content: Content) -> list[Vector]:
    """Return logits of vectors turned by clocks that tokens drive."""
    mp, head, pairs = context(), content.head, encoding.dimension // 2
    width = len(content.tokens[0])
    rows = _rows_of(encoding, "clock_weights", 0, head, (pairs, width))
    if encoding.clock_weights is None:
        rows = [[value / mp.sqrt(dot(row, row)) for value in row] for row in rows]
    steps = [[dot(row, unit(x)) for row in rows] for x in content.tokens]
    steps = convolve(encoding, 1, content, steps)
    drift = [numbers(encoding, "drift", (head, c), lambda: mp.zero) for c in range(pairs)]
    base = number(encoding.base)
    rates = [mp.power(base, -number(2 * c) / encoding.dimension) for c in range(pairs)]
    turned, clock = [], [mp.zero] * pairs
    for step in steps:
        clock = [t + s + d for t, s, d in zip(clock, step, drift, strict=True)]
        turned.append([w * t for w, t in zip(rates, clock, strict=True)])
    keys = [rotate(k, at, encoding.layout) for k, at in zip(content.keys, turned, strict=True)]
    queries = [
        rotate(q, turned[content.index(i)], encoding.layout) for i, q in enumerate(content.queries)
    ]
    return [[content.scale * dot(q, k) for k in keys] for q in queries]


def path(encoding: Any, content: Content) -> list[Vector]:
    """Return q.k with k carried over every token up to the query; 0 after it."""
    mp, head, d = context(), content.head, encoding.dimension
    width, by = len(content.tokens[0]), number(encoding.sigma)
    rows = _rows_of(encoding, "directions", 0, head, (d, width))
    if encoding.directions is None:
        rows = [[by * value for value in row] for row in rows]
    named = [[dot(row, x) for row in rows] for x in content.tokens]
    if encoding.kernel > 1:
        named = [[v * sigmoid(v) for v in row] for row in convolve(encoding, 2, content, named)]
    named = [unit(row) for row in named]
    weights = _weights_of(encoding, "step_weights", 1, head, width, by)
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
    rows = _rows_of(encoding, "projection", 0, head, (count, width))
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


def numbers(encoding: Any, name: str, at: tuple[int, ...], start: Any) -> Real:
    """Return one learned number, as it was given, or as `start` makes it."""
    held = getattr(encoding, name)
    if held is None:
        return start()
    for index in at:
        held = held[index]
    return number(held)


def normal(encoding: Any, purpose: int, row: int, count: int) -> Vector:
    """Return a row of normal numbers."""
    return normal_row([purpose, row], count, encoding.seed)


def uniform(encoding: Any, purpose: int, place: int) -> Real:
    """Return the number at a place, uniform in (-1, 1)."""
    word = words(start_of(encoding.seed + purpose * 2**32, []), place + 1)[place]
    return 2 * (word // 2**11 + number("0.5")) / 2**53 - 1


def _rows_of(
    encoding: Any, name: str, purpose: int, head: int, shape: tuple[int, int]
) -> list[Vector]:
    """Return a matrix of one head, given or drawn: rows (outputs, width) of standard numbers."""
    count, width = shape
    held = getattr(encoding, name)
    if held is not None:
        return [[number(value) for value in row] for row in held[head]]
    return [normal(encoding, purpose, head * count + row, width) for row in range(count)]


def _weights_of(encoding: Any, name: str, purpose: int, head: int, width: int, by: Real) -> Vector:
    """Return the weights of one head (width,), given, or drawn and multiplied by `by`."""
    held = getattr(encoding, name)
    if held is not None:
        return [number(value) for value in held[head]]
    return [by * value for value in normal(encoding, purpose, head, width)]


def plain(content: Content) -> list[Vector]:
    """Return scale q.k."""
    return [[content.scale * dot(q, k) for k in content.keys] for q in content.queries]


def unit(x: Vector) -> Vector:
    """Return x / sqrt(|x|^2 + 10^-6)."""
    length = context().sqrt(dot(x, x) + number(SMALL))
    return [value / length for value in x]


def _taps_of(encoding: Any, purpose: int, head: int, channels: int, channel: int) -> Vector:
    """Return the taps of one channel, the last that of the token itself."""
    held, size = encoding.taps, encoding.kernel
    if size == 1:
        return [number(1)]
    if held is not None:
        return [number(value) for value in held[head][channel]]
    first = (head * channels + channel) * size
    root = context().sqrt(number(size))
    return [uniform(encoding, purpose, first + tap) / root for tap in range(size)]


def convolve(encoding: Any, purpose: int, content: Content, x: list[Vector]) -> list[Vector]:
    """Return channels after the short convolution, which stops where positions do not rise."""
    channels = len(x[0])
    taps = [_taps_of(encoding, purpose, content.head, channels, c) for c in range(channels)]
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


def _table(encoding: Any) -> list[Vector]:
    """Return the rows of the table, given or drawn."""
    if encoding.table is not None:
        return [[number(value) for value in row] for row in encoding.table]
    by, d = number(encoding.sigma), encoding.dimension
    return [[by * v for v in normal(encoding, 0, row, d)] for row in range(encoding.rows)]


def _network(encoding: Any, heads: int) -> list[list[Vector]]:
    """Return weights and biases of both layers, given or drawn; biases are rows of one number."""
    units = encoding.units
    shapes = {
        "mixer_in": (units, 2 * heads, 2 * heads),
        "mixer_in_bias": (units, 1, 2 * heads),
        "mixer_out": (heads, units, units),
        "mixer_out_bias": (heads, 1, units),
    }
    made = []
    for purpose, (name, (rows, width, inputs)) in enumerate(shapes.items()):
        held, root = getattr(encoding, name), context().sqrt(number(inputs))
        flat = (
            [uniform(encoding, purpose, place) / root for place in range(rows * width)]
            if held is None
            else [number(value) for value in held.ravel()]
        )
        made.append([flat[row * width : (row + 1) * width] for row in range(rows)])
    return made


def _mix(network: list[list[Vector]], seen: Vector, head: int) -> Real:
    """Return what the network of two layers adds to the logit of one head."""
    first, first_bias, second, second_bias = network
    inside = []
    for weights, [bias] in zip(first, first_bias, strict=True):
        value = dot(weights, seen) + bias
        inside.append(value if value > 0 else value * number(0.01))
    return dot(second[head], inside) + second_bias[head][0]


def _shift(encoding: Any, head: int, c: int) -> Real:
    """Return the shift of one coordinate of keys, within -2 pi ... 0."""
    mp = context()

    def start() -> Real:
        place = head * encoding.dimension + c
        return mp.zero if encoding.start == "zero" else mp.pi * (uniform(encoding, 0, place) - 1)

    return min(max(numbers(encoding, "shifts", (head, c), start), -2 * mp.pi), mp.zero)


DEFINITIONS = {
    "Pope": Definition(transform=pope),
    "Fox": Definition(content=fox),
    "Cope": Definition(content=cope),
    "GrapeAdditive": Definition(content=grape),
    "SelectiveRope": Definition(content=selective),
    "Path": Definition(content=path),
    "GrapePath": Definition(content=grape_path),
}
