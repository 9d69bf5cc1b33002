"""What Remark 8 says, judged on one corpus (or on one drawn again for every seed).

The rank of B as effective rank; r (n + d) as the minimal parametrisation; its saving; the variance
in three directions; rank 3 against the sinusoid; richer geometry at greater length
[cirrincione2026 rem. 8].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from gnomon.diagnostics import ParameterCount
from gnomon.report import percent
from gnomon.reproduce.claims import spread
from gnomon.reproduce.evidence import Judged, compared
from gnomon.reproduce.figure1 import captured, numbers
from gnomon.reproduce.points import Point
from gnomon.reproduce.subjects import Subject

FEW = 3
MOST = 0.5
"""Most of the variance: more than half."""


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """Parameters by rank."""

    dimension: int
    break_even: float
    counts: Mapping[int, ParameterCount]


class Grown(NamedTuple):
    """Ranks at one length, by seed."""

    positions: int
    ranks: Sequence[int]
    effective: Sequence[int | None]


def judged(
    subject: Subject,
    ranks: Ranks,
    *,
    low: Sequence[Point],
    sinusoid: Sequence[Point],
    grown: Sequence[Grown],
) -> list[Judged]:
    """Judge every claim on one corpus; `low` are the points of rank 3."""
    return [
        effective_rank(subject),
        minimal(ranks),
        saving(subject, ranks),
        variance(subject),
        below_sinusoid(subject, low, sinusoid),
        richer(subject, grown),
    ]


def effective_rank(subject: Subject) -> Judged:
    """Say whether the rank of B is the number of directions above noise."""
    ranks = [s.rank for s in subject.samples]
    above = [s.above for s in subject.samples]
    effective = [s.effective for s in subject.samples]
    noise = [s.null_rank for s in subject.samples]
    return Judged(
        claim="the effective rank of the optimal matrix is rank(B)",
        evidence=(
            *compared("rank(B) and eigenvalues above the null band", ranks, "==", above),
            *compared("rank(B) and directions above the noise edge", ranks, "==", effective),
        ),
        reason=f"rank(B) is {numbers(ranks)}, and {numbers(noise)} "
        f"for the same tokens dealt at random; eigenvalues above those of dealt tokens: "
        f"{numbers(above)}; directions above the noise edge, debiased: {_known(subject)}.",
    )


def _known(subject: Subject) -> str:
    found = [s.effective for s in subject.samples]
    known = [rank for rank in found if rank is not None]
    return numbers(known) if len(known) == len(found) else f"none, since {subject.missing}"


def minimal(ranks: Ranks) -> Judged:
    """Say whether fewer numbers than r (n + d) do."""
    counts = list(ranks.counts.values())
    example = ranks.counts[FEW]
    return Judged(
        claim="r(n+d) is the minimal parametrisation",
        evidence=(
            *compared(
                "r(n+d) and the degrees of freedom r(n+d-r), by rank",
                [one.factored for one in counts],
                "<=",
                [one.degrees for one in counts],
            ),
            *compared(
                "r(n+d) and the numbers that fix the distances, by rank",
                [one.factored for one in counts],
                "<=",
                [one.geometry for one in counts],
            ),
        ),
        reason=f"a matrix of rank {FEW} is stored as {example.factored:,} numbers and has "
        f"{example.degrees:,} degrees of freedom, r(n+d-r); its distances are fixed by "
        f"{example.geometry:,}.",
    )


def saving(subject: Subject, ranks: Ranks) -> Judged:
    """Say whether the factors are fewer than a free table: at rank(B), and at the effective one."""
    n, d = subject.positions, ranks.dimension
    full = [_saving(n, d, s.rank) for s in subject.samples]
    low = [None if s.effective is None else _saving(n, d, s.effective) for s in subject.samples]
    known = [value for value in low if value is not None]
    words = (
        f"at the effective rank ({_known(subject)}) {percent(sum(known) / len(known))}"
        if len(known) == len(low)
        else f"there is no effective rank, since {subject.missing}"
    )
    return Judged(
        claim="r(n+d) parameters save against nd",
        evidence=(
            *compared("saving at rank(B)", full, ">", 0.0),
            *compared("saving at the effective rank", low, ">", 0.0),
        ),
        reason=f"n = {n}, d = {d}: at rank(B) the factors save {percent(sum(full) / len(full))} "
        f"of a free table (negative: they take more), {words}. They save below rank "
        f"{n * d / (n + d):.1f}; at rank n - 1 only where n(n-1) < d.",
    )


def _saving(n: int, d: int, rank: int) -> float:
    return 1.0 - rank * (n + d) / (n * d)


def variance(subject: Subject) -> Judged:
    """Say whether three directions hold most of the variance: as published, and debiased."""
    plugin = {
        k: [float(s.geometry.spectrum.cumulative_share[k - 1]) for s in subject.samples]
        for k in (2, FEW)
    }
    debiased = {k: [captured(s, k) for s in subject.samples] for k in (2, FEW)}
    values = {k: [None if one is None else one.value for one in debiased[k]] for k in debiased}
    shown = {k: [v for v in values[k] if v is not None] for k in values}
    dealt = [_dealt(subject, k) for k in (2, FEW)]
    words = (
        f"debiased {_mean(shown[2])} and {_mean(shown[FEW])}"
        if len(shown[2]) == len(subject.samples)
        else f"debiased none, since {subject.missing}"
    )
    return Judged(
        claim="a few directions hold most of the positional variance (three: more than half)",
        evidence=(
            *compared("share of three directions, plug-in", plugin[FEW], ">", MOST),
            *compared("share of three directions, debiased", values[FEW], ">", MOST),
        ),
        reason=f"two and three directions hold {_mean(plugin[2])} and {_mean(plugin[FEW])} of the "
        f"plug-in variance ({dealt[0]} and {dealt[1]} when the tokens are dealt at random); "
        f"{words}. The published shares are lost.",
    )


def _dealt(subject: Subject, count: int) -> str:
    middles = [s.null.eigenvalue_quantiles[1] for s in subject.samples]
    return _mean([float(m[:count].sum() / m.sum()) for m in middles])


def _mean(values: Sequence[float]) -> str:
    return percent(sum(values) / len(values))


def below_sinusoid(subject: Subject, low: Sequence[Point], sinusoid: Sequence[Point]) -> Judged:
    """Say whether a matrix of rank 3 has less stress than the sinusoid."""

    def debiased(points: Sequence[Point]) -> list[float | None]:
        return [None if one.debiased is None else one.debiased.value for one in points]

    names = {"raw": "raw", "scale_free": "scale-free"}
    pairs = {
        words: ([getattr(one, key) for one in low], [getattr(one, key) for one in sinusoid])
        for key, words in names.items()
    }
    shown = "; ".join(f"{k}: {spread(a)} against {spread(b)}" for k, (a, b) in pairs.items())
    first, second = debiased(low), debiased(sinusoid)
    ours, theirs = ([v for v in values if v is not None] for values in (first, second))
    words = (
        f"debiased: {spread(ours)} against {spread(theirs)}"
        if len(ours) == len(low)
        else f"debiased: none, since {subject.missing}"
    )
    return Judged(
        claim="a matrix of rank 3 has less stress than the sinusoid",
        evidence=(
            *(p for k, (a, b) in pairs.items() for p in compared(f"{k} stress", a, "<", b)),
            *compared("debiased stress", first, "<", second),
        ),
        reason=f"rank 3 against the sinusoid, {shown}; {words}.",
    )


def richer(subject: Subject, grown: Sequence[Grown]) -> Judged:
    """Say whether the rank grows with length: as published, and above noise.

    The rank of B grows by construction; the directions above noise need not.
    """
    steps = list(pairwise(grown))
    evidence = [
        piece
        for before, after in steps
        for piece in (
            *compared(
                f"rank(B) at n = {after.positions}, and at {before.positions}",
                after.ranks,
                ">",
                list(before.ranks),
            ),
            *compared(
                f"effective rank at n = {after.positions}, and at {before.positions}",
                after.effective,
                ">",
                list(before.effective),
            ),
        )
    ]
    shown = "; ".join(
        f"n = {one.positions}: {numbers(list(one.ranks))}, {_low(one)}" for one in grown
    )
    return Judged(
        claim="longer sequences need a richer positional geometry",
        evidence=tuple(evidence),
        reason=f"rank(B), and directions above the noise edge: {shown}. rank(B) grows with n "
        "whether or not there is position in the corpus."
        if grown
        else f"a grid is not cut: {subject.name} has no length of its own.",
    )


def _low(one: Grown) -> str:
    known = [rank for rank in one.effective if rank is not None]
    return numbers(known) if len(known) == len(one.effective) else "unknown"
