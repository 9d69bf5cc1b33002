"""survey: one walk down the stream, from a corpus to the stress of every encoding.

What is published is computed as published (plug-in distances, raw stress); beside it stands what
does not depend on scale. Sampling noise is not removed here, and the result says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.corpus.counting import CountOptions, count_with
from gnomon.corpus.counts import PositionCounts
from gnomon.corpus.progress import Progress, Silence
from gnomon.diagnostics.dimension import StressByDimension, stress_by_dimension
from gnomon.diagnostics.monotonicity import GRAIN, Monotonicity, violations
from gnomon.diagnostics.parameters import parameter_table
from gnomon.diagnostics.shift import ShiftEquivariance, shift_equivariance
from gnomon.encodings.registry import encoding
from gnomon.errors import InputError
from gnomon.geometry.measure import Geometry, check_metric, measure
from gnomon.geometry.nulls import NullGeometry, dealt_null
from gnomon.results import Result, plain, to_dataframe
from gnomon.survey.entries import (
    NOT_DEBIASED,
    Entry,
    candidates,
    entry,
    monotonicity_dict,
)
from gnomon.survey.provenance import provenance

SCHEMA_VERSION = 1
RANKS = (1, 2, 3, 5, 7, 10, 16, 31, 63, 127, 255, 511)


@dataclass(frozen=True, kw_only=True)
class SurveyOptions:
    """What a survey needs beside the options of counting."""

    dimension: int = 128
    rank: int = 3
    metric: str = "chord"
    seed: int = 0
    tables: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no survey could use."""
        for name in ("dimension", "rank"):
            if getattr(self, name) < 1:
                raise InputError(f"--{name} is {getattr(self, name)}; it must be 1 or more.")
        if self.seed < 0:
            raise InputError(f"--seed is {self.seed}; it must be 0 or more.")
        check_metric(self.metric)


