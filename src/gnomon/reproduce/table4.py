"""Table 4: five encodings on real corpora, as published and with the noise taken out.

All numbers of the published table are lost, and so is how rotary encodings and ALiBi were given
distances, so every line names its lift [cirrincione2026 sec. 6.3].

Raw and scale-free stress are against plug-in chords, as published: on small counts much of them is
noise. Beside them stands the scale-free stress against the debiased geometry of the core, with its
interval, and the same of squared distances; the verdicts rest on both.

The lines of Table 4: every encoding, under every lift that the published table may have used.

    kernel  D^2 = k_ii + k_jj - 2 k_ij, the positional part of the logit, for all alike
    probe   |R_i u - R_j u|, a content vector u carried by the rotation
    slope   m |i - j|, the bias of ALiBi read as a distance

[cirrincione2026 sec. 6.3] does not say which it used, so ours names its lift in every line.

What Table 4 is said to show, judged by the numbers found on one corpus.

ALiBi far below the sinusoid; sinusoid and rotary encoding within 3 %; an exact isometry at n - 1
dimensions; the rank as intrinsic dimension; a monotone MDS encoding [cirrincione2026 sec. 6].

Each is judged against plug-in distances, as published, and, where noise could be taken out, against
the debiased geometry as well: a claim that holds in noise alone says nothing of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gnomon.corpus import CountOptions, Progress
from gnomon.diagnostics import GRAIN, Monotonicity, stress, violations
from gnomon.distances import Geometry, dealt_null
from gnomon.encodings import best_slope, encoding, fit
from gnomon.errors import InputError
from gnomon.pipeline import Measured, debiased_encoding, provenance
from gnomon.report import cell, percent
from gnomon.reproduce.claims import (
    LOST,
    Published,
    Reproduction,
    Row,
    Spread,
    Verdict,
    agreement,
    explain_division,
    join_verdicts,
)
from gnomon.reproduce.readings import Estimate, Line, Reading, Stresses, difference, read_line
from gnomon.reproduce.subjects import (
    LONGEST,
    Options,
    corpus_in_numbers,
    corpus_in_words,
    count_above_noise,
    deal_once,
    describe_seeds,
    measure_published,
    why_not_debiased,
)

TITLE = "five encodings on real corpora"
STAND_IN = "python-stdlib"
DIMENSION = 768
"""BERT-base has 768 dimensions."""
_FEWEST = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """What one corpus gave."""

    measured: Measured
    lines: Mapping[str, Line]
    own: Monotonicity
    """The violations and ties of the corpus itself."""
    noise: Geometry
    """The same tokens dealt at random to the same slots, once."""
    dealt_share: float | None
    """Share of the mean squared distance that dealt tokens have, the mean over several deals."""
    exact: tuple[float, float]
    """Raw stress of classical scaling at dimension n - 1: of the corpus, and of the noise."""


def make(options: Options, progress: Progress) -> Reproduction:
    """Compare the five encodings on every corpus given, or on a built-in one."""
    corpora = options.corpora or (STAND_IN,)
    counting = options.counting or CountOptions(seed=options.seed)
    dimension = DIMENSION if options.dimension is None else options.dimension
    found: dict[str, Findings] = {}
    for corpus in corpora:
        progress.stage(f"counting {corpus}")
        measured = measure_published(corpus, counting, progress)
        name = _free_name(str(measured.counts.source), found)
        found[name] = measure_findings(
            measured, dimension=dimension, options=options, progress=progress
        )
    return Reproduction(
        name="table4",
        title=TITLE,
        source="cirrincione2026",
        setting=_describe_settings(options, dimension),
        rows=tuple(row for name in found for row in _rows(name, found[name])),
        verdicts=_verdicts(found),
        notes=_notes(options, counting),
        headings={name: _describe_findings(name, one) for name, one in found.items()},
        corpora={name: _details(one) for name, one in found.items()},
        provenance=provenance(options.seed),
    )


def measure_findings(
    measured: Measured, *, dimension: int, options: Options, progress: Progress
) -> Findings:
    """Measure one corpus and every encoding against it."""
    geometry = measured.geometry
    positions = len(geometry.positions)
    if positions < _FEWEST:
        raise InputError(
            f"{measured.counts.source} has {positions} positions with enough tokens, and table4 "
            f"compares {_FEWEST} or more; use a greater --length or a smaller --minimum-count."
        )
    noise = deal_once(measured.counts, options.seed)
    progress.stage("stress of every encoding")
    return Findings(
        measured=measured,
        lines={
            key: read_line(readings, geometry, measured.target, why_not_debiased(measured) or "")
            for key, readings in candidates(measured, dimension, options)
        },
        own=violations(geometry.distances, positions=geometry.coordinates, grain=GRAIN),
        noise=noise,
        dealt_share=_dealt_share(measured, options.seed),
        exact=(_exact(geometry), _exact(noise)),
    )


def _exact(geometry: Geometry) -> float:
    """Return the raw stress of classical scaling at dimension n - 1."""
    return stress(fit(geometry, dimension=len(geometry.positions) - 1), geometry).raw


def _dealt_share(measured: Measured, seed: int) -> float | None:
    geometry = measured.geometry
    replicates = 10 if len(geometry.positions) <= 128 else 3  # as in a survey
    rng = np.random.default_rng([seed, 2])
    return dealt_null(measured.counts, replicates=replicates, rng=rng, geometry=geometry).share


def _describe_findings(corpus: str, found: Findings) -> str:
    own = found.measured.geometry
    return (
        f"{corpus}: {len(own.positions)} positions, {found.measured.counts.tokens:,} tokens. "
        f"Plug-in: its own rank {own.spectrum.rank_numerical}, its own violations "
        f"{cell(found.own.violations)}; dealt at random, its tokens have "
        f"{percent(found.dealt_share)} of its mean squared distance. "
        f"{corpus_in_words(found.measured)}"
    )


def _details(found: Findings) -> dict[str, Any]:
    """Return what is known of a corpus, for JSON."""
    numbers = corpus_in_numbers(found.measured)
    numbers["plugin"] |= {
        "violations": found.own.violations,
        "ties": found.own.ties,
        "dealt_share": found.dealt_share,
        "exact_stress": found.exact[0],
        "exact_stress_dealt": found.exact[1],
    }
    return numbers


def _rows(corpus: str, found: Findings) -> Iterator[Row]:
    for label, got in found.lines.items():
        yield Row(
            what=label,
            published=Published(quantity="numbers", reason=LOST),
            ours=got.columns,
            reasons=got.reasons or None,
            group=corpus,
        )


def _verdicts(found: Mapping[str, Findings]) -> tuple[Verdict, ...]:
    judges = (
        _claims_of_alibi,
        _claims_of_rope,
        _claims_of_isometry,
        _claims_of_rank,
        _claims_of_monotony,
    )
    return tuple(
        join_verdicts({name: judge(measure_findings) for name, measure_findings in found.items()})
        for judge in judges
    )


def _claims_of_alibi(found: Findings) -> Verdict:
    lines, sinusoid = found.lines, found.lines[SINUSOIDAL]
    lifts = {"as a slope": lines[BEST_SLOPE], "under the kernel lift": lines[ALIBI]}
    return judge_alibi(
        sinusoidal=sinusoid.stresses,
        heads=lines[EACH_HEAD].raw,
        lifts={words: one.stresses for words, one in lifts.items()},
        differences={
            words: difference(sinusoid.debiased.plain, one.debiased.plain)
            for words, one in lifts.items()
            if sinusoid.debiased is not None and one.debiased is not None
        },
        missing=why_not_debiased(found.measured),
    )


def _claims_of_rope(found: Findings) -> Verdict:
    lines = found.lines
    return judge_rope(
        sinusoidal=lines[SINUSOIDAL].raw.mean,
        kernel=lines[ROPE].raw.mean,
        normal=lines[NORMAL_PROBE].raw,
        ones=lines[PROBE_OF_ONES].raw.mean,
    )


def _claims_of_isometry(found: Findings) -> Verdict:
    exact, noise = found.exact
    return judge_isometry(exact, positions=len(found.measured.geometry.positions), noise=noise)


def _claims_of_rank(found: Findings) -> Verdict:
    own, noise = found.measured.geometry, found.noise
    return judge_rank(
        rank=own.spectrum.rank_numerical,
        noise=noise.spectrum.rank_numerical,
        above=count_above_noise(own, noise),
        participation=own.spectrum.participation,
        directions=_directions_of(found.measured),
        missing=why_not_debiased(found.measured),
    )


def _directions_of(measured: Measured) -> Directions | None:
    """Return what is above the noise edge; 0 directions are an answer, too."""
    if measured.noise is None or not np.isfinite(measured.noise.debiased.edge):
        return None
    made = measured.noise.debiased
    return Directions(
        rank=made.rank,
        core=len(made.core),
        largest=float(made.low_rank.eigenvalues[0]),
        edge=float(made.edge),
        participation=Estimate.of(measured.noise.participation),
    )


def _claims_of_monotony(found: Findings) -> Verdict:
    trust = found.measured.noise
    reliable = None if trust is None or found.measured.target is None else trust.violations
    return judge_monotone(
        found.lines[MDS].violations,
        own=found.own.violations,
        ties=found.own.ties,
        stress=found.lines[MDS].raw.mean,
        debiased=Estimate.of(reliable),
        missing=why_not_debiased(found.measured),
    )


def _describe_settings(options: Options, dimension: int) -> str:
    return (
        f"d = {dimension}, chord distances; raw and scale-free against plug-in distances, debiased "
        "and squared against the low-rank geometry of the core, with 95 % intervals that hold "
        f"sampling only; random tables and normal probes from {describe_seeds(options)}; "
        f"`each head` is over the {HEADS} official slopes"
    )


def _notes(options: Options, counting: CountOptions) -> tuple[str, ...]:
    lost = (
        f"as published, every number is lost, and so are n and the lifts; n is at most "
        f"{counting.length or LONGEST} here (--length), positions under {counting.minimum_count} "
        "tokens are masked (--minimum-count)."
    )
    if options.corpora:
        return (lost,)
    stand_in = f"no corpus was given, so {STAND_IN} stands in for SST-2 and IMDB; pass their files."
    return lost, stand_in


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Tell two corpora of one name apart."""
    if name not in taken:
        return name
    return next(f"{name} ({k})" for k in range(2, len(taken) + 3) if f"{name} ({k})" not in taken)


