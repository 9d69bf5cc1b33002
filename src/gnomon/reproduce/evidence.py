"""Evidence: the numbers of a verdict, kept so that anybody can judge again.

A piece of evidence is one comparison, made once for every corpus drawn: a value, a relation, and
the bound it is held against. A claim holds where every comparison of every piece does, fails where
none does, and depends otherwise (`gnomon.reproduce.claims.agreement`). Records hold the pieces, so
a verdict can be derived again from its record alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gnomon.reproduce.claims import Holds, Verdict, agreement, divided, together
from gnomon.results import Result

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
        told = divided(readings, over=self.over)
        return Verdict(claim=self.claim, holds=self.holds, reason=f"{self.reason}{told}")


def compared(
    what: str,
    values: Iterable[float | None],
    relation: Relation,
    bounds: float | Iterable[float | None],
) -> tuple[Evidence, ...]:
    """Return one piece of evidence; none where a number on either side is not known.

    >>> piece, = compared("rank", [31, 31], "==", 2)
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


def verdicts(found: Mapping[str, Sequence[Judged]]) -> tuple[Verdict, ...]:
    """Join the verdicts on each claim over the corpora, in the order in which claims appear."""
    claims = dict.fromkeys(one.claim for judged in found.values() for one in judged)
    return tuple(
        together(
            {
                name: one.verdict
                for name, judged in found.items()
                for one in judged
                if one.claim == claim
            }
        )
        for claim in claims
    )


def listed(judged: Iterable[Judged]) -> dict[str, list[dict[str, Any]]]:
    """Return the evidence of every claim, for JSON."""
    return {one.claim: [piece.to_dict() for piece in one.evidence] for one in judged}
