"""survey: one walk down the stream, from a corpus to the stress of every encoding.

What is published is computed as published (plug-in distances, raw stress); beside it stands what
does not depend on scale, and what is left when sampling noise is taken out (`noise`), with a
verdict in words (`verdict`).
"""

from __future__ import annotations

import html
import importlib
import platform
import shlex
import sys
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import gnomon
from gnomon.corpus import CountOptions, PositionCounts, Progress, Silence
from gnomon.diagnostics import (
    GRAIN,
    Monotonicity,
    ShiftEquivariance,
    StressByDimension,
    shift_equivariance,
    stress_by_dimension,
    violations,
)
from gnomon.distances import Geometry, NullGeometry, dealt_null, measure, null_geometry
from gnomon.errors import InputError, nearest
from gnomon.numeric.parallel import threads
from gnomon.options import make_options, takes_options
from gnomon.pipeline.contents import contents
from gnomon.pipeline.measured import (
    Measured,
    Recounts,
    count_again,
    measure_counts,
    why_not_shuffled_again,
)
from gnomon.pipeline.noise import NoiseReport, Tests
from gnomon.pipeline.options import SurveyOptions
from gnomon.pipeline.rows import Entry, candidates, check_tables, encoding_for, entry
from gnomon.pipeline.verdict import Verdict, verdict, without_geometry
from gnomon.pipeline.verdict import flat as flat_verdict
from gnomon.results import Result, html_table, to_dataframe

_RANK = "--rank"
_SHOWN = ("scale_free", "interval", "skill", "squared")
RANKS = (1, 2, 3, 5, 7, 10, 16, 31, 63, 127, 255, 511)
_WORDS = {True: "informative", False: "not informative", None: "undecided"}
_LIBRARIES = ("numpy", "scipy", "numba", "pyarrow", "tokenizers")


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
        return contents(self)

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
        verdict=_conclude(measured, entries),
        options=replace(options),
        provenance=provenance(options.seed),
    )


def _conclude(measured: Measured, entries: tuple[Entry, ...]) -> Verdict:
    """Return the verdict, by what there is to judge by."""
    if measured.flat:
        return flat_verdict(len(measured.geometry.positions))
    if measured.noise is None:
        return without_geometry(str(measured.reason), measured.tests)
    return verdict(
        measured.noise,
        measured.target,
        entries,
        unshuffled=measured.recounts.unshuffled,
        window=measured.counts.window,
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
