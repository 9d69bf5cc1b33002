"""What a figure is made again on: the three-regime corpus of every seed, or corpora that are given.

The published figures are of the three-regime corpus and of SST-2 and IMDB [cirrincione2026 sec. 6].
Without a corpus the former is drawn once for every seed, and figures are spreads over seeds; with
corpora each is read once, and debiased figures carry their 95 % intervals. Beside the corpus stands
what is there without position: its tokens dealt at random to the same slots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import CountOptions, Progress, three_regimes
from gnomon.distances import Geometry, NullGeometry, dealt_null, jackknife
from gnomon.errors import InputError
from gnomon.pipeline import Measured, provenance
from gnomon.report import percent
from gnomon.reproduce.claims import Figure, Reproduction, Row, spread
from gnomon.reproduce.debiasing import Estimate
from gnomon.reproduce.evidence import Judged, listed, verdicts
from gnomon.reproduce.samples import (
    CONCENTRATION,
    LENGTH,
    ROWS,
    VOCABULARY,
    Options,
    dealt,
    setting_of,
)
from gnomon.reproduce.table4_corpus import LENGTH as LONGEST
from gnomon.reproduce.table4_corpus import (
    in_numbers,
    in_words,
    measure_published,
    missing,
)

Floats = NDArray[np.float64]
FEWEST = 4
DRAWN = "three-regimes"


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """One corpus: counted, measured as published, with the noise taken out, and dealt at random."""

    seed: int
    measured: Measured
    null: NullGeometry
    null_rank: int
    """Rank of the Gram matrix of tokens dealt once."""

    @property
    def geometry(self) -> Geometry:
        """Return the plug-in geometry."""
        return self.measured.geometry

    @property
    def rank(self) -> int:
        """Return the rank of the Gram matrix, as published."""
        return self.geometry.spectrum.rank_numerical

    @property
    def above(self) -> int:
        """Count the eigenvalues above the null band: the 95 % quantile of the null's largest."""
        return int(np.count_nonzero(self.geometry.eigenvalues > self.null.top_eigenvalue_95))

    @property
    def effective(self) -> int | None:
        """Return the directions above the noise edge; None where no edge is known."""
        trust = self.measured.noise
        return (
            None if trust is None or not np.isfinite(trust.debiased.edge) else trust.debiased.rank
        )

    def estimate(self, of: Callable[[Floats], float]) -> Estimate | None:
        """Return a figure of the debiased squared distances, with its sampling interval."""
        trust = self.measured.noise
        if trust is None or self.measured.target is None:
            return None
        value = of(trust.debiased.low_rank.squares)
        return Estimate.of(jackknife(value, trust.replicates, of))


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """A corpus that was given, or one that was drawn again for every seed."""

    name: str
    samples: tuple[Sample, ...]
    drawn: bool

    @property
    def first(self) -> Sample:
        """Return the corpus that was given, or that of the first seed."""
        return self.samples[0]

    @property
    def positions(self) -> int:
        """Return the number of positions measured; the same for every seed."""
        return len(self.first.geometry.positions)

    @property
    def missing(self) -> str:
        """Say why there is no debiased geometry, where there is none."""
        return next(
            (str(missing(s.measured)) for s in self.samples if s.measured.target is None), ""
        )

    def over(self, of: Callable[[Sample], float]) -> Figure:
        """Return a figure: a number, or its spread over seeds."""
        values = [of(sample) for sample in self.samples]
        return values[0] if len(values) == 1 else spread(values)

    def debiased(self, name: str, of: Callable[[Sample], Estimate | None]) -> dict[str, Figure]:
        """Return the columns of a debiased figure: with its interval, or spread over seeds."""
        found = [of(sample) for sample in self.samples]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return {name: None}
        if len(known) > 1:
            return {name: spread([one.value for one in known])}
        return {name: known[0].value, f"{name} interval": known[0].interval}


