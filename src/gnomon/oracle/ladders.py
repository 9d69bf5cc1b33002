"""Ladders of rotary frequencies, unscaled and scaled, from the parameters of the scaling alone.

With r turned coordinates, w_k = base^(-2k/r), k = 0 ... r/2 - 1 [su2021 sec. 3.3], and

    linear     w_k / s                                                        [chen2023]
    ntk        the ladder of base s^(r/(r-2))                                 [bloc972023]
    dynamic    the same with s L/L0 - (s - 1) for s, where L > L0             [emozilla2023]
    yarn       w_k/s for slow pairs, w_k for fast ones, a ramp between        [peng2024 sec. 3]
    longrope   w_k / e_k, e_k from one of two lists                           [ding2024]
    llama3     w_k/s for long waves, w_k for short ones, a blend between      [grattafiori2024]

A rule takes (r, base, parameters) and returns the frequencies; factors on queries and keys have
rules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gnomon.errors import EncodingError
from gnomon.oracle.exact import Real, context, number

Parameters = Mapping[str, Any]
Rule = Callable[[int, Real, Parameters], list[Real]]


def plain(rotated: int, base: Real) -> list[Real]:
    """Return base^(-2k/r)."""
    mp = context()
    return [mp.power(base, -mp.mpf(2 * k) / rotated) for k in range(rotated // 2)]


def _unscaled(rotated: int, base: Real, given: Parameters) -> list[Real]:
    del given
    return plain(rotated, base)


def _linear(rotated: int, base: Real, given: Parameters) -> list[Real]:
    return [w / number(given["factor"]) for w in plain(rotated, base)]


def _stretched(rotated: int, base: Real, stretch: Real) -> list[Real]:
    """Return the ladder of base s^(r/(r-2)): the slowest pair is slowed by s, the fastest not."""
    return plain(rotated, base * context().power(stretch, context().mpf(rotated) / (rotated - 2)))


def _ntk(rotated: int, base: Real, given: Parameters) -> list[Real]:
    return _stretched(rotated, base, number(given["factor"]))


def _dynamic(rotated: int, base: Real, given: Parameters) -> list[Real]:
    trained, length, s = given["original_length"], given["length"], number(given["factor"])
    if length is None or length <= trained:
        return plain(rotated, base)
    return _stretched(rotated, base, s * length / trained - (s - 1))


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


RULES: dict[str, Rule] = {
    "unscaled": _unscaled,
    "linear": _linear,
    "ntk": _ntk,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
}


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


def _yarn_factor(given: Parameters) -> Real:
    """Return 0.1 ln s + 1, or the ratio of two such numbers [peng2024 sec. 3.4]."""
    mp, s = context(), number(given["factor"])
    if s <= 1:
        return mp.one
    grown, whole = given["mscale"], given["mscale_all_dim"]
    if grown and whole:
        return temperature(s, grown) / temperature(s, whole)
    return temperature(s, 1)


def temperature(stretch: Real, weight: Any) -> Real:
    """Return 0.1 m ln s + 1."""
    return number("0.1") * number(weight) * context().log(stretch) + 1
