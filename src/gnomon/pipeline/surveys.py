"""survey: one walk down the stream, from a corpus to the stress of every encoding.

What is published is computed as published (plug-in distances, raw stress); beside it stands what
does not depend on scale, and what is left when sampling noise is taken out (`noise`), with a
verdict (`verdict`).

`survey_to_dict` holds every figure under the key that other tools read in survey.json. No number is
NaN: what is undefined is null, and the nearest `reason` says why.

Typical tokens (only when asked: --show-tokens) make a position unlike the rest. With p the law at a
position and q that of all other positions together, token v adds

    (sqrt p_v - sqrt q_v)^2

to the squared chord between the two. Of the tokens that are commoner here (p_v > q_v) those that
add most are typical. Only positions whose law was found to differ are shown, and of these the ones
whose typical tokens add most: elsewhere the largest terms are the luck of small counts.
"""

from __future__ import annotations

import html
import importlib
import platform
import shlex
import sys
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import gnomon
from gnomon.corpus import CountOptions, PositionCounts, Progress, Silence
from gnomon.diagnostics import (
    GRAIN,
    Monotonicity,
    ShiftEquivariance,
    StressByDimension,
    parameter_table,
    shift_equivariance,
    stress_by_dimension,
    violations,
)
from gnomon.distances import (
    Geometry,
    NullGeometry,
    dealt_null,
    measure,
    null_geometry,
    outside_core,
)
from gnomon.errors import InputError, nearest
from gnomon.numeric.parallel import threads
from gnomon.options import make_options, takes_options
from gnomon.pipeline.measured import (
    FLAT,
    Measured,
    Recounts,
    count_again,
    measure_counts,
    why_not_shuffled_again,
)
from gnomon.pipeline.noise import WHY, NoiseReport, Tests
from gnomon.pipeline.options import SurveyOptions
from gnomon.pipeline.rows import (
    Entry,
    candidates,
    check_tables,
    encoding_for,
    entry,
    monotonicity_dict,
)
from gnomon.pipeline.survey_file import SCHEMA_VERSION
from gnomon.pipeline.verdict import Verdict, conclude
from gnomon.results import Result, html_table, plain, to_dataframe

if TYPE_CHECKING:
    from gnomon.distances import Figure, Signal


_RANK = "--rank"
_SHOWN = ("scale_free", "interval", "skill", "squared")
RANKS = (1, 2, 3, 5, 7, 10, 16, 31, 63, 127, 255, 511)
_WORDS = {True: "informative", False: "not informative", None: "undecided"}
_LIBRARIES = ("numpy", "scipy", "numba", "pyarrow", "tokenizers")
SPECTRUM = 64
"""Eigenvalues of a null that are kept: 5 %, 50 % and 95 % quantiles over its replicates."""
MOST_POSITIONS = 12
MOST_TOKENS = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class Survey(Result):
    """What was found: counts, geometry, its noise, an entry per encoding, and the verdict."""

    measured: Measured
    monotonicity: Monotonicity
    """The corpus's own violations: an exact isometry has just these."""
    shift: ShiftEquivariance
    null: NullGeometry | None
    """The tokens dealt at random to the same slots; None where all distances are zero anyway."""
    shuffled: NullGeometry | None
    """The tokens of each window permuted; None where `measured.recounts.unshuffled` says why."""
    by_dimension: StressByDimension | None
    """None, as the entries are empty, where all positions have the same distribution."""
    entries: tuple[Entry, ...]
    verdict: Verdict
    options: SurveyOptions
    provenance: dict[str, Any]

    @property
    def counts(self) -> PositionCounts:
        """What was counted."""
        return self.measured.counts

    @property
    def geometry(self) -> Geometry:
        """The plug-in geometry, as published."""
        return self.measured.geometry

    @property
    def noise(self) -> NoiseReport | None:
        """Debiased distances and intervals; None where `measured.reason` says why."""
        return self.measured.noise

    @property
    def tests(self) -> Tests | None:
        """Whether positions differ; None where folds do not allow a test."""
        return self.measured.tests

    def to_dict(self) -> dict[str, Any]:
        """Return the contents of survey.json."""
        return survey_to_dict(self)

    @property
    def summary(self) -> str:
        """Say in words what the numbers rest on."""
        return self.verdict.summary

    def plot(self, figure: str = "stress") -> Any:
        """Return one figure of the page by its name: counts, distances, map2d, stress, ..."""
        return draw_survey(self, figure)

    def _repr_html_(self) -> str:
        """Show the verdict and one row per encoding."""
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


