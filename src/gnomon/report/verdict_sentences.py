"""What a survey concludes, in sentences for people.

Results hold numbers and codes: whether position matters and by which test, where the signal sits,
what the nearest encoding leaves, what speaks against the independence of rows. Here stands how that
is said. A result asks for its sentences when they are read or written, so survey.json, the
terminal, the page and a notebook say the same.

Stress says how well an encoding's geometry is that of the corpus. It does not say which encoding
trains to a better model, and no sentence here claims it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from gnomon.distances import LEAST_TESTED, Signal
from gnomon.pipeline import ERRORS_NEEDED
from gnomon.report.phrases import (
    called,
    figure_of,
    order_in_words,
    p_in_words,
    percent,
    ranges,
    signed_figure,
    with_noun,
)

if TYPE_CHECKING:
    from gnomon.pipeline import (
        Doubts,
        LeftOut,
        Nearest,
        NoiseReport,
        TableRows,
        Tests,
        Unshared,
        Verdict,
    )

FEW = 3
"""Blocks of up to this many positions are places; positions of stretches are above LONG."""
LONG = 8
NOT_SEEN = "the token frequencies of this corpus show no dependence on position"
_WHY_SQUARED = " (squared, since most pairs of positions are not significantly apart)"
_RARE = (
    "Rare tokens differ between positions far more than common ones, as where rows are parts or "
    "copies of one another"
)


def summary(verdict: Verdict) -> str:
    """Say what a survey concludes, in one paragraph."""
    noise, tests = verdict.measured.noise, verdict.measured.tests
    if verdict.code == "identical":
        return (
            f"All {len(verdict.measured.geometry.positions)} positions have exactly the same token "
            "distribution: every distance is 0, and there is nothing an encoding could fit."
        )
    if noise is None:
        return _summary_of_tests(str(verdict.measured.reason), tests)
    parts = [
        _signal(noise, verdict.measured.counts.window),
        verdict.caution,
        _unshared(noise.unshared),
        _noise(noise),
        _survivorship(noise, verdict.measured.recounts.unshuffled),
        *noise.warnings,
        *(e.rows.warning for e in verdict.entries if e.rows is not None),
        _choice(verdict),
    ]
    return " ".join(part for part in parts if part)


def reason(verdict: Verdict) -> str:
    """Say why that encoding is recommended, or none."""
    missing, noise, nearest = verdict.measured.reason, verdict.measured.noise, verdict.nearest
    if verdict.code == "no geometry" and noise is not None:
        apart = any(one.distinct for one in noise.unshared)
        weak = "the other positions have no geometry" if apart else "the signal is too weak"
        return f"{weak} to tell encodings apart: {noise.no_geometry}"
    if verdict.code == "known" and nearest is not None:
        return f"it {_leaves(nearest)}; nothing needs to be fitted to this corpus"
    if verdict.code == "fitted":
        left = percent(verdict.fitted_leaves)
        return f"{_none_near(nearest)}; the fitted one leaves {left}"
    return {
        "undecided": "there are too few groups to tell signal from noise",
        "untested": f"no verdict without debiasing: {missing}",
        "not debiased": f"no encoding can be preferred without a debiased geometry: {missing}",
    }.get(verdict.code, NOT_SEEN)


def _summary_of_tests(why: str, tests: Tests | None) -> str:
    """Say what the tests alone tell of a corpus too small for a debiased geometry."""
    if tests is None:
        return f"Signal could not be separated from sampling noise here: {why}"
    distinct = ranges(tests.distinct)
    there = (
        f"{_matters(tests)}" + (f" at {_positions(distinct)}" if distinct else "")
        if tests.deciding.found
        else _nothing_seen(tests)
    )
    return f"{there}. Its distances could not be debiased: {why}"


def _choice(verdict: Verdict) -> str:
    """Say which encoding is closest to the corpus, or that none can be preferred."""
    known = verdict.nearest
    if verdict.code in ("known", "fitted"):
        label = f"{verdict.fitted.label} (fitted to this corpus)"
        if verdict.code == "known" and known is not None:
            label = called(known.label, known.lift)
        return (
            f"Closest to the corpus: {label}, since {reason(verdict)}. Stress compares geometries; "
            "it does not say which encoding trains to a better model."
        )
    if verdict.informative is not False:
        return f"Recommended: none, since {reason(verdict)}."
    return (
        f"Recommended: none, since {NOT_SEEN}, which gives no ground for preferring one "
        "encoding to another."
    )


def weakness(noise: NoiseReport) -> str:
    """Say why there is no geometry to fit."""
    if noise.weakness == "no direction":
        return "no direction exceeds the noise edge (effective rank 0)"
    return (
        f"the mean squared distance {figure_of(noise.mean.value)} is under {ERRORS_NEEDED:g} of "
        f"its sampling errors ({figure_of(noise.sampling_error, 2)})"
    )


def _nothing_seen(tests: Tests) -> str:
    test, what = tests.deciding, _tested(tests)
    if test.able:
        return f"No effect of {what} stands out from noise ({_p(test)})"
    hold = "fold holds" if test.folds == 1 else "folds hold"
    return (
        f"Whether {what} matters cannot be decided: only {test.folds} {hold} tokens, and fewer "
        f"than {LEAST_TESTED} show nothing; use more documents, or name smaller groups with --group"
    )


def _signal(noise: NoiseReport, window: str) -> str:
    test = noise.tests.deciding
    what = what_was_tested(noise.tests)
    if not noise.informative:
        if noise.tests.order is not None and noise.tests.signal.found:
            return (
                f"Positions differ ({_p(noise.tests.signal)}), but no more than the "
                f"same windows shuffled ({_p(test)}): {_why_differ(noise, what)}."
            )
        return f"{_nothing_seen(noise.tests)}."
    if noise.no_geometry is not None:
        weak = "but too weakly for a geometry"
        if any(one.distinct for one in noise.unshared):
            weak = "but there is no geometry without the positions that share no token with others"
        return f"{_matters(noise.tests)}, {weak}: {noise.no_geometry}.{_where_weak(noise)}"
    return (
        f"{_matters(noise.tests)} {where(noise, window)}; positions differ by more than noise in "
        f"{with_noun(noise.debiased.rank, 'direction')}{_strength(noise)}."
    )


def _p(test: Signal) -> str:
    return p_in_words(test.p_value, test.draws, test.folds)


def _matters(tests: Tests) -> str:
    what = _tested(tests)
    return f"{what[0].upper()}{what[1:]} matters ({_p(tests.deciding)})"


def _tested(tests: Tests) -> str:
    """Return what the deciding test asked about, as the subject of a sentence."""
    if tests.order is None:
        return "position"
    order = _order(tests)
    return {
        "order of letters": "letter order",
        "order of tokens": "token order",
        "order of places": "place on the grid",
    }.get(order, order)


def _positions(listed: str) -> str:
    return f"position {listed}" if listed.isdecimal() else f"positions {listed}"


def _the(what: str) -> str:
    return f"the {what}" if what.startswith("order") else what


def _strength(noise: NoiseReport) -> str:
    """Say how many directions of equal strength would do, where there are several."""
    if noise.debiased.rank < 2 or noise.participation is None:
        return ""
    ratio = f"{noise.participation.value:.1f}"
    if ratio == "1.0":
        return ", nearly all of it in one of them (participation ratio 1.0)"
    return f", which weigh as much as about {ratio} of equal strength (participation ratio)"


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


def _where_weak(noise: NoiseReport) -> str:
    distinct = ranges(noise.tests.distinct)
    if not distinct:
        return ""
    one = distinct.isdecimal()
    return f" {'Position' if one else 'Positions'} unlike the rest: {distinct}."


def where(noise: NoiseReport, window: str = "start") -> str:
    """Say where the signal sits."""
    found = noise.pattern
    last = dict(noise.tests.extents)
    begins = found.positions.tolist()
    listed = ranges((first, last.get(first, first)) for first in begins)
    core = _core_extents(noise)
    gap = skipped(begins, core) if noise.tests.axes == 1 else ""
    unsure = either_way((k, last.get(k, k)) for k in found.unsure.tolist())
    them = "it" if listed.isdecimal() else "them"
    touch = f"({100 * found.share:.0f} % of the difference in pairs that touch {them}{gap}{unsure})"
    named = _positions(listed)
    near, far = ("end", "start") if window == "end" else ("start", "end")
    counted = ", counted from the last token" if window == "end" else ""
    return {
        "start": f"at the {near}, {named}{counted} {touch}",
        "end": f"at the {far} of the window, {named}{counted} {touch}",
        "some": f"at {named} {touch}",
        "periodic": f"with a period of {found.period} positions",
        "blocks": blocks_in_words(begins, core[-1][1]) if found.kind == "blocks" else "",
        "drift": "as a drift over all positions: the further apart, the more they differ",
        "throughout": "throughout, in no simple pattern",
    }[found.kind]


def _core_extents(noise: NoiseReport) -> list[tuple[int, int]]:
    """Return first and last position of everything in the core."""
    known = dict(zip(noise.tests.positions.tolist(), noise.tests.extents, strict=True))
    return [known.get(index, (index, index)) for index in noise.core.tolist()]


def blocks_in_words(begins: Sequence[int], last: int) -> str:
    """Say where blocks lie; blocks of very few positions between long ones are places of their own.

    >>> blocks_in_words([0, 7, 14], 19)
    'in 3 blocks: 0-6, 7-13 and 14-19'
    >>> blocks_in_words([0, 218, 220, 223, 226, 248, 249, 250], 299)
    'at positions 218-225 and 248-249, which stand out of the stretches 0-217, 226-247, 250-299'
    """
    ends = [*(begin - 1 for begin in begins[1:]), last]
    spans = list(zip(begins, ends, strict=True))
    short = [span for span in spans if span[1] - span[0] < FEW]
    long = [span for span in spans if span[1] - span[0] >= LONG]
    if not short or not long or len(short) + len(long) < len(spans):
        listed = ", ".join(ranges([span]) for span in spans)
        return f"in {len(begins)} blocks: {_with_and(listed)}"
    places = _with_and(ranges(short))
    one = places.isdecimal()
    stretches = ", ".join(f"{a}-{b}" for a, b in long)
    return (
        f"at position{'' if one else 's'} {places}, which stand{'s' if one else ''} out of the "
        f"stretch{'' if len(long) == 1 else 'es'} {stretches}"
    )


def _with_and(listed: str) -> str:
    return " and ".join(listed.rsplit(", ", 1))


def skipped(named: Iterable[int], core: Sequence[tuple[int, int]]) -> str:
    """Say which positions a list of core positions leaves out because they are no core ones.

    >>> skipped([0, 2, 3], [(0, 0), (2, 2), (3, 3), (7, 7)])
    '; position 1 is too uncertain to tell'
    >>> skipped([0, 3], [(0, 0), (1, 1), (3, 3)])
    ''
    """
    chosen = set(named)
    gaps = [
        (left[1] + 1, right[0] - 1)
        for left, right in pairwise(core)
        if left[0] in chosen and right[0] in chosen and right[0] > left[1] + 1
    ]
    listed = ranges(gaps)
    if not gaps:
        return ""
    are = "position {} is" if listed.isdecimal() else "positions {} are"
    return f"; {are.format(listed)} too uncertain to tell"


def either_way(spans: Iterable[tuple[int, int]]) -> str:
    """Say which positions may belong to those named or to the rest.

    >>> either_way([(31, 31)]), either_way([(9, 9), (10, 10)]), either_way([])
    ('; position 31 may be on either side', '; positions 9-10 may be on either side', '')
    """
    listed = ranges(spans)
    if not listed:
        return ""
    return f"; position{'' if listed.isdecimal() else 's'} {listed} may be on either side"


def _noise(noise: NoiseReport) -> str:
    share = noise.noise_share
    if share is None:
        return ""
    return (
        f"{100 * share:.0f} % of the mean squared distance between the {len(noise.core)} "
        f"well-counted positions is sampling noise: {noise.plugin_core:.3f} straight from the "
        f"counts (plug-in, as published), {signed_figure(noise.mean)} when the noise is taken out."
    )


def _survivorship(noise: NoiseReport, unshuffled: str | None) -> str:
    found = noise.survivorship
    if found is None:
        why = f" ({unshuffled.rstrip('.')})" if unshuffled else ""
        return (
            "How much comes only from which documents reach a position (survivorship), and not "
            f"from {_the(_order(noise.tests))}, is not known{why}: chance is the same "
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
        f"does not rest on {_the(_order(noise.tests))}. Either other documents reach other "
        "positions (survivorship), or what every document holds once, such as a header, weighs "
        "more in short ones."
    )


def _none_near(known: Nearest | None) -> str:
    """Say how far the nearest known encoding is."""
    if known is None:
        return "no known encoding could be compared"
    if not known.closer:
        why = _WHY_SQUARED if known.measure == "squared" else ""
        return (
            "none of the known encodings comes closer than keeping all positions equally far "
            f"apart, which leaves {percent(known.equal)} of the {_what(known)} unexplained{why}"
        )
    return (
        f"no known encoding has this geometry: the nearest of them, "
        f"{called(known.label, known.lift)}, {_leaves(known)}{_rests(known)}"
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


def _what(known: Nearest) -> str:
    return "squared distances" if known.measure == "squared" else "distances"


def _leaves(known: Nearest) -> str:
    """Say what the nearest encoding leaves, and what equal distances leave."""
    low, high = (100 * end for end in known.interval)
    why = _WHY_SQUARED if known.measure == "squared" else ""
    return (
        f"leaves {100 * known.value:.1f} % [{low:.1f}, {high:.1f}] of the {_what(known)} "
        f"unexplained{why}, "
        f"equal distances between all positions leave {100 * known.equal:.1f} %"
    )


def _unshared(found: tuple[Unshared, ...]) -> str | None:
    """Say what is known of such positions; None where there are none."""
    apart, chance = ([x for x in found if x.distinct is so] for so in (True, False))
    parts = [_apart(apart)] if apart else []
    if chance:
        parts.append(
            f"{_subject(chance)} no token with a second group of documents and "
            f"{'has' if len(chance) == 1 else 'have'} too few to tell whether that is more than "
            "chance: no part of the geometry."
        )
    return " ".join(parts) or None


def _apart(found: list[Unshared]) -> str:
    least = [one.at_least.value for one in found if one.at_least is not None]
    plugin = [one.plugin for one in found if one.plugin is not None]
    known = [f"at least {_span(least)} with the rare types merged"] if least else []
    known += [f"{_span(plugin)} plug-in"] if plugin else []
    its = "Its" if len(found) == 1 else "Their"
    return (
        f"{_subject(found)} no token with a second group of documents, as row ids do. {its} "
        "distance cannot be debiased, which compares groups, and is no part of the geometry; its "
        f"square to the others is {', '.join(known)} (2 is the largest there is)."
    )


def _subject(found: list[Unshared]) -> str:
    listed = _with_and(ranges(one.extent for one in found))
    return f"Position {listed} shares" if len(found) == 1 else f"Positions {listed} share"


def _span(values: list[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def caution(doubts: Doubts) -> str | None:
    """Say what to do where folds do not look independent, and the verdict may be wrong."""
    copies = doubts.copies
    if copies is not None and doubts.copies_matter:
        return (
            f"{percent(copies.share)} of the {copies.looked_at:,} documents looked at are "
            f"near-copies of another ({_families(copies.families)}, alike in far more "
            "tokens than chance gives), so what copies share looks like a finding: survey again "
            "with --group near-copies, which counts each family as one, or with a column that "
            "names their template, before you believe these numbers."
        )
    if doubts.rare is None:
        return None
    if doubts.grouped:
        return (
            f"{_RARE} in different groups: if they may be, survey again with a --group that holds "
            "all that belongs together (contained finds copies by itself) before you believe these "
            "numbers."
        )
    return (
        f"{_RARE}: if they may be, survey again with --group (a column that says what belongs "
        "together, or contained) before you believe these numbers."
    )


def _families(count: int) -> str:
    return "one family" if count == 1 else f"{count:,} families"


def warnings(doubts: Doubts) -> list[str]:
    """Say what speaks against the independence of folds."""
    found = [_rare_drift(doubts), _shared_text(doubts), _heaviest_fold(doubts), _groups(doubts)]
    return [one for one in found if one]


def _rare_drift(doubts: Doubts) -> str:
    if doubts.rare is None:
        return ""
    return (
        f"The rarest tokens seem to differ between positions {doubts.rare:.1f} times as much as "
        "the others, which is how copies look that were counted as independent; name the groups "
        "with --group."
    )


def _shared_text(doubts: Doubts) -> str:
    copies = doubts.copies
    if copies is None or not copies.shared:
        return ""
    return (
        f"{percent(copies.shared / copies.looked_at)} of the {copies.looked_at:,} documents "
        "looked at share a text with many others, as boilerplate does, or copies of one "
        "document: what stands in it is part of what is measured here, so leave it out of the "
        "corpus if it should not be."
    )


def _heaviest_fold(doubts: Doubts) -> str:
    if doubts.heaviest is None:
        return ""
    return (
        f"One fold holds {100 * doubts.heaviest:.0f} % of the tokens, so one group "
        "outweighs all others: intervals rest on the few others and may be too narrow."
    )


def _groups(doubts: Doubts) -> str:
    if doubts.by_groups is None:
        return ""
    grouped, alone = doubts.by_groups
    return (
        f"With the declared groups the mean squared distance is {grouped:.4f}, with "
        f"every row on its own {alone:.4f}: rows of a group depend on each other, "
        "and only the former can be trusted."
    )


def table_warning(rows: TableRows) -> str | None:
    """Say which rows of a table no conclusion should rest on; None where none stands apart."""
    parts = []
    if rows.apart:
        parts.append(
            f"{_rows_as_subject(rows.apart, rows.source)} far from all others, as those of "
            "special tokens are"
        )
    if rows.zero:
        parts.append(f"{_rows_as_subject(rows.zero, rows.source)} all zeros")
    if not parts:
        return None
    said = "; ".join(parts)
    advice = (
        "no conclusion should rest on that"
        if rows.begins == rows.first
        else f"if position 0 of the corpus belongs to row {rows.begins}, as after a special token, "
        f"pass --first-row {rows.begins}"
    )
    return f"{said[0].upper()}{said[1:]}: {advice}."


def _rows_as_subject(rows: tuple[int, ...], source: str) -> str:
    """Return rows as the subject of a sentence, with the verb.

    >>> _rows_as_subject((0,), "a.npy"), _rows_as_subject((0, 1, 511), "a.npy")
    ('row 0 of a.npy is', 'rows 0, 1 and 511 of a.npy are')
    """
    if len(rows) == 1:
        return f"row {rows[0]} of {source} is"
    return f"rows {', '.join(map(str, rows[:-1]))} and {rows[-1]} of {source} are"


def stress_conclusion(
    name: str, what: str, left: float, equal: float, nearness: str, without: LeftOut | None
) -> str:
    """Say what a stress comes to beside that of equal distances."""
    said = (
        f"{name} leaves {percent(left)} of the {what} unexplained, equal distances between all "
        f"positions {percent(equal)}"
    )
    if nearness == "one position" and without is not None:
        return (
            f"{said}; without position {without.position} {percent(without.value)} of "
            f"{percent(without.equal)}: that it is close rests on this one position."
        )
    return said + {
        "nothing": ": it has nothing of this geometry.",
        "little": ": it has little of this geometry and is not close to it.",
        "a part": ": it has a part of this geometry and is not close to it.",
    }.get(nearness, ": it has this geometry.")


def share_of_chance(share: float) -> str:
    """Say how much of plug-in distances dealt tokens have as well."""
    return (
        f"Of these distances {percent(share)} is what dealt tokens show as well, so this "
        "is no number of the corpus alone; --estimator debiased takes the noise out."
    )


def what_was_tested(tests: Tests) -> str:
    """Return what the deciding test found, or did not find."""
    return "positional signal" if tests.order is None else _order(tests)


def _order(tests: Tests) -> str:
    """Return the order of tokens: of words or letters along a sequence, of places on a grid."""
    return order_in_words(tests.axes, tests.tokenizer)
