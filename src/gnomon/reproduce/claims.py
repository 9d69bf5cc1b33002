"""What a reproduction consists of: as published, ours, and a verdict on every claim.

A figure of ours is one number, a spread over repetitions (mean, smallest and largest), or the two
ends of an interval. A figure as published is a number, or None with the reason why there is none. A
verdict is computed from the numbers found: of the readings of a claim all agree (holds), none (does
not hold) or some (depends); without any reading it is untested here, and where runs differ too much
from seed to seed to tell, it is undecided (`gnomon.reproduce.contrasts`). A claim that fails is
reported as failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gnomon.report import Cell, cell
from gnomon.results import Result, html_table, plain, to_dataframe

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
        return to_dataframe([_flat(row) for row in self.rows])


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


def divided(readings: Mapping[str, Sequence[bool]], *, over: str = "seeds") -> str:
    """Say which readings of a claim agree with it and which do not; nothing where all do the same.

    >>> divided({"raw stress": [True, True], "scale-free stress": [False, False]})
    ' True of: raw stress. Not of: scale-free stress.'
    >>> divided({"raw stress": [True, False]})
    ' True in some seeds of: raw stress.'
    >>> divided({"raw stress": [True]})
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


def together(verdicts: Mapping[str, Verdict]) -> Verdict:
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


def _flat(row: Row) -> dict[str, Any]:
    ours = {k: v.mean if isinstance(v, Spread) else v for k, v in row.ours.items()}
    head = {"group": row.group, "what": row.what, "published": row.published.value}
    flat: dict[str, Any] = plain(head | ours)
    return flat