def subjects(what: str, options: Options, progress: Progress) -> tuple[Subject, ...]:
    """Return what a figure is made again on."""
    if not options.corpora:
        return (_three_regimes(options, progress),)
    counting = options.counting or CountOptions(seed=options.seed)
    found: dict[str, Subject] = {}
    for corpus in options.corpora:
        progress.stage(f"counting {corpus}")
        measured = measure_published(corpus, counting, progress)
        name = _unused(str(measured.counts.source), found)
        sample = _sample(what, measured, options.seed, progress)
        found[name] = Subject(name=name, samples=(sample,), drawn=False)
    return tuple(found.values())


def _three_regimes(options: Options, progress: Progress) -> Subject:
    samples = []
    for seed in options.streams:
        progress.stage(f"{DRAWN}, seed {seed}")
        source = three_regimes(ROWS, LENGTH, VOCABULARY, CONCENTRATION, seed)
        measured = measure_published(source, CountOptions(seed=seed), progress)
        samples.append(_sample(DRAWN, measured, seed, progress))
    return Subject(name=DRAWN, samples=tuple(samples), drawn=True)


def _sample(what: str, measured: Measured, seed: int, progress: Progress) -> Sample:
    geometry = measured.geometry
    positions, source = len(geometry.positions), measured.counts.source
    if positions < FEWEST:
        raise InputError(
            f"{source} has {positions} positions with enough tokens, and {what} needs "
            f"{FEWEST} or more; use a greater --length or a smaller --minimum-count."
        )
    if not geometry.distances.any():
        raise InputError(
            f"all positions of {source} have the same law, so that {what} has nothing "
            "to show; pass a corpus whose tokens change with position."
        )
    progress.stage("dealing tokens at random")
    replicates = 20 if positions <= 128 else 3
    rng = np.random.default_rng([seed, 2])
    null = dealt_null(measured.counts, replicates=replicates, rng=rng, geometry=geometry)
    return Sample(
        seed=seed,
        measured=measured,
        null=null,
        null_rank=dealt(measured.counts, seed).spectrum.rank_numerical,
    )


def reproduction(
    name: str,
    title: str,
    *,
    setting: str,
    rows: Mapping[str, Sequence[Row]],
    judged: Mapping[str, Sequence[Judged]],
    studied: Sequence[Subject],
    options: Options,
    notes: Sequence[str] = (),
    details: Mapping[str, Mapping[str, Any]] | None = None,
) -> Reproduction:
    """Return the figure made again; `rows`, `judged` and `details` are by name of the corpus."""
    return Reproduction(
        name=name,
        title=title,
        source="cirrincione2026",
        setting=f"{setting}; {_setting(options)}",
        rows=tuple(row for one in studied for row in rows[one.name]),
        verdicts=verdicts(judged),
        notes=tuple(notes),
        headings={one.name: _heading(one) for one in studied},
        corpora={
            one.name: _details(one, judged[one.name]) | dict((details or {}).get(one.name, {}))
            for one in studied
        },
        provenance=provenance(options.seed),
    )


def _setting(options: Options) -> str:
    if not options.corpora:
        return setting_of(options)
    counting = options.counting or CountOptions(seed=options.seed)
    return (
        f"chord distances, n at most {counting.length or LONGEST} (--length), positions under "
        f"{counting.minimum_count} tokens are masked (--minimum-count); intervals are 95 % and "
        "hold sampling only"
    )


def _heading(subject: Subject) -> str:
    own = subject.first
    one = "Its" if len(subject.samples) == 1 else f"Of seed {own.seed}: its"
    return (
        f"{subject.name}: {subject.positions} positions, {own.measured.counts.tokens:,} tokens. "
        f"{one} tokens dealt at random have {percent(own.null.share)} of its mean squared "
        f"distance. {in_words(own.measured)}"
    )


def _details(subject: Subject, judged: Sequence[Judged]) -> dict[str, Any]:
    """Return what is known of the corpus (of the first seed), and the evidence of every claim."""
    own = subject.first
    numbers = in_numbers(own.measured)
    numbers["plugin"] |= {
        "dealt_share": own.null.share,
        "dealt_replicates": own.null.replicates,
        "dealt_rank": own.null_rank,
        "above_null": own.above,
    }
    return numbers | {"evidence": listed(judged)}


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    """Tell two corpora of one name apart."""
    if name not in taken:
        return name
    return next(f"{name} ({k})" for k in range(2, len(taken) + 3) if f"{name} ({k})" not in taken)