@takes_options(CountOptions, SurveyOptions)
def survey(corpus: Any, *, progress: Progress | None = None, **options: Any) -> Survey:
    """Survey a corpus: distances between positions, what of them is noise, stress, a verdict.

    >>> found = survey("three-regimes", dimension=16)
    >>> [e.label for e in found.entries][:3]
    ['sinusoidal', 'rope', 'rope']
    """
    counting, own = make_options("survey", options, CountOptions, SurveyOptions)
    return survey_with(corpus, counting, own, progress=progress)


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
        unshuffled = why_not_shuffled_again(corpus, corpus, options.shuffles)
        counts, recounts = corpus, Recounts(unshuffled=unshuffled)
    else:
        counts, recounts = count_again(
            corpus, counting, shuffles=options.shuffles, progress=listener
        )
    measured = measure_counts(
        counts,
        recounts=recounts,
        metric=options.metric,
        seed=options.seed,
        draws=options.draws,
        progress=listener,
    )
    return survey_measured(measured, options, progress=listener)


def survey_measured(
    measured: Measured, options: SurveyOptions, *, progress: Progress | None = None
) -> Survey:
    """Compare every encoding with what was measured, and conclude."""
    listener = progress or Silence()
    geometry, flat = measured.geometry, measured.flat
    counts = _with_rank_noted(measured.counts, len(geometry.positions), options)
    measured = replace(measured, counts=counts)
    entries = () if flat else _entries(measured, options, listener)
    most = min(len(geometry.positions) - 1, options.dimension)
    ranks = sorted({min(rank, most) for rank in (*RANKS, options.rank)})
    return Survey(
        measured=measured,
        monotonicity=violations(geometry.distances, positions=geometry.coordinates, grain=GRAIN),
        shift=shift_equivariance(geometry.distances, geometry.coordinates),
        null=None if flat else _dealt_null(counts, geometry, options.seed, listener),
        shuffled=None if flat else _null_of_shuffles(measured),
        by_dimension=None if flat else stress_by_dimension(geometry, dimensions=ranks),
        entries=entries,
        verdict=conclude(measured, entries),
        options=replace(options),
        provenance=provenance(options.seed),
    )


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


