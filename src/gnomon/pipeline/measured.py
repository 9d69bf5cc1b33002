"""From a corpus to what everything else rests on: counts, distances, their noise, and tests.

    measured = measure_corpus(corpus, CountOptions(...))

A survey, a fit, a stress and every table of `gnomon.reproduce` begin here. The corpus is counted,
counted again with its windows shuffled and, where groups were declared, with every row on its own
(each is one more pass over the token cache); the counts are measured as published, and from folds
follows what of that is noise. Where something cannot be had there is a sentence instead: documents
are gone where there are only counts, and standard input can be read only once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from gnomon.corpus import (
    HELD_TOGETHER,
    ROWS,
    CountOptions,
    PositionCounts,
    Progress,
    Silence,
    check_words,
    count_with,
    equal_by_chance,
    shuffled_counts,
    why_not_shuffled,
)
from gnomon.distances import Geometry, check_metric, measure
from gnomon.errors import CountsError
from gnomon.options import SHUFFLES
from gnomon.pipeline.debiased_stress import DebiasedTarget, target_of
from gnomon.pipeline.noise import NoiseReport, Tests, estimate_noise, in_folds, run_tests
from gnomon.pipeline.options import DEFAULT_SHUFFLES
from gnomon.results import Result

FLAT = "all distances are zero"


@dataclass(frozen=True, kw_only=True, eq=False)
class Recounts(Result):
    """The same corpus counted again."""

    shuffled: tuple[PositionCounts, ...] = ()
    unshuffled: str | None = None
    """Why there are no shuffled windows, where there are none."""
    ungrouped: PositionCounts | None = None
    """The rows without their declared groups; None where none were declared."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured(Result):
    """Counts, their plug-in geometry, what of it is noise, and whether positions differ."""

    counts: PositionCounts
    recounts: Recounts
    geometry: Geometry
    """Plug-in, as published."""
    noise: NoiseReport | None
    """Debiased distances, intervals and tests; None where `reason` says why."""
    tests: Tests | None
    """Whether positions differ; None where folds do not allow a test."""
    reason: str | None
    """Why there is no report of the noise."""
    seed: int

    @property
    def flat(self) -> bool:
        """Say whether all positions have the same distribution."""
        return not self.geometry.distances.any()

    @property
    def informative(self) -> bool | None:
        """Whether position is in the marginals; None where that could not be tested."""
        if self.flat:
            return False
        return None if self.tests is None else self.tests.informative

    @property
    def p_value(self) -> float | None:
        """The p-value of the test that decides."""
        return None if self.tests is None else float(self.tests.deciding.p_value)

    @property
    def no_target(self) -> str | None:
        """Say why there is nothing to compare encodings with; None where there is."""
        return self.reason if self.noise is None else self.noise.no_geometry

    @cached_property
    def target(self) -> DebiasedTarget | None:
        """The debiased geometry that encodings are compared with; None where `no_target` is not."""
        return target_of(self.noise, self.geometry)


