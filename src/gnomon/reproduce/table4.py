"""Table 4: five encodings on real corpora, as published and with the noise taken out.

All numbers of the published table are lost, and so is how rotary encodings and ALiBi were given
distances, so every line names its lift [cirrincione2026 sec. 6.3].

Raw and scale-free stress are against plug-in chords, as published: on small counts much of them is
noise. Beside them stands the scale-free stress against the debiased geometry of the core, with its
interval, and the same of squared distances; the verdicts rest on both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.corpus import CountOptions, Progress
from gnomon.diagnostics import GRAIN, Monotonicity, stress, violations
from gnomon.distances import Geometry, dealt_null
from gnomon.encodings import fit
from gnomon.errors import InputError
from gnomon.pipeline import Measured, provenance
from gnomon.report import cell, percent
from gnomon.reproduce.claims import LOST, Published, Reproduction, Row, Verdict, together
from gnomon.reproduce.debiasing import Estimate, difference
from gnomon.reproduce.readings import Line, line
from gnomon.reproduce.samples import Options, above_noise, dealt, repeated
from gnomon.reproduce.table4_claims import (
    Directions,
    judge_alibi,
    judge_isometry,
    judge_monotone,
    judge_rank,
    judge_rope,
)
from gnomon.reproduce.table4_corpus import (
    LENGTH,
    in_numbers,
    in_words,
    measure_published,
    missing,
)
from gnomon.reproduce.table4_lines import (
    ALIBI,
    BEST_SLOPE,
    EACH_HEAD,
    HEADS,
    MDS,
    NORMAL_PROBE,
    PROBE_OF_ONES,
    ROPE,
    SINUSOIDAL,
    candidates,
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


def table4(options: Options, progress: Progress) -> Reproduction:
    """Compare the five encodings on every corpus given, or on a built-in one."""
    corpora = options.corpora or (STAND_IN,)
    counting = options.counting or CountOptions(seed=options.seed)
    dimension = DIMENSION if options.dimension is None else options.dimension
    found: dict[str, Findings] = {}
    for corpus in corpora:
        progress.stage(f"counting {corpus}")
        measured = measure_published(corpus, counting, progress)
        name = _unused(str(measured.counts.source), found)
        found[name] = findings(measured, dimension=dimension, options=options, progress=progress)
    return Reproduction(
        name="table4",
        title=TITLE,
        source="cirrincione2026",
        setting=_setting(options, dimension),
        rows=tuple(row for name in found for row in _rows(name, found[name])),
        verdicts=_verdicts(found),
        notes=_notes(options, counting),
        headings={name: _heading(name, one) for name, one in found.items()},
        corpora={name: _details(one) for name, one in found.items()},
        provenance=provenance(options.seed),
    )


def findings(
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
    noise = dealt(measured.counts, options.seed)
    progress.stage("stress of every encoding")
    return Findings(
        measured=measured,
        lines={
            key: line(readings, geometry, measured.target, missing(measured) or "")
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


def _heading(corpus: str, found: Findings) -> str:
    own = found.measured.geometry
    return (
        f"{corpus}: {len(own.positions)} positions, {found.measured.counts.tokens:,} tokens. "
        f"Plug-in: its own rank {own.spectrum.rank_numerical}, its own violations "
        f"{cell(found.own.violations)}; dealt at random, its tokens have "
        f"{percent(found.dealt_share)} of its mean squared distance. {in_words(found.measured)}"
    )


def _details(found: Findings) -> dict[str, Any]:
    """Return what is known of a corpus, for JSON."""
    numbers = in_numbers(found.measured)
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
    judges = (_alibi, _rope, _isometry, _rank, _monotone)
    return tuple(
        together({name: judge(findings) for name, findings in found.items()}) for judge in judges
    )


def _alibi(found: Findings) -> Verdict:
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
        missing=missing(found.measured),
    )


def _rope(found: Findings) -> Verdict:
    lines = found.lines
    return judge_rope(
        sinusoidal=lines[SINUSOIDAL].raw.mean,
        kernel=lines[ROPE].raw.mean,
        normal=lines[NORMAL_PROBE].raw,
        ones=lines[PROBE_OF_ONES].raw.mean,
    )


def _isometry(found: Findings) -> Verdict:
    exact, noise = found.exact
    return judge_isometry(exact, positions=len(found.measured.geometry.positions), noise=noise)


def _rank(found: Findings) -> Verdict:
    own, noise = found.measured.geometry, found.noise
    return judge_rank(
        rank=own.spectrum.rank_numerical,
        noise=noise.spectrum.rank_numerical,
        above=above_noise(own, noise),
        participation=own.spectrum.participation,
        directions=_directions(found.measured),
        missing=missing(found.measured),
    )


def _directions(measured: Measured) -> Directions | None:
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


def _monotone(found: Findings) -> Verdict:
    trust = found.measured.noise
    reliable = None if trust is None or found.measured.target is None else trust.violations
    return judge_monotone(
        found.lines[MDS].violations,
        own=found.own.violations,
        ties=found.own.ties,
        stress=found.lines[MDS].raw.mean,
        debiased=Estimate.of(reliable),
        missing=missing(found.measured),
    )


def _setting(options: Options, dimension: int) -> str:
    return (
        f"d = {dimension}, chord distances; raw and scale-free against plug-in distances, debiased "
        "and squared against the low-rank geometry of the core, with 95 % intervals that hold "
        f"sampling only; random tables and normal probes from {repeated(options)}; `each head` is "
        f"over the {HEADS} official slopes"
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
