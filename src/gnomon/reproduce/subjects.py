"""What a figure is made again on: the three-regime corpus of every seed, or corpora that are given.

The published figures are of the three-regime corpus and of SST-2 and IMDB [cirrincione2026 sec. 6].
Without a corpus the former is drawn once for every seed, and figures are spreads over seeds; with
corpora each is read once, and debiased figures carry their 95 % intervals. Beside the corpus stands
what is there without position: its tokens dealt at random to the same slots.

What of a corpus of Table 4 can be trusted, in numbers for JSON and in a heading for readers.

The corpus is counted, then counted again with its windows shuffled and, where groups were declared,
with every row on its own; from these the noise is taken out as `gnomon survey` does it. Where that
cannot be done the debiased figures are None, and the reason is kept.

The corpora that are drawn again for every seed, and the same tokens dealt at random.

The three-regime corpus [cirrincione2026 sec. 6.1]: an initial, a medial and a terminal law of
tokens. Three laws span a plane after centring, so its population geometry has rank 2.

The null *dealt*: the tokens of a corpus dealt at random to the same slots, so that every position
keeps its number of tokens and loses its law. What this has, too, is sampling noise, not position.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import CountOptions, PositionCounts, Progress, count_with, three_regimes
from gnomon.distances import Figure as GeometryFigure
from gnomon.distances import Geometry, NullGeometry, deal, dealt_null, jackknife, measure
from gnomon.errors import InputError
from gnomon.options import DIMENSION, SEED, SEEDS, check_options, option
from gnomon.pipeline import (
    DebiasedTarget,
    Measured,
    NoiseReport,
    Tests,
    measure_corpus,
    provenance,
)
from gnomon.report import percent, ranges, signed_figure, what_was_tested
from gnomon.reproduce.claims import (
    Figure,
    Judged,
    Reproduction,
    Row,
    join_by_claim,
    list_evidence,
    spread,
)
from gnomon.reproduce.readings import Estimate
from gnomon.results import plain

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
    def reason(self) -> str:
        """Say why there is no debiased geometry, where there is none."""
        return next(
            (str(why_not_debiased(s.measured)) for s in self.samples if s.measured.target is None),
            "",
        )

    def over(self, of: Callable[[Sample], float]) -> Figure:
        """Return a figure: a number, or its spread over seeds."""
        values = [of(sample) for sample in self.samples]
        return values[0] if len(values) == 1 else spread(values)

    def columns_of_debiased(
        self, name: str, of: Callable[[Sample], Estimate | None]
    ) -> dict[str, Figure]:
        """Return the columns of a debiased figure: with its interval, or spread over seeds."""
        found = [of(sample) for sample in self.samples]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return {name: None}
        if len(known) > 1:
            return {name: spread([one.value for one in known])}
        return {name: known[0].value, f"{name} interval": known[0].interval}


def read_subjects(what: str, options: Options, progress: Progress) -> tuple[Subject, ...]:
    """Return what a figure is made again on."""
    if not options.corpora:
        return (_draw_subject(options, progress),)
    counting = options.counting or CountOptions(seed=options.seed)
    found: dict[str, Subject] = {}
    for corpus in options.corpora:
        progress.stage(f"counting {corpus}")
        measured = measure_published(corpus, counting, progress)
        name = free_name(str(measured.counts.source), found)
        sample = _measure_sample(what, measured, options.seed, progress)
        found[name] = Subject(name=name, samples=(sample,), drawn=False)
    return tuple(found.values())


def _draw_subject(options: Options, progress: Progress) -> Subject:
    samples = []
    for seed in options.streams:
        progress.stage(f"{DRAWN}, seed {seed}")
        source = three_regimes(ROWS, LENGTH, VOCABULARY, CONCENTRATION, seed)
        measured = measure_published(source, CountOptions(seed=seed), progress)
        samples.append(_measure_sample(DRAWN, measured, seed, progress))
    return Subject(name=DRAWN, samples=tuple(samples), drawn=True)


def _measure_sample(what: str, measured: Measured, seed: int, progress: Progress) -> Sample:
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
        null_rank=deal_once(measured.counts, seed).spectrum.rank_numerical,
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
        setting=f"{setting}; {_describe_reading(options)}",
        rows=tuple(row for one in studied for row in rows[one.name]),
        verdicts=join_by_claim(judged),
        notes=tuple(notes),
        headings={one.name: _describe_subject(one) for one in studied},
        corpora={
            one.name: _details_of_subject(one, judged[one.name])
            | dict((details or {}).get(one.name, {}))
            for one in studied
        },
        provenance=provenance(options.seed),
    )


def _describe_reading(options: Options) -> str:
    if not options.corpora:
        return describe_setting(options)
    counting = options.counting or CountOptions(seed=options.seed)
    return (
        f"chord distances, n at most {counting.length or LONGEST} (--length), positions under "
        f"{counting.minimum_count} tokens are masked (--minimum-count); intervals are 95 % and "
        "hold sampling only"
    )


def _describe_subject(subject: Subject) -> str:
    own = subject.first
    one = "Its" if len(subject.samples) == 1 else f"Of seed {own.seed}: its"
    return (
        f"{subject.name}: {subject.positions} positions, {own.measured.counts.tokens:,} tokens. "
        f"{one} tokens dealt at random have {percent(own.null.share)} of its mean squared "
        f"distance. {corpus_in_words(own.measured)}"
    )


def _details_of_subject(subject: Subject, judged: Sequence[Judged]) -> dict[str, Any]:
    """Return what is known of the corpus (of the first seed), and the evidence of every claim."""
    own = subject.first
    numbers = corpus_in_numbers(own.measured)
    numbers["plugin"] |= {
        "dealt_share": own.null.share,
        "dealt_replicates": own.null.replicates,
        "dealt_rank": own.null_rank,
        "above_null": own.above,
    }
    return numbers | {"evidence": list_evidence(judged)}


def free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Tell two corpora of one name apart."""
    if name not in taken:
        return name
    return next(f"{name} ({k})" for k in range(2, len(taken) + 3) if f"{name} ({k})" not in taken)


