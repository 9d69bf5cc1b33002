"""What was found about the lags of a corpus, in lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gnomon.groups.dependence import Dependence, Interval, Mode
from gnomon.groups.information import LagInformation
from gnomon.groups.tails import Law

if TYPE_CHECKING:
    from gnomon.survey.lag_structure import LagStructure

CLEAR = 5.0
"""Errors above 0 from which a law of positions is spoken of."""


def said_all(structure: LagStructure) -> list[str]:
    """Return the lines: information, its law, periods and half-lives, slopes."""
    lines = [*said_information(structure.information), *said_law(structure.law)]
    lines += said_modes(structure.found)
    if structure.slopes:
        ladder = ", ".join(f"{slope:.3g}" for slope in structure.slopes)
        lines.append(f"slopes for {len(structure.slopes)} heads: {ladder}")
    return lines


def said_information(information: LagInformation) -> Iterator[str]:
    """Yield how far dependence is detected, how much there is, and what was merged."""
    most = int(information.lags[-1])
    if information.reach == 0:
        yield f"mutual information: none is detected at lags up to {most}"
    else:
        first = f"{information.values[0]:.3g} bits at lag 1"
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
    if np.isfinite(first.half_life):
        said += f" with a half-life of {first.half_life:.4g}{between(first.half_life_interval)}"
    if len(family) > 1:
        said += f", in {len(family)} harmonics"
    if strongest.harmonic > 1:
        said += f", of which a period of {strongest.period:.5g} is the strongest"
    return f"{said}, amplitude {sum(mode.amplitude for mode in family):.2g}"


def _decay(mode: Mode) -> str:
    """Return a half-life in words."""
    life = f"{mode.half_life:.4g}{between(mode.half_life_interval)}"
    turning = f", turning once in {mode.period:.4g}" if np.isfinite(mode.period) else ""
    return f"a half-life of {life} tokens{turning}, amplitude {mode.amplitude:.2g}"


def between(interval: Interval | None) -> str:
    """Return an interval in brackets, or nothing."""
    return "" if interval is None else f" [{interval[0]:.5g}, {interval[1]:.5g}]"