HEADS = 12
"""BERT-base has 12 heads."""
SINUSOIDAL, ROPE, MDS = "sinusoidal", "rope", "mds"
NORMAL_PROBE, PROBE_OF_ONES = "rope, normal probe", "rope, probe of ones"
ALIBI, EACH_HEAD, BEST_SLOPE = f"alibi, {HEADS} heads", "alibi, each head", "alibi, best slope"


def candidates(
    measured: Measured, dimension: int, options: Options
) -> Iterator[tuple[str, list[Reading]]]:
    """Yield every line of the table as the readings it is a mean of."""
    geometry = measured.geometry
    axes = geometry.coordinates.shape[1]
    yield SINUSOIDAL, [Reading(encoding("sinusoidal", dimension=dimension, axes=axes))]
    yield from _ropes(dimension, axes, options)
    yield from _alibis(geometry, axes)
    for sigma in (1.0, 0.02):
        yield (
            f"random, sigma {sigma:g}",
            [
                Reading(encoding("random", dimension=dimension, sigma=sigma, seed=s, axes=axes))
                for s in options.streams
            ],
        )
    yield MDS, [Reading(fit(geometry, dimension=dimension))]
    if measured.noise is not None and measured.target is not None:
        made = debiased_encoding(measured.noise, geometry, dimension)
        yield f"mds, debiased, rank {made.rank}", [Reading(made)]


