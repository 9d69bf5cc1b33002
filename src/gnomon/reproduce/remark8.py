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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from gnomon.corpus import Progress
from gnomon.diagnostics import ParameterCount, parameter_table
from gnomon.distances import debias, measure
from gnomon.encodings import encoding
from gnomon.errors import CountsError, InputError
from gnomon.pipeline import in_folds
from gnomon.report import percent
from gnomon.reproduce.claims import ABSENT, LOST, Figure, Published, Reproduction, Row
from gnomon.reproduce.figure1 import captured
from gnomon.reproduce.points import Point, columns, lifted, point, scaled
from gnomon.reproduce.remark8_claims import FEW, Grown, Ranks, judged
from gnomon.reproduce.samples import Options
from gnomon.reproduce.subjects import Sample, Subject, reproduction, subjects
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


class Studied(NamedTuple):
    """What was found on one corpus, besides what every figure knows."""

    ranks: Ranks
    points: Mapping[int, Sequence[Point]]
    sinusoid: Sequence[Point]
    grown: Sequence[Grown]


def remark8(options: Options, progress: Progress) -> Reproduction:
    """Make the numbers of Remark 8 again on the three-regime corpus, or on corpora."""
    studied = subjects("remark8", options, progress)
    progress.stage("scaling at every rank")
    dimension = _dimension(options)
    found = {one.name: _studied(one, dimension) for one in studied}
    return reproduction(
        "remark8",
        TITLE,
        setting=f"d = {dimension}; P = U W of rank r",
        rows={
            one.name: [*_rows(one, found[one.name]), *_grown_rows(one, found[one.name].grown)]
            for one in studied
        },
        judged={
            one.name: judged(
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


def _studied(subject: Subject, dimension: int) -> Studied:
    positions = subject.positions
    shown = _shown(subject, dimension)
    counts = parameter_table(positions, dimension, shown)
    axes = subject.first.geometry.coordinates.shape[1]
    sinusoid = encoding("sinusoidal", dimension=dimension, axes=axes)
    return Studied(
        ranks=Ranks(
            dimension=dimension,
            break_even=counts.break_even,
            counts={row.rank: row for row in counts.rows},
        ),
        points={r: [point(scaled(s, r), s) for s in subject.samples] for r in shown},
        sinusoid=[point(lifted(sinusoid, s), s) for s in subject.samples],
        grown=_grown(subject),
    )


def _shown(subject: Subject, dimension: int) -> list[int]:
    """Return the ranks of the table: those of Table 2, the effective one and that of B."""
    own = subject.first
    most = min(dimension, subject.positions - 1)
    return sorted(r for r in {*RANKS, own.effective or 1, own.rank} if r <= most)


def _rows(subject: Subject, found: Studied) -> Iterator[Row]:
    for rank, count in found.ranks.counts.items():
        ours = _numbers(count) | {
            "variance": subject.over(partial(_share, rank=rank)),
            "variance dealt": subject.over(partial(_null_share, rank=rank)),
            **subject.debiased("variance debiased", partial(captured, count=rank)),
            **columns(found.points[rank], "stress "),
        }
        missing = {key: subject.missing for key, value in ours.items() if value is None}
        yield Row(
            what=f"rank {rank}",
            published=_published(subject, count, found.ranks.dimension),
            ours=ours,
            reasons=missing or None,
            group=subject.name,
        )
    yield _sinusoid_row(subject, found)


def _sinusoid_row(subject: Subject, found: Studied) -> Row:
    ours = columns(found.sinusoid, "stress ")
    missing = {key: subject.missing for key, value in ours.items() if value is None}
    return Row(
        what="sinusoidal",
        published=Published(quantity="parameters", reason=ABSENT),
        ours={"r(n+d)": 0, **ours},
        reasons=missing or None,
        group=subject.name,
    )


def _published(subject: Subject, count: ParameterCount, dimension: int) -> Published:
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
            reasons=None if full else {"effective rank": subject.missing},
            group=f"{subject.name}: rank by length",
        )


def _over(values: Sequence[int]) -> Figure:
    low, high = min(values), max(values)
    return low if low == high else f"{low} to {high}"