def _entries(measured: Measured, options: SurveyOptions, listener: Progress) -> tuple[Entry, ...]:
    geometry, entries = measured.geometry, []
    for candidate in candidates(
        geometry,
        dimension=options.dimension,
        rank=options.rank,
        seed=options.seed,
        tables=options.tables,
        first_rows=options.first_rows,
        asked=options.encodings,
        noise=measured.noise,
    ):
        listener.stage(f"stress of {candidate.label}")
        entries.append(
            entry(
                candidate,
                geometry,
                seed=options.seed,
                target=measured.target,
                not_debiased=measured.no_target,
            )
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


def _null_of_shuffles(measured: Measured) -> NullGeometry | None:
    if not measured.recounts.shuffled:
        return None
    geometry = measured.geometry
    draws = (measure(one, metric=geometry.metric) for one in measured.recounts.shuffled)
    return null_geometry(geometry, draws, kind="shuffled")


def survey_html(survey: Survey) -> str:
    """Return the verdict in words and the stress of every encoding."""
    verdict = survey.verdict
    opening = f"{survey.counts.source}: {_WORDS[verdict.informative]}."
    return (
        f"<div><p><b>{html.escape(opening)}</b> {html.escape(verdict.summary)}</p>"
        + html_table("Stress of every encoding", [_row(e.to_dict()) for e in survey.entries])
        + "</div>"
    )


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    plugin, debiased = entry["stress"]["plugin"], entry["stress"]["debiased"]
    return {
        "encoding": entry["label"],
        "lift": entry["lift"],
        "raw": plugin["raw"],
        "scale-free": plugin["scale_free"],
        "debiased": debiased["scale_free"],
        "skill": debiased["skill"],
        "violations": entry["monotonicity"]["violations"],
    }


def draw_survey(survey: Survey, figure: str) -> Any:
    """Return one figure of a survey, drawn by the report room, which is asked for by name."""
    from gnomon.pipeline.page_data import pictures

    room = importlib.import_module("gnomon.report.figures")
    contents = survey.to_dict()
    known = room.keys_of(contents)
    if figure not in known:
        raise InputError(f"{figure!r} is no figure of this survey; {nearest(figure, known)}.")
    to_plotly = importlib.import_module("gnomon.report.figure").to_plotly
    return to_plotly(room.figure_named(figure, contents, pictures(survey)))


def provenance(seed: int, *, command: str | None = None) -> dict[str, Any]:
    """Return what is needed to repeat a result."""
    return {
        "gnomon": gnomon.__version__,
        "seed": seed,
        "versions": {"python": platform.python_version()} | _versions(),
        "platform": f"{platform.system()} {platform.machine()}",
        "threads": threads(),
        "blas": _blas(),
        "command": command if command is not None else _command(),
    }


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    return found


def _blas() -> str | None:
    config: Any = np.show_config(mode="dicts")
    blas = (config or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name')} {blas.get('version')}" if blas.get("name") else None


def _command() -> str | None:
    """Return the command line as typed, where the command was `gnomon`."""
    program = Path(sys.argv[0]) if sys.argv else Path()
    ours = program.name.startswith("gnomon") or program.parts[-2:] == ("gnomon", "__main__.py")
    return shlex.join(["gnomon", *sys.argv[1:]]) if ours else None


def survey_to_dict(survey: Survey) -> dict[str, Any]:
    """Return the contents of survey.json."""
    return {
        "schema_version": SCHEMA_VERSION,
        "corpus": survey.counts.to_dict(),
        "positions": _positions(survey),
        "geometry": _geometry(survey),
        "encodings": [found.to_dict() for found in survey.entries],
        "dimensions": _dimensions(survey),
        "verdict": survey.verdict.to_dict(),
        "provenance": plain(survey.provenance),
        **_tokens(survey),
    }


def _tokens(survey: Survey) -> dict[str, Any]:
    """Return typical tokens where they were asked for: otherwise no text of the corpus is shown."""
    if not survey.options.show_tokens:
        return {}
    distinct = sorted(index for index, flag in _distinct(survey).items() if flag)
    return {"tokens": typical_tokens(survey.counts, distinct)}


def _positions(survey: Survey) -> list[dict[str, Any]]:
    kept, status, distinct = survey.counts.kept, _status(survey), _distinct(survey)
    untested = survey.measured.reason or "tokens in fewer than three folds"
    apart = {} if survey.noise is None else {one.position: one for one in survey.noise.unshared}
    found: list[dict[str, Any]] = []
    for index, tokens in enumerate(survey.counts.totals):
        line: dict[str, Any] = {
            "index": index,
            "tokens": int(tokens),
            "status": status[index],
            "distinct": distinct.get(index),
        }
        if survey.counts.bins is not None:
            line["first"], line["last"] = survey.counts.extents[index]
        if not kept[index]:
            line["reason"] = "fewer tokens than the minimum count"
        elif index in apart:
            one = apart[index]
            line["reason"] = WHY
            line["unshared"] = {"plugin": one.plugin, "at_least": _figure(one.at_least)}
        elif line["status"] in (None, "unestimated") or line["distinct"] is None:
            line["reason"] = untested
        found.append(line)
    return found


def _status(survey: Survey) -> list[str | None]:
    """Return core, projected, unestimated or masked; None where nothing was debiased."""
    kept, noise = survey.counts.kept, survey.noise
    if noise is None:
        return [None if ok else "masked" for ok in kept]
    status: list[str | None] = ["unestimated" if ok else "masked" for ok in kept]
    for index in noise.core:
        status[index] = "core"
    for index in noise.debiased.positions[outside_core(noise.debiased)]:
        status[index] = "projected"
    return status


def _distinct(survey: Survey) -> dict[int, bool]:
    return {} if survey.tests is None else survey.tests.flags


def _geometry(survey: Survey) -> dict[str, Any]:
    spectrum, noise = survey.geometry.spectrum, survey.noise
    reasons = [] if noise is not None else [f"measured_share: {survey.measured.reason}"]
    if spectrum.isometric_from_dimension is None:
        reasons.append("isometric_from_dimension: some eigenvalues are negative")
    found = {
        "metric": survey.geometry.metric,
        "estimator": survey.geometry.estimator,
        "mean_distance": survey.geometry.mean_distance,
        "mean_squared": _mean_squared(survey),
        "head": _head(survey),
        "measured_share": None if noise is None else noise.measured_share,
        "eigenvalues": plain(spectrum.eigenvalues),
        "cumulative_share": plain(spectrum.cumulative_share),
        "participation": spectrum.participation,
        "rank": _rank(survey),
        "isometric_from_dimension": spectrum.isometric_from_dimension,
        "positive_semidefinite": spectrum.positive_semidefinite,
        "negative_share": spectrum.negative_share,
        "shift_equivariance": survey.shift.toeplitz,
        "circulant": survey.shift.circulant,
        "monotonicity": monotonicity_dict(survey.monotonicity),
        "null": _nulls(survey),
        "debiased": _estimate(noise),
    }
    return found | ({"reason": "; ".join(reasons)} if reasons else {})


def _mean_squared(survey: Survey) -> dict[str, Any]:
    plugin, noise = survey.geometry.mean_squared, survey.noise
    if noise is None:
        return {
            "plugin": plugin,
            "debiased": None,
            "interval": None,
            "reason": survey.measured.reason,
        }
    return {
        "plugin": plugin,
        "debiased": noise.mean.value,
        "interval": list(noise.mean.interval),
        "standard_error": noise.mean.error,
        "plugin_core": noise.plugin_core,
        "noise_share": noise.noise_share,
    }


def _head(survey: Survey) -> dict[str, Any]:
    noise = survey.noise
    if noise is None:
        return {"mean_squared": None, "interval": None, "reason": survey.measured.reason}
    return {
        "mean_squared": noise.head.value,
        "interval": list(noise.head.interval),
        "types": noise.head_types,
    }


def _rank(survey: Survey) -> dict[str, Any]:
    numerical = survey.geometry.spectrum.rank_numerical
    if survey.noise is None:
        return {"numerical": numerical, "effective": None, "reason": survey.measured.reason}
    return {"numerical": numerical, "effective": survey.noise.debiased.rank}


def _nulls(survey: Survey) -> dict[str, Any]:
    used = None if survey.null is None else "dealt" if survey.shuffled is None else "shuffled"
    found = {
        "used": used,
        "dealt": _null(survey.null, FLAT),
        "shuffled": _null(
            survey.shuffled, survey.measured.recounts.unshuffled or "all distances are zero"
        ),
    }
    return found | ({"reason": FLAT} if used is None else {})


def _null(null: NullGeometry | None, reason: str) -> dict[str, Any]:
    keys = ("share", "mean_distance", "correlation")
    if null is None:
        return {**dict.fromkeys(keys), "reason": reason}
    found = {key: getattr(null, key) for key in keys}
    undefined = {"reason": "the distances of corpus or null are all alike"}
    because = undefined if None in found.values() else {}
    quantiles = null.eigenvalue_quantiles[:, :SPECTRUM]
    bands = dict(zip(("low", "median", "high"), plain(quantiles), strict=True))
    return {
        **found,
        "replicates": null.replicates,
        "spread": plain(null.spread),
        "eigenvalues": bands,
        "top_eigenvalue_95": null.top_eigenvalue_95,
        **because,
    }


def _estimate(noise: NoiseReport | None) -> dict[str, Any] | None:
    """Return what is known of the debiased geometry beyond the keys above."""
    if noise is None:
        return None
    found = noise.debiased
    return {
        "core": len(found.core),
        "significant_share": noise.significant_share,
        "edge": float(found.edge) if np.isfinite(found.edge) else None,
        "eigenvalues": plain(found.low_rank.eigenvalues[: max(found.rank + 5, 10)]),
        "profile": plain(found.profile),
        "participation": _figure(noise.participation),
        "violations": _figure(noise.violations),
        "intervals": "sampling only (fold jackknife), but for the means, which hold an allowance "
        "for the tail",
        "pattern": noise.pattern.to_dict(),
        "signal": _signal(noise.tests.signal),
        "order": _signal(noise.tests.order),
        "survivorship": None
        if noise.survivorship is None
        else {
            key: _figure(getattr(noise.survivorship, key))
            for key in ("original", "shuffled", "difference")
        },
        "geometry_reason": noise.no_geometry,
        "reservations": list(noise.debiased.reservations),
        "warnings": list(noise.warnings),
    }


def _figure(found: Figure | None) -> dict[str, Any] | None:
    return None if found is None else plain(asdict(found))


def _signal(found: Signal | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        key: getattr(found, key) for key in ("p_value", "p_spread", "p_isolated", "draws", "folds")
    }


def _dimensions(survey: Survey) -> list[dict[str, Any]]:
    if survey.by_dimension is None:
        return []
    n, d = len(survey.geometry.positions), survey.options.dimension
    table = parameter_table(n, d, [int(r) for r in survey.by_dimension.dimensions])
    curve = survey.by_dimension.to_dict()
    rows = plain(table.to_dict())["rows"]
    return [
        {
            "rank": row["rank"],
            "stress": {key: curve[key][i] for key in ("raw", "scale_free", "kruskal")},
            "parameters": row,
        }
        for i, row in enumerate(rows)
    ]


def typical_tokens(counts: PositionCounts, distinct: list[int]) -> list[dict[str, Any]]:
    """Return the typical tokens of the most unlike of the distinct positions, in their order."""
    everywhere = np.asarray(counts.matrix.sum(axis=0)).ravel().astype(np.float64)
    found = {index: _of(counts, index, everywhere) for index in distinct}
    strongest = sorted(found, key=lambda index: -found[index][0])[:MOST_POSITIONS]
    return [
        {
            "index": index,
            "first": counts.extents[index][0],
            "last": counts.extents[index][1],
            "typical": found[index][1],
        }
        for index in sorted(strongest)
    ]


def _of(
    counts: PositionCounts, index: int, everywhere: NDArray[np.float64]
) -> tuple[float, list[dict[str, Any]]]:
    """Return what the typical tokens of one position add together, and the tokens."""
    row = counts.matrix[[index]]
    here = row.data / max(row.data.sum(), 1)
    rest = everywhere[row.indices] - row.data
    there = rest / max(everywhere.sum() - row.data.sum(), 1)
    added = np.where(here > there, (np.sqrt(here) - np.sqrt(there)) ** 2, 0.0)
    order = np.lexsort((row.indices, -added))[:MOST_TOKENS]
    chosen = [i for i in order if added[i] > 0]
    tokens = [
        {
            "token": _name(counts, int(row.indices[i])),
            "share": float(here[i]),
            "elsewhere": float(there[i]),
        }
        for i in chosen
    ]
    return float(added[chosen].sum()), tokens


def _name(counts: PositionCounts, token: int) -> str:
    names = counts.vocabulary.tokens
    return f"id {token}" if names is None else names[token]
