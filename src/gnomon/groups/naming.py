r"""What a structure amounts to, in the names of published encodings.

Frequencies of a rotary encoding are a ladder base^(-2k/d), k = 0, 1, ...: straight in logarithms.
`ladders` reads bases and sections, `scalings` what YaRN, Llama-3 and LongRoPE do to them [su2021].
The same ladder with
- decays ln((2k/d + 0.4) / 1.4) / 512 is xPos [sun2022],
- one decay ln(1 - 2^(-5-h)) is head h of RetNet [sun2023],
- blocks of order 2 is Jordan-RoPE [zhang2026].
J_2(0) holds 1 and t, which is ALiBi as a coordinate of queries and keys [press2021]; J_m(0) holds
polynomials up to t^(m-1), and is what a nilpotent shift generates; pairs +-a are Lorentz boosts,
and pairs -a +- b_k damped ones: hyperbolic rotary encoding [dai2025].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gnomon.groups.casts import Readings, cast_words
from gnomon.groups.ladders import (
    CLOSE,
    allowances,
    based,
    fitted_ladder,
    interpolated,
    ladder_of,
    ladder_words,
    meets,
    number,
)
from gnomon.groups.products import product_words
from gnomon.groups.scalings import FACTORS, is_list_of_factors, scaling_words

if TYPE_CHECKING:
    from gnomon.groups.classification import Found

XPOS_SCALE = 512.0


def named(structure: Sequence[Found]) -> str:
    """Return a structure in words, held to the errors of its eigenvalues."""
    size = sum(one.dimension for one in structure)
    zeros = sum(one.dimension for one in structure if one.kind == "zero")
    if zeros == size:
        return "no positional encoding (NoPE): the identity at every lag"
    whole = _cyclic(structure, size) or product_words(structure, size)
    if whole:
        return whole
    parts = [
        _rotations(_of(structure, "rotation"), _of(structure, "zero")),
        _damped(_of(structure, "damped")),
        *_decays(_of(structure, "decay"), _of(structure, "growth")),
        *_chains([one for one in structure if one.order > 1], size),
    ]
    if zeros:
        parts.append(f"{_dimensions(zeros)} without position")
    return " + ".join(part for part in parts if part)


def _of(structure: Sequence[Found], kind: str) -> list[Found]:
    return [one for one in structure if one.kind == kind]


def _rotations(founds: list[Found], still: list[Found]) -> str:
    """Name pure rotations: RoPE, its rescalings, and its parts."""
    if not founds:
        return ""
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
    scaled = scaling_words(rates, allowances(founds)) if len(counts) == 1 else ""
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


def _damped(founds: list[Found]) -> str:
    """Name damped rotations: xPos, RetNet, or neither."""
    if not founds:
        return ""
    total = sum(one.count for one in founds)
    by_frequency = sorted(founds, key=lambda one: -one.frequency)
    ladder = ladder_of(by_frequency)
    decays = np.array([one.decay for one in by_frequency])
    known = np.array([one.error for one in by_frequency])
    if ladder is not None:
        turns = f"{ladder.count} frequencies, {based(ladder)}{interpolated(ladder.first)}"
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
    hyperbolic = _damped_boosts(falls)
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


def _damped_boosts(falls: list[Found]) -> str:
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
    ladder = fitted_ladder(rapidities.tolist(), CLOSE + error / np.maximum(rapidities, error))
    if ladder is None and pairs < 3:
        return ""
    turns = "" if ladder is None else f", {based(ladder)}"
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
    turns += "" if ladder is None else f", {based(ladder)}"
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
