"""What a fit rests on: counts, their geometry, what of it can be trusted, and the verdict.

A survey has all of it; counts and corpora are measured and tested the way a survey does it, without
the stress of every encoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.corpus.counting import CountOptions
from gnomon.corpus.counts import PositionCounts
from gnomon.corpus.counts_file import load_counts
from gnomon.corpus.progress import Progress
from gnomon.corpus.single_words import check_words
from gnomon.distances.measure import Geometry, check_metric, measure
from gnomon.encodings.fitted.points import Places
from gnomon.errors import InputError
from gnomon.numeric.ranges import check_range
from gnomon.pipeline.shuffles import counted, shuffles_of, ungrouped_of
from gnomon.pipeline.survey import Again, Survey
from gnomon.pipeline.trust import Tests, Trust, in_folds, trusted
from gnomon.pipeline.validation import fault
from gnomon.reading import read_written
from gnomon.results import Result

FLAT = "all positions have the same law"


@dataclass(frozen=True, kw_only=True, eq=False)
class Ground(Result):
    """Counts, plug-in geometry, trust, and what was concluded."""

    counts: PositionCounts
    geometry: Geometry
    """Plug-in."""
    trust: Trust | None
    untrusted: str | None
    """Why there is no trust, where there is none."""
    informative: bool | None
    p_value: float | None
    verdict: str | None = None
    """The summary of a survey, where one was made."""
    seed: int

    @property
    def places(self) -> Places:
        """Return where the rows of the plug-in geometry lie; every position of a bin is in it."""
        counts = self.counts
        if counts.binning is None:
            return Places(
                units=self.geometry.positions, count=counts.length, shape=tuple(counts.axes)
            )
        widths = np.array([last - first + 1 for first, last in counts.extents], dtype=np.int64)
        return Places(
            units=self.geometry.positions,
            count=counts.length,
            shape=(counts.binning.span,),
            widths=widths,
        )

    @property
    def origin(self) -> dict[str, Any]:
        """Return what the card says of the corpus: no text of it."""
        about = self.counts.to_dict()
        keys = ("source", "digest", "rows", "tokens", "tokenizer", "window", "minimum_count")
        known, trust = {key: about[key] for key in (*keys, "bins")}, self.trust
        return known | {
            "metric": self.geometry.metric,
            "effective_rank": None if trust is None else trust.debiased.rank,
            "informative": self.informative,
            "p_value": self.p_value,
            "verdict": self.verdict,
            "seed": self.seed,
        }


def ground_of_survey(survey: Survey) -> Ground:
    """Return the ground that a survey has."""
    return Ground(
        counts=survey.counts,
        geometry=survey.geometry,
        trust=survey.trust,
        untrusted=survey.untrusted,
        informative=survey.verdict.informative,
        p_value=_p_value(survey.tests),
        verdict=survey.verdict.summary,
        seed=survey.options.seed,
    )


def ground_of_counts(
    counts: PositionCounts,
    *,
    metric: str,
    seed: int,
    again: Again | None = None,
    progress: Progress,
) -> Ground:
    """Measure and test counts as a survey does."""
    check_metric(metric)
    progress.stage("geometry")
    geometry = measure(counts, metric=metric)
    trust: Trust | None = None
    tests: Tests | None = None
    untrusted: str | None = FLAT
    flat = not geometry.distances.any()
    more = again or Again()
    if not flat:
        counts = in_folds(counts, seed)
        trust, tests, untrusted = trusted(
            counts,
            geometry,
            seed=seed,
            shuffled=more.shuffled,
            ungrouped=more.ungrouped,
            progress=progress,
        )
    return Ground(
        counts=counts,
        geometry=geometry,
        trust=trust,
        untrusted=untrusted,
        informative=False if flat else None if tests is None else tests.informative,
        p_value=_p_value(tests),
        seed=seed,
    )


def ground_of_corpus(
    corpus: Any, counting: CountOptions, *, metric: str, shuffles: int, progress: Progress
) -> Ground:
    """Count a corpus, once more with its windows shuffled, and measure and test the counts."""
    check_metric(metric)
    check_range("shuffles", shuffles)
    progress.stage("counting")
    counts, counting = counted(corpus, counting, progress)
    check_words(counts)
    shuffled, reason = shuffles_of(corpus, counts, counting, shuffles, progress)
    ungrouped = ungrouped_of(corpus, counts, counting, progress)
    again = Again(shuffled=shuffled, unshuffled=reason, ungrouped=ungrouped)
    return ground_of_counts(
        counts, metric=metric, seed=counting.seed, again=again, progress=progress
    )


def ground_of_folder(
    folder: Path, *, metric: str | None, seed: int | None, progress: Progress
) -> Ground:
    """Read the counts of a survey and measure them again; its verdict stands."""
    from dataclasses import replace

    file = folder / "survey.json"
    try:
        said = read_written(file)
        wrong = fault(said)
    except (OSError, ValueError) as error:
        wrong = type(error).__name__
    if wrong is not None:
        raise InputError(
            f"{file} can not be read as the result of a survey ({wrong}); pass the folder that "
            "gnomon survey --out wrote, or its counts.npz."
        )
    concluded, digest = said["verdict"], said["corpus"]["digest"]
    informative, summary = concluded["informative"], concluded["summary"]
    own = str(said["geometry"]["metric"]), int(said["provenance"]["seed"])
    counts = load_counts(folder / "counts.npz")
    if counts.digest != digest:
        raise InputError(
            f"{folder} holds a survey.json and a counts.npz of different corpora (digests {digest} "
            f"and {counts.digest}); survey the corpus again."
        )
    found = ground_of_counts(
        counts,
        metric=own[0] if metric is None else metric,
        seed=own[1] if seed is None else seed,
        progress=progress,
    )
    return replace(found, informative=informative, verdict=summary, p_value=None)


def _p_value(tests: Tests | None) -> float | None:
    return None if tests is None else float(tests.deciding.p_value)