def _ropes(dimension: int, axes: int, options: Options) -> Iterator[tuple[str, list[Reading]]]:
    rope = encoding("rope", dimension=dimension, axes=axes)
    normal = [
        Reading(rope, lift="probe", rng=np.random.default_rng([s, 1])) for s in options.streams
    ]
    yield ROPE, [Reading(rope)]
    yield NORMAL_PROBE, normal
    yield PROBE_OF_ONES, [Reading(rope, lift="probe", probe=np.ones(dimension))]


def _alibis(geometry: Geometry, axes: int) -> Iterator[tuple[str, list[Reading]]]:
    best = best_slope(geometry.distances, geometry.coordinates)
    official: Any = encoding("alibi", heads=HEADS)
    heads = [encoding("alibi", slopes=(m,), axes=axes) for m in official.slopes]
    yield ALIBI, [Reading(encoding("alibi", heads=HEADS, axes=axes))]
    yield EACH_HEAD, [Reading(head, lift="slope", over="heads") for head in heads]
    yield BEST_SLOPE, [Reading(encoding("alibi", slopes=(best,), axes=axes), lift="slope")]


FAR = 0.5
"""Far below: less than half."""
NEARLY = 0.03
ZERO = 1e-20
"""Stress below this is rounding."""


class Directions(NamedTuple):
    """What stands above the noise edge of the core."""

    rank: int
    core: int
    largest: float
    edge: float
    participation: Estimate | None


