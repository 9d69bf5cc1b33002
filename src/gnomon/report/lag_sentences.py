"""What was found about the lags of a corpus, in sentences for people.

Results hold numbers and short reasons; here stands how they are said, on the terminal and the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gnomon.lags import (
    DecayLaw,
    Dependence,
    Integers,
    Interval,
    LagInformation,
    LagKernel,
    Mode,
    jackknife_errors,
    peaks,
)

if TYPE_CHECKING:
    from gnomon.pipeline import LagStructure

SHOWN = 8
"""Periods and half-lives that are told, the strongest."""
FEW = 4
"""Lags that are named where no mode fits."""
FAR = 100
"""The lag that what documents tell as a whole is told at, or the last one."""
CLEAR = 5.0
"""Errors above 0 from which a token distribution by position, or a slow change, is spoken of."""
PARTS, LITTLE = 8, 0.25
"""Part of the lags at both ends that a slow change is told by, and its size beside the largest."""


DOUBTS = {
    "not one period on": "tokens that far apart are not as alike as it says",
    "not at most multiples": "at most of its multiples other things are as large",
    "not in both halves": "two halves of the documents have other periods",
}
"""Why a sharp period is not confirmed where modes do not fit, in words."""


def lag_lines(structure: LagStructure, slopes: Sequence[float]) -> list[str]:
    """Return the lines: information, its law, periods and half-lives, slopes."""
    information = structure.information
    if information.types == 1:
        return ["all tokens are the same: there is one type only, and nothing that could depend"]
    found = structure.found
    lines = [f"note: {note}" for note in structure.notes]
    lines += [
        *_information_lines(information, structure.kernel.pairs),
        *_decay_lines(structure.law),
    ]
    slow = list(_slow_change_lines(found, structure.kernel))
    if found.modes:
        lines += mode_lines(found)
    elif not structure.kernel.repeats:
        lines.append(_no_repeats_sentence(information))
    elif not slow and (found.fit is None or not found.fit.withheld):
        lines.append(_nothing_sentence(information, found.lags))
    lines += [*slow, *_fit_lines(found, structure.kernel)]
    lines += _document_lines(found, structure.kernel)
    lines += _position_lines(structure.positions)
    if slopes:
        ladder = ", ".join(f"{slope:.3g}" for slope in slopes)
        lines.append(f"slopes for {_with_heads(len(slopes))}: {ladder}")
    return lines


def _with_heads(heads: int) -> str:
    """Return how many heads there are, in words."""
    return f"{heads} head" if heads == 1 else f"{heads} heads"


def _nothing_sentence(information: LagInformation, lags: int) -> str:
    """Return what it means that no mode was found: no dependence, or none by being equal."""
    if information.reach == 0:
        return f"nothing depends on the lag, up to {lags}, beyond the noise"
    last = float(information.values[information.reach - 1])
    return (
        f"tokens depend on each other up to lag {information.reach} ({max(last, 0.0):.2g} bits "
        "there), but not by being equal beyond the noise: no period and no half-life is read from "
        "it"
    )


def _no_repeats_sentence(information: LagInformation) -> str:
    """Return what documents tell in which no token comes twice."""
    own = "no token comes twice in a document, so that equal tokens tell nothing of lags"
    if information.reach == 0:
        return f"nothing depends on the lag beyond the noise; {own}"
    return f"{own}: no period and no half-life is read from them"


def _slow_change_lines(found: Dependence, kernel: LagKernel) -> Iterator[str]:
    """Yield what tokens are equal in excess at all lags, where modes do not say it.

    A period or a half-life far beyond the lags is an excess that hardly changes over them.
    """
    if found.modes and (found.fit is None or not found.fit.poor):
        return
    part = max(len(kernel.lags) // PARTS, 1)
    parts = np.asarray(kernel.values) - found.at(kernel.lags.astype(np.float64))
    moved = kernel.replicates - kernel.values
    ends = {"first": slice(0, part), "last": slice(-part, None)}
    first, last = (float(parts[end].mean()) for end in ends.values())
    near, far = (
        float(jackknife_errors(moved[:, end].mean(axis=1)[:, None])[0]) for end in ends.values()
    )
    largest = float(np.abs(kernel.values).max(initial=0.0))
    level, fall = parts.mean(), first - last
    error = float(jackknife_errors(moved.mean(axis=1)[:, None])[0])
    lasts = level > CLEAR * error and level > LITTLE * largest
    changes = abs(fall) > CLEAR * np.hypot(near, far) and abs(fall) > LITTLE * largest
    if lasts or changes:
        yield (
            f"a slow change: tokens are equal by {first:+.2g} more often than shuffled at lags up "
            f"to {kernel.lags[part - 1]}, by {last:+.2g} from {kernel.lags[-part]} to "
            f"{kernel.lags[-1]}; a period or half-life of it is longer than these lags tell"
        )


def _position_lines(found: Dependence) -> Iterator[str]:
    """Yield the periods in how tokens are distributed over positions."""
    for family in found.families:
        period = _period_phrase(family, found.lags)
        yield (
            f"positions have {period} (documents start in phase): tokens are distributed so over "
            "positions, and it is no dependence between tokens beyond that"
        )


def _information_lines(information: LagInformation, pairs: Integers) -> Iterator[str]:
    """Yield how far dependence is detected, how much there is, and what was merged.

    Of what positions tell nothing is said at lags with fewer pairs than pairs of types: there bits
    are bias that no jackknife takes off.
    """
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
    if information.reach < information.furthest:
        yield (
            f"beyond, up to lag {information.furthest}, tokens depend on the lag and tell no more "
            "than shuffled documents do: how much is not told from what a document has anywhere"
        )
    enough = pairs[: len(information.lags)] >= information.types**2
    place = int(np.argmax(np.where(enough, information.across, -np.inf)))
    if enough.any() and information.across[place] > CLEAR * information.errors[place]:
        yield (
            f"positions alone tell {information.across[place]:.3g} bits at lag "
            f"{information.lags[place]}: that is no dependence, and is taken off"
        )
    if information.merged:
        bins = "one" if information.bins == 1 else f"{information.bins}"
        yield (
            f"{information.types} types are distinguished; rarer ones, {information.merged:.1%} "
            f"of the tokens, are merged into {bins} of them, which can only lower the information"
        )


def _decay_lines(decay: DecayLaw) -> Iterator[str]:
    """Yield how the tail falls, where there is one to speak of."""
    if decay.law == "power law" and decay.exponent is not None:
        power = f"lag^-{decay.exponent:.3g}{_between(decay.exponent_interval)}"
        yield f"it falls as a power law, {power}, from lag {decay.begins:g} on"
    elif decay.law == "exponential" and decay.half_life is not None:
        life = f"{decay.half_life:.3g}{_between(decay.half_life_interval)}"
        yield f"it falls exponentially, by half every {life} tokens, from lag {decay.begins:g} on"
    elif decay.law != "none":
        yield f"whether it falls as a power law or exponentially cannot be decided: {decay.reason}"
    elif decay.evidence is not None:
        yield f"neither a power law nor an exponential describes how it falls: {decay.reason}"


def mode_lines(found: Dependence) -> Iterator[str]:
    """Yield periods with their harmonics, and half-lives, the strongest first."""
    if not found.modes:
        yield f"nothing depends on the lag, up to {found.lags}, beyond the noise"
    families = [one for one in found.families if not _swells(one[0])]
    for family in families[:SHOWN]:
        if family[0].product:
            yield _sum_phrase(family)
        elif any(mode.oscillates for mode in family):
            yield _period_phrase(family, found.lags)
        else:
            yield from map(_decay_phrase, family)
    if len(families) > SHOWN:
        yield f"and {len(families) - SHOWN} weaker ones"
    yield from _swelling_lines(found.families)


def _fit_lines(found: Dependence, kernel: LagKernel) -> Iterator[str]:
    """Yield how well the modes fit, and where they are withheld what was measured."""
    fit = found.fit
    if fit is None or not (found.modes or fit.withheld):
        return
    share = "" if fit.explained is None else f"explain {fit.explained:.1%} of what varies and "
    how = (
        f"chi^2 is {fit.chi2_per_dof:.3g} for each degree of freedom; modes {share}leave "
        f"{fit.largest_error:.2g} at most, at lag {fit.largest_at}"
    )
    yield f"these modes do not fit: {how}" if fit.poor else f"fit: {how}"
    for one in found.unconfirmed[:SHOWN]:
        period = f"{one.period:.5g}{_between(one.period_interval)}"
        yield (
            f"not confirmed: a period of {period}, amplitude {one.amplitude:.2g}: "
            f"{DOUBTS[one.reason]}"
        )
    others = fit.withheld - len(found.unconfirmed)
    if fit.poor and others:
        many = "1 mode is" if others == 1 else f"{others} modes are"
        yield f"{many} withheld: no turns and decays of such a size stand above what is left"
    if fit.poor:
        most = [f"{kernel.lags[k]} ({kernel.values[k]:.2g})" for k in peaks(kernel)[:FEW]]
        if most:
            yield f"as measured, tokens are most alike at lags {', '.join(most)}"


def _document_lines(found: Dependence, kernel: LagKernel) -> Iterator[str]:
    """Yield what documents have as a whole, whatever the order, where that is not little."""
    last = min(FAR, len(kernel.lags)) - 1
    level = float(kernel.level[last])
    if kernel.level_errors is None or level <= CLEAR * float(kernel.level_errors[last]):
        return
    own = f"tokens of one document are equal by {level:+.2g} more often than those of two"
    spread = -found.constant
    if found.modes and spread > 0.1 * level:
        part = f"{min(spread, level):.2g} of it is the dependence found here, spread by shuffles"
        rest = "the rest is" if spread < 0.9 * level else "what may be left is"
        own = f"{own}: {part}; {rest} "
    else:
        own += ", whatever the lag: "
    yield (
        f"{own}what documents are about, or memory longer than they are, which lags do not tell "
        f"apart; with it the excess of equal tokens at lag {kernel.lags[last]} is "
        f"{float(kernel.whole[last]):+.2g}"
    )


def _swelling_lines(families: Sequence[tuple[Mode, ...]]) -> Iterator[str]:
    """Yield what stands beside harmonics of a period: it swells and falls."""
    beside = [mode for family in families for mode in family if _swells(mode)]
    for one in dict.fromkeys(mode.product[0] for mode in beside):
        own = [mode for mode in beside if mode.product[0] == one]
        turns = sorted(mode.product[1] for mode in own)
        about = f"{turns[0]:.3g}" if len(own) == 1 else f"{turns[0]:.3g} to {turns[-1]:.3g}"
        size = sum(mode.amplitude for mode in own)
        yield f"the period of {one:.5g} swells and falls every {about} tokens, amplitude {size:.2g}"


def _swells(mode: Mode) -> bool:
    return len(mode.product) > 1 and bool(np.isfinite(mode.half_life)) and mode.harmonic == 1


def _sum_phrase(family: tuple[Mode, ...]) -> str:
    """Return in words what belongs to other periods: sums of frequencies, or what is beside one."""
    size = f"amplitude {sum(mode.amplitude for mode in family):.2g}"
    one, *other = family[0].product
    if not other:
        life = min(family, key=lambda mode: mode.half_life)
        falls = (
            f" with a half-life of {_life_phrase(life)} tokens"
            if np.isfinite(life.half_life)
            else ""
        )
        return f"of the period of {one:.5g} a part that falls{falls}, {size}"
    return f"sums and differences of the periods of {one:.5g} and {other[0]:.5g}, {size}"


def _fall_phrase(mode: Mode, lags: int) -> str:
    """Return a half-life in words, or that there is none to speak of within the lags."""
    low, high = mode.half_life_interval or (0.0, 0.0)
    if np.isinf(high) and low >= lags:
        return f" that does not fall by half within {lags} lags"
    return f" with a half-life of {_life_phrase(mode)}"


def _period_phrase(family: tuple[Mode, ...], lags: int) -> str:
    """Return a period in words, with its half-life, harmonics and size."""
    first, strongest = family[0], max(family, key=lambda mode: mode.amplitude)
    low, high = first.period_interval or (0.0, 0.0)
    ends = (first.harmonic * low, first.harmonic * high) if first.period_interval else None
    said = f"a period of {first.fundamental:.5g}{_between(ends)} tokens"
    if _alternates(first):
        said = "a period of 2 tokens (it alternates)"
    if np.isfinite(first.half_life):
        said += _fall_phrase(first, lags)
    if len(family) > 1:
        said += f", in {len(family)} harmonics"
    if strongest.harmonic > 1:
        said += f", of which a period of {strongest.period:.5g} is the strongest"
    return f"{said}, amplitude {sum(mode.amplitude for mode in family):.2g}"


def _alternates(mode: Mode) -> bool:
    """Say whether a mode is the fastest there is, half a turn a token, which has no interval."""
    return mode.harmonic == 1 and mode.period_interval is None and abs(mode.period - 2.0) < 1e-6


def _decay_phrase(mode: Mode) -> str:
    """Return a half-life in words; where an end is open, the other one."""
    life = _life_phrase(mode)
    turning = f", turning once in {mode.period:.4g}" if np.isfinite(mode.period) else ""
    if mode.slow:
        fall = f", by half in {life}" if np.isfinite(mode.half_life) else ""
        return (
            f"a slow change{fall}, without a period in these lags, amplitude {mode.amplitude:.2g}"
        )
    turning = ", alternating" if _alternates(mode) else turning
    return f"a half-life of {life} tokens{turning}, amplitude {mode.amplitude:.2g}"


def _life_phrase(mode: Mode) -> str:
    """Return a half-life with its interval; where an end of that is open, the other end."""
    low, high = mode.half_life_interval or (0.0, 0.0)
    if np.isinf(high):
        return f"more than {low:.4g}"
    if low == 0.0 and high > 0.0:
        return f"less than {high:.2g}"
    return f"{mode.half_life:.4g}{_between(mode.half_life_interval)}"


def _between(interval: Interval | None) -> str:
    """Return an interval in brackets, or nothing."""
    return "" if interval is None else f" [{interval[0]:.5g}, {interval[1]:.5g}]"