@dataclass(frozen=True, kw_only=True, eq=False)
class Survey(Result):
    """What was found: counts, geometry, and one entry per encoding and lift."""

    counts: PositionCounts
    geometry: Geometry
    monotonicity: Monotonicity
    """The corpus's own violations: an exact isometry has just these."""
    shift: ShiftEquivariance
    null: NullGeometry | None
    """The tokens dealt at random to the same slots; None where all distances are zero anyway."""
    by_dimension: StressByDimension | None
    """None, as the entries are empty, where all positions have the same law."""
    entries: tuple[Entry, ...]
    options: SurveyOptions
    provenance: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the contents of survey.json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "corpus": self.counts.to_dict(),
            "positions": self._positions(),
            "geometry": self._geometry(),
            "encodings": [found.to_dict() for found in self.entries],
            "dimensions": self._dimensions(),
            "verdict": {
                "informative": None,
                "summary": self.summary,
                "recommended": None,
                "reason": NOT_DEBIASED + ": what rests on sampling noise is not told apart",
            },
            "provenance": plain(self.provenance),
        }

    @property
    def summary(self) -> str:
        """Say in words what the numbers rest on."""
        if self.by_dimension is None:
            return (
                f"All {len(self.geometry.positions)} positions have exactly the same law: "
                "every distance is 0, and there is nothing an encoding could fit."
            )
        few = int((self.counts.totals[self.counts.kept] < 200).sum())
        return (
            f"Plug-in distances, as published, between {len(self.geometry.positions)} positions; "
            f"{len(self.geometry.masked)} masked, {few} of the rest with fewer than 200 tokens. "
            + self._noise_in_words()
        )

    def _noise_in_words(self) -> str:
        share = None if self.null is None else self.null.share
        if share is None:
            return "Sampling noise is part of every distance here and may be most of it."
        return (
            f"{100 * share:.0f} % of the mean squared distance is there as well when the same "
            "tokens are dealt at random to the same slots (dealt null): about that much would be "
            "there without any effect of position."
        )

    def to_dataframe(self) -> Any:
        """Return one row per encoding and lift."""
        rows = []
        for found in self.entries:
            row = found.to_dict()
            flat = {key: row[key] for key in ("label", "lift", "dimension", "pearson", "spearman")}
            rows.append(flat | row["stress"]["plugin"] | row["monotonicity"])
        return to_dataframe(rows)

    def _positions(self) -> list[dict[str, Any]]:
        kept = self.counts.kept
        return [
            {
                "index": index,
                "tokens": int(tokens),
                "status": None if kept[index] else "masked",
                "distinct": None,
                "reason": NOT_DEBIASED if kept[index] else "fewer tokens than the minimum count",
            }
            for index, tokens in enumerate(self.counts.totals)
        ]

    def _geometry(self) -> dict[str, Any]:
        spectrum = self.geometry.spectrum
        absent = {"reason": NOT_DEBIASED}
        reasons = [f"measured_share: {NOT_DEBIASED}"]
        if spectrum.isometric_from_dimension is None:
            reasons.append("isometric_from_dimension: some eigenvalues are negative")
        undone = {"share": None, "mean_distance": None, "correlation": None} | absent
        return {
            "metric": self.geometry.metric,
            "estimator": self.geometry.estimator,
            "mean_distance": self.geometry.mean_distance,
            "mean_squared": {
                "plugin": self.geometry.mean_squared,
                "debiased": None,
                "interval": None,
            }
            | absent,
            "head": {"mean_squared": None, "interval": None} | absent,
            "measured_share": None,
            "eigenvalues": plain(spectrum.eigenvalues),
            "cumulative_share": plain(spectrum.cumulative_share),
            "participation": spectrum.participation,
            "rank": {"numerical": spectrum.rank_numerical, "effective": None} | absent,
            "isometric_from_dimension": spectrum.isometric_from_dimension,
            "positive_semidefinite": spectrum.positive_semidefinite,
            "negative_share": spectrum.negative_share,
            "shift_equivariance": self.shift.toeplitz,
            "circulant": self.shift.circulant,
            "monotonicity": monotonicity_dict(self.monotonicity),
            "reason": "; ".join(reasons),
            "null": {
                "used": None if self.null is None else "dealt",
                "dealt": self._dealt(),
                "shuffled": undone,
            }
            | (absent if self.null is None else {}),
        }

    def _dealt(self) -> dict[str, Any]:
        if self.null is None:
            reason = "all distances are zero"
            return {"share": None, "mean_distance": None, "correlation": None, "reason": reason}
        found = {k: getattr(self.null, k) for k in ("share", "mean_distance", "correlation")}
        found |= {"replicates": self.null.replicates, "spread": plain(self.null.spread)}
        undefined = "the distances of corpus or null are all alike"
        return found | ({"reason": undefined} if None in found.values() else {})

    def _dimensions(self) -> list[dict[str, Any]]:
        if self.by_dimension is None:
            return []
        n, d = len(self.geometry.positions), self.options.dimension
        table = parameter_table(n, d, [int(r) for r in self.by_dimension.dimensions])
        curve = self.by_dimension.to_dict()
        rows = plain(table.to_dict())["rows"]
        return [
            {
                "rank": row["rank"],
                "stress": {key: curve[key][i] for key in ("raw", "scale_free", "kruskal")},
                "parameters": row,
            }
            for i, row in enumerate(rows)
        ]


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
    for path in options.tables:
        encoding("table", path=path)  # a table that can not be read is refused before counting
    if isinstance(corpus, PositionCounts):
        counts = corpus
    else:
        listener.stage("counting")
        counts = count_with(corpus, counting, progress=listener)
    return survey_counts(counts, options, progress=listener)


def survey_counts(
    counts: PositionCounts, options: SurveyOptions, *, progress: Progress | None = None
) -> Survey:
    """Survey counts: geometry, then every encoding against it."""
    listener = progress or Silence()
    listener.stage("geometry")
    geometry = measure(counts, metric=options.metric)
    most = min(len(geometry.positions) - 1, options.dimension)
    ranks = sorted({min(rank, most) for rank in (*RANKS, options.rank)})
    flat = not geometry.distances.any()
    entries = []
    for candidate in (
        ()
        if flat
        else candidates(
            geometry,
            dimension=options.dimension,
            rank=options.rank,
            seed=options.seed,
            tables=options.tables,
        )
    ):
        listener.stage(f"stress of {candidate.label}")
        entries.append(entry(candidate, geometry, seed=options.seed))
    return Survey(
        counts=counts,
        geometry=geometry,
        monotonicity=violations(geometry.distances, positions=geometry.coordinates, grain=GRAIN),
        shift=shift_equivariance(geometry.distances, geometry.coordinates),
        null=None if flat else _dealt_null(counts, geometry, options.seed, listener),
        by_dimension=None if flat else stress_by_dimension(geometry, dimensions=ranks),
        entries=tuple(entries),
        options=replace(options),
        provenance=provenance(options.seed),
    )


def _dealt_null(
    counts: PositionCounts, geometry: Geometry, seed: int, listener: Progress
) -> NullGeometry:
    """Deal a few times: over many pairs the figures hardly vary between deals."""
    listener.stage("the tokens dealt at random")
    replicates = 10 if len(geometry.positions) <= 128 else 3
    rng = np.random.default_rng([seed, 2])
    return dealt_null(counts, replicates=replicates, rng=rng, geometry=geometry)
