"""What a reproduction consists of: as published, ours, and a verdict on every claim.

A figure of ours is one number, a spread over repetitions (mean, smallest and largest), or the two
ends of an interval. A figure as published is a number, or None with the reason why there is none. A
verdict is computed from the numbers found: of the readings of a claim all agree (holds), none (does
not hold) or some (depends); without any reading it is untested here, and where runs differ too much
from seed to seed to tell, it is undecided (`gnomon.reproduce.claims`). A claim that fails is
reported as failed.

Evidence: the numbers of a verdict, kept so that anybody can judge again.

A piece of evidence is one comparison, made once for every corpus drawn: a value, a relation, and
the bound it is held against. A claim holds where every comparison of every piece does, fails where
none does, and depends otherwise (`gnomon.reproduce.claims.agreement`). Records hold the pieces, so
a verdict can be derived again from its record alone.

Contrasts: differences over seeds that a claim stands or falls with.

A contrast is a list of differences, one for every seed (or corpus), and a bound. With the interval
of their mean, Student's t [student1908],

    for       the whole interval is on the claimed side of the bound
    against   the whole interval is on the other side
    open      it has the bound inside, or there is one difference alone, or none: runs that were
              asked for did not end, so that nothing is known of them

Intervals of one claim hold together: with m contrasts each has confidence 1 - 0.05 / m, so that a
claim is decided wrongly in one of twenty experiments at most; those without a difference have no
interval and no share of it. They keep a claim from holding. A claim that something is *no worse*
has its bound at the smallest difference that would matter, on the other side of 0.

    holds           every contrast is for            does not hold   none is for, some against
    undecided       every contrast is open           depends         anything else
    untested here   there is none

A reproduction as plain text: tables by group, then every claim with its verdict and reason.
"""

from __future__ import annotations

import math
import operator
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import atanh, sqrt, tanh
from typing import Any, Literal

import numpy as np

from gnomon.diagnostics import mean_ranks
from gnomon.lab import over_seeds
from gnomon.report import Cell, cell, table
from gnomon.results import Result, html_table, plain, to_dataframe
from gnomon.sources import cite

Holds = Literal["holds", "does not hold", "depends", "undecided", "untested here"]
LOST = "lost: no copy of the document with this number was found"
ABSENT = "not in it: the document has no such row"


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict(Result):
    """A claim, whether it holds, and the numbers of ours that say so."""

    claim: str
    holds: Holds
    reason: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Published(Result):
    """A number as published; where there is none, or it was recovered, the reason says so."""

    quantity: str
    value: float | int | None = None
    reason: str | None = None

    @property
    def shown(self) -> str:
        """Return the number, or the reason in a word or two."""
        if self.value is None:
            return "-" if self.reason is None else self.reason.partition(":")[0]
        return f"{self.value:,}"  # with its own digits, as they were printed


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread(Result):
    """A figure over repetitions; `over` says what was repeated."""

    mean: float
    smallest: float
    largest: float
    count: int
    over: str = "seeds"

    def __str__(self) -> str:
        """Return the mean, and the smallest and largest where they differ from it in print."""
        mean, low, high = (cell(value) for value in (self.mean, self.smallest, self.largest))
        return mean if low == mean == high else f"{mean} [{low}, {high}]"


Interval = tuple[float, float]
Figure = Spread | Interval | Cell


@dataclass(frozen=True, kw_only=True, eq=False)
class Row(Result):
    """One line: what it is, as published, and ours by column."""

    what: str
    published: Published
    ours: Mapping[str, Figure]
    group: str = ""
    """Lines of one group are printed together, under its heading."""
    reasons: Mapping[str, str] | None = None
    """Why a figure of ours is None, by column."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Reproduction(Result):
    """A table or figure made again, with our verdict beside it."""

    name: str
    title: str
    source: str
    """A key of `gnomon.sources`."""
    setting: str
    rows: tuple[Row, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    headings: Mapping[str, str] = field(default_factory=dict)
    """What is printed over the lines of a group, where that is more than its name."""
    corpora: Mapping[str, Any] = field(default_factory=dict)
    """What is known of each corpus read, by the name of its group."""
    provenance: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the reproduction as JSON values."""
        return {"schema_version": 1, **super().to_dict()}

    def _repr_html_(self) -> str:
        """Show what was claimed and whether it holds."""
        lines = [{"claim": v.claim, "holds": v.holds, "reason": v.reason} for v in self.verdicts]
        return html_table(f"{self.name}: {self.title}", lines)

    def to_dataframe(self) -> Any:
        """Return one row per line, with the mean where a figure is a spread."""
        return to_dataframe([_flat_row(row) for row in self.rows])


