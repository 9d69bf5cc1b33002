"""The verdict: is position in this corpus's marginals, where, in how many dimensions, and so what.

`recommended` follows one rule. Where there is nothing to tell from noise: none. Where there is a
geometry: the fixed encoding (no numbers fitted to this corpus) with the least debiased stress, if
it leaves at most a tenth of the squared distances unexplained and at most three tenths of what
equal distances leave; otherwise the encoding fitted to the debiased geometry. The stress is that of
squared distances where most pairs of positions are not significantly apart.

Stress says how well an encoding's geometry is that of the corpus. It does not say which encoding
trains to a better model, and no sentence here claims it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.geometry.debiased.signal import LEAST_TESTED
from gnomon.results import Result
from gnomon.survey.debiased_stress import DebiasedTarget
from gnomon.survey.entries import Entry
from gnomon.survey.trust import Tests, Trust
from gnomon.survey.words import ranges, signed_figure

NONE = "none"
FIXED = ("sinusoidal", "rope", "alibi", "table")
LIFTS = ("kernel", "slope")
MOST_STRESS = 0.1
MOST_OF_SIMPLEX = 0.3


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict(Result):
    """What a survey concludes."""

    informative: bool | None
    summary: str
    recommended: str
    reason: str


def verdict(
    trust: Trust,
    target: DebiasedTarget | None,
    entries: Sequence[Entry],
    *,
    unshuffled: str | None,
    window: str = "start",
) -> Verdict:
    """Conclude; `unshuffled` says why there is no shuffled null, where there is none.

    `window` says from where positions are counted: under "end", position 0 is the last token.
    """
    recommended, reason = _recommended(trust, target, entries)
    parts = [
        _noise(trust),
        _signal(trust, window),
        _survivorship(trust, unshuffled),
        *trust.warnings,
    ]
    parts.append(_choice(trust, recommended, reason))
    return Verdict(
        informative=trust.informative,
        summary=" ".join(part for part in parts if part),
        recommended=recommended,
        reason=reason,
    )


def without_geometry(reason: str, tests: Tests | None) -> Verdict:
    """Return the verdict of a corpus too small for a debiased geometry: the tests alone."""
    if tests is None:
        return Verdict(
            informative=None,
            summary=f"Sampling noise could not be told from signal here: {reason}",
            recommended=NONE,
            reason=f"no verdict without debiasing: {reason}",
        )
    found = tests.deciding
    distinct = ranges(tests.distinct)
    there = (
        f"There is {tests.what} (p = {found.p_value:.2g})"
        + (f" at positions {distinct}" if distinct else "")
        if found.found
        else _nothing_seen(tests)
    )
    return Verdict(
        informative=tests.informative,
        summary=f"{there}. Its distances could not be debiased: {reason}",
        recommended=NONE,
        reason=f"no encoding can be preferred without a debiased geometry: {reason}"
        if found.found
        else _nothing_to_choose(tests),
    )


def _nothing_seen(tests: Tests) -> str:
    test = tests.deciding
    if test.able:
        return f"No {tests.what} can be told from noise (p = {test.p_value:.2g})"
    return (
        f"Whether there is {tests.what} can not be told: only {test.folds} folds hold tokens, and "
        f"fewer than {LEAST_TESTED} show nothing; use more documents, or name smaller groups with "
        "--group"
    )


def _nothing_to_choose(tests: Tests) -> str:
    if tests.deciding.able:
        return "position is not in the marginals of this corpus"
    return "there are too few groups to tell signal from noise"


def flat(positions: int) -> Verdict:
    """Return the verdict where every distance is zero."""
    return Verdict(
        informative=False,
        summary=f"All {positions} positions have exactly the same law: every distance is 0, and "
        "there is nothing an encoding could fit.",
        recommended=NONE,
        reason="position is not in the marginals of this corpus",
    )


def _noise(trust: Trust) -> str:
    share = trust.noise_share
    if share is None:
        return ""
    return (
        f"{100 * share:.0f} % of the plug-in mean squared distance between the "
        f"{len(trust.core)} well-counted positions is sampling noise: {trust.plugin_core:.3f} as "
        f"published, {signed_figure(trust.mean)} when the noise is taken out."
    )


def _signal(trust: Trust, window: str) -> str:
    test = trust.tests.deciding
    what = trust.tests.what
    if not trust.informative:
        if trust.tests.order is not None and trust.tests.signal.found:
            return (
                f"Positions differ (p = {trust.tests.signal.p_value:.2g}), but no more than the "
                f"same windows shuffled (p = {test.p_value:.2g}): long documents differ from "
                f"short ones, and {what} adds nothing that can be told from noise."
            )
        return f"{_nothing_seen(trust.tests)}."
    if trust.no_geometry is not None:
        return (
            f"There is {what} (p = {test.p_value:.2g}), too weak for a geometry: "
            f"{trust.no_geometry}.{_where_weak(trust)}"
        )
    matter = "" if trust.participation is None else f", of which {_matter(trust)} matter"
    return (
        f"There is {what} (p = {test.p_value:.2g}) {where(trust, window)}; it has "
        f"{_plural(trust.debiased.rank, 'direction')} above the noise edge{matter}."
    )


def _matter(trust: Trust) -> str:
    value = 0.0 if trust.participation is None else trust.participation.value
    return f"about {value:.1f} (participation ratio)"


def _plural(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _where_weak(trust: Trust) -> str:
    distinct = ranges(trust.tests.distinct)
    return f" Positions that differ from the rest: {distinct}." if distinct else ""


def where(trust: Trust, window: str = "start") -> str:
    """Say where the signal sits."""
    found = trust.pattern
    last = dict(trust.tests.extents)
    begins = found.positions.tolist()
    listed = ranges((first, last.get(first, first)) for first in begins)
    touch = f"({100 * found.share:.0f} % of it in pairs that touch them)"
    one = "position" if listed.isdecimal() else "positions"
    near, far = ("end", "start") if window == "end" else ("start", "end")
    counted = ", counted from the last token" if window == "end" else ""
    return {
        "start": f"at the {near}, {one} {listed}{counted} {touch}",
        "end": f"at the {far} of the window, {one} {listed}{counted} {touch}",
        "some": f"at {one} {listed} {touch}",
        "periodic": f"with a period of {found.period} positions",
        "blocks": f"in {len(begins)} blocks that begin at positions {', '.join(map(str, begins))}",
        "drift": "as a drift over all positions: the further apart, the more they differ",
        "throughout": "throughout, in no simple pattern",
    }[found.kind]


def _survivorship(trust: Trust, unshuffled: str | None) -> str:
    found = trust.survivorship
    if found is None:
        why = f" ({unshuffled.rstrip('.')})" if unshuffled else ""
        return (
            "Survivorship (which documents reach a position) was not told from "
            f"{trust.tests.order_in_words}{why}: the null is the tokens dealt at random."
        )
    if not trust.tests.signal.found:
        return ""
    low, high = found.shuffled.interval
    rest = signed_figure(found.shuffled)
    if low <= 0.0 <= high or found.original.value <= 0.0:
        return (
            f"Shuffled inside documents {rest} is left, which can not be told from nothing: "
            "no survivorship is seen."
        )
    share = min(max(found.shuffled.value / found.original.value, 0.0), 1.0)
    return (
        f"Shuffled inside documents {rest} is left: about {100 * share:.0f} % is survivorship "
        f"(which documents reach a position), not {trust.tests.order_in_words}."
    )


def _recommended(
    trust: Trust, target: DebiasedTarget | None, entries: Sequence[Entry]
) -> tuple[str, str]:
    if not trust.informative:
        return NONE, _nothing_to_choose(trust.tests)
    if target is None:
        return NONE, f"the signal is too weak to tell encodings apart: {trust.no_geometry}"
    squared = trust.significant_share < 0.5
    equal = target.simplex_squared if squared else target.simplex
    fixed = [e for e in entries if e.name in FIXED and e.lift in LIFTS and e.debiased is not None]
    # Rounded: encodings with the same distances (sinusoid and rotary phases) tie, the first wins.
    best = min(fixed, key=lambda e: round(_stress(e, squared=squared), 9), default=None)
    fitted = next(e for e in entries if e.label.startswith("mds, debiased"))
    kind = "squared scale-free stress" if squared else "scale-free stress"
    left = "" if best is None else _leaves(best, equal, kind, squared=squared)
    if best is not None and _stress(best, squared=squared) <= min(
        MOST_STRESS, MOST_OF_SIMPLEX * equal
    ):
        return best.name, f"{left}; nothing needs to be fitted to this corpus"
    return fitted.name, (
        f"no fixed encoding has this geometry ({left}); {fitted.label} is fitted to it and leaves "
        f"{_stress(fitted, squared=squared):.3f}"
    )


def _leaves(entry: Entry, equal: float, kind: str, *, squared: bool) -> str:
    low, high = _interval(entry, squared=squared)
    return (
        f"{entry.label} under the {entry.lift} lift leaves a {kind} of "
        f"{_stress(entry, squared=squared):.3f} [{low:.3f}, {high:.3f}], equal distances leave "
        f"{equal:.3f}"
    )


def _stress(entry: Entry, *, squared: bool) -> float:
    found = entry.debiased
    return 1.0 if found is None else found.squared if squared else found.scale_free


def _interval(entry: Entry, *, squared: bool) -> tuple[float, float]:
    found = entry.debiased
    if found is None:
        return 0.0, 1.0
    return found.squared_interval if squared else found.interval


def _choice(trust: Trust, recommended: str, reason: str) -> str:
    if recommended != NONE:
        return (
            f"Closest to the corpus: {recommended}, since {reason}. Stress compares geometries; it "
            "does not say which encoding trains to a better model."
        )
    if trust.informative is not False:
        return f"Recommended: none, since {reason}."
    return (
        "Recommended: none, since position is not in the marginals of this corpus: its token "
        "frequencies give no ground for preferring one encoding to another."
    )
