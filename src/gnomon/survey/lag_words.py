"""What was found about the lags of a corpus, in lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gnomon.groups.dependence import Dependence, Interval, Mode
from gnomon.groups.information import LagInformation
from gnomon.groups.tails import Law

if TYPE_CHECKING:
    from gnomon.survey.lag_structure import LagStructure

CLEAR = 5.0
"""Errors above 0 from which a law of positions is spoken of."""


def said_all(structure: LagStructure, slopes: Sequence[float]) -> list[str]:
    """Return the lines: information, its law, periods and half-lives, slopes."""
    information = structure.information
    if information.types == 1:
        return ["all tokens are the same: there is one type only, and nothing that could depend"]
    lines = [*said_information(information), *said_law(structure.law)]
    if structure.found.modes:
        lines += said_modes(structure.found)
    else:
        lines.append(said_nothing(information, structure.found.lags))
    lines += said_positions(structure.positions)
    if slopes:
        ladder = ", ".join(f"{slope:.3g}" for slope in slopes)
        lines.append(f"slopes for {some_heads(len(slopes))}: {ladder}")
    return lines


def some_heads(heads: int) -> str:
    """Return how many heads there are, in words."""
    return f"{heads} head" if heads == 1 else f"{heads} heads"


def said_nothing(information: LagInformation, lags: int) -> str:
    """Return what it means that no mode was found: no dependence, or none by being equal."""
    if information.reach == 0:
        return f"nothing depends on the lag, up to {lags}, beyond the noise"
    last = float(information.values[information.reach - 1])
    return (
        f"tokens depend on each other up to lag {information.reach} ({max(last, 0.0):.2g} bits "
        "there), but not by being equal beyond the noise: no period and no half-life is read from "
        "it"
    )


def said_positions(found: Dependence) -> Iterator[str]:
    """Yield the periods of the law of positions."""
    for family in found.families:
        yield (
            f"positions have {_period(family)} (documents start in phase): that is a law of "
            "positions, no dependence between tokens beyond it"
        )


def said_information(information: LagInformation) -> Iterator[str]:
    """Yield how far dependence is detected, how much there is, and what was merged."""
    most = int(information.lags[-1])
    if information.reach == 0:
        yield f"mutual information: none is detected at any single lag up to {most}"
    else:
        best, first = information.strongest, ""
        if best > 0:
            first = f"{max(float(information.values[0]), 0.0):.3g} bits at lag 1, most at lag "
            first += f"{information.lags[best]} with "
        first += f"{information.values[best]:.3g} bits" + (" at lag 1" if best == 0 else "")
        yield f"mutual information: {first}, detected up to lag {information.reach} of {most}"
    place = int(np.argmax(information.across))
    if information.across[place] > CLEAR * information.errors[place]:
        yield (
            f"positions alone tell {information.across[place]:.3g} bits at lag "
            f"{information.lags[place]}: that is no dependence, and is taken off"
        )
    if information.merged:
        yield (
            f"told apart are {information.types} types; rare ones, {information.merged:.1%} of the "
            "tokens, are one of them, which can only lower the information"
        )


def said_law(law: Law) -> Iterator[str]:
    """Yield the law of the tail, where there is one to speak of."""
    if law.law == "power law" and law.exponent is not None:
        power = f"lag^-{law.exponent:.3g}{between(law.exponent_interval)}"
        yield f"it falls as a power law, {power}, from lag {law.begins:g} on"
    elif law.law == "exponential" and law.half_life is not None:
        life = f"{law.half_life:.3g}{between(law.half_life_interval)}"
        yield f"it falls exponentially, by half every {life} tokens, from lag {law.begins:g} on"
    elif law.law != "none":
        yield f"whether it falls as a power law or exponentially can not be told: {law.reason}"
    elif law.evidence is not None:
        yield f"it follows no law of falling: {law.reason}"


def said_modes(found: Dependence) -> Iterator[str]:
    """Yield periods with their harmonics, and half-lives, the strongest first."""
    if not found.modes:
        yield f"nothing depends on the lag, up to {found.lags}, beyond the noise"
    for family in found.families:
        if any(mode.oscillates for mode in family):
            yield _period(family)
        else:
            yield from map(_decay, family)


def _period(family: tuple[Mode, ...]) -> str:
    """Return a period in words, with its half-life, harmonics and size."""
    first, strongest = family[0], max(family, key=lambda mode: mode.amplitude)
    low, high = first.period_interval or (0.0, 0.0)
    whole = (first.harmonic * low, first.harmonic * high) if first.period_interval else None
    said = f"a period of {first.fundamental:.5g}{between(whole)} tokens"
    if alternates(first):
        said = "a period of 2 tokens (it alternates)"
    if np.isfinite(first.half_life):
        said += f" with a half-life of {first.half_life:.4g}{between(first.half_life_interval)}"
    if len(family) > 1:
        said += f", in {len(family)} harmonics"
    if strongest.harmonic > 1:
        said += f", of which a period of {strongest.period:.5g} is the strongest"
    return f"{said}, amplitude {sum(mode.amplitude for mode in family):.2g}"


def alternates(mode: Mode) -> bool:
    """Say whether a mode is the fastest there is, half a turn a token, which has no interval."""
    return mode.harmonic == 1 and mode.period_interval is None and abs(mode.period - 2.0) < 1e-6


def _decay(mode: Mode) -> str:
    """Return a half-life in words."""
    life = f"{mode.half_life:.4g}{between(mode.half_life_interval)}"
    turning = f", turning once in {mode.period:.4g}" if np.isfinite(mode.period) else ""
    turning = ", alternating" if alternates(mode) else turning
    return f"a half-life of {life} tokens{turning}, amplitude {mode.amplitude:.2g}"


def between(interval: Interval | None) -> str:
    """Return an interval in brackets, or nothing."""
    return "" if interval is None else f" [{interval[0]:.5g}, {interval[1]:.5g}]"