def spread(values: Iterable[float], *, over: str = "seeds") -> Spread:
    """Return mean, smallest and largest of one or more values.

    >>> str(spread([1.0, 2.0, 3.0]))
    '2.0000 [1.0000, 3.0000]'
    """
    known = [float(value) for value in values]
    mean = sum(known) / len(known)
    return Spread(
        mean=min(max(mean, min(known)), max(known)),  # rounding may leave the range by an ulp
        smallest=min(known),
        largest=max(known),
        count=len(known),
        over=over,
    )


def spread_or_none(values: Iterable[float | None], *, over: str = "seeds") -> Spread | None:
    """Return the spread, or None if one of the values is undefined."""
    given = list(values)
    known = [value for value in given if value is not None]
    return spread(known, over=over) if len(known) == len(given) else None


def agreement(readings: Iterable[bool]) -> Holds:
    """Return what the readings of a claim say together.

    >>> agreement([True, False]), agreement([True]), agreement([])
    ('depends', 'holds', 'untested here')
    """
    found = list(readings)
    if not found:
        return "untested here"
    if all(found):
        return "holds"
    return "depends" if any(found) else "does not hold"


def explain_division(readings: Mapping[str, Sequence[bool]], *, over: str = "seeds") -> str:
    """Say which readings of a claim agree with it and which do not; nothing where all do the same.

    >>> explain_division({"raw stress": [True, True], "scale-free stress": [False, False]})
    ' True of: raw stress. Not of: scale-free stress.'
    >>> explain_division({"raw stress": [True, False]})
    ' True in some seeds of: raw stress.'
    >>> explain_division({"raw stress": [True]})
    ''
    """
    if agreement(reading for found in readings.values() for reading in found) != "depends":
        return ""
    parts = {"True of": "holds", f"True in some {over} of": "depends", "Not of": "does not hold"}
    named = {
        words: [what for what, found in readings.items() if agreement(found) == outcome]
        for words, outcome in parts.items()
    }
    return "".join(f" {words}: {'; '.join(whats)}." for words, whats in named.items() if whats)


def join_verdicts(verdicts: Mapping[str, Verdict]) -> Verdict:
    """Join the verdicts on one claim from several places; where they differ, it depends."""
    found = list(verdicts.values())
    if len(found) == 1:
        return found[0]
    outcomes = {verdict.holds for verdict in found}
    return Verdict(
        claim=found[0].claim,
        holds=outcomes.pop() if len(outcomes) == 1 else "depends",
        reason=" ".join(f"{where}: {verdict.reason}" for where, verdict in verdicts.items()),
    )


def _flat_row(row: Row) -> dict[str, Any]:
    ours = {k: v.mean if isinstance(v, Spread) else v for k, v in row.ours.items()}
    head = {"group": row.group, "what": row.what, "published": row.published.value}
    flat: dict[str, Any] = plain(head | ours)
    return flat


