r"""Ladders of frequencies, first * ratio^-k: which base they have, and of which pairs they are.

Rotary encoding turns pair k of n by base^(-k/n) per position [su2021]: a straight line in
logarithms, that starts at 1. Interpolation divides all of it [chen2023]. NTK-aware scaling by s
only changes the base, to b s^(n/(n-1)) [bloc972023]; dynamic scaling does the same with a number
that grows with the length, which frequencies alone can not tell from it. Beside pairs that do not
turn, a ladder may be one of its own (partial), the head of a longer one (p-RoPE), or pairs out of
its midst, one axis of M-RoPE [wang2024]: every one of them, or every second or third.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gnomon.numeric.checks import reals

if TYPE_CHECKING:
    from gnomon.groups.classification import Found

Floats = NDArray[np.float64]
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
    return fitted_ladder([one.frequency for one in founds], allowances(founds))


def allowances(founds: Sequence[Found]) -> Floats:
    """Return the relative errors that the tolerance lets frequencies have."""
    return np.array([CLOSE + one.error / (one.frequency or 1.0) for one in founds])


def fitted_ladder(rates: Sequence[float], allowed: Floats) -> Ladder | None:
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
    section = _section(ladder, zeros)
    if section:
        return section
    return _base(ladder, zeros) + interpolated(ladder.first)


def _base(ladder: Ladder, zeros: int) -> str:
    """Return the base; of two readings the round one."""
    if not zeros or zeros % 2:
        return based(ladder)
    pairs = ladder.count + zeros // 2
    own, through = ladder.base(), ladder.base(pairs)
    if any(meets(own, known) for known in COMMON):
        return f"{based(ladder)} (partial)"
    chosen = round_within(own, ladder.base_error())
    if chosen is not None and round_within(through, ladder.base_error(pairs)) is None:
        return f"{based(ladder)} (partial)"
    other = _in_words(through, ladder.base_error(pairs))
    if chosen is None and through < LARGEST_BASE and is_round(through):
        return f"{other} (p-RoPE: the ladder of all dimensions, cut off)"
    return f"{based(ladder)} (partial), or {other} of all dimensions (p-RoPE)"


def based(ladder: Ladder) -> str:
    """Return the base, and what NTK-aware scaling it may come from."""
    base, pairs, error = ladder.base(), ladder.count, ladder.base_error()
    for known in COMMON if pairs > 1 and round_within(base, error) is None else ():
        factor = float((base / known) ** ((pairs - 1) / pairs))
        if factor > 1.0 and is_round(factor):
            return (
                f"base {number(base)} (NTK-aware scaling of {number(known)} by {number(factor)}, "
                f"or dynamic scaling at a length that gives it; {_within(base, error)})"
            )
    return _in_words(base, error)


def _in_words(base: float, error: float) -> str:
    known = round_within(base, error)
    return fitted_words(base, error) if known is None else f"base {number(known)}"


def fitted_words(base: float, error: float) -> str:
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


def interpolated(first: float) -> str:
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
