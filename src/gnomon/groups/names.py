r"""What a structure amounts to, in the names of published encodings.

Frequencies of a rotary encoding are a ladder base^(-2k/d), k = 0, 1, ...: straight in logarithms.
`fit_ladder` reads bases and sections, `words_of_scaling` what YaRN, Llama-3 and LongRoPE do to them
[su2021].
The same ladder with
- decays ln((2k/d + 0.4) / 1.4) / 512 is xPos [sun2022],
- one decay ln(1 - 2^(-5-h)) is head h of RetNet [sun2023],
- blocks of order 2 is Jordan-RoPE [zhang2026].
J_2(0) holds 1 and t, which is ALiBi as a coordinate of queries and keys [press2021]; J_m(0) holds
polynomials up to t^(m-1), and is what a nilpotent shift generates; pairs +-a are Lorentz boosts,
and pairs -a +- b_k damped ones: hyperbolic rotary encoding [dai2025].

Ladders of frequencies, first * ratio^-k: which base they have, and of which pairs they are.

Rotary encoding turns pair k of n by base^(-k/n) per position [su2021]: a straight line in
logarithms, that starts at 1. Interpolation divides all of it [chen2023]. NTK-aware scaling by s
only changes the base, to b s^(n/(n-1)) [bloc972023]; dynamic scaling does the same with a number
that grows with the length, which frequencies alone cannot tell from it. Beside pairs that do not
turn, a ladder may be one of its own (partial), the head of a longer one (p-RoPE), or pairs out of
its midst, one axis of M-RoPE [wang2024]: every one of them, or every second or third.

Scalings for longer contexts, read off frequencies: YaRN, Llama-3 and LongRoPE.

Fast pairs keep their w_k = base^(-k/n), which gives the base; slow ones turn s times slower, which
gives the factor. With u_k = (w'_k / w_k - 1/s) / (1 - 1/s), from 1 to 0 along the passage,
- YaRN has u_k = (high - k) / (high - low), straight in k: low and high follow [peng2024 sec. 3.2];
- Llama-3 has u_k = (L0 w_k / 2 pi - a) / (b - a), straight in w_k: the wavelengths L0 / a, L0 / b
  follow, the length L0 itself only if a is known, which is 1 in its models [grattafiori2024].
YaRN's ends are pairs that make 32 turns and 1 turn within L0, rounded outwards: L0 is known as well
as rounding lets it, and only if the turns are these. Attention factors do not show in frequencies.

LongRoPE divides w_k by a list of factors [ding2024]. Any base explains any list, so that no base is
named; beside the common one the factors must rise from 1 on, as searched lists do.

Products of two rotary kernels, read off the frequencies of their Kronecker sum.

exp(t (A kron I + I kron B)) = exp(tA) kron exp(tB). Rotations a_i of A and b_j of B give rotations
a_i + b_j and |a_i - b_j|. Both ladders start at 1, so that the largest frequency is 2, the next one
1 + a_1, and the first one that the ladder of A does not explain is 1 + b_1.

Frequencies that were cast to a half type: which type, and which ladder they were before.

A model that is cast as a whole, `model.bfloat16()`, casts its table of frequencies, too, and every
phase is then off by up to 2^-9 of itself: whole turns at far positions. Such frequencies are told
by their digits: every one of them lies on the grid of the type, while its reading is known far
better than the grid is wide. The ladder before is known as well as the cast lets it be: pair k of n
was within half a unit of the type, so that

    ln base  in  the common part of  -(n / k) ln (w_k -+ unit / 2),

and a base that people choose is taken from within. The scalings of Llama-3 and YaRN are tried with
their published settings [grattafiori2024], [peng2024]: there the cast of what they make must be
what was read, each number of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gnomon.groups.generator import KINDS, Floats
from gnomon.groups.jordan import Indices
from gnomon.numeric.checks import reals

if TYPE_CHECKING:
    from gnomon.groups.classification import Found

XPOS_SCALE = 512.0
CLOSE = 1e-6
"""Relative error within which a published number counts as met, beside the tolerance."""
COMMON = (1e4, 5e5, 1e6)
"""Bases that most models have."""
LEAST_BASE = 2.0
"""Frequencies that fall by less altogether are neighbours, and no ladder."""
LARGEST_BASE = 1e10
"""Bases beyond which nobody went."""
STRIDES = (1, 2, 3)
"""How many axes take turns along a ladder."""
STRAIGHT = 2e-4
"""Error of u_k within which a passage is straight, beside that of the frequencies."""
FASTEST_TURNS, SLOWEST_TURNS = 32.0, 1.0
LEAST_KEPT = 3
"""Pairs that must keep their frequency, or the base is not known."""
FEWEST_FACTORS = 8
LONGROPE_BASE = 1e4
FACTORS = (
    "on no single ladder: one divided by rising factors, as LongRoPE's lists are; the base is not "
    "told from the factors"
)
HALF_TYPES = {"bfloat16": (8, -133), "float16": (11, -24)}
"""Half types: bits of a number, and the exponent of the smallest one."""
SHORT_BITS = 4
"""Binary digits within which frequencies say nothing of a cast."""
MADE = 3e-6
"""Relative error of frequencies that were made in float32 before the cast."""
INFORMATIVE = 8.0
"""How many times the unit of a type exceeds the error of a reading that can tell the type."""
CHANCE = 1e-6
"""Largest chance that frequencies lie on a grid by accident."""
PUBLISHED_FACTORS = (2.0, 4.0, 8.0, 16.0, 32.0, 40.0, 64.0)
PUBLISHED_LENGTHS = tuple(2.0**k for k in range(10, 21))


def name_structure(structure: Sequence[Found]) -> str:
    """Return a structure in words, held to the errors of its eigenvalues."""
    size = sum(one.dimension for one in structure)
    zeros = sum(one.dimension for one in structure if one.kind == "zero")
    if zeros == size:
        return "no positional encoding (NoPE): the identity at every lag"
    whole = _cyclic(structure, size) or product_words(structure, size)
    if whole:
        return whole
    known = {kind: [one for one in structure if one.kind == kind] for kind in KINDS}
    parts = []
    if known["rotation"]:
        parts.append(_rotations(known["rotation"], known["zero"]))
    if known["damped"]:
        parts.append(_of_damped(known["damped"]))
    if known["decay"] or known["growth"]:
        parts += _decays(known["decay"], known["growth"])
    if known["jordan"]:
        parts += _chains(known["jordan"], size)
    if zeros:
        parts.append(f"{_dimensions(zeros)} without position")
    return " + ".join(parts)


def _rotations(founds: list[Found], still: list[Found]) -> str:
    """Name pure rotations: RoPE, its rescalings, and its parts."""
    total, zeros = sum(one.count for one in founds), sum(one.dimension for one in still)
    if len(founds) == 1:
        turn = f"{founds[0].frequency:.6g} radians per position"
        return f"a rotation by {turn}" if total == 1 else f"{total} rotations by {turn}"
    counts = {one.count for one in founds}
    many = f"{total} frequencies"
    if len(counts) == 1 and total > len(founds):
        many = f"{len(founds)} frequencies, each {total // len(founds)} times"
    ladder = ladder_of(founds)
    if ladder is not None:
        slack = max((one.error for one in still), default=0.0)
        return f"rotary encoding (RoPE), {many}, {ladder_words(ladder, zeros, slack)}"
    rates = np.array([one.frequency for one in founds])
    scaled = words_of_scaling(rates, allowances(founds)) if len(counts) == 1 else ""
    scaled = scaled and f"{scaled}{' (partial)' if zeros else ''}"
    scaled = scaled or cast_words(_readings(founds, zeros))
    if scaled:
        return f"rotary encoding (RoPE), {many}, {scaled}"
    if len(counts) == 1 and is_list_of_factors(rates):
        return f"rotary encoding (RoPE), {many}, {FACTORS}"
    return f"rotary encoding (RoPE) with {many}{',' * ('each' in many)} on no single ladder"


def _readings(founds: list[Found], zeros: int) -> Readings:
    """Return frequencies one by one; a cast may make neighbours equal."""
    each = sorted((one for one in founds for _ in range(one.count)), key=lambda one: -one.frequency)
    if len({one.count for one in founds}) == 1:
        each = founds
    rates = np.array([one.frequency for one in each])
    errors = np.array([one.error for one in each])
    return Readings(rates, errors, zeros // 2)


def _cyclic(structure: Sequence[Found], size: int) -> str:
    """Recognise the turns 2 pi k / n of a cyclic roll of odd size, whose logarithm is real."""
    turns = [one for one in structure if one.kind == "rotation"]
    wanted = 2.0 * math.pi * np.arange(size // 2, 0, -1) / size
    if size % 2 == 0 or len(turns) != size // 2 or len(structure) != size // 2 + 1 or size < 3:
        return ""
    met = all(
        abs(one.frequency - turn) <= CLOSE + one.error
        for one, turn in zip(turns, wanted, strict=True)
    )
    return f"cyclic roll of {size} coordinates (RollPE)" if met else ""


def _of_damped(founds: list[Found]) -> str:
    """Name damped rotations: xPos, RetNet, or neither."""
    total = sum(one.count for one in founds)
    by_frequency = sorted(founds, key=lambda one: -one.frequency)
    ladder = ladder_of(by_frequency)
    decays = np.array([one.decay for one in by_frequency])
    known = np.array([one.error for one in by_frequency])
    if ladder is not None:
        turns = (
            f"{ladder.count} frequencies, {base_words(ladder)}{interpolation_words(ladder.first)}"
        )
        xpos = _xpos_scale(decays, known)
        if xpos is not None:
            return f"xPos, {turns}, scale base {number(xpos)}"
    else:
        turns = f"{total} frequencies" if total > 1 else f"frequency {founds[0].frequency:.6g}"
    if np.ptp(decays) <= 2.0 * known.max() + CLOSE * abs(decays).max():
        gamma = _gamma(float(decays.mean()))
        known_as = "RetNet's damped rotation" if ladder or "head" in gamma else "damped rotation"
        return f"{known_as}, {turns}, {gamma}"
    return f"damped rotations, {turns}, decays {decays.min():.4g} to {decays.max():.4g}"


def _xpos_scale(decays: NDArray[np.float64], known: NDArray[np.float64]) -> float | None:
    """Return S with decays ln((2k/d + 0.4) / 1.4) / S, if there is one."""
    count = len(decays)
    zeta = (np.arange(count) / count + 0.4) / 1.4
    scale = float(np.log(zeta[0]) / decays[0])
    met = np.abs(decays - np.log(zeta) / scale) <= CLOSE * np.abs(decays) + 3.0 * known
    if scale <= 0.0 or not met.all():
        return None
    return XPOS_SCALE if meets(scale, XPOS_SCALE) else scale


def _gamma(decay: float) -> str:
    """Return gamma = e^a, with the head of RetNet that has it."""
    gamma = math.exp(decay)
    head = -math.log2(-math.expm1(decay)) - 5.0
    if abs(head - round(head)) < 1e-4 and round(head) >= 0:
        return f"gamma = 1 - 2^-{5 + round(head)} (head {round(head)})"
    return f"gamma = {gamma:.6g}"


def _decays(falls: list[Found], grows: list[Found]) -> list[str]:
    """Name real eigenvalues: decays, boosts, and growth that is left over."""
    falls, grows = list(falls), list(grows)
    said, rates = [], []
    for grow in [one for one in grows if not one.frequency]:
        for fall in list(falls):
            near = CLOSE * grow.decay + grow.error + fall.error
            if abs(grow.decay + fall.decay) <= near and grow.count == fall.count:
                rates += [grow.decay] * grow.count
                grows.remove(grow)
                falls.remove(fall)
                break
    if rates:
        listed = ", ".join(f"{rate:.4g}" for rate in sorted(rates, reverse=True)[:4])
        word = "Lorentz boost" if len(rates) == 1 else f"{len(rates)} Lorentz boosts"
        said.append(f"{word} of rapidity {listed} per position (grows)")
    hyperbolic = _hyperbolic(falls)
    if hyperbolic:
        said.append(hyperbolic)
    elif len(falls) == 1:
        said.append(f"decay in {_dimensions(falls[0].count)}, {_gamma(falls[0].decay)}")
    elif falls:
        rates = [one.decay for one in falls]
        said.append(f"{len(falls)} decays from {min(rates):.4g} to {max(rates):.4g}")
    if grows:
        said.append(f"growth up to {max(one.decay for one in grows):.4g} per position")
    return said


def _hyperbolic(falls: list[Found]) -> str:
    """Recognise rates -a +- b_k, with one damping a, or with one for each pair that exceeds b_k."""
    rates = np.sort(np.array([one.decay for one in falls for _ in range(one.count)]))
    pairs = len(rates) // 2
    if len(rates) % 2 or pairs < 2:
        return ""
    error = CLOSE * float(-rates[0]) + max(one.error for one in falls)
    fast, slow = rates[:pairs], rates[pairs:]
    if np.ptp(slow) <= 2.0 * error:  # -a_k + b_k is the same for all
        rapidities, damping = 0.5 * (slow - fast), "a damping for each pair, which leaves "
        damping += f"gamma = {math.exp(float(slow.mean())):.6g}"
    else:
        middles = 0.5 * (fast + slow[::-1])
        if np.ptp(middles) > 2.0 * error:
            return ""
        rapidities, damping = 0.5 * (slow[::-1] - fast), f"damping {-float(middles.mean()):.6g}"
    ladder = fit_ladder(rapidities.tolist(), CLOSE + error / np.maximum(rapidities, error))
    if ladder is None and pairs < 3:
        return ""
    turns = "" if ladder is None else f", {base_words(ladder)}"
    if ladder is not None and ladder.first != 1.0:
        turns += f", rapidities from {number(ladder.first)} on"
    return f"{pairs} damped Lorentz boosts (hyperbolic RoPE, HoPE){turns}, {damping}"


def _chains(founds: list[Found], size: int) -> list[str]:
    """Name blocks of order above 1."""
    said = [_one_chain(one, size) for one in founds if not one.frequency]
    turning = sorted((one for one in founds if one.frequency), key=lambda one: -one.frequency)
    if not turning:
        return said
    orders = sorted({one.order for one in turning})
    order = f"order {orders[0]}" if len(orders) == 1 else f"orders {orders[0]} to {orders[-1]}"
    ladder = ladder_of(turning)
    count = sum(one.count for one in turning)
    turns = f"{count} frequencies" if count > 1 else f"frequency {turning[0].frequency:.6g}"
    turns += "" if ladder is None else f", {base_words(ladder)}"
    rates = sorted(one.decay for one in turning)
    if rates[-1] - rates[0] <= 1e-6 * abs(rates[0]):
        turns += f", decay {rates[0]:.4g}" if rates[0] else ""
    else:
        turns += f", decays {rates[0]:.4g} to {rates[-1]:.4g}"
    return [*said, f"Jordan-RoPE of {order} (t^j e^(at) cos, sin), {turns}"]


def _one_chain(one: Found, size: int) -> str:
    times = "" if one.count == 1 else f"{one.count} x "
    if one.decay:
        word = "critically damped" if one.decay < 0.0 else "growing"
        powers = "t" if one.order == 2 else f"t^{one.order - 1}"
        return f"{times}{word} block J{one.order}({one.decay:.6g}): e^(at) times 1 .. {powers}"
    if one.order == 2:
        return f"{times}ALiBi's unipotent block J2(0): 1 and t"
    whole = ", the nilpotent shift" if one.order == size else ""
    return f"{times}polynomial block J{one.order}(0): 1 .. t^{one.order - 1}{whole}"


def _dimensions(count: int) -> str:
    return "1 dimension" if count == 1 else f"{count} dimensions"


@dataclass(frozen=True)
class Ladder:
    """Frequencies first * ratio^-k, k < count; `error` is that of ln ratio."""

    first: float
    ratio: float
    count: int
    error: float = 0.0

    def base(self, pairs: float | None = None) -> float:
        """Return the base, if the ladder of so many pairs goes on to d / 2."""
        return float(self.ratio ** (pairs or self.count))

    def base_error(self, pairs: float | None = None) -> float:
        """Return the relative error of that base."""
        return float(self.error * (pairs or self.count))

    def next(self) -> float:
        """Return the frequency that would follow."""
        return float(self.first * self.ratio**-self.count)


def ladder_of(founds: Sequence[Found]) -> Ladder | None:
    """Return the ladder that frequencies, from the highest on, stand on, if they do.

    Two frequencies are on some ladder always; that is one only if it starts at 1.
    """
    if len({one.count for one in founds}) > 1:
        return None
    return fit_ladder([one.frequency for one in founds], allowances(founds))


def allowances(founds: Sequence[Found]) -> Floats:
    """Return the relative errors that the tolerance lets frequencies have."""
    return np.array([CLOSE + one.error / (one.frequency or 1.0) for one in founds])


def fit_ladder(rates: Sequence[float], allowed: Floats) -> Ladder | None:
    """Return the ladder of falling rates within relative errors."""
    values, steps = reals(rates, "rates").copy(), np.arange(len(rates))
    if len(values) < 2 or (values <= 0.0).any():
        return None
    # The highest frequencies are known best: relative to them errors are smallest.
    logs = np.log(values)
    slope, start = np.polyfit(steps, logs, 1, w=1.0 / allowed)
    off = np.abs(logs - (start + slope * steps))
    first = math.exp(start)
    if (off > 3.0 * allowed).any() or (len(values) == 2 and not meets(first, 1.0)):
        return None
    if slope * len(values) > -math.log(LEAST_BASE):
        return None
    starts = meets(first, 1.0) or abs(first - 1.0) <= allowed[0]
    error = _slope_error(allowed, off, known_first=starts)
    return Ladder(1.0 if starts else first, math.exp(-slope), len(values), error)


def _slope_error(allowed: Floats, off: Floats, *, known_first: bool) -> float:
    """Return the error of a slope: what its two best pairs leave open, and how far it is missed."""
    missed = float(off[allowed <= 2.0 * allowed.min()].max())
    known = allowed - CLOSE + missed
    steps = np.arange(len(known))
    if known_first:
        return float(2.0 * (known[1:] / steps[1:]).min())
    apart = np.subtract.outer(steps, steps)
    both = np.add.outer(known, known)
    return float(2.0 * (both[apart > 0] / apart[apart > 0]).min())


def ladder_words(ladder: Ladder, zeros: int, slack: float = 0.0) -> str:
    """Return base and scale; beside dimensions that do not turn, which pairs they may be of.

    `slack` is how fast those might turn unseen: where the ladder would go on below it, the base
    depends on whether it does.
    """
    if zeros and 0.0 < ladder.next() <= 2.0 * slack:
        return (
            f"each {ladder.ratio:.5g} times slower than the one before; the rest is too slow to be "
            "read, so that the base is not known"
        )
    section = _section(ladder, zeros) if zeros else ""
    if section:
        return section
    return _base(ladder, zeros) + interpolation_words(ladder.first)


def _base(ladder: Ladder, zeros: int) -> str:
    """Return the base; of two readings the round one."""
    if not zeros or zeros % 2:
        return base_words(ladder)
    pairs = ladder.count + zeros // 2
    own, through = ladder.base(), ladder.base(pairs)
    if any(meets(own, known) for known in COMMON):
        return f"{base_words(ladder)} (partial)"
    chosen = round_within(own, ladder.base_error())
    if chosen is not None and round_within(through, ladder.base_error(pairs)) is None:
        return f"{base_words(ladder)} (partial)"
    other = _base_or_fit(through, ladder.base_error(pairs))
    if chosen is None and through < LARGEST_BASE and is_round(through):
        return f"{other} (p-RoPE: the ladder of all dimensions, cut off)"
    return f"{base_words(ladder)} (partial), or {other} of all dimensions (p-RoPE)"


def base_words(ladder: Ladder) -> str:
    """Return the base, and what NTK-aware scaling it may come from."""
    base, pairs, error = ladder.base(), ladder.count, ladder.base_error()
    for known in COMMON if pairs > 1 and round_within(base, error) is None else ():
        factor = float((base / known) ** ((pairs - 1) / pairs))
        if factor > 1.0 and is_round(factor):
            return (
                f"base {number(base)} (NTK-aware scaling of {number(known)} by {number(factor)}, "
                f"or dynamic scaling at a length that gives it; {_within(base, error)})"
            )
    return _base_or_fit(base, error)


def _base_or_fit(base: float, error: float) -> str:
    known = round_within(base, error)
    return words_of_fit(base, error) if known is None else f"base {number(known)}"


def words_of_fit(base: float, error: float) -> str:
    """Return a base that nobody would choose, with the relative error of its fit."""
    whole = round(base)
    if abs(base - whole) <= max(0.1 * error * base, 1e-6 * base) and whole < 10**6:
        return f"base {whole} ({_within(base, error)})"
    return f"base {number(base)} ({_within(base, error)})"


def _within(base: float, error: float) -> str:
    """Say how well a base is known; no better than the six digits that are shown."""
    shown = 10.0 ** (math.floor(math.log10(base)) - 5)
    off = 1.1 * error * base + shown
    unit = 10.0 ** math.floor(math.log10(off))
    return f"fitted, within {math.ceil(off / unit) * unit:.1g}"


def _section(ladder: Ladder, zeros: int) -> str:
    """Recognise pairs out of the midst of a ladder of a usual base, as one axis of M-RoPE has."""
    total = ladder.count + zeros // 2
    if zeros < 2 or zeros % 2 or ladder.first >= 1.0 or ladder.count < 3:
        return ""
    for stride in STRIDES:
        base = ladder.base(total / stride)
        start = -stride * math.log(ladder.first) / math.log(ladder.ratio)
        last = round(start) + stride * (ladder.count - 1)
        whole = abs(start - round(start)) < 1e-3 and last < total
        if whole and any(meets(base, known) for known in COMMON):
            every = ("", "second ", "third ")[stride - 1]
            return (
                f"base {number(base)}, every {every}pair from {round(start)} to {last} of {total} "
                "(a section of the ladder, as one axis of M-RoPE has)"
            )
    return ""


def interpolation_words(first: float) -> str:
    """Say how positions are scaled."""
    if first == 1.0:
        return ""
    if first < 1.0:
        return f", positions divided by {number(1.0 / first)} (interpolation)"
    return f", positions times {number(first)}"


def number(value: float) -> str:
    """Return a number with six digits, without an exponent where it is a plain one."""
    rounded = float(f"{value:.6g}")
    return f"{rounded:.0f}" if rounded == int(rounded) and rounded < 1e15 else f"{rounded:g}"


def round_within(value: float, error: float) -> float | None:
    """Return the number of few digits that people would choose within a relative error, if any.

    The coarser the error, the fewer digits may be met by accident.
    """
    for digits, coarsest in ((1, 2e-3), (2, 2e-3), (3, 1e-4)):
        chosen = float(f"{value:.{digits}g}")
        if error <= coarsest and abs(value / chosen - 1.0) <= max(error, 1e-5):
            return chosen
    return None


def is_round(value: float) -> bool:
    """Say whether a number is one that people choose: two digits and zeros."""
    return meets(value, float(f"{value:.2g}"))


def meets(value: float, wanted: float) -> bool:
    """Say whether a number is a published one."""
    return abs(value - wanted) <= 1e-5 * abs(wanted)


@dataclass(frozen=True)
class Passage:
    """A ladder whose slow pairs are `factor` times slower, with u_k in between."""

    ladder: Ladder
    factor: float
    weights: Floats
    allowed: Floats

    @property
    def inside(self) -> Indices:
        """Return the pairs in between, as indices."""
        margin = STRAIGHT + 3.0 * self.allowed
        return np.asarray(
            np.flatnonzero((self.weights > margin) & (self.weights < 1.0 - margin)), dtype=np.int64
        )


def words_of_scaling(frequencies: Floats, allowed: Floats) -> str:
    """Name the scaling of falling frequencies, with base and parameters, or return nothing."""
    found = _passage(frequencies, allowed)
    readings = () if found is None else (_yarn(found), _llama(found))
    named = [words for words in readings if words]
    if found is None or not named:
        return ""
    turns = base_words(found.ladder)
    if len(named) == 2:  # too few pairs in between to tell
        return f"{turns}, {named[0]}; or {named[1]}"
    return f"{turns}, {named[0]}"


def _passage(frequencies: Floats, allowed: Floats) -> Passage | None:
    """Return the ladder of the fast pairs and the factor of the slow ones, if there are both."""
    count = len(frequencies)
    if count < 2 * LEAST_KEPT or not meets(float(frequencies[0]), 1.0):
        return None
    steps, logs = np.arange(count), np.log(frequencies)
    slopes = logs[1:] / steps[1:]
    near = np.abs(slopes - slopes[0]) * steps[1:] <= 3.0 * (allowed[1:] + allowed[1] * steps[1:])
    kept = count if near.all() else 1 + int(np.argmin(near))
    if kept < LEAST_KEPT or kept == count:
        return None
    # The last one kept may already be a little slower.
    last = kept - 1 if kept == LEAST_KEPT else kept - 2
    slope, error = float(slopes[last - 1]), 2.0 * float(allowed[last]) / last
    ratios = np.exp(logs - slope * steps)
    slow = np.abs(ratios / ratios[-1] - 1.0) <= 6.0 * (allowed + allowed[-1])
    if ratios[-1] >= 1.0 or not slow[-2:].all():
        return None
    # Slow pairs are alike; their later half is surely beyond the passage, the faster of it best
    # known.
    run = int(np.argmin(slow[::-1])) or count
    tail = slice(count - (run + 1) // 2, None)
    level = float(np.exp(np.average(np.log(ratios[tail]), weights=allowed[tail] ** -2.0)))
    weights = (ratios - level) / (1.0 - level)
    return Passage(Ladder(1.0, math.exp(-slope), count, error), 1.0 / level, weights, allowed)


def _straight(found: Passage, places: Floats) -> tuple[float, float] | None:
    """Return where u reaches 0 and 1, if it is straight along these places."""
    inside = found.inside
    if len(inside) < 2:
        return None
    slope, start = np.polyfit(places[inside], found.weights[inside], 1)
    off = np.abs(found.weights[inside] - start - slope * places[inside])
    if (off > STRAIGHT + 6.0 * found.allowed[inside]).any():
        return None
    ends = float(-start / slope), float((1.0 - start) / slope)
    clipped = np.clip(start + slope * places, 0.0, 1.0)
    if (np.abs(clipped - found.weights) > 2.0 * STRAIGHT + 6.0 * found.allowed).any():
        return None
    return ends


def _yarn(found: Passage) -> str:
    """Name a passage that is straight in the index of pairs."""
    ends = _straight(found, np.arange(found.ladder.count, dtype=np.float64))
    if ends is None or ends[0] <= ends[1]:
        return ""
    high, low = ends
    said = f"YaRN with factor {_factor_words(found.factor)}"
    whole = max(abs(high - round(high)), abs(low - round(low))) < 1e-2
    if whole:
        return f"{said}, ramp from pair {round(low)} to {round(high)}{_length(found, low, high)}"
    exact = found.ladder.ratio**high * 2.0 * math.pi * SLOWEST_TURNS
    slower = found.ladder.ratio**low * 2.0 * math.pi * FASTEST_TURNS
    if abs(exact / slower - 1.0) > 1e-2:
        return "" if len(found.inside) < 3 else f"{said}, ramp from pair {low:.4g} to {high:.4g}"
    return f"{said}, ramp from pair {low:.4g} to {high:.4g} (original length {_whole(exact)})"


def _length(found: Passage, low: float, high: float) -> str:
    """Return the lengths that rounding the ends of the ramp outwards leaves."""
    ratio, circle = found.ladder.ratio, 2.0 * math.pi
    fast = [FASTEST_TURNS * circle * ratio ** (round(low) + k) for k in (0, 1)]
    slow = [SLOWEST_TURNS * circle * ratio ** (round(high) + k) for k in (-1, 0)]
    least, most = math.ceil(max(fast[0], slow[0])), math.floor(min(fast[1], slow[1]))
    if least > most:
        return " (ends of other turns than 32 and 1)"
    powers = [2**k for k in range(40) if least <= 2**k <= most]
    guess = f"{powers[0]}, as any " if len(powers) == 1 else ""
    return f" (original length {guess}from {least} to {most}, if 32 and 1 turns end the ramp)"


def _llama(found: Passage) -> str:
    """Name a passage that is straight in the frequencies."""
    plain = found.ladder.ratio ** -np.arange(found.ladder.count, dtype=np.float64)
    ends = _straight(found, plain)
    if ends is None or ends[0] >= ends[1] or ends[0] <= 0.0:
        return ""
    longest, shortest = (2.0 * math.pi / end for end in ends)
    share = longest / shortest
    if len(found.inside) < 3 and abs(share / round(share) - 1.0) > 1e-3:
        return ""
    return (
        f"Llama-3 scaling with factor {_factor_words(found.factor)}, wavelengths from "
        f"{_whole(shortest)} to {_whole(longest)} between (original length {_whole(longest)} if "
        f"low_freq_factor is 1, high_freq_factor {share:.4g})"
    )


def is_list_of_factors(frequencies: Floats) -> bool:
    """Whether frequencies may be a ladder divided by a list of factors, as LongRoPE's are."""
    count = len(frequencies)
    if count < FEWEST_FACTORS:
        return False
    factors = LONGROPE_BASE ** (-np.arange(count) / count) / frequencies
    rising = not (np.diff(factors) < -1e-5 * factors[1:]).any()
    return bool(rising and factors.min() >= 1.0 - 1e-5)


