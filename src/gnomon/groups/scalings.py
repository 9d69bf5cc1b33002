r"""Scalings for longer contexts, read off frequencies: YaRN, Llama-3 and LongRoPE.

Fast pairs keep their w_k = base^(-k/n), which gives the base; slow ones turn s times slower, which
gives the factor. With u_k = (w'_k / w_k - 1/s) / (1 - 1/s), from 1 to 0 along the passage,
- YaRN has u_k = (high - k) / (high - low), straight in k: low and high follow [peng2024 sec. 3.2];
- Llama-3 has u_k = (L0 w_k / 2 pi - a) / (b - a), straight in w_k: the wavelengths L0 / a, L0 / b
  follow, the length L0 itself only if a is known, which is 1 in its models [grattafiori2024].
YaRN's ends are pairs that make 32 turns and 1 turn within L0, rounded outwards: L0 is known as well
as rounding lets it, and only if the turns are these. Attention factors do not show in frequencies.

LongRoPE divides w_k by a list of factors [ding2024]. Any base explains any list, so that no base is
named; beside the common one the factors must rise from 1 on, as searched lists do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gnomon.groups.clusters import Floats, Indices
from gnomon.groups.ladders import Ladder, based, is_round, meets, number

STRAIGHT = 2e-4
"""Error of u_k within which a passage is straight, beside that of the frequencies."""
FASTEST_TURNS, SLOWEST_TURNS = 32.0, 1.0
LEAST = 3
"""Pairs that must keep their frequency, or the base is not known."""
FEWEST_FACTORS = 8
LONGROPE_BASE = 1e4
FACTORS = (
    "on no single ladder: one divided by rising factors, as LongRoPE's lists are; the base is not "
    "told from the factors"
)


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


def scaling_words(frequencies: Floats, allowed: Floats) -> str:
    """Name the scaling of falling frequencies, with base and parameters, or return nothing."""
    found = _passage(frequencies, allowed)
    readings = () if found is None else (_yarn(found), _llama(found))
    named = [words for words in readings if words]
    if found is None or not named:
        return ""
    turns = based(found.ladder)
    if len(named) == 2:  # too few pairs in between to tell
        return f"{turns}, {named[0]}; or {named[1]}"
    return f"{turns}, {named[0]}"


def _passage(frequencies: Floats, allowed: Floats) -> Passage | None:
    """Return the ladder of the fast pairs and the factor of the slow ones, if there are both."""
    count = len(frequencies)
    if count < 2 * LEAST or not meets(float(frequencies[0]), 1.0):
        return None
    steps, logs = np.arange(count), np.log(frequencies)
    slopes = logs[1:] / steps[1:]
    near = np.abs(slopes - slopes[0]) * steps[1:] <= 3.0 * (allowed[1:] + allowed[1] * steps[1:])
    kept = count if near.all() else 1 + int(np.argmin(near))
    if kept < LEAST or kept == count:
        return None
    # The last one kept may already be a little slower.
    last = kept - 1 if kept == LEAST else kept - 2
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
    said = f"YaRN with factor {_factor(found.factor)}"
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
        f"Llama-3 scaling with factor {_factor(found.factor)}, wavelengths from {_whole(shortest)} "
        f"to {_whole(longest)} between (original length {_whole(longest)} if low_freq_factor is 1, "
        f"high_freq_factor {share:.4g})"
    )


def is_list_of_factors(frequencies: Floats) -> bool:
    """Whether frequencies may be a ladder divided by a list of factors, as LongRoPE's are."""
    count = len(frequencies)
    if count < FEWEST_FACTORS:
        return False
    factors = LONGROPE_BASE ** (-np.arange(count) / count) / frequencies
    rising = not (np.diff(factors) < -1e-5 * factors[1:]).any()
    return bool(rising and factors.min() >= 1.0 - 1e-5)


def _factor(value: float) -> str:
    return number(float(f"{value:.2g}")) if is_round(value) else number(value)


def _whole(value: float) -> str:
    """Return a length, whole where it is nearly so."""
    return f"{round(value)}" if abs(value - round(value)) < 1e-3 * value else f"{value:.6g}"
