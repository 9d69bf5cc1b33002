r"""Frequencies that were cast to a half type: which type, and which ladder they were before.

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
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gnomon.groups.blocks import Floats
from gnomon.groups.ladders import LARGEST_BASE, fitted_words, is_round, number, round_within

TYPES = {"bfloat16": (8, -133), "float16": (11, -24)}
"""Half types: bits of a number, and the exponent of the smallest one."""
MADE = 3e-6
"""Relative error of frequencies that were made in float32 before the cast."""
INFORMATIVE = 8.0
"""How many times the unit of a type exceeds the error of a reading that can tell the type."""
CHANCE = 1e-6
"""Largest chance that frequencies lie on a grid by accident."""
FACTORS = (2.0, 4.0, 8.0, 16.0, 32.0, 40.0, 64.0)
LENGTHS = tuple(2.0**k for k in range(10, 21))


@dataclass(frozen=True)
class Readings:
    """Falling frequencies with their errors, and how many pairs beside them do not turn."""

    rates: Floats
    errors: Floats
    still: int = 0


def cast_words(found: Readings) -> str:
    """Name the half type that frequencies were cast to, with their ladder, or return nothing."""
    kind = next((name for name in TYPES if _is_cast(found, name)), None)
    if kind is None:
        return ""
    found = replace(found, rates=cast(found.rates, kind))  # 0.4999... has another unit than 0.5
    before = _ladder(found, kind) or _scaled(found, kind) or "on no ladder that is known"
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
    bits, least = TYPES[kind]
    return np.ldexp(1.0, np.maximum(np.frexp(values)[1] - bits, least))


def _is_cast(found: Readings, kind: str) -> bool:
    """Whether every frequency is one of the type, and not by accident."""
    units = _unit(found.rates, kind)
    slack = found.errors + 1e-12 * found.rates
    if (np.abs(found.rates - cast(found.rates, kind)) > slack).any():
        return False
    telling = units > INFORMATIVE * slack
    return float(np.log(2.0 * slack[telling] / units[telling]).sum()) < math.log(CHANCE)


def _ladder(found: Readings, kind: str) -> str:
    """Return the base of a ladder whose cast the frequencies are; of two readings the round one."""
    first = _first(found, kind)
    if first is None:
        return ""
    count = len(found.rates)
    scaled = f", positions divided by {number(1.0 / first)} (interpolation)" if first != 1.0 else ""
    own = _base(found, kind, count, first)
    if own is None or not found.still:
        return f"{own.words}{scaled}" if own else ""
    through = _base(found, kind, count + found.still, first)
    if _may_end_in_zeros(found, kind):
        zeros = _with_zeros(found, kind, first)
        return f"{zeros}{scaled}" if zeros else ""
    if through is None or (own.is_round and not through.is_round):
        return f"{own.words} (partial){scaled}"
    return f"{own.words} (partial), or {through.words} of all dimensions (p-RoPE){scaled}"


def _may_end_in_zeros(found: Readings, kind: str) -> bool:
    """Whether a pair that follows the last two as they follow each other would be rounded to 0."""
    return bool(found.rates[-1] ** 2 <= 2.0 * _least(kind) * found.rates[-2])


def _with_zeros(found: Readings, kind: str, first: float) -> str:
    """Return the base where the slowest pairs may have been rounded to 0: none or all that rest.

    Of both ladders the one with a round base; none, if both have one.
    """
    count, ladders = len(found.rates), []
    for pairs in (count, count + found.still):
        made = _base(found, kind, pairs, first)
        if made and (pairs == count or first * made.value ** (-count / pairs) <= _least(kind)):
            ladders.append(made)
    chosen = [one for one in ladders if one.is_round and is_round(one.value)]
    return chosen[0].words if len(chosen) == 1 else ""


def _least(kind: str) -> float:
    """Return the largest number that a type rounds to 0, or a little more."""
    return float(np.ldexp(0.5, TYPES[kind][1])) * (1.0 + MADE)


@dataclass(frozen=True)
class _Base:
    """A base, in words, and whether it is one that people choose."""

    value: float
    words: str
    is_round: bool


def _first(found: Readings, kind: str) -> float | None:
    """Return the highest frequency before the cast: 1, or 1 over a factor that people choose."""
    highest = float(found.rates[0])
    half = 0.5 * float(_unit(found.rates[:1], kind)[0]) / highest
    if abs(highest - 1.0) <= half * highest + float(found.errors[0]):
        return 1.0
    factor = float(round(1.0 / highest))
    if factor > 0.0 and abs(factor * highest - 1.0) <= half + MADE:
        return 1.0 / factor
    return None


def _base(found: Readings, kind: str, pairs: int, first: float) -> _Base | None:
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
    return _Base(base, fitted_words(base, error), is_round=False)


def _scaled(found: Readings, kind: str) -> str:
    """Return the scaling, with published settings, whose cast the frequencies are."""
    for base in _bases(found, kind):
        plain = base ** (-np.arange(len(found.rates)) / len(found.rates))
        for factor, length in itertools.product(FACTORS, LENGTHS):
            for name, made in (
                ("Llama-3 scaling", _llama(plain, factor, length)),
                ("YaRN", _yarn(plain, base, factor, length)),
            ):
                if _casts_to(made, found, kind):
                    return (
                        f"base {number(base)}, {name} with factor {number(factor)}, original "
                        f"length {number(length)}"
                    )
    return ""


def _bases(found: Readings, kind: str) -> Iterator[float]:
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


def _llama(plain: Floats, factor: float, length: float) -> Floats:
    """Return frequencies by Llama-3's scaling with the factors 1 and 4 of its models."""
    share = np.clip((length * plain / (2.0 * math.pi) - 1.0) / 3.0, 0.0, 1.0)
    return np.asarray(plain * (share + (1.0 - share) / factor))


def _yarn(plain: Floats, base: float, factor: float, length: float) -> Floats:
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
