"""Table 4: five encodings on real corpora, under every lift that the table may have used.

All numbers of the published table are lost, and so is how rotary encodings and ALiBi were given
distances, so ours names its lift in every line [cirrincione2026 sec. 6.3]:

    kernel  D^2 = k_ii + k_jj - 2 k_ij, the positional part of the logit, for all alike
    probe   |R_i u - R_j u|, a content vector u carried by the rotation
    slope   m |i - j|, the bias of ALiBi read as a distance

Distances of the corpus are the plug-in chords, as published: on small counts much of them is noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.corpus.counting import CountOptions, count_with
from gnomon.corpus.counts import PositionCounts
from gnomon.corpus.progress import Progress
from gnomon.diagnostics.monotonicity import GRAIN, Monotonicity, violations
from gnomon.diagnostics.stress import stress
from gnomon.encodings.alibi import best_slope, official_slopes
from gnomon.encodings.fitted import fit
from gnomon.encodings.registry import encoding
from gnomon.errors import InputError
from gnomon.geometry.measure import Geometry, measure
from gnomon.report.text import cell, percent
from gnomon.reproduce.claims import LOST, Published, Reproduction, Row, Verdict, together
from gnomon.reproduce.readings import Line, Reading, line
from gnomon.reproduce.samples import Options, above_noise, dealt, repeated
from gnomon.reproduce.table4_claims import (
    judge_alibi,
    judge_isometry,
    judge_monotone,
    judge_rank,
    judge_rope,
)
from gnomon.survey.provenance import provenance

TITLE = "five encodings on real corpora"
STAND_IN = "python-stdlib"
DIMENSION, LENGTH, HEADS = 768, 64, 12
"""BERT-base has 768 dimensions and 12 heads; the published length is lost."""
_FEWEST = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """What one corpus gave."""

    counts: PositionCounts
    geometry: Geometry
    lines: Mapping[str, Line]
    own: Monotonicity
    """The violations and ties of the corpus itself."""
    exact_stress: float
    """Raw stress of classical scaling at dimension n - 1."""
    noise: Geometry
    """The same tokens dealt at random to the same slots."""


def table4(options: Options, progress: Progress) -> Reproduction:
    """Compare the five encodings on every corpus given, or on a built-in one."""
    corpora = options.corpora or (STAND_IN,)
    counting = options.counting or CountOptions(seed=options.seed)
    dimension = DIMENSION if options.dimension is None else options.dimension
    found: dict[str, Findings] = {}
    for corpus in corpora:
        progress.stage(f"counting {corpus}")
        counts = _at_default_length(count_with(corpus, counting, progress=progress), counting)
        progress.stage("stress of every encoding")
        name = _unused(str(counts.source), found)
        found[name] = findings(counts, dimension=dimension, options=options)
    return Reproduction(
        name="table4",
        title=TITLE,
        source="cirrincione2026",
        setting=_setting(options, dimension),
        rows=tuple(row for name in found for row in _rows(name, found[name])),
        verdicts=_verdicts(found),
        notes=_notes(options, counting),
        provenance=provenance(options.seed),
    )


def _at_default_length(counts: PositionCounts, counting: CountOptions) -> PositionCounts:
    """Cut long sequences to our default where no length was asked for; a grid stays whole."""
    cut = counting.length is None and len(counts.axes) == 1 and counts.length > LENGTH
    return counts.shortened(LENGTH) if cut else counts


def findings(counts: PositionCounts, *, dimension: int, options: Options) -> Findings:
    """Measure one corpus and every encoding against it."""
    geometry = measure(counts)
    positions = len(geometry.positions)
    if positions < _FEWEST:
        raise InputError(
            f"{counts.source} has {positions} positions with enough tokens, and table4 compares "
            f"{_FEWEST} or more; use a greater --length or a smaller --minimum-count."
        )
    lines = {
        key: line(readings, geometry) for key, readings in _candidates(geometry, dimension, options)
    }
    exact = stress(fit(geometry, dimension=positions - 1), geometry)
    return Findings(
        counts=counts,
        geometry=geometry,
        lines=lines,
        own=violations(geometry.distances, positions=geometry.coordinates, grain=GRAIN),
        exact_stress=exact.raw,
        noise=dealt(counts, options.seed),
    )


def _candidates(
    geometry: Geometry, dimension: int, options: Options
) -> Iterator[tuple[str, list[Reading]]]:
    """Yield every line of the table as the readings it is a mean of."""
    axes = geometry.coordinates.shape[1]
    rope = encoding("rope", dimension=dimension, axes=axes)
    ones = np.ones(dimension)
    yield "sinusoidal", [Reading(encoding("sinusoidal", dimension=dimension, axes=axes))]
    yield "rope", [Reading(rope)]
    yield (
        "rope, normal probe",
        [Reading(rope, lift="probe", rng=np.random.default_rng([s, 1])) for s in options.streams],
    )
    yield "rope, probe of ones", [Reading(rope, lift="probe", probe=ones)]
    yield from _alibis(geometry, axes)
    for sigma in (1.0, 0.02):
        yield (
            f"random, sigma {sigma:g}",
            [
                Reading(encoding("random", dimension=dimension, sigma=sigma, seed=s, axes=axes))
                for s in options.streams
            ],
        )
    yield "mds", [Reading(fit(geometry, dimension=dimension))]


def _alibis(geometry: Geometry, axes: int) -> Iterator[tuple[str, list[Reading]]]:
    best = best_slope(geometry.distances, geometry.coordinates)
    heads = [encoding("alibi", slopes=(m,), axes=axes) for m in official_slopes(HEADS)]
    yield f"alibi, {HEADS} heads", [Reading(encoding("alibi", heads=HEADS, axes=axes))]
    yield "alibi, each head", [Reading(head, lift="slope", over="heads") for head in heads]
    yield (
        "alibi, best slope",
        [Reading(encoding("alibi", slopes=(best,), axes=axes), lift="slope")],
    )


def _rows(corpus: str, found: Findings) -> Iterator[Row]:
    own = found.geometry
    group = (
        f"{corpus}: {len(own.positions)} positions, {found.counts.tokens:,} tokens; its own rank "
        f"{own.spectrum.rank_numerical}, its own violations {cell(found.own.violations)}; "
        f"dealt at random, its tokens have {percent(found.noise.mean_squared / own.mean_squared)} "
        "of its mean squared distance"
    )
    for label, got in found.lines.items():
        yield Row(
            what=label,
            published=Published(quantity="numbers", reason=LOST),
            ours=got.columns,
            reasons=got.reasons or None,
            group=group,
        )


def _verdicts(found: Mapping[str, Findings]) -> tuple[Verdict, ...]:
    judges = (_alibi, _rope, _isometry, _rank, _monotone)
    return tuple(
        together({name: judge(findings) for name, findings in found.items()}) for judge in judges
    )


def _alibi(found: Findings) -> Verdict:
    lines = found.lines
    return judge_alibi(
        sinusoidal=lines["sinusoidal"].means,
        heads=lines["alibi, each head"].raw,
        best=lines["alibi, best slope"].means,
        kernel=lines[f"alibi, {HEADS} heads"].means,
    )


def _rope(found: Findings) -> Verdict:
    lines = found.lines
    return judge_rope(
        sinusoidal=lines["sinusoidal"].means[0],
        kernel=lines["rope"].means[0],
        normal=lines["rope, normal probe"].raw,
        ones=lines["rope, probe of ones"].means[0],
    )


def _isometry(found: Findings) -> Verdict:
    return judge_isometry(found.exact_stress, positions=len(found.geometry.positions))


def _rank(found: Findings) -> Verdict:
    own, noise = found.geometry, found.noise
    return judge_rank(
        rank=own.spectrum.rank_numerical,
        noise=noise.spectrum.rank_numerical,
        above=above_noise(own, noise),
        participation=own.spectrum.participation,
    )


def _monotone(found: Findings) -> Verdict:
    return judge_monotone(
        found.lines["mds"].violations,
        own=found.own.violations,
        ties=found.own.ties,
        stress=found.lines["mds"].means[0],
    )


def _setting(options: Options, dimension: int) -> str:
    return (
        f"d = {dimension}, chord distances, plug-in; random tables and normal probes from "
        f"{repeated(options)}; `each head` is over the {HEADS} official slopes"
    )


def _notes(options: Options, counting: CountOptions) -> tuple[str, ...]:
    lost = (
        f"as published, every number is lost, and so are n and the lifts; n is at most "
        f"{counting.length or LENGTH} here (--length), positions under {counting.minimum_count} "
        "tokens are masked (--minimum-count)."
    )
    if options.corpora:
        return (lost,)
    stand_in = f"no corpus was given, so {STAND_IN} stands in for SST-2 and IMDB; pass their files."
    return lost, stand_in


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    """Tell two corpora of one name apart."""
    if name not in taken:
        return name
    return next(f"{name} ({k})" for k in range(2, len(taken) + 3) if f"{name} ({k})" not in taken)
