"""Remark 8: how few numbers a positional matrix needs: P = U W with r (n + d) parameters.

As published: r = rank(B) is the effective rank of the optimal matrix; r (n + d) numbers are the
minimal parametrisation and save a lot on SST-2, next to nothing on IMDB, which is said to confirm
that long sequences need a richer geometry; on the synthetic corpus two and three directions hold
most of the variance, and a matrix of rank 3 has less stress than the sinusoid at 88 % fewer
numbers. Of the figures only 480, 4,096 and the savings that follow from them survive
[cirrincione2026 rem. 8].

Ours puts the rank beside the directions above noise, r (n + d - r) degrees of freedom beside
r (n + d), and the variance of dealt tokens and of the debiased geometry beside that of plug-in
distances. How rank grows with length is read on the same corpus cut to a half and a quarter.

What Remark 8 says, judged on one corpus (or on one drawn again for every seed).

The rank of B as effective rank; r (n + d) as the minimal parametrisation; its saving; the variance
in three directions; rank 3 against the sinusoid; richer geometry at greater length
[cirrincione2026 rem. 8].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gnomon.corpus import Progress
from gnomon.diagnostics import ParameterCount, parameter_table
from gnomon.distances import debias, measure
from gnomon.encodings import encoding
from gnomon.errors import CountsError, InputError
from gnomon.pipeline import in_folds
from gnomon.report import percent
from gnomon.reproduce.claims import (
    ABSENT,
    LOST,
    Figure,
    Judged,
    Published,
    Reproduction,
    Row,
    compare,
    spread,
)
from gnomon.reproduce.figure1 import numbers, share_captured
from gnomon.reproduce.readings import (
    Point,
    lift_distances,
    mds_distances,
    measure_point,
    point_columns,
)
from gnomon.reproduce.subjects import Options, Sample, Subject, read_subjects, reproduction
from gnomon.reproduce.table2 import RECOVERED, SURVIVING

TITLE = "rank, parameters and variance of the minimal parametrisation"
RANKS = (1, 2, 3, 7)
DIMENSIONS = {True: 128, False: 768}
"""Of the synthetic corpus as the surviving counts fix it; of real ones that of BERT-base."""
PARTS = (4, 2)
GONE = (
    "as published, the shares of variance, the ranks, n and the savings on SST-2 and IMDB are "
    "lost; n counts the positions measured."
)


class Study(NamedTuple):
    """What was found on one corpus, besides what every figure knows."""

    ranks: Ranks
    points: Mapping[int, Sequence[Point]]
    sinusoid: Sequence[Point]
    grown: Sequence[Grown]


def make(options: Options, progress: Progress) -> Reproduction:
    """Make the numbers of Remark 8 again on the three-regime corpus, or on corpora."""
    studied = read_subjects("remark8", options, progress)
    progress.stage("scaling at every rank")
    dimension = _dimension(options)
    found = {one.name: _study(one, dimension) for one in studied}
    return reproduction(
        "remark8",
        TITLE,
        setting=f"d = {dimension}; P = U W of rank r",
        rows={
            one.name: [*_rows(one, found[one.name]), *_grown_rows(one, found[one.name].grown)]
            for one in studied
        },
        judged={
            one.name: judge(
                one,
                found[one.name].ranks,
                low=found[one.name].points[FEW],
                sinusoid=found[one.name].sinusoid,
                grown=found[one.name].grown,
            )
            for one in studied
        },
        studied=studied,
        options=options,
        notes=(GONE,),
    )


def _dimension(options: Options) -> int:
    if options.dimension is None:
        return DIMENSIONS[not options.corpora]
    if options.dimension <= FEW:
        raise InputError(
            f"--dimension is {options.dimension}, and remark8 has a matrix of rank {FEW}; pass "
            f"{FEW + 1} or more."
        )
    return options.dimension


def _study(subject: Subject, dimension: int) -> Study:
    positions = subject.positions
    shown = _shown(subject, dimension)
    counts = parameter_table(positions, dimension, shown)
    axes = subject.first.geometry.coordinates.shape[1]
    sinusoid = encoding("sinusoidal", dimension=dimension, axes=axes)
    return Study(
        ranks=Ranks(
            dimension=dimension,
            break_even=counts.break_even,
            counts={row.rank: row for row in counts.rows},
        ),
        points={r: [measure_point(mds_distances(s, r), s) for s in subject.samples] for r in shown},
        sinusoid=[measure_point(lift_distances(sinusoid, s), s) for s in subject.samples],
        grown=_grown(subject),
    )


def _shown(subject: Subject, dimension: int) -> list[int]:
    """Return the ranks of the table: those of Table 2, the effective one and that of B."""
    own = subject.first
    most = min(dimension, subject.positions - 1)
    return sorted(r for r in {*RANKS, own.effective or 1, own.rank} if r <= most)


def _rows(subject: Subject, found: Study) -> Iterator[Row]:
    for rank, count in found.ranks.counts.items():
        ours = _numbers(count) | {
            "variance": subject.over(partial(_share, rank=rank)),
            "variance dealt": subject.over(partial(_null_share, rank=rank)),
            **subject.columns_of_debiased("variance debiased", partial(share_captured, count=rank)),
            **point_columns(found.points[rank], "stress "),
        }
        missing = {key: subject.reason for key, value in ours.items() if value is None}
        yield Row(
            what=f"rank {rank}",
            published=_as_published(subject, count, found.ranks.dimension),
            ours=ours,
            reasons=missing or None,
            group=subject.name,
        )
    yield _sinusoid_row(subject, found)


def _sinusoid_row(subject: Subject, found: Study) -> Row:
    ours = point_columns(found.sinusoid, "stress ")
    missing = {key: subject.reason for key, value in ours.items() if value is None}
    return Row(
        what="sinusoidal",
        published=Published(quantity="parameters", reason=ABSENT),
        ours={"r(n+d)": 0, **ours},
        reasons=missing or None,
        group=subject.name,
    )


def _as_published(subject: Subject, count: ParameterCount, dimension: int) -> Published:
    """Return the parameters as printed, or as the surviving ones fix them; else they are lost."""
    if not subject.drawn or dimension != DIMENSIONS[True]:
        return Published(quantity="parameters", reason=LOST)
    survives = SURVIVING.get(count.rank)
    reason = None if survives else RECOVERED
    return Published(quantity="parameters", value=survives or count.factored, reason=reason)


def _numbers(count: ParameterCount) -> dict[str, Figure]:
    return {
        "r(n+d)": count.factored,
        "r(n+d-r)": count.degrees,
        "fix the geometry": count.geometry,
        "saving": percent(count.saving),
    }


def _share(sample: Sample, rank: int) -> float:
    return float(sample.geometry.spectrum.cumulative_share[rank - 1])


def _null_share(sample: Sample, rank: int) -> float:
    middle = sample.null.eigenvalue_quantiles[1]
    return float(middle[:rank].sum() / middle.sum())


def _grown(subject: Subject) -> list[Grown]:
    """Return rank and effective rank of the first quarter, half and whole of the window."""
    if subject.first.geometry.axes is not None and len(subject.first.geometry.axes) > 1:
        return []
    return [one for part in (*PARTS, 1) for one in _cut(subject, part)]


def _cut(subject: Subject, part: int) -> Iterator[Grown]:
    """Yield the ranks at one length, where every sample has them."""
    if part == 1:
        effective = [s.effective for s in subject.samples]
        yield Grown(subject.positions, [s.rank for s in subject.samples], effective)
        return
    length = len(subject.first.measured.counts.totals) // part
    ranks = [_ranks(sample, length) for sample in subject.samples]
    if all(one is not None for one in ranks):
        known = [one for one in ranks if one is not None]
        yield Grown(known[0][0], [one[1] for one in known], [one[2] for one in known])


def _ranks(sample: Sample, length: int) -> tuple[int, int, int | None] | None:
    """Return positions, rank and effective rank of the first positions; None if too few."""
    counts = in_folds(sample.measured.counts, sample.seed).shortened(max(length, 1))
    try:
        geometry = measure(counts)
        kept = np.isin(np.arange(counts.length), geometry.positions)
        found = debias(counts, rng=np.random.default_rng([sample.seed, 3]), keep=kept)
    except CountsError:
        return None
    effective = found.rank if np.isfinite(found.edge) else None
    return len(geometry.positions), geometry.spectrum.rank_numerical, effective


def _grown_rows(subject: Subject, grown: Sequence[Grown]) -> Iterator[Row]:
    for one in grown:
        known = [rank for rank in one.effective if rank is not None]
        full = len(known) == len(one.effective)
        yield Row(
            what=f"n = {one.positions}",
            published=Published(quantity="rank", reason=ABSENT),
            ours={
                "rank(B)": _over(one.ranks),
                "effective rank": _over(known) if full else None,
            },
            reasons=None if full else {"effective rank": subject.reason},
            group=f"{subject.name}: rank by length",
        )


def _over(values: Sequence[int]) -> Figure:
    low, high = min(values), max(values)
    return low if low == high else f"{low} to {high}"


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


def judge(
    subject: Subject,
    ranks: Ranks,
    *,
    low: Sequence[Point],
    sinusoid: Sequence[Point],
    grown: Sequence[Grown],
) -> list[Judged]:
    """Judge every claim on one corpus; `low` are the points of rank 3."""
    return [
        judge_rank(subject),
        judge_minimum(ranks),
        judge_saving(subject, ranks),
        judge_variance(subject),
        judge_sinusoid(subject, low, sinusoid),
        judge_richness(subject, grown),
    ]


def judge_rank(subject: Subject) -> Judged:
    """Say whether the rank of B is the number of directions above noise."""
    ranks = [s.rank for s in subject.samples]
    above = [s.above for s in subject.samples]
    effective = [s.effective for s in subject.samples]
    noise = [s.null_rank for s in subject.samples]
    return Judged(
        claim="the effective rank of the optimal matrix is rank(B)",
        evidence=(
            *compare("rank(B) and eigenvalues above the null band", ranks, "==", above),
            *compare("rank(B) and directions above the noise edge", ranks, "==", effective),
        ),
        reason=f"rank(B) is {numbers(ranks)}, and {numbers(noise)} "
        f"for the same tokens dealt at random; eigenvalues above those of dealt tokens: "
        f"{numbers(above)}; directions above the noise edge, debiased: {_known(subject)}.",
    )


def _known(subject: Subject) -> str:
    found = [s.effective for s in subject.samples]
    known = [rank for rank in found if rank is not None]
    return numbers(known) if len(known) == len(found) else f"none, since {subject.reason}"


def judge_minimum(ranks: Ranks) -> Judged:
    """Say whether fewer numbers than r (n + d) do."""
    counts = list(ranks.counts.values())
    example = ranks.counts[FEW]
    return Judged(
        claim="r(n+d) is the minimal parametrisation",
        evidence=(
            *compare(
                "r(n+d) and the degrees of freedom r(n+d-r), by rank",
                [one.factored for one in counts],
                "<=",
                [one.degrees for one in counts],
            ),
            *compare(
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


def judge_saving(subject: Subject, ranks: Ranks) -> Judged:
    """Say whether the factors are fewer than a free table: at rank(B), and at the effective one."""
    n, d = subject.positions, ranks.dimension
    full = [_share_saved(n, d, s.rank) for s in subject.samples]
    low = [
        None if s.effective is None else _share_saved(n, d, s.effective) for s in subject.samples
    ]
    known = [value for value in low if value is not None]
    words = (
        f"at the effective rank ({_known(subject)}) {percent(sum(known) / len(known))}"
        if len(known) == len(low)
        else f"there is no effective rank, since {subject.reason}"
    )
    return Judged(
        claim="r(n+d) parameters save against nd",
        evidence=(
            *compare("saving at rank(B)", full, ">", 0.0),
            *compare("saving at the effective rank", low, ">", 0.0),
        ),
        reason=f"n = {n}, d = {d}: at rank(B) the factors save {percent(sum(full) / len(full))} "
        f"of a free table (negative: they take more), {words}. They save below rank "
        f"{n * d / (n + d):.1f}; at rank n - 1 only where n(n-1) < d.",
    )


def _share_saved(n: int, d: int, rank: int) -> float:
    return 1.0 - rank * (n + d) / (n * d)


def judge_variance(subject: Subject) -> Judged:
    """Say whether three directions hold most of the variance: as published, and debiased."""
    plugin = {
        k: [float(s.geometry.spectrum.cumulative_share[k - 1]) for s in subject.samples]
        for k in (2, FEW)
    }
    debiased = {k: [share_captured(s, k) for s in subject.samples] for k in (2, FEW)}
    values = {k: [None if one is None else one.value for one in debiased[k]] for k in debiased}
    shown = {k: [v for v in values[k] if v is not None] for k in values}
    dealt = [_dealt(subject, k) for k in (2, FEW)]
    words = (
        f"debiased {_mean(shown[2])} and {_mean(shown[FEW])}"
        if len(shown[2]) == len(subject.samples)
        else f"debiased none, since {subject.reason}"
    )
    return Judged(
        claim="a few directions hold most of the positional variance (three: more than half)",
        evidence=(
            *compare("share of three directions, plug-in", plugin[FEW], ">", MOST),
            *compare("share of three directions, debiased", values[FEW], ">", MOST),
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


def judge_sinusoid(subject: Subject, low: Sequence[Point], sinusoid: Sequence[Point]) -> Judged:
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
        else f"debiased: none, since {subject.reason}"
    )
    return Judged(
        claim="a matrix of rank 3 has less stress than the sinusoid",
        evidence=(
            *(p for k, (a, b) in pairs.items() for p in compare(f"{k} stress", a, "<", b)),
            *compare("debiased stress", first, "<", second),
        ),
        reason=f"rank 3 against the sinusoid, {shown}; {words}.",
    )


def judge_richness(subject: Subject, grown: Sequence[Grown]) -> Judged:
    """Say whether the rank grows with length: as published, and above noise.

    The rank of B grows by construction; the directions above noise need not.
    """
    steps = list(pairwise(grown))
    evidence = [
        piece
        for before, after in steps
        for piece in (
            *compare(
                f"rank(B) at n = {after.positions}, and at {before.positions}",
                after.ranks,
                ">",
                list(before.ranks),
            ),
            *compare(
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
