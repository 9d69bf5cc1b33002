"""survey: one walk down the stream, from a corpus to the stress of every encoding.

What is published is computed as published (plug-in distances, raw stress); beside it stands what
does not depend on scale, and what is left when sampling noise is taken out (`trust`), with a
verdict in words (`verdict`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.corpus.counting import CountOptions
from gnomon.corpus.counts import PositionCounts
from gnomon.corpus.progress import Progress, Silence
from gnomon.corpus.single_words import check_words
from gnomon.diagnostics.dimension import StressByDimension, stress_by_dimension
from gnomon.diagnostics.monotonicity import GRAIN, Monotonicity, violations
from gnomon.diagnostics.shift import ShiftEquivariance, shift_equivariance
from gnomon.encodings.base import Encoding
from gnomon.errors import InputError
from gnomon.geometry.measure import Geometry, check_metric, measure
from gnomon.geometry.nulls import NullGeometry, dealt_null, null_geometry
from gnomon.numeric.ranges import check_range
from gnomon.results import Result, to_dataframe
from gnomon.survey.asked import encoding_for
from gnomon.survey.contents import contents
from gnomon.survey.debiased_stress import DebiasedTarget, target_of_trust
from gnomon.survey.entries import Entry, candidates, check_tables, entry
from gnomon.survey.provenance import provenance
from gnomon.survey.shuffles import counted, shuffles_of, ungrouped_of, why_not
from gnomon.survey.trust import Tests, Trust, in_folds, trusted
from gnomon.survey.verdict import Verdict, verdict, without_geometry
from gnomon.survey.verdict import flat as flat_verdict

_RANK = "--rank"
_FLAT = "all distances are zero"
_SHOWN = ("scale_free", "interval", "skill", "squared")
RANKS = (1, 2, 3, 5, 7, 10, 16, 31, 63, 127, 255, 511)


@dataclass(frozen=True, kw_only=True)
class SurveyOptions:
    """What a survey needs beside the options of counting."""

    dimension: int = 128
    rank: int = 3
    metric: str = "chord"
    seed: int = 0
    shuffles: int = 2
    draws: int | None = None
    """Random draws of the tests; by default 99, beyond 128 positions 59."""
    tables: tuple[str | Path, ...] = ()
    first_rows: tuple[int, ...] = ()
    """The row of position 0, of all tables or of each; by default row 0."""
    encodings: tuple[str | Encoding, ...] = ()
    """Further encodings of the catalogue to compare: names, or encodings that were made."""
    show_tokens: bool = False
    """Whether survey.json may hold tokens of the corpus."""

    def __post_init__(self) -> None:
        """Refuse what no survey could use."""
        for name in ("dimension", "rank", "seed", "shuffles", "draws"):
            check_range(name, getattr(self, name))
        check_metric(self.metric)
        if len(self.first_rows) not in (0, 1, len(self.tables)) or (
            self.first_rows and not self.tables
        ):
            raise InputError(
                f"--first-row is given {len(self.first_rows)} times for {len(self.tables)} tables; "
                "give it once for all of them, or once for each --table in turn."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Survey(Result):
    """What was found: counts, geometry, what of it can be trusted, an entry per encoding."""

    counts: PositionCounts
    geometry: Geometry
    monotonicity: Monotonicity
    """The corpus's own violations: an exact isometry has just these."""
    shift: ShiftEquivariance
    null: NullGeometry | None
    """The tokens dealt at random to the same slots; None where all distances are zero anyway."""
    shuffled: NullGeometry | None
    """The tokens of each window permuted; None where `unshuffled` says why."""
    unshuffled: str | None
    tests: Tests | None
    """Whether positions differ; None where folds do not allow a test."""
    trust: Trust | None
    """Debiased distances, intervals and tests; None where `untrusted` says why."""
    untrusted: str | None
    by_dimension: StressByDimension | None
    """None, as the entries are empty, where all positions have the same law."""
    entries: tuple[Entry, ...]
    verdict: Verdict
    options: SurveyOptions
    provenance: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the contents of survey.json."""
        return contents(self)

    @property
    def summary(self) -> str:
        """Say in words what the numbers rest on."""
        return self.verdict.summary

    def plot(self, figure: str = "stress") -> Any:
        """Return one figure of the page by its name: counts, distances, map2d, stress, ..."""
        from gnomon.survey.drawing import draw_survey

        return draw_survey(self, figure)

    def _repr_html_(self) -> str:
        """Show the verdict and one row per encoding."""
        from gnomon.survey.drawing import survey_html

        return survey_html(self)

    def to_dataframe(self) -> Any:
        """Return one row per encoding and lift.

        `skill` is that of the table in a terminal and on the page, against debiased distances;
        that against plug-in ones is `plugin_skill`.
        """
        rows = []
        for found in self.entries:
            row = found.to_dict()
            flat = {key: row[key] for key in ("label", "lift", "dimension", "pearson", "spearman")}
            known = row["stress"]["debiased"]
            debiased = {f"debiased_{key}": known[key] for key in _SHOWN} | {"skill": known["skill"]}
            plugin = dict(row["stress"]["plugin"])
            plugin["plugin_skill"] = plugin.pop("skill")
            rows.append(flat | plugin | debiased | row["monotonicity"])
        return to_dataframe(rows)


def survey(corpus: Any, *, progress: Progress | None = None, **options: Any) -> Survey:
    """Survey a corpus: `options` are the fields of SurveyOptions and CountOptions.

    >>> found = survey("three-regimes", dimension=16)
    >>> [e.label for e in found.entries][:3]
    ['sinusoidal', 'rope', 'rope']
    """
    own = {k: options.pop(k) for k in list(options) if k in SurveyOptions.__dataclass_fields__}
    if "seed" in own:
        options["seed"] = own["seed"]
    return survey_with(corpus, CountOptions(**options), SurveyOptions(**own), progress=progress)


def survey_with(
    corpus: Any,
    counting: CountOptions,
    options: SurveyOptions,
    *,
    progress: Progress | None = None,
) -> Survey:
    """Count a corpus (or take PositionCounts) and survey it."""
    listener = progress or Silence()
    check_tables(options.tables, options.first_rows)  # refused before counting
    for asked in options.encodings:
        encoding_for(asked, dimension=options.dimension, axes=1, seed=options.seed)
    if isinstance(corpus, PositionCounts):
        return survey_counts(corpus, options, progress=listener)
    listener.stage("counting")
    counts, counting = counted(corpus, counting, listener)
    check_words(counts)
    shuffled, reason = shuffles_of(corpus, counts, counting, options.shuffles, listener)
    ungrouped = ungrouped_of(corpus, counts, counting, listener)
    again = Again(shuffled=shuffled, unshuffled=reason, ungrouped=ungrouped)
    return survey_counts(counts, options, again=again, progress=listener)


@dataclass(frozen=True, kw_only=True)
class Again:
    """The same corpus counted again."""

    shuffled: tuple[PositionCounts, ...] = ()
    unshuffled: str | None = None
    ungrouped: PositionCounts | None = None


def survey_counts(
    counts: PositionCounts,
    options: SurveyOptions,
    *,
    again: Again | None = None,
    progress: Progress | None = None,
) -> Survey:
    """Survey counts: geometry, what of it can be trusted, then every encoding against it."""
    listener = progress or Silence()
    listener.stage("geometry")
    geometry = measure(counts, metric=options.metric)
    counts = _with_rank_noted(counts, len(geometry.positions), options)
    flat = not geometry.distances.any()
    more = again or Again(unshuffled=why_not(counts, counts, options.shuffles))
    known: Trust | None = None
    tests: Tests | None = None
    untrusted: str | None = _FLAT
    if not flat:
        counts = in_folds(counts, options.seed)
        known, tests, untrusted = trusted(
            counts,
            geometry,
            seed=options.seed,
            shuffled=more.shuffled,
            ungrouped=more.ungrouped,
            draws=options.draws,
            progress=listener,
        )
    target = target_of_trust(known, geometry)
    missing = untrusted if known is None else known.no_geometry
    entries = () if flat else _entries(geometry, options, known, target, missing, listener)
    concluded = _concluded(counts, geometry, known, tests, untrusted, target, entries, more)
    most = min(len(geometry.positions) - 1, options.dimension)
    ranks = sorted({min(rank, most) for rank in (*RANKS, options.rank)})
    return Survey(
        counts=counts,
        geometry=geometry,
        monotonicity=violations(geometry.distances, positions=geometry.coordinates, grain=GRAIN),
        shift=shift_equivariance(geometry.distances, geometry.coordinates),
        null=None if flat else _dealt_null(counts, geometry, options.seed, listener),
        shuffled=None if flat else _shuffled_null(geometry, more),
        unshuffled=more.unshuffled,
        tests=tests,
        trust=known,
        untrusted=untrusted,
        by_dimension=None if flat else stress_by_dimension(geometry, dimensions=ranks),
        entries=entries,
        verdict=concluded,
        options=replace(options),
        provenance=provenance(options.seed),
    )


def _concluded(
    counts: PositionCounts,
    geometry: Geometry,
    known: Trust | None,
    tests: Tests | None,
    untrusted: str | None,
    target: DebiasedTarget | None,
    entries: tuple[Entry, ...],
    again: Again,
) -> Verdict:
    """Return the verdict, by what there is to judge by."""
    if not geometry.distances.any():
        return flat_verdict(len(geometry.positions))
    if known is None:
        return without_geometry(str(untrusted), tests)
    return verdict(known, target, entries, unshuffled=again.unshuffled, window=counts.window)


def _with_rank_noted(
    counts: PositionCounts, positions: int, options: SurveyOptions
) -> PositionCounts:
    """Say where a rank was asked for that there is not; the default is shortened without words."""
    notes = tuple(note for note in counts.notes if not note.startswith(_RANK))
    most = min(positions - 1, options.dimension)
    if most < options.rank != SurveyOptions.rank:
        note = (
            f"{_RANK} {options.rank} is more than {positions} positions in {options.dimension} "
            f"dimensions can have, so the low-rank encodings have rank {most}"
        )
        notes += (note,)
    return counts if notes == counts.notes else replace(counts, notes=notes)


def _entries(
    geometry: Geometry,
    options: SurveyOptions,
    known: Trust | None,
    target: DebiasedTarget | None,
    missing: str | None,
    listener: Progress,
) -> tuple[Entry, ...]:
    entries = []
    for candidate in candidates(
        geometry,
        dimension=options.dimension,
        rank=options.rank,
        seed=options.seed,
        tables=options.tables,
        first_rows=options.first_rows,
        asked=options.encodings,
        trust=known,
    ):
        listener.stage(f"stress of {candidate.label}")
        entries.append(
            entry(candidate, geometry, seed=options.seed, target=target, not_debiased=missing)
        )
    return tuple(entries)


def _dealt_null(
    counts: PositionCounts, geometry: Geometry, seed: int, listener: Progress
) -> NullGeometry:
    """Deal a few times: over many pairs the figures hardly vary between deals."""
    listener.stage("the tokens dealt at random")
    replicates = 10 if len(geometry.positions) <= 128 else 3
    rng = np.random.default_rng([seed, 2])
    return dealt_null(counts, replicates=replicates, rng=rng, geometry=geometry)


def _shuffled_null(geometry: Geometry, again: Again) -> NullGeometry | None:
    if not again.shuffled:
        return None
    draws = (measure(one, metric=geometry.metric) for one in again.shuffled)
    return null_geometry(geometry, draws, kind="shuffled")
