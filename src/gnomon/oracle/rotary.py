"""Rotary encodings: pairs of coordinates turned by <W_k, i>, and each family's matrix W.

    (a, b) -> c (a cos p - b sin p, a sin p + b cos p),  p = <W_k, i>           [su2021 sec. 3.4]

with c the scaling's factor. A family is told by three things: its frequency vectors W_k (one for
each turned pair, in order), the first coordinate that turns, and c. Everything else passes.

*Scalings* of one ladder, w_k = base^(-2k/r), k = 0 ... r/2 - 1, of r turned coordinates
[su2021 sec. 3.3]. A rule takes (r, base, parameters) and returns the frequencies; factors on
queries and keys have rules of their own.

    linear     w_k / s                                                        [chen2023]
    ntk        the ladder of base s^(r/(r-2))                                 [bloc972023]
    dynamic    the same with s L/L0 - (s - 1) for s, where L > L0             [emozilla2023]
    yarn       w_k/s for slow pairs, w_k for fast ones, a ramp between        [peng2024 sec. 3]
    longrope   w_k / e_k, e_k from one of two lists                           [ding2024]
    llama3     w_k/s for long waves, w_k for short ones, a blend between      [grattafiori2024]

*Several axes and parts of a head*:

    m-rope        one ladder base^(-2k/r); pair k turns by one axis, dealt by sections    [wang2024]
    mixed         W_hk as learned, for each head                                [heo2024 sec. 3.2]
    pixel         pi times evenly spaced numbers from 1 to m/2, on each axis            [wang2021]
    patches       2 pi base^(-2k/r) on each axis                                     [simeoni2025]
    mla           a ladder of its own for the last coordinates of a head  [deepseek2024 sec. 2.1.3]
    proportional  the fastest of base^(-2k/d), d the whole head; the rest stands still
                                                                            [barbero2025 sec. 6]
    rope-time     pair k turns by 2 pi t / P_k, P_k geometric from the shortest to the longest
                  period                                                                  [gao2024]

*Turns that also shrink* are one pair of factors that grow and fall apart,

    q~ = e^(a (i - r)) R_i q,  k~ = e^(a (r - j)) R_j k,  q~.k~ ~ e^(a (i - j)),  a <= 0,

with r a reference point that cancels. Here exponents have no limit, so nothing overflows.

    xpos     a_k = ln((2k/d + gamma) / (1 + gamma)) / scale_base                [sun2022 sec. 3.2]
    retnet   a = ln(1 - 2^(-5-h)) for all pairs of head h, and frequencies base^(-k/(pairs - 1)),
             closed at both ends, as its code has them                          [sun2023 sec. 2]

*More than one phase.* FoPE, pair m: (a, b) -> (a c - b s, a s + b c), c = sum_l C_lm cos(w_l i),
s = sum_l S_lm sin(w_l i) over the frequencies w_l = base^(-2l/d) with w_l length >= 2 pi; other
pairs pass [hua2025]. RoPE++: the queries of imaginary heads are turned by 90 degrees less
[liu2025].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gnomon.errors import EncodingError
from gnomon.oracle.definition import Definition, Point, Real, Vector, context, dot, number, vector

Parameters = Mapping[str, Any]

Rule = Callable[[int, Real, Parameters], list[Real]]

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "year": 31556952}


@dataclass(frozen=True, kw_only=True)
class Turning:
    """What decides a rotary encoding."""

    waves: list[Point]
    """The frequency vector of every turned pair."""
    first: int = 0
    factor: Real = field(default_factory=lambda: context().one)


def turn(x: Vector, at: Point, turning: Turning, layout: str) -> Vector:
    """Return x with its pairs turned to a position."""
    angles = [dot(wave, at) for wave in turning.waves]
    return rotate(x, angles, layout, first=turning.first, factor=turning.factor)


def rotate(
    x: Vector, angles: Sequence[Real], layout: str, *, first: int = 0, factor: Any = 1
) -> Vector:
    """Return x with one pair turned by each angle, from the coordinate `first` on."""
    mp, made = context(), list(x)
    for pair, angle in enumerate(angles):
        a, b = (first + place for place in places(pair, len(angles), layout))
        cosine, sine = mp.cos(angle), mp.sin(angle)
        made[a] = factor * (x[a] * cosine - x[b] * sine)
        made[b] = factor * (x[a] * sine + x[b] * cosine)
    return made


def places(pair: int, pairs: int, layout: str) -> tuple[int, int]:
    """Return the two coordinates of a pair."""
    return (2 * pair, 2 * pair + 1) if layout == "interleaved" else (pair, pair + pairs)


def along_axes(ladder: Sequence[Real], axes: int) -> list[Point]:
    """Return the frequency vectors in which each axis has this ladder, axis after axis."""
    zero = context().zero
    return [
        [w if axis == own else zero for axis in range(axes)] for own in range(axes) for w in ladder
    ]


def rotary(turning_of: Callable[[Any, int], Turning]) -> Definition:
    """Return the definition of a family from its function (encoding, head) -> turning."""

    def transform(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
        del side
        return turn(x, at, turning_of(encoding, head), encoding.layout)

    return Definition(transform=transform)


def decay_definition(
    turning_of: Callable[[Any, int], Turning], rates_of: Callable[[Any, int], Sequence[Real]]
) -> Definition:
    """Return the definition of a family from its turns and its rates of decay, pair by pair."""

    def transform(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
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

    return Definition(transform=transform)


def frequencies(rotated: int, base: Any, scaling: Parameters) -> list[Real]:
    """Return the frequencies of a scaled ladder, fastest first."""
    if scaling["name"] not in RULES:
        raise EncodingError(
            f"The oracle has no definition of the scaling {scaling['name']!r}; it knows "
            f"{', '.join(RULES)}."
        )
    return RULES[scaling["name"]](rotated, number(base, "base"), scaling)


def attention_factor(scaling: Parameters) -> Real:
    """Return what a scaling multiplies queries and keys by: 1 unless it says otherwise."""
    mp = context()
    if scaling.get("attention") is not None:
        return number(scaling["attention"], "attention factor")
    if scaling["name"] == "yarn":
        return _yarn_factor(scaling)
    if scaling["name"] == "longrope" and scaling["factor"] is not None and scaling["factor"] > 1:
        trained = mp.mpf(scaling["original_length"])
        return mp.sqrt(1 + mp.log(number(scaling["factor"])) / mp.log(trained))
    return mp.one


def temperature(stretch: Real, weight: Any) -> Real:
    """Return 0.1 m ln s + 1."""
    return number("0.1") * number(weight) * context().log(stretch) + 1


def plain(rotated: int, base: Real) -> list[Real]:
    """Return base^(-2k/r)."""
    mp = context()
    return [mp.power(base, -mp.mpf(2 * k) / rotated) for k in range(rotated // 2)]


def geometric(shortest: Any, longest: Any, count: int) -> list[Real]:
    """Return a geometric ladder between two spans."""
    mp, first = context(), number(shortest)
    ratio = number(longest) / first
    return [first * mp.power(ratio, mp.mpf(k) / max(1, count - 1)) for k in range(count)]


def unit_of_time(encoding: Any) -> Real:
    """Return the unit of an encoding of times, in positions."""
    given = encoding.unit
    return number(SECONDS[given] if isinstance(given, str) else given)


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


def same(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
    """Return a vector as it is: no encoding."""
    del encoding, at, side, head
    return x


def no_transform(encoding: Any, at_q: Point, at_k: Point, head: int) -> Real:
    """Return no bias."""
    del encoding, at_q, at_k, head
    return context().zero


def _rope(encoding: Any, head: int) -> Turning:
    del head
    share = int(encoding.dimension * encoding.fraction) // encoding.axes
    scaling = encoding.scaling.parameters
    ladder = frequencies(share, encoding.base, scaling)
    return Turning(waves=along_axes(ladder, encoding.axes), factor=attention_factor(scaling))


def plus(encoding: Any, x: Vector, at: Point, side: str, head: int) -> Vector:
    """Return a key turned to its position, or a query, in an imaginary head by 90 degrees less."""
    mp, turning = context(), _rope(encoding, head)
    odd = head % 2 == 1 if encoding.arrangement == "interleaved" else 2 * head >= encoding.heads
    less = mp.pi / 2 if side == "q" and odd else mp.zero
    angles = [dot(wave, at) - less for wave in turning.waves]
    return rotate(x, angles, encoding.layout, factor=turning.factor)


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


def _mix(encoding: Any, head: int) -> Turning:
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


def _rope_time(encoding: Any, head: int) -> Turning:
    del head
    mp = context()
    periods = geometric(encoding.shortest, encoding.longest, encoding.dimension // 2)
    return Turning(waves=along_axes([2 * mp.pi / (p * unit_of_time(encoding)) for p in periods], 1))


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


def _plain(rotated: int, base: Real, given: Parameters) -> list[Real]:
    del given
    return plain(rotated, base)


def _linear(rotated: int, base: Real, given: Parameters) -> list[Real]:
    return [w / number(given["factor"]) for w in plain(rotated, base)]


def _stretch(rotated: int, base: Real, stretch: Real) -> list[Real]:
    """Return the ladder of base s^(r/(r-2)): the slowest pair is slowed by s, the fastest not."""
    return plain(rotated, base * context().power(stretch, context().mpf(rotated) / (rotated - 2)))


def _ntk(rotated: int, base: Real, given: Parameters) -> list[Real]:
    return _stretch(rotated, base, number(given["factor"]))


def _dynamic(rotated: int, base: Real, given: Parameters) -> list[Real]:
    trained, length, s = given["original_length"], given["length"], number(given["factor"])
    if length is None or length <= trained:
        return plain(rotated, base)
    return _stretch(rotated, base, s * length / trained - (s - 1))


def _yarn(rotated: int, base: Real, given: Parameters) -> list[Real]:
    mp, s = context(), number(given["factor"])

    def pair_with(turns: Any) -> Real:
        """Return the pair, as a real number, that turns so often within the trained length."""
        within = number(given["original_length"]) / (2 * mp.pi * number(turns))
        return rotated * mp.log(within) / (2 * mp.log(base))

    low, high = pair_with(given["beta_fast"]), pair_with(given["beta_slow"])
    if given["truncate"]:
        low, high = mp.floor(low), mp.ceil(high)
    low, high = max(low, mp.zero), min(high, mp.mpf(rotated - 1))
    high = high + number("0.001") if low == high else high
    made = []
    for k, w in enumerate(plain(rotated, base)):
        slow = min(max((k - low) / (high - low), mp.zero), mp.one)
        made.append(slow * w / s + (1 - slow) * w)
    return made


def _longrope(rotated: int, base: Real, given: Parameters) -> list[Real]:
    length = given["length"]
    is_long = length is not None and length > given["original_length"]
    factors = given["long_factor" if is_long else "short_factor"]
    return [w / number(e) for w, e in zip(plain(rotated, base), factors, strict=True)]


def _llama3(rotated: int, base: Real, given: Parameters) -> list[Real]:
    mp, s = context(), number(given["factor"])
    low, high = number(given["low_freq_factor"]), number(given["high_freq_factor"])
    made = []
    for w in plain(rotated, base):
        turns = given["original_length"] * w / (2 * mp.pi)
        if turns < low:
            made.append(w / s)
        elif turns > high:
            made.append(w)
        else:
            kept = (turns - low) / (high - low)
            made.append((1 - kept) * w / s + kept * w)
    return made


def _yarn_factor(given: Parameters) -> Real:
    """Return 0.1 ln s + 1, or the ratio of two such numbers [peng2024 sec. 3.4]."""
    mp, s = context(), number(given["factor"])
    if s <= 1:
        return mp.one
    grown, whole = given["mscale"], given["mscale_all_dim"]
    if grown and whole:
        return temperature(s, grown) / temperature(s, whole)
    return temperature(s, 1)


RULES: dict[str, Rule] = {
    "unscaled": _plain,
    "linear": _linear,
    "ntk": _ntk,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
}

DEFINITIONS = {
    "Nope": Definition(transform=same, bias=no_transform),
    "Rope": rotary(_rope),
    "Fope": Definition(transform=fope),
    "RopePlusPlus": Definition(transform=plus),
    "MRope": rotary(_mrope),
    "Mixed": rotary(_mix),
    "Pixel": rotary(_pixel),
    "Patches": rotary(_patches),
    "Mla": rotary(_mla),
    "Proportional": rotary(_proportional),
    "RopeTime": rotary(_rope_time),
    "XPos": decay_definition(_xpos_turns, _xpos_rates),
    "RetNet": decay_definition(_retnet_turns, _retnet_rates),
}