LONGEST = 64
"""The published length is lost."""
EDGES = 12
"""So many eigenvalues are kept beyond those above the edge."""


def measure_published(corpus: Any, options: CountOptions, progress: Progress) -> Measured:
    """Measure a corpus; long sequences at our default length where none is asked for."""
    return measure_corpus(corpus, options, longest=LONGEST, progress=progress)


def why_not_debiased(measured: Measured) -> str | None:
    """Say why there is no debiased stress, without a full stop; None where there is."""
    reason = measured.no_target
    return None if reason is None else reason.rstrip(".")


def corpus_in_words(measured: Measured) -> str:
    """Return what the heading of a corpus says of noise and signal."""
    if measured.noise is None:
        return f"Debiased: none, since {why_not_debiased(measured)}. {_signal(measured)}"
    parts = [
        _noise(measured.noise),
        _geometry(measured),
        _signal(measured),
        *measured.noise.warnings,
    ]
    return " ".join(part for part in parts if part)


def _noise(found: NoiseReport) -> str:
    share = found.noise_share
    listed = ranges(found.tests.extents[k] for k in found.debiased.core)
    noise = "" if share is None else f"; {100 * share:.0f} % of the former is sampling noise"
    return (
        f"Debiased: on the {len(found.core)} core positions ({listed}) the "
        f"mean squared distance is {found.plugin_core:.3f} plug-in and {signed_figure(found.mean)} "
        f"debiased{noise}. Effective rank {found.debiased.rank}."
    )


def _geometry(measured: Measured) -> str:
    found, target = measured.noise, measured.target
    if found is None or target is None:
        return f"No debiased stress, since {why_not_debiased(measured)}."
    matter = "" if found.participation is None else signed_figure(found.participation)
    trusted_more = (
        "; most pairs are not significantly apart, so trust `squared`"
        if found.significant_share < 0.5
        else ""
    )
    return (
        f"Participation ratio {matter}; pairs significantly apart "
        f"{100 * found.significant_share:.0f} %{trusted_more}. Equal distances leave "
        f"{target.simplex:.3f}, of squares {target.simplex_squared:.3f}."
    )


def _signal(measured: Measured) -> str:
    if measured.tests is None:
        return "Informative: undecided, the folds allow no test."
    answer = {True: "yes", False: "no", None: "undecided"}[measured.informative]
    tested, p_value = what_was_tested(measured.tests), measured.tests.deciding.p_value
    return f"Informative: {answer} ({tested} p = {p_value:.2g})."


def corpus_in_numbers(measured: Measured) -> dict[str, Any]:
    """Return the same for JSON, with the reason where something is missing."""
    geometry, reason = measured.geometry, why_not_debiased(measured)
    spectrum = geometry.spectrum
    numbers: dict[str, Any] = {
        "corpus": measured.counts.to_dict(),
        "plugin": {
            "positions": len(geometry.positions),
            "mean_squared": geometry.mean_squared,
            "rank": spectrum.rank_numerical,
            "participation": spectrum.participation,
        },
        "informative": measured.informative,
        "tests": _p_values(measured.tests),
        "debiased": None
        if measured.noise is None
        else _numbers_of_debiased(measured.noise, measured.target),
        "unshuffled": measured.recounts.unshuffled,
    }
    if reason is not None:
        numbers["reason"] = reason
    converted: dict[str, Any] = plain(numbers)
    return converted