def _factor_words(value: float) -> str:
    return number(float(f"{value:.2g}")) if is_round(value) else number(value)


def _whole(value: float) -> str:
    """Return a length, whole where it is nearly so."""
    return f"{round(value)}" if abs(value - round(value)) < 1e-3 * value else f"{value:.6g}"


def product_words(structure: Sequence[Found], size: int) -> str:
    """Name the Kronecker sum of two rotary ladders, or return nothing."""
    pairs = [one.count if one.frequency else one.count // 2 for one in structure]
    rates = np.repeat([one.frequency for one in structure], pairs)  # two zeros are a pair
    if size % 4 or any(one.kind not in ("rotation", "zero") for one in structure):
        return ""
    found = np.sort(rates)[::-1]
    if len(found) != size // 2 or len(found) < 4 or not meets(float(found[0]), 2.0):
        return ""
    error = CLOSE + 3.0 * max(one.error for one in structure)
    for first in range(2, size // 4 + 1):
        if size // 4 % first:
            continue
        ladders = _two_ladders(found, first, size // 4 // first, error)
        if ladders is not None:
            parts = [_words_of_ladder(one) for one in ladders]
            return (
                f"Kronecker sum of two rotary ladders, a product of kernels: {' and '.join(parts)}"
            )
    return ""


def _two_ladders(found: Floats, first: int, second: int, error: float) -> list[Ladder] | None:
    """Return two ladders of these lengths that give all frequencies, if there are such."""
    steps = found[1:][found[1:] < 2.0 - error] - 1.0
    if not len(steps) or steps[0] <= 0.0:
        return None
    own = steps[0] ** np.arange(first)
    left = list(steps[steps > error])
    for rate in own[1:]:
        near = [k for k, value in enumerate(left) if abs(value - rate) <= error]
        if not near:
            return None
        left.pop(near[0])
    if second > 1 and not left:
        return None
    other = (left[0] if second > 1 else 1.0) ** np.arange(second)
    sums = np.add.outer(own, other).ravel(), np.abs(np.subtract.outer(own, other)).ravel()
    made = np.sort(np.concatenate(sums))[::-1]
    if len(made) != len(found) or np.abs(made - found).max() > error:
        return None
    ratios = [float(1.0 / rates[1]) if len(rates) > 1 else 1.0 for rates in (own, other)]
    return [Ladder(1.0, ratios[0], first), Ladder(1.0, ratios[1], second)]


def _words_of_ladder(ladder: Ladder) -> str:
    if ladder.count == 1:
        return "the frequency 1"
    return f"{ladder.count} frequencies of base {number(ladder.base())}"


@dataclass(frozen=True)
class Readings:
    """Falling frequencies with their errors, and how many pairs beside them do not turn."""

    rates: Floats
    errors: Floats
    still: int = 0


def cast_words(found: Readings) -> str:
    """Name the half type that frequencies were cast to, with their ladder, or return nothing."""
    kind = next((name for name in HALF_TYPES if _is_cast(found, name)), None)
    if kind is None:
        return ""
    found = replace(found, rates=cast(found.rates, kind))  # 0.4999... has another unit than 0.5
    before = (
        _ladder_before(found, kind) or _settings_words(found, kind) or "on no ladder that is known"
    )
    return f"{before}, frequencies rounded to {kind}"


def cast(values: Floats, kind: str) -> Floats:
    """Return numbers rounded to a half type.

    >>> cast(np.array([0.3, 1.0]), "bfloat16")
    array([0.30078125, 1.        ])
    """
    unit = _unit(values, kind)
    return np.asarray(np.round(values / unit) * unit)


def _unit(values: Floats, kind: str) -> Floats:
    """Return the distance between neighbours of a type."""
    bits, least = HALF_TYPES[kind]
    return np.ldexp(1.0, np.maximum(np.frexp(values)[1] - bits, least))


def _is_cast(found: Readings, kind: str) -> bool:
    """Whether every frequency is one of the type, and not by accident or as a short number.

    4, 2 and 0.375 are numbers that people write; a cast leaves digits down to the last.
    """
    short = _round_to_bits(found.rates, SHORT_BITS)
    if (np.abs(found.rates - short) <= found.errors + 1e-12 * found.rates).all():
        return False
    units = _unit(found.rates, kind)
    slack = found.errors + 1e-12 * found.rates
    if (np.abs(found.rates - cast(found.rates, kind)) > slack).any():
        return False
    telling = units > INFORMATIVE * slack
    return float(np.log(2.0 * slack[telling] / units[telling]).sum()) < math.log(CHANCE)


def _round_to_bits(values: Floats, bits: int) -> Floats:
    """Return numbers rounded to so many binary digits."""
    unit = np.ldexp(1.0, np.frexp(values)[1] - bits)
    return np.asarray(np.round(values / unit) * unit)


def _ladder_before(found: Readings, kind: str) -> str:
    """Return the base of a ladder whose cast the frequencies are; of two readings the round one."""
    first = _first_before(found, kind)
    if first is None:
        return ""
    count = len(found.rates)
    scaled = f", positions divided by {number(1.0 / first)} (interpolation)" if first != 1.0 else ""
    own = _base_before(found, kind, count, first)
    if own is None or not found.still:
        return f"{own.words}{scaled}" if own else ""
    through = _base_before(found, kind, count + found.still, first)
    if _may_end_in_zeros(found, kind):
        zeros = _with_zeros(found, kind, first)
        return f"{zeros}{scaled}" if zeros else ""
    if through is None or (own.is_round and not through.is_round):
        return f"{own.words} (partial){scaled}"
    return f"{own.words} (partial), or {through.words} of all dimensions (p-RoPE){scaled}"


def _may_end_in_zeros(found: Readings, kind: str) -> bool:
    """Whether a pair that follows the last two as they follow each other would be rounded to 0."""
    return bool(found.rates[-1] ** 2 <= 2.0 * _largest_zero(kind) * found.rates[-2])


def _with_zeros(found: Readings, kind: str, first: float) -> str:
    """Return the base where the slowest pairs may have been rounded to 0: none or all that rest.

    Of both ladders the one with a round base; none, if both have one.
    """
    count, ladders = len(found.rates), []
    for pairs in (count, count + found.still):
        made = _base_before(found, kind, pairs, first)
        if made and (
            pairs == count or first * made.value ** (-count / pairs) <= _largest_zero(kind)
        ):
            ladders.append(made)
    chosen = [one for one in ladders if one.is_round and is_round(one.value)]
    return chosen[0].words if len(chosen) == 1 else ""


def _largest_zero(kind: str) -> float:
    """Return the largest number that a type rounds to 0, or a little more."""
    return float(np.ldexp(0.5, HALF_TYPES[kind][1])) * (1.0 + MADE)


@dataclass(frozen=True)
class _Base:
    """A base, in words, and whether it is one that people choose."""

    value: float
    words: str
    is_round: bool


def _first_before(found: Readings, kind: str) -> float | None:
    """Return the highest frequency before the cast: 1, or 1 over a factor that people choose."""
    highest = float(found.rates[0])
    half = 0.5 * float(_unit(found.rates[:1], kind)[0]) / highest
    if abs(highest - 1.0) <= half * highest + float(found.errors[0]):
        return 1.0
    factor = float(round(1.0 / highest))
    if factor > 0.0 and abs(factor * highest - 1.0) <= half + MADE:
        return 1.0 / factor
    return None


def _base_before(found: Readings, kind: str, pairs: int, first: float) -> _Base | None:
    """Return the base of a ladder of so many pairs whose cast the frequencies are."""
    rates = found.rates[1:]
    steps = np.arange(1, len(found.rates)) / pairs
    half = 0.5 * _unit(rates, kind) + found.errors[1:]
    least = -np.log((rates + half) * (1.0 + MADE) / first) / steps
    above = np.maximum((rates - half) * (1.0 - MADE) / first, 1e-300)
    most = -np.log(above) / steps
    low, high = float(least.max(initial=-np.inf)), float(most.min(initial=np.inf))
    if not low <= high or high - low > 0.1 or high > math.log(LARGEST_BASE):
        return None
    base, error = math.exp(0.5 * (low + high)), 0.5 * (high - low)
    known = round_within(base, error)
    if known is not None:
        return _Base(known, f"base {number(known)}", is_round=True)
    return _Base(base, words_of_fit(base, error), is_round=False)


def _settings_words(found: Readings, kind: str) -> str:
    """Return the scaling, with published settings, whose cast the frequencies are."""
    for base in _round_bases(found, kind):
        plain = base ** (-np.arange(len(found.rates)) / len(found.rates))
        for factor, length in itertools.product(PUBLISHED_FACTORS, PUBLISHED_LENGTHS):
            for name, made in (
                ("Llama-3 scaling", _llama_frequencies(plain, factor, length)),
                ("YaRN", _yarn_frequencies(plain, base, factor, length)),
            ):
                if _casts_to(made, found, kind):
                    return (
                        f"base {number(base)}, {name} with factor {number(factor)}, original "
                        f"length {number(length)}"
                    )
    return ""


def _round_bases(found: Readings, kind: str) -> Iterator[float]:
    """Yield round bases that the second frequency leaves, which scalings for long texts keep."""
    if len(found.rates) < 4 or found.rates[0] != 1.0:
        return
    if found.still and _may_end_in_zeros(found, kind):
        return  # slower pairs may have been rounded to 0, and their number decides the base
    second, pairs = float(found.rates[1]), len(found.rates)
    half = 0.5 * float(_unit(found.rates[1:2], kind)[0])
    low, high = ((second + side * half) ** -pairs for side in (1.0, -1.0))
    for power in range(2, 10):
        for digits in range(10, 100):
            if low <= digits * 10.0 ** (power - 1) <= high:
                yield digits * 10.0 ** (power - 1)


def _llama_frequencies(plain: Floats, factor: float, length: float) -> Floats:
    """Return frequencies by Llama-3's scaling with the factors 1 and 4 of its models."""
    share = np.clip((length * plain / (2.0 * math.pi) - 1.0) / 3.0, 0.0, 1.0)
    return np.asarray(plain * (share + (1.0 - share) / factor))


def _yarn_frequencies(plain: Floats, base: float, factor: float, length: float) -> Floats:
    """Return frequencies by YaRN with a ramp from 32 turns to 1, its ends rounded outwards."""
    pairs = len(plain)
    low, high = (
        pairs * math.log(length / (turns * 2.0 * math.pi)) / math.log(base) for turns in (32.0, 1.0)
    )
    low, high = max(math.floor(low), 0), min(math.ceil(high), 2 * pairs - 1)
    kept = 1.0 - np.clip((np.arange(pairs) - low) / max(high - low, 1e-3), 0.0, 1.0)
    return np.asarray(plain * (kept + (1.0 - kept) / factor))


def _casts_to(made: Floats, found: Readings, kind: str) -> bool:
    """Whether frequencies are what was read, once cast; ties may go either way."""
    near = 0.5 * _unit(found.rates, kind) + MADE * made + found.errors
    return bool((np.abs(made - found.rates) <= near).all())


def round_up(value: float) -> float:
    """Return a number with one digit that is no smaller.

    >>> round_up(1.2e-8)
    2e-08
    """
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{min(math.ceil(value / power) * power, 1.0):.0e}")
