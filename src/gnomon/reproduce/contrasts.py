"""Contrasts: differences over seeds that a claim stands or falls with.

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
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gnomon.lab import over_seeds
from gnomon.reproduce.claims import Holds, Verdict
from gnomon.results import Result

LEVEL = 0.05
Reading = Literal["for", "against", "open"]
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
    def reading(self) -> Reading:
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
        return together(one.reading for one in self.contrasts)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict with every number in its reason."""
        return Verdict(claim=self.claim, holds=self.holds, reason=" ".join(self._words()))

    def _words(self) -> Iterable[str]:
        titles = {"for": "Shown", "against": "Shown otherwise", "open": "Open"}
        for reading, title in titles.items():
            told = [str(one) for one in self.contrasts if one.reading == reading]
            if told:
                yield f"{title}: {'; '.join(told)}."
        if not self.contrasts:
            yield "No runs of this grid bear on it."
        if self.reason:
            yield self.reason


def claim(text: str, contrasts: Iterable[Contrast], reason: str = "") -> Claim:
    """Return a claim whose intervals hold together."""
    found = tuple(contrasts)
    level = LEVEL / max(1, sum(bool(one.values) for one in found))
    shared = tuple(replace(one, level=level) for one in found)
    return Claim(claim=text, contrasts=shared, reason=reason)


def together(readings: Iterable[Reading]) -> Holds:
    """Return what several readings say of one claim.

    >>> together(["for", "for"]), together(["for", "open"]), together(["against", "open"])
    ('holds', 'depends', 'does not hold')
    >>> together(["open"]), together([])
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


def evidence(claims: Sequence[Claim]) -> dict[str, list[dict[str, Any]]]:
    """Return the contrasts of every claim as plain values, so that anybody can judge again."""
    return {
        one.claim: [
            made.to_dict() | {"interval": made.interval, "reading": made.reading}
            for made in one.contrasts
        ]
        for one in claims
    }