Relation = Literal["==", "<", "<=", ">", ">="]
RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence(Result):
    """What was compared, once for every corpus drawn (once for a corpus that was given)."""

    what: str
    values: tuple[float, ...]
    relation: Relation
    bounds: tuple[float, ...]

    @property
    def readings(self) -> list[bool]:
        """Return the outcome of every comparison."""
        compare = RELATIONS[self.relation]
        return [compare(v, b) for v, b in zip(self.values, self.bounds, strict=True)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged(Result):
    """A claim on one corpus, with the evidence for and against it."""

    claim: str
    evidence: tuple[Evidence, ...]
    reason: str
    over: str = "seeds"
    """What the comparisons of a piece of evidence are repeated over."""

    @property
    def holds(self) -> Holds:
        """Return what all the evidence says together."""
        return agreement(reading for piece in self.evidence for reading in piece.readings)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict in words; one that depends ends by saying on what."""
        readings = {piece.what: piece.readings for piece in self.evidence}
        told = explain_division(readings, over=self.over)
        return Verdict(claim=self.claim, holds=self.holds, reason=f"{self.reason}{told}")


def compare(
    what: str,
    values: Iterable[float | None],
    relation: Relation,
    bounds: float | Iterable[float | None],
) -> tuple[Evidence, ...]:
    """Return one piece of evidence; none where a number on either side is not known.

    >>> piece, = compare("rank", [31, 31], "==", 2)
    >>> piece.readings
    [False, False]
    """
    given = list(values)
    against = [bounds] * len(given) if isinstance(bounds, (int, float)) else list(bounds)
    known = [
        (float(value), float(bound))
        for value, bound in zip(given, against, strict=True)
        if value is not None and bound is not None
    ]
    if not known or len(known) < len(given):
        return ()
    left, right = zip(*known, strict=True)
    return (Evidence(what=what, values=left, relation=relation, bounds=right),)


def join_by_claim(found: Mapping[str, Sequence[Judged]]) -> tuple[Verdict, ...]:
    """Join the verdicts on each claim over the corpora, in the order in which claims appear."""
    claims = dict.fromkeys(one.claim for judged in found.values() for one in judged)
    return tuple(
        join_verdicts(
            {
                name: one.verdict
                for name, judged in found.items()
                for one in judged
                if one.claim == claim
            }
        )
        for claim in claims
    )


def list_evidence(judged: Iterable[Judged]) -> dict[str, list[dict[str, Any]]]:
    """Return the evidence of every claim, for JSON."""
    return {one.claim: [piece.to_dict() for piece in one.evidence] for one in judged}


LEVEL = 0.05
Outcome = Literal["for", "against", "open"]
Side = Literal[">", "<"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Contrast(Result):
    """Differences by seed, and the side of the bound on which a claim wants their mean."""

    what: str
    """What it is; without values, also why there are none."""
    values: tuple[float, ...]
    relation: Side = ">"
    bound: float = 0.0
    level: float = LEVEL
    """What the interval leaves out, over both sides."""

    @property
    def mean(self) -> float:
        """Return the mean difference, NaN where there is none."""
        return float(np.mean(self.values)) if self.values else math.nan

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the ends of the interval of the mean, None for one difference or none."""
        if not self.values:
            return None
        return over_seeds(self.values, confidence=1.0 - self.level).interval

    @property
    def outcome(self) -> Outcome:
        """Say what the interval says of the claim."""
        if self.interval is None:
            return "open"
        low, high = self.interval
        above, below = low > self.bound, high < self.bound
        if self.relation == "<":
            above, below = below, above
        return "for" if above else "against" if below else "open"

    def __str__(self) -> str:
        """Return what it is with its interval.

        >>> str(Contrast(what="a less b", values=(0.1, 0.2, 0.3)))
        'a less b +0.200 [-0.048, +0.448]'
        """
        if not self.values:
            return self.what
        if self.interval is None:
            return f"{self.what} {self.mean:+.3f} (one value)"
        return f"{self.what} {self.mean:+.3f} [{self.interval[0]:+.3f}, {self.interval[1]:+.3f}]"


@dataclass(frozen=True, kw_only=True, eq=False)
class Claim(Result):
    """A claim with the contrasts that decide it."""

    claim: str
    contrasts: tuple[Contrast, ...]
    reason: str = ""
    """What else a reader should know."""

    @property
    def holds(self) -> Holds:
        """Return what the contrasts say together."""
        return decide(one.outcome for one in self.contrasts)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict with every number in its reason."""
        return Verdict(claim=self.claim, holds=self.holds, reason=" ".join(self._words()))

    def _words(self) -> Iterable[str]:
        titles = {"for": "Shown", "against": "Shown otherwise", "open": "Open"}
        for reading, title in titles.items():
            told = [str(one) for one in self.contrasts if one.outcome == reading]
            if told:
                yield f"{title}: {'; '.join(told)}."
        if not self.contrasts:
            yield "No runs of this grid bear on it."
        if self.reason:
            yield self.reason


@dataclass(frozen=True, kw_only=True, eq=False)
class Correlation(Contrast):
    """A rank correlation over points, with its own interval; `values` is it alone."""

    points: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the interval of Bonett and Wright; None below four points."""
        from scipy.stats import norm

        value = float(np.clip(self.values[0], -0.9999, 0.9999))
        if self.points < 4:
            return None
        half = norm.ppf(1.0 - self.level / 2.0) * sqrt((1.0 + value**2 / 2.0) / (self.points - 3))
        return tanh(atanh(value) - half), tanh(atanh(value) + half)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation; None where one side does not vary.

    >>> rank_correlation([1.0, 2.0, 5.0], [3.0, 7.0, 9.0])
    1.0
    """
    one, other = (mean_ranks(np.asarray(values, np.float64)) for values in (first, second))
    one, other = one - one.mean(), other - other.mean()
    norm = float(np.sqrt((one @ one) * (other @ other)))
    return float(np.clip(one @ other / norm, -1.0, 1.0)) if norm > 0.0 else None


def least_shown(points: int, level: float) -> float:
    """Return the smallest rank correlation whose interval leaves 0 out.

    >>> round(least_shown(100, 0.05), 2)
    0.2
    """
    from scipy.optimize import brentq

    def inside(value: float) -> float:
        found = Correlation(what="", values=(value,), points=points, level=level).interval
        return -1.0 if found is None else found[0]

    return float(brentq(inside, 0.0, 0.9999)) if inside(0.9999) > 0.0 else 1.0


def claim(text: str, contrasts: Iterable[Contrast], reason: str = "") -> Claim:
    """Return a claim whose intervals hold together."""
    found = tuple(contrasts)
    level = LEVEL / max(1, sum(bool(one.values) for one in found))
    shared = tuple(replace(one, level=level) for one in found)
    return Claim(claim=text, contrasts=shared, reason=reason)


def decide(readings: Iterable[Outcome]) -> Holds:
    """Return what several readings say of one claim.

    >>> decide(["for", "for"]), decide(["for", "open"]), decide(["against", "open"])
    ('holds', 'depends', 'does not hold')
    >>> decide(["open"]), decide([])
    ('undecided', 'untested here')
    """
    found = set(readings)
    if not found:
        return "untested here"
    if found == {"for"}:
        return "holds"
    if found == {"open"}:
        return "undecided"
    return "depends" if "for" in found else "does not hold"


def list_contrasts(claims: Sequence[Claim]) -> dict[str, list[dict[str, Any]]]:
    """Return the contrasts of every claim as plain values, so that anybody can judge again."""
    return {
        one.claim: [
            made.to_dict() | {"interval": made.interval, "reading": made.outcome}
            for made in one.contrasts
        ]
        for one in claims
    }


WIDTH = 110
_INDENT = " " * 15


def reproduction_text(found: Reproduction) -> str:
    """Return the whole report."""
    head = [f"{found.name}: {found.title}", f"source: {cite(found.source)}"]
    lines = [*head, f"setting: {found.setting}", *(f"note: {note}" for note in found.notes)]
    parts = ["\n".join(_wrap(line) for line in lines)]
    parts += [
        _group_text(found.headings.get(name, name), rows) for name, rows in _groups(found.rows)
    ]
    parts.append("\n".join(_verdict_text(verdict) for verdict in found.verdicts))
    return "\n\n".join(parts)


def _wrap(line: str) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="  "))


def _groups(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows of each group, in the order in which groups first appear."""
    for name in dict.fromkeys(row.group for row in rows):
        yield name, [row for row in rows if row.group == name]


def _group_text(heading: str, rows: Sequence[Row]) -> str:
    """Return one table, or several under each other where one would be too wide."""
    columns = list(dict.fromkeys(name for row in rows for name in row.ours))
    quantity = rows[0].published.quantity
    shown: list[list[Cell]] = [[row.what for row in rows], [row.published.shown for row in rows]]
    shown += [[_cell_text(row.ours.get(name)) for row in rows] for name in columns]
    header = ["", f"published {quantity}", *columns]
    blocks = [
        table(
            [header[k] for k in chosen], [[shown[k][i] for k in chosen] for i in range(len(rows))]
        )
        for chosen in _blocks(header, shown)
    ]
    body = "\n\n".join(blocks)
    return f"{_wrap(heading)}\n{body}" if heading else body


def _blocks(header: Sequence[str], shown: Sequence[Sequence[Cell]]) -> list[list[int]]:
    """Choose columns for each table so that it keeps to the width; the first is in all of them."""
    widths = [
        2 + max([len(name), *(len(str(value)) for value in column)])
        for name, column in zip(header, shown, strict=True)
    ]
    blocks = [[0]]
    for k in range(1, len(header)):
        if len(blocks[-1]) > 1 and sum(widths[j] for j in blocks[-1]) + widths[k] > WIDTH:
            blocks.append([0])
        blocks[-1].append(k)
    return blocks


def _cell_text(value: Figure) -> Cell:
    if isinstance(value, tuple):
        return f"{value[0]:.3f}-{value[1]:.3f}"
    return str(value) if isinstance(value, Spread) else value


def _verdict_text(verdict: Verdict) -> str:
    claim = textwrap.wrap(verdict.claim, WIDTH - len(_INDENT))
    reason = textwrap.wrap(verdict.reason, WIDTH - len(_INDENT))
    first = f"{verdict.holds.ljust(len(_INDENT))}{claim[0]}"
    return "\n".join([first, *(_INDENT + line for line in (*claim[1:], *reason))])