def judge_alibi(
    *,
    sinusoidal: Stresses,
    heads: Spread,
    lifts: Mapping[str, Stresses],
    differences: Mapping[str, Estimate],
    missing: str | None = None,
) -> Verdict:
    """Compare ALiBi with the sinusoid: raw over the slopes, scale-free and debiased by lift.

    `lifts` are the readings of ALiBi, that of the best slope first; `differences` how much the
    debiased stress of the sinusoid exceeds each; `missing` says why there is none.
    """
    best = next(iter(lifts.values()))
    slopes = {
        "official slope that fits best": heads.smallest,
        "official slope that fits worst": heads.largest,
        "best slope of all": best.raw,
    }
    readings = {
        f"raw stress at the {words}": [_far(value, sinusoidal.raw)]
        for words, value in slopes.items()
    }
    for words, one in lifts.items():
        readings[f"scale-free stress {words}"] = [_far(one.scale_free, sinusoidal.scale_free)]
    readings |= _far_debiased(sinusoidal, lifts)
    free = _list_names({words: cell(one.scale_free) for words, one in lifts.items()})
    return Verdict(
        claim="ALiBi is far below the sinusoid (less than half its stress)",
        holds=agreement(reading for found in readings.values() for reading in found),
        reason=f"raw: sinusoid {cell(sinusoidal.raw)}; ALiBi read as a slope "
        f"{cell(heads.smallest)} to {cell(heads.largest)} over the official slopes and "
        f"{cell(best.raw)} at the best one; an encoding of zeros has raw stress 1. Scale-free: "
        f"sinusoid {cell(sinusoidal.scale_free)}; ALiBi {free}. "
        + _order_of_debiased(sinusoidal, lifts, differences, missing)
        + explain_division(readings),
    )


def _far(value: float, other: float) -> bool:
    return value < FAR * other


def _far_debiased(sinusoidal: Stresses, lifts: Mapping[str, Stresses]) -> dict[str, list[bool]]:
    if sinusoidal.debiased is None:
        return {}
    return {
        f"debiased stress {words}": [_far(one.debiased.value, sinusoidal.debiased.value)]
        for words, one in lifts.items()
        if one.debiased is not None
    }


def _list_names(shown: Mapping[str, str]) -> str:
    return ", ".join(f"{value} {words}" for words, value in shown.items())


def _order_of_debiased(
    sinusoidal: Stresses,
    lifts: Mapping[str, Stresses],
    differences: Mapping[str, Estimate],
    missing: str | None,
) -> str:
    """Say what debiasing does to the order of the two."""
    known = {words: one.debiased for words, one in lifts.items() if one.debiased is not None}
    if sinusoidal.debiased is None or not known:
        return f"Debiased: none, since {missing}."
    shown = _list_names({words: str(one) for words, one in known.items()})
    parts = [f"Debiased: sinusoid {sinusoidal.debiased}; ALiBi {shown}."]
    parts += [
        order_sentence(
            words,
            plugin=sinusoidal.scale_free - lifts[words].scale_free,
            debiased=(sinusoidal.debiased, known[words]),
            difference=difference,
        )
        for words, difference in differences.items()
    ]
    return " ".join(parts)


