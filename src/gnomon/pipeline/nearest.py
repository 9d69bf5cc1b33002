"""The known encoding that is nearest to a corpus, by one rule that every output reads.

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

from gnomon.encodings import ENTRIES
from gnomon.pipeline.debiased_stress import DebiasedTarget, LeftOut, is_close
from gnomon.pipeline.entries import Entry
from gnomon.results import Result

MOSTLY = 0.5
"""Share of pairs significantly apart below which squared distances are compared."""
WHY_SQUARED = "squared, since most pairs of positions are not significantly apart"


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
        if entry.name in fixed and (found := _compared(entry, equal, squared=squared)) is not None
    ]
    if not known:
        return None
    # Rounded: encodings with the same distances (sinusoid and rotary phases) tie, the first wins.
    far, least, place = min(known)
    best = entries[place]
    found = _compared(best, equal, squared=squared)
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


def _compared(entry: Entry, equal: float, *, squared: bool) -> _Compared | None:
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
