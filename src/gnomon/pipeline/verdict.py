"""The verdict: is position in this corpus's marginals, where, in how many dimensions, and so what.

`recommended` follows one rule. Where there is nothing to tell from noise: none. Where there is a
geometry: the nearest known encoding, if its stress is at most a tenth and at most
three tenths of what equal distances leave, whichever single position is left out; otherwise the
encoding fitted to the debiased geometry.

`caution` is one sentence where rows seem to depend on each other: it stands before everything else,
since every other number rests on their independence.

Stress says how well an encoding's geometry is that of the corpus. It does not say which encoding
trains to a better model, and no sentence here claims it.

Known are the encodings without numbers fitted to the corpus: those that the catalogue lists for
surveys (the sinusoid, rotary phases, ALiBi), those a user asked for, and tables of the user, under
every lift that the survey lists. Random tables are none: what is near them is near to nothing. The
nearest has the least debiased scale-free stress, of squared distances where most pairs of positions
are not significantly apart, since a root turns noise around zero into distances. Beside it stands
what equal distances leave: an encoding that leaves as much or more has nothing of the corpus in it.

One that is close (`gnomon.pipeline.debiased_stress`) whichever position is left out goes before one
that is close with a certain position only: where a table keeps one row apart, and so does the
corpus, that pair of rows alone may bring the stress down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.distances import LEAST_TESTED, Signal
from gnomon.encodings import ENTRIES
from gnomon.pipeline.debiased_stress import DebiasedTarget, LeftOut, is_close
from gnomon.pipeline.noise import NoiseReport, Tests, unshared_in_words
from gnomon.pipeline.rows import Entry
from gnomon.pipeline.words import (
    blocks_in_words,
    either_way,
    p_in_words,
    percent,
    ranges,
    signed_figure,
    skipped,
)
from gnomon.results import Result

NONE = "none"
NOT_SEEN = "the token frequencies of this corpus show no dependence on position"
MOSTLY = 0.5
"""Share of pairs significantly apart below which squared distances are compared."""
WHY_SQUARED = "squared, since most pairs of positions are not significantly apart"


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict(Result):
    """What a survey concludes."""

    informative: bool | None
    summary: str
    recommended: str
    reason: str
    caution: str | None = None
    """What to do before any of this is believed; None where nothing speaks against it."""
    nearest: Nearest | None = None
    """The nearest known encoding; None where there is no geometry to compare with."""


def verdict(
    noise: NoiseReport,
    target: DebiasedTarget | None,
    entries: Sequence[Entry],
    *,
    unshuffled: str | None,
    window: str = "start",
) -> Verdict:
    """Conclude; `unshuffled` says why there is no shuffled null, where there is none.

    `window` says from where positions are counted: under "end", position 0 is the last token.
    """
    known = nearest_known(target, entries)
    recommended, label, reason = _recommend(noise, known, entries)
    parts = [
        noise.caution,
        _signal(noise, window),
        unshared_in_words(noise.unshared),
        _noise(noise),
        _survivorship(noise, unshuffled),
        *noise.warnings,
        *_of_tables(entries),
        _choice(noise, label, reason),
    ]
    return Verdict(
        informative=noise.informative,
        summary=" ".join(part for part in parts if part),
        recommended=recommended,
        reason=reason,
        caution=noise.caution,
        nearest=known,
    )


def without_geometry(reason: str, tests: Tests | None) -> Verdict:
    """Return the verdict of a corpus too small for a debiased geometry: the tests alone."""
    if tests is None:
        return Verdict(
            informative=None,
            summary=f"Signal could not be separated from sampling noise here: {reason}",
            recommended=NONE,
            reason=f"no verdict without debiasing: {reason}",
        )
    found = tests.deciding
    distinct = ranges(tests.distinct)
    there = (
        f"There is {_article(tests.what)} ({_p(found)})"
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
        return f"No {tests.what} stands out from noise ({_p(test)})"
    return (
        f"Whether there is {_article(tests.what)} cannot be decided: only {test.folds} folds hold "
        f"tokens, and fewer than {LEAST_TESTED} show nothing; use more documents, or name smaller "
        "groups with --group"
    )


def _nothing_to_choose(tests: Tests) -> str:
    if tests.deciding.able:
        return NOT_SEEN
    return "there are too few groups to tell signal from noise"


def flat(positions: int) -> Verdict:
    """Return the verdict where every distance is zero."""
    return Verdict(
        informative=False,
        summary=f"All {positions} positions have exactly the same token distribution: every "
        "distance is 0, and there is nothing an encoding could fit.",
        recommended=NONE,
        reason=NOT_SEEN,
    )


def _noise(noise: NoiseReport) -> str:
    share = noise.noise_share
    if share is None:
        return ""
    return (
        f"{100 * share:.0f} % of the mean squared distance between the {len(noise.core)} "
        f"well-counted positions is sampling noise: {noise.plugin_core:.3f} straight from the "
        f"counts (plug-in, as published), {signed_figure(noise.mean)} when the noise is taken out."
    )


def _why_differ(noise: NoiseReport, what: str) -> str:
    """Say what positions differ by where their order cannot be told."""
    tokens = noise.debiased.tokens[noise.debiased.core]
    if tokens.min() == tokens.max():
        return (
            "all documents reach all of these positions, so this is chance, as once in twenty "
            f"times, or {_the(what)} is too weak to stand out from noise"
        )
    return (
        f"long documents differ from short ones, and {_the(what)} adds nothing that stands "
        "out from noise"
    )


def _signal(noise: NoiseReport, window: str) -> str:
    test = noise.tests.deciding
    what = noise.tests.what
    if not noise.informative:
        if noise.tests.order is not None and noise.tests.signal.found:
            return (
                f"Positions differ ({_p(noise.tests.signal)}), but no more than the "
                f"same windows shuffled ({_p(test)}): {_why_differ(noise, what)}."
            )
        return f"{_nothing_seen(noise.tests)}."
    if noise.no_geometry is not None:
        weak = "too weak for a geometry"
        if any(one.distinct for one in noise.unshared):
            weak = "and no geometry without the positions that share no token with others"
        return (
            f"There is {_article(what)} ({_p(test)}), {weak}: "
            f"{noise.no_geometry}.{_where_weak(noise)}"
        )
    matter = "" if noise.participation is None else f", which weigh as much as {_matter(noise)}"
    return (
        f"There is {_article(what)} ({_p(test)}) {where(noise, window)}; positions differ by more "
        f"than noise in {_plural(noise.debiased.rank, 'direction')}{matter}."
    )


def _p(test: Signal) -> str:
    return p_in_words(test.p_value, test.draws, test.folds)


def _article(what: str) -> str:
    return f"an {what}" if what.startswith("order") else what


def _the(what: str) -> str:
    return f"the {what}" if what.startswith("order") else what


def _matter(noise: NoiseReport) -> str:
    value = 0.0 if noise.participation is None else noise.participation.value
    return f"about {value:.1f} of equal strength (participation ratio)"


def _plural(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def _where_weak(noise: NoiseReport) -> str:
    distinct = ranges(noise.tests.distinct)
    return f" Positions that differ from the rest: {distinct}." if distinct else ""


def where(noise: NoiseReport, window: str = "start") -> str:
    """Say where the signal sits."""
    found = noise.pattern
    last = dict(noise.tests.extents)
    begins = found.positions.tolist()
    listed = ranges((first, last.get(first, first)) for first in begins)
    core = _core_extents(noise)
    gap = skipped(begins, core) if noise.tests.axes == 1 else ""
    unsure = either_way((k, last.get(k, k)) for k in found.unsure.tolist())
    touch = f"({100 * found.share:.0f} % of it in pairs that touch them{gap}{unsure})"
    one = "position" if listed.isdecimal() else "positions"
    near, far = ("end", "start") if window == "end" else ("start", "end")
    counted = ", counted from the last token" if window == "end" else ""
    return {
        "start": f"at the {near}, {one} {listed}{counted} {touch}",
        "end": f"at the {far} of the window, {one} {listed}{counted} {touch}",
        "some": f"at {one} {listed} {touch}",
        "periodic": f"with a period of {found.period} positions",
        "blocks": blocks_in_words(begins, core[-1][1]) if found.kind == "blocks" else "",
        "drift": "as a drift over all positions: the further apart, the more they differ",
        "throughout": "throughout, in no simple pattern",
    }[found.kind]


def _core_extents(noise: NoiseReport) -> list[tuple[int, int]]:
    """Return first and last position of everything in the core."""
    known = dict(zip(noise.tests.positions.tolist(), noise.tests.extents, strict=True))
    return [known.get(index, (index, index)) for index in noise.core.tolist()]


def _survivorship(noise: NoiseReport, unshuffled: str | None) -> str:
    found = noise.survivorship
    if found is None:
        why = f" ({unshuffled.rstrip('.')})" if unshuffled else ""
        return (
            "How much comes only from which documents reach a position (survivorship), and not "
            f"from {_the(noise.tests.order_in_words)}, is not known{why}: chance is the same "
            "tokens dealt at random."
        )
    if not noise.tests.signal.found:
        return ""
    low, high = found.shuffled.interval
    rest = signed_figure(found.shuffled)
    if low <= 0.0 <= high or found.original.value <= 0.0:
        return (
            f"With the tokens of each document shuffled {rest} is left, which is not significant: "
            "nothing is seen to come only from which documents reach a position (survivorship)."
        )
    share = min(max(found.shuffled.value / found.original.value, 0.0), 1.0)
    return (
        f"With the tokens of each document shuffled {rest} is left: about {100 * share:.0f} % "
        "comes only from which documents reach a position (survivorship), not from "
        f"{_the(noise.tests.order_in_words)}."
    )


def _recommend(
    noise: NoiseReport, known: Nearest | None, entries: Sequence[Entry]
) -> tuple[str, str, str]:
    """Return the name, the label in words and the reason."""
    if not noise.informative:
        return NONE, NONE, _nothing_to_choose(noise.tests)
    if noise.no_geometry is not None:
        apart = any(one.distinct for one in noise.unshared)
        weak = "the other positions have no geometry" if apart else "the signal is too weak"
        reason = f"{weak} to tell encodings apart: {noise.no_geometry}"
        return NONE, NONE, reason
    if known is not None and known.close:
        reason = f"it {known.leaves}; nothing needs to be fitted to this corpus"
        return known.name, known.called, reason
    fitted = next(e for e in entries if e.label.startswith("mds, debiased"))
    squared = known is not None and known.measure == "squared"
    return (
        fitted.name,
        f"{fitted.label} (fitted to this corpus)",
        f"{_none_near(known)}; the fitted one leaves {percent(stress_of(fitted, squared=squared))}",
    )


def _none_near(known: Nearest | None) -> str:
    """Say how far the nearest known encoding is."""
    if known is None:
        return "no known encoding could be compared"
    if not known.closer:
        why = f" ({WHY_SQUARED})" if known.measure == "squared" else ""
        return (
            "none of the known encodings comes closer than keeping all positions equally far "
            f"apart, which leaves {percent(known.equal)} of the {known.what} unexplained{why}"
        )
    return (
        f"no known encoding has this geometry: the nearest of them, {known.called}, {known.leaves}"
        f"{_rests(known)}"
    )


def _rests(known: Nearest) -> str:
    """Say where a close encoding is close only thanks to one position."""
    if known.rests_on is None:
        return ""
    left = known.left_out
    return (
        f", but without position {left.position} {percent(left.value)} (equal distances "
        f"{percent(left.equal)}): its closeness rests on that one position"
    )


def _of_tables(entries: Sequence[Entry]) -> list[str]:
    """Say which rows of which table stand apart."""
    found = [e.rows.warning for e in entries if e.rows is not None]
    return [one for one in found if one is not None]


def _choice(noise: NoiseReport, label: str, reason: str) -> str:
    if label != NONE:
        return (
            f"Closest to the corpus: {label}, since {reason}. Stress compares geometries; it "
            "does not say which encoding trains to a better model."
        )
    if noise.informative is not False:
        return f"Recommended: none, since {reason}."
    return (
        f"Recommended: none, since {NOT_SEEN}, which gives no ground for preferring one "
        "encoding to another."
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Nearest(Result):
    """The nearest known encoding and what it leaves unexplained."""

    name: str
    label: str
    lift: str
    index: int
    """Its place in the list of encodings."""
    measure: str
    """The stress that was compared: scale_free or squared."""
    value: float
    interval: tuple[float, float]
    equal: float
    """What equal distances between all positions leave."""
    closer: bool
    """Whether it leaves less than they do."""
    close: bool
    """Whether that is little enough for nothing to be fitted, whichever position is left out."""
    left_out: LeftOut
    """The same without the position without which it comes out worst."""
    rests_on: int | None
    """The one position without which it would not be close; None where there is none such."""

    @property
    def called(self) -> str:
        """Its name in a sentence, with the lift where that is not the kernel."""
        return called(self.label, self.lift)

    @property
    def what(self) -> str:
        """What is left unexplained."""
        return "squared distances" if self.measure == "squared" else "distances"

    @property
    def leaves(self) -> str:
        """Say what it leaves, and what equal distances leave."""
        low, high = (100 * end for end in self.interval)
        why = f" ({WHY_SQUARED})" if self.measure == "squared" else ""
        return (
            f"leaves {100 * self.value:.1f} % [{low:.1f}, {high:.1f}] of the {self.what} "
            f"unexplained{why}, "
            f"equal distances between all positions leave {100 * self.equal:.1f} %"
        )


def called(label: str, lift: str) -> str:
    """Return an encoding as a sentence names it.

    >>> called("rope", "kernel"), called("rope", "probe")
    ('rope', 'rope under the probe lift')
    """
    return label if lift == "kernel" else f"{label} under the {lift} lift"


def known_names() -> tuple[str, ...]:
    """Return the names of the encodings that a corpus may be near to, tables of the user last.

    All that can be made from nothing but parameters, as far as a survey has them as rows.

    >>> "sinusoidal" in known_names(), "random" in known_names()
    (True, False)
    """
    named = [
        name
        for name, listed in ENTRIES.items()
        if listed.examples and all(row.known for row in listed.surveyed)
    ]
    return (*named, "table")


def nearest_known(target: DebiasedTarget | None, entries: Sequence[Entry]) -> Nearest | None:
    """Return the nearest known encoding; None where there is no geometry to compare with."""
    if target is None:
        return None
    squared = target.noise.significant_share < MOSTLY
    equal = target.simplex_squared if squared else target.simplex
    fixed = known_names()
    known = [
        (not found.close, round(found.value, 9), place)
        for place, entry in enumerate(entries)
        if entry.name in fixed and (found := _compare(entry, equal, squared=squared)) is not None
    ]
    if not known:
        return None
    # Rounded: encodings with the same distances (sinusoid and rotary phases) tie, the first wins.
    far, least, place = min(known)
    best = entries[place]
    found = _compare(best, equal, squared=squared)
    if found is None:
        return None
    return Nearest(
        name=best.name,
        label=best.label,
        lift=best.lift,
        index=place,
        measure="squared" if squared else "scale_free",
        value=found.value,
        interval=found.interval,
        equal=equal,
        closer=least < round(equal, 9),
        close=not far,
        left_out=found.left_out,
        rests_on=found.left_out.position if far and is_close(found.value, equal) else None,
    )


@dataclass(frozen=True)
class _Compared:
    """What an entry leaves, by the measure that is compared."""

    value: float
    interval: tuple[float, float]
    left_out: LeftOut
    close: bool
    """Whether that is little, whichever position is left out."""


def _compare(entry: Entry, equal: float, *, squared: bool) -> _Compared | None:
    found = entry.debiased
    if found is None:
        return None
    value, interval, left = (
        (found.squared, found.squared_interval, found.squared_left_out)
        if squared
        else (found.scale_free, found.interval, found.left_out)
    )
    return _Compared(value, interval, left, is_close(value, equal) and left.close)


def stress_of(entry: Entry, *, squared: bool) -> float:
    """Return the debiased stress of an entry, 1 where it has none."""
    found = entry.debiased
    return 1.0 if found is None else found.squared if squared else found.scale_free