def order_sentence(
    words: str, *, plugin: float, debiased: tuple[Estimate, Estimate], difference: Estimate
) -> str:
    """Say whether debiasing reverses the order, whether intervals overlap, and what is certain.

    `plugin` is the scale-free stress of the sinusoid minus that of ALiBi, `debiased` are the two
    after debiasing, and `difference` is theirs, jackknifed as one figure.
    """
    lower = "ALiBi" if difference.value > 0.0 else "the sinusoid"
    turned = plugin * difference.value < 0.0
    order = f"reverses the order, so that {lower} is lower" if turned else "keeps the order"
    overlap = "overlap" if debiased[0].overlaps(debiased[1]) else "do not overlap"
    certain = "may be 0" if difference.low <= 0.0 <= difference.high else "excludes 0"
    return (
        f"{words[:1].upper()}{words[1:]}, debiasing {order}; the two intervals {overlap}, and "
        f"their difference over the same folds, {difference}, {certain}."
    )


def judge_rope(*, sinusoidal: float, kernel: float, normal: Spread, ones: float) -> Verdict:
    """Compare raw stress of the rotary encoding with that of the sinusoid, probe by probe."""

    def gap(value: float) -> float:
        return abs(value / sinusoidal - 1.0)

    widest = max(gap(normal.smallest), gap(normal.largest))
    return Verdict(
        claim="sinusoid and RoPE differ by less than 3 %",
        holds=agreement(value < NEARLY for value in (gap(kernel), widest, gap(ones))),
        reason=f"with content of unit pairs they are the same distances (difference "
        f"{gap(kernel):.1e} of the raw stress); with normal probes they differ by up to "
        f"{100 * widest:.2g} %, with a probe of ones by {100 * gap(ones):.3g} %.",
    )


def judge_isometry(raw: float, *, positions: int, noise: float) -> Verdict:
    """Say whether classical scaling is exact at n - 1 dimensions, and whether noise has that, too.

    `noise` is the same stress for the tokens dealt at random.
    """
    return Verdict(
        claim="the MDS encoding is an exact isometry at dimension n - 1",
        holds=agreement([raw < ZERO]),
        reason=f"raw stress {raw:.1e} at {positions - 1} dimensions, and {noise:.1e} for the same "
        "tokens dealt at random. It is so for any corpus, noise included, as sqrt(p) itself embeds "
        "the chords, and therefore says nothing of this one.",
    )


def judge_rank(
    *,
    rank: int,
    noise: int,
    above: int,
    participation: float,
    directions: Directions | None,
    missing: str | None = None,
) -> Verdict:
    """Say whether the rank is that of the directions above noise."""
    readings = [rank == above] + ([] if directions is None else [rank == directions.rank])
    return Verdict(
        claim="the rank of the Gram matrix is the intrinsic dimension of the corpus",
        holds=agreement(readings),
        reason=f"rank {rank}, and {noise} when the same tokens are dealt at random to the same "
        f"slots; eigenvalues above the largest one of those: {above}; participation ratio "
        f"{participation:.3g}. " + _count_directions(directions, missing),
    )


def _count_directions(found: Directions | None, missing: str | None) -> str:
    if found is None:
        return f"Debiased: none, since {missing}."
    matter = "" if found.participation is None else f", participation ratio {found.participation}"
    return (
        f"Debiased, on {found.core} core positions: {found.rank} above the noise edge (the largest "
        f"eigenvalue is {found.largest:.3g}, the edge {found.edge:.3g}){matter}."
    )


def judge_monotone(
    rate: float | None,
    *,
    own: float | None,
    ties: float | None,
    stress: float,
    debiased: Estimate | None = None,
    missing: str | None = None,
) -> Verdict:
    """Say whether MDS distances grow with the lag, and whose violations they have.

    Debiased distances keep some noise, so they are called monotone where the interval of their
    violations holds 0.
    """
    readings = [] if rate is None else [rate == 0.0]
    readings += [] if debiased is None else [debiased.low <= 0.0]
    fitted = "exact" if stress < ZERO else f"of raw stress {cell(stress)}"
    core = f"the core has {debiased}" if debiased is not None else f"none, since {missing}"
    return Verdict(
        claim="the MDS encoding is monotone: distances grow with the lag",
        holds=agreement(readings),
        reason=f"violations {cell(rate)} of the triples; the corpus itself has {cell(own)}, and "
        f"ties {cell(ties)}, which the fit, {fitted}, inherits. Debiased: {core}. Distances in no "
        "order have about 0.5; where it is not 0, the hypothesis fails on this corpus.",
    )