def _p_values(tests: Tests | None) -> dict[str, float | None] | None:
    if tests is None:
        return None
    order = None if tests.order is None else tests.order.p_value
    return {"signal": tests.signal.p_value, "word_order": order}


def _numbers_of_debiased(found: NoiseReport, target: DebiasedTarget | None) -> dict[str, Any]:
    made, edges = found.debiased, found.debiased.edges
    survived = found.survivorship
    return {
        "core": found.core,
        "noise_share": found.noise_share,
        "plugin_core": found.plugin_core,
        "mean_squared": _figure_numbers(found.mean),
        "head": {"types": found.head_types, **(_figure_numbers(found.head) or {})},
        "measured_share": found.measured_share,
        "significant_share": found.significant_share,
        "rank": made.rank,
        "edges": edges[np.isfinite(edges)],
        "eigenvalues": made.low_rank.eigenvalues[: made.rank + EDGES],
        "participation": _figure_numbers(found.participation),
        "violations": _figure_numbers(found.violations),
        "simplex": None if target is None else target.simplex,
        "simplex_squared": None if target is None else target.simplex_squared,
        "survivorship": None
        if survived is None
        else {
            k: _figure_numbers(getattr(survived, k)) for k in ("original", "shuffled", "difference")
        },
        "pattern": found.pattern,
        "warnings": found.warnings,
    }


def _figure_numbers(found: GeometryFigure | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)


LENGTH, ROWS, VOCABULARY, CONCENTRATION = 32, 2000, 200, 0.2


@dataclass(frozen=True, kw_only=True)
class Options:
    """How often to repeat, from which seed, and for corpora of the user's own what to read."""

    seed: int = option(0, SEED)
    seeds: int = option(10, SEEDS)
    corpora: tuple[Any, ...] = ()
    dimension: int | None = option(None, DIMENSION)
    counting: CountOptions | None = None
    """None: as each reproduction has it."""
    length: int | None = None
    """Tokens that a model reads at once; None: `factor` times its trained length."""
    factor: float = 2.0
    """By which a context is scaled."""
    records: Path = Path()
    """Folder that holds the records of grids, each in a folder of its own."""
    workers: int | None = None
    """Processes that train; None: one for each core."""
    data: Path | None = None
    """Folder of real data; None: what GNOMON_DATA names."""

    def __post_init__(self) -> None:
        """Refuse what cannot be repeated or drawn."""
        check_options(self)
        if not self.factor > 1:  # also NaN
            raise InputError(f"--factor is {self.factor:g}; scale by more than 1.")

    @property
    def streams(self) -> range:
        """Return the seed of every repetition."""
        return range(self.seed, self.seed + self.seeds)


@dataclass(frozen=True, kw_only=True, eq=False)
class RegimeSample:
    """One corpus drawn from one seed, with its plug-in geometry."""

    seed: int
    counts: PositionCounts
    geometry: Geometry


def draw_three_regimes(
    options: Options,
    progress: Progress,
    *,
    vocabulary: int = VOCABULARY,
    concentration: float = CONCENTRATION,
) -> tuple[RegimeSample, ...]:
    """Return the three-regime corpus of every seed."""
    samples = []
    for seed in options.streams:
        progress.stage(f"three-regimes, seed {seed}")
        source = three_regimes(ROWS, LENGTH, vocabulary, concentration, seed)
        counts = count_with(source, CountOptions(seed=seed))
        samples.append(RegimeSample(seed=seed, counts=counts, geometry=measure(counts)))
    return tuple(samples)


def describe_setting(options: Options, *, vocabulary: int = VOCABULARY) -> str:
    """Say in words what was drawn."""
    return (
        f"three-regime corpus, n = {LENGTH} positions, V = {vocabulary} types, N = {ROWS:,} "
        f"documents, Dirichlet {CONCENTRATION:g}, chord distances, plug-in; "
        f"{describe_seeds(options)}"
    )


def describe_seeds(options: Options) -> str:
    """Say in words which seeds were used, and how several are shown."""
    if options.seeds == 1:
        return f"seed {options.seed} alone"
    return f"seeds {options.seed} to {options.streams[-1]}, shown as mean [smallest, largest]"


def deal_once(counts: PositionCounts, seed: int) -> Geometry:
    """Return the geometry of the tokens of a corpus dealt at random to the same slots, once."""
    stream = np.random.SeedSequence([seed, 2])
    return measure(deal(counts.matrix[np.flatnonzero(counts.kept)], stream))


def count_above_noise(geometry: Geometry, noise: Geometry) -> int:
    """Count the eigenvalues above the largest one of the dealt tokens."""
    return int(np.count_nonzero(geometry.eigenvalues > noise.eigenvalues[0]))