def measure_corpus(
    corpus: Any,
    options: CountOptions | None = None,
    *,
    metric: str = "chord",
    shuffles: int = DEFAULT_SHUFFLES,
    draws: int | None = None,
    longest: int | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Count a corpus, count it again, and measure the counts.

    Sequences are cut at `longest` where no length is asked for. `draws` are those of the tests.

    >>> measured = measure_corpus("three-regimes")
    >>> measured.informative, measured.noise.debiased.rank
    (True, 2)
    """
    check_metric(metric)
    SHUFFLES.check("shuffles", shuffles)
    counting = options or CountOptions()
    counts, recounts = count_again(
        corpus, counting, shuffles=shuffles, longest=longest, progress=progress
    )
    return measure_counts(
        counts, recounts=recounts, metric=metric, seed=counting.seed, draws=draws, progress=progress
    )


def measure_counts(
    counts: PositionCounts,
    *,
    recounts: Recounts | None = None,
    metric: str = "chord",
    seed: int = 0,
    draws: int | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Measure counts: the published geometry, then what of it is noise."""
    check_metric(metric)
    listener = progress or Silence()
    listener.stage("geometry")
    geometry = measure(counts, metric=metric)
    again = recounts or Recounts(
        unshuffled=why_not_shuffled_again(counts, counts, DEFAULT_SHUFFLES)
    )
    noise: NoiseReport | None = None
    tests: Tests | None = None
    reason: str | None = FLAT
    if geometry.distances.any():
        counts, reason = in_folds(counts, seed), None
        try:
            noise = estimate_noise(
                counts,
                geometry,
                seed=seed,
                shuffled=again.shuffled,
                ungrouped=again.ungrouped,
                draws=draws,
                progress=listener,
            )
            tests = noise.tests
        except CountsError as error:
            reason = str(error)
            tests = _tests_alone(counts, geometry, seed, again, draws)
    return Measured(
        counts=counts,
        recounts=again,
        geometry=geometry,
        noise=noise,
        tests=tests,
        reason=reason,
        seed=seed,
    )


def _tests_alone(
    counts: PositionCounts, geometry: Geometry, seed: int, again: Recounts, draws: int | None
) -> Tests | None:
    """Return the tests of counts that cannot be debiased; None where folds allow none."""
    try:
        return run_tests(counts, geometry, seed=seed, shuffled=again.shuffled, draws=draws)
    except CountsError:
        return None


def count_again(
    corpus: Any,
    options: CountOptions,
    *,
    shuffles: int = DEFAULT_SHUFFLES,
    longest: int | None = None,
    progress: Progress | None = None,
) -> tuple[PositionCounts, Recounts]:
    """Return the counts of a corpus, and those of its shuffled windows and its single rows."""
    listener = progress or Silence()
    listener.stage("counting")
    counts, counting = count_groups(corpus, options, listener)
    counts, counting = _cut(corpus, counts, counting, longest, listener)
    check_words(counts)
    shuffled, reason = _shuffle(corpus, counts, counting, shuffles, listener)
    ungrouped = _ungroup(corpus, counts, counting, listener)
    return counts, Recounts(shuffled=shuffled, unshuffled=reason, ungrouped=ungrouped)


def count_groups(
    corpus: Any, counting: CountOptions, progress: Progress
) -> tuple[PositionCounts, CountOptions]:
    """Return the counts, and the options that make them again.

    Equal documents are one group, unless they are equal by chance.
    """
    counts = count_with(corpus, counting, progress=progress)
    if counting.group is not None or not equal_by_chance(counts):
        return counts, counting
    if _once(corpus):
        return replace(counts, notes=(*counts.notes, HELD_TOGETHER)), counting
    again = counts.rows - counts.groups.estimate()
    told = (
        f"{again:,} documents equal another one, about as many as chance gives: every document is "
        "a group of its own (as with --group rows)"
    )
    apart = replace(counting, group=ROWS)
    counts = count_with(corpus, apart, progress=progress)
    return replace(counts, notes=(*counts.notes, told)), apart


def why_not_shuffled_again(corpus: Any, counts: PositionCounts, shuffles: int) -> str | None:
    """Say why a corpus is not shuffled; None where it can be."""
    if shuffles == 0:
        return "no shuffles were asked for"
    if isinstance(corpus, PositionCounts):
        return why_not_shuffled(counts) or (
            "counts no longer hold the order of tokens; survey the corpus that they came from"
        )
    return "standard input can be read only once" if _once(corpus) else None


def _once(corpus: Any) -> bool:
    """Say whether a corpus can be read only once."""
    return isinstance(corpus, str) and corpus == "-"


def _cut(
    corpus: Any,
    counts: PositionCounts,
    counting: CountOptions,
    longest: int | None,
    progress: Progress,
) -> tuple[PositionCounts, CountOptions]:
    """Cut sequences at a length where none was asked for."""
    free = counting.length is None and counting.bins is None and len(counts.axes) == 1
    if longest is None or not free or counts.length <= longest:
        return counts, counting
    counting = replace(counting, length=longest)
    if _once(corpus):
        return counts.shortened(longest), counting
    return count_with(corpus, counting, progress=progress), counting


def _shuffle(
    corpus: Any, counts: PositionCounts, counting: CountOptions, shuffles: int, progress: Progress
) -> tuple[tuple[PositionCounts, ...], str | None]:
    """Return shuffled counts, or none with the reason."""
    reason = why_not_shuffled_again(corpus, counts, shuffles)
    if reason is not None:
        return (), reason
    progress.stage("shuffling windows")
    options = replace(counting, bins=counts.bins)
    made = tuple(
        shuffled_counts(corpus, options, replicate=r, progress=progress) for r in range(shuffles)
    )
    if all(_same_slots(counts, one) for one in made):
        return made, None
    return (), "the corpus gave other tokens when it was read a second time"


def _ungroup(
    corpus: Any, counts: PositionCounts, counting: CountOptions, progress: Progress
) -> PositionCounts | None:
    """Return the counts with every row on its own, where groups were declared."""
    if counting.group in (None, ROWS) or isinstance(corpus, PositionCounts) or _once(corpus):
        return None
    progress.stage("counting without groups")
    return count_with(corpus, replace(counting, bins=counts.bins, group=None), progress=progress)


def _same_slots(counts: PositionCounts, other: PositionCounts) -> bool:
    return (
        other.blocks.shape == counts.blocks.shape
        and other.vocabulary.digest == counts.vocabulary.digest
        and bool((other.totals == counts.totals).all())
    )
