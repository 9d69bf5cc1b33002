"""The verdict: is position in this corpus's marginals, where, in how many dimensions, and so what.

`recommended` follows one rule. Where there is nothing to tell from noise: none. Where there is a
geometry: the nearest known encoding, if its stress is at most a tenth and at most
three tenths of what equal distances leave, whichever single position is left out; otherwise the
encoding fitted to the debiased geometry.

`code` says which of these decided. The sentences (`summary`, `reason`, `caution`) are made in
`gnomon.report.verdict_sentences`, when they are read.

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
from dataclasses import dataclass, replace
from typing import Any, Literal

from gnomon.encodings import ENTRIES
from gnomon.pipeline.debiased_stress import DebiasedTarget, LeftOut, is_close
from gnomon.pipeline.measured import Measured
from gnomon.pipeline.rows import Entry
from gnomon.results import Result, html_fields, sentences

NONE = "none"
MOSTLY = 0.5
"""Share of pairs significantly apart below which squared distances are compared."""
Code = Literal[
    "identical", "untested", "undecided", "no signal", "not debiased", "no geometry", "known",
    "fitted",
]  # fmt: skip
"""What decided, in the order in which it is asked for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict(Result):
    """What a survey concludes; its sentences are made when they are read."""

    informative: bool | None
    recommended: str
    code: Code
    """What decided."""
    nearest: Nearest | None
    """The nearest known encoding; None where there is no geometry to compare with."""
    measured: Measured
    """What the verdict rests on."""
    entries: tuple[Entry, ...]

    @property
    def summary(self) -> str:
        """Say what the survey concludes, in one paragraph."""
        return str(sentences().summary(self))

    @property
    def reason(self) -> str:
        """Say why that encoding is recommended, or none."""
        return str(sentences().reason(self))

    @property
    def caution(self) -> str | None:
        """What to do before any of this is believed; None where nothing speaks against it."""
        noise = self.measured.noise
        return None if noise is None else noise.caution

    @property
    def fitted(self) -> Entry:
        """The encoding fitted to the debiased geometry."""
        return next(e for e in self.entries if e.label.startswith("mds, debiased"))

    @property
    def fitted_leaves(self) -> float:
        """The debiased stress of that one, by the measure that is compared; 1 without one."""
        found = self.fitted.debiased
        squared = self.nearest is not None and self.nearest.measure == "squared"
        return 1.0 if found is None else found.squared if squared else found.scale_free

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as survey.json holds it: in words, with the nearest encoding."""
        keys = ("informative", "summary", "recommended", "reason", "caution")
        nearest = None if self.nearest is None else self.nearest.to_dict()
        return {key: getattr(self, key) for key in keys} | {"nearest": nearest}

    def _repr_html_(self) -> str:
        """Show the verdict in words."""
        return html_fields(type(self).__name__, self.to_dict())


def conclude(measured: Measured, entries: tuple[Entry, ...]) -> Verdict:
    """Conclude from what was measured, and from how near every encoding is to it."""
    known = nearest_known(None if measured.flat else measured.target, entries)
    code = _decide(measured, known)
    verdict = Verdict(
        informative=_informative(measured),
        recommended=NONE,
        code=code,
        nearest=known,
        measured=measured,
        entries=entries,
    )
    if code == "known" and known is not None:
        return replace(verdict, recommended=known.name)
    return replace(verdict, recommended=verdict.fitted.name) if code == "fitted" else verdict


def _informative(measured: Measured) -> bool | None:
    if measured.flat:
        return False
    return None if measured.tests is None else measured.tests.informative


def _decide(measured: Measured, known: Nearest | None) -> Code:
    noise, tests = measured.noise, measured.tests
    if measured.flat:
        return "identical"
    if tests is None:
        return "untested"
    if not tests.informative:
        return "no signal" if tests.deciding.able else "undecided"
    if noise is None:
        return "not debiased"
    if noise.weakness is not None:
        return "no geometry"
    return "known" if known is not None and known.close else "fitted"


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
        return str(sentences().called(self.label, self.lift))


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
