"""fit: the encoding whose distances are those of a corpus, as a thing to take away.

By default the debiased Gram matrix at its effective rank: the directions that exceed what noise
can do, and no others. Plug-in distances, other ranks and least stress (SMACOF) by request.

A corpus without positional signal is fitted too, and its card says so: where no direction exceeds
the noise edge, the plug-in distances at rank 3, which rest on sampling noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import gnomon
from gnomon.corpus import CountOptions, PositionCounts, Progress, Silence, load_counts
from gnomon.distances import Debiased, check_distances, measure
from gnomon.encodings import Finish, Fitted, Places, Points
from gnomon.errors import EncodingError
from gnomon.numeric.checks import reals
from gnomon.options import make_options, takes_options
from gnomon.pipeline.measured import Measured, measure_corpus, measure_counts
from gnomon.pipeline.options import DEFAULT_SHUFFLES, FitOptions
from gnomon.pipeline.rows import debiased_points
from gnomon.pipeline.survey_file import read_survey
from gnomon.pipeline.surveys import Survey

NOISE_RANK = 3
"""Directions kept where none exceeds the noise edge."""
SMALLEST, LARGEST = 1e-30, 1e37
"""Distances outside are not safe in float32."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Basis:
    """What a fit rests on, and what was concluded of it."""

    measured: Measured
    informative: bool | None
    p_value: float | None
    verdict: str | None = None
    """The summary of a survey, where one was made."""

    @classmethod
    def of(cls, measured: Measured) -> Basis:
        """Return the basis of what was measured, without a survey's verdict."""
        return cls(measured=measured, informative=measured.informative, p_value=measured.p_value)

    @classmethod
    def of_survey(cls, survey: Survey) -> Basis:
        """Return the basis that a survey has."""
        return cls(
            measured=survey.measured,
            informative=survey.verdict.informative,
            p_value=survey.measured.p_value,
            verdict=survey.verdict.summary,
        )

    @property
    def places(self) -> Places:
        """Return where the rows of the plug-in geometry lie; every position of a bin is in it."""
        counts, geometry = self.measured.counts, self.measured.geometry
        if counts.binning is None:
            shape = tuple(counts.axes)
            return Places(units=geometry.positions, count=counts.length, shape=shape)
        widths = np.array([last - first + 1 for first, last in counts.extents], dtype=np.int64)
        return Places(
            units=geometry.positions,
            count=counts.length,
            shape=(counts.binning.span,),
            widths=widths,
        )

    @property
    def origin(self) -> dict[str, Any]:
        """Return what the card says of the corpus: no text of it."""
        about = self.measured.counts.to_dict()
        keys = ("source", "digest", "rows", "tokens", "tokenizer", "window", "minimum_count")
        noise = self.measured.noise
        return {key: about[key] for key in (*keys, "bins")} | {
            "metric": self.measured.geometry.metric,
            "effective_rank": None if noise is None else noise.debiased.rank,
            "informative": self.informative,
            "p_value": self.p_value,
            "verdict": self.verdict,
            "seed": self.measured.seed,
        }


@takes_options(FitOptions)
def fit(source: Any, *, progress: Progress | None = None, **options: Any) -> Fitted:
    """Fit an encoding to a survey, counts, a geometry or a square array of distances.

    >>> import gnomon
    >>> made = fit(gnomon.count("three-regimes"), dimension=64)
    >>> made.rank, made.table().shape
    (2, (32, 64))
    """
    return fit_with(source, *make_options("fit", options, FitOptions), progress=progress)


def fit_with(source: Any, options: FitOptions, *, progress: Progress | None = None) -> Fitted:
    """Fit with options that were made before."""
    listener = progress or Silence()
    if isinstance(source, Survey):
        return _fit(_measure_again(source, options, listener), options)
    if isinstance(source, PositionCounts):
        metric = options.metric or "chord"
        found = measure_counts(source, metric=metric, seed=options.seed, progress=listener)
        return _fit(Basis.of(found), options)
    if isinstance(source, (str, Path, bytes)):
        raise EncodingError(
            f"A fit cannot be made of the name {str(source)[:80]!r}; pass gnomon.count(...) or "
            "gnomon.survey(...) of it."
        )
    return _fit_distances(source, options)


def fit_survey(survey: Survey) -> Fitted:
    """Return the encoding that a survey ships."""
    options = FitOptions(dimension=survey.options.dimension, seed=survey.options.seed)
    return _fit(Basis.of_survey(survey), options)


def fit_place(
    place: str,
    counting: CountOptions,
    options: FitOptions,
    *,
    shuffles: int = DEFAULT_SHUFFLES,
    progress: Progress | None = None,
) -> Fitted:
    """Fit to a corpus by its name, to a file of counts, or to the folder of a survey."""
    listener, path = progress or Silence(), Path(place)
    metric = options.metric or "chord"
    if path.is_dir() and (path / "survey.json").is_file():
        measured, said = read_survey(path, metric=options.metric, progress=listener)
        concluded = said["verdict"]
        basis = Basis(
            measured=measured,
            informative=concluded["informative"],
            p_value=None,
            verdict=concluded["summary"],
        )
    elif path.suffix == ".npz" and path.is_file():
        counts = load_counts(path)
        basis = Basis.of(
            measure_counts(counts, metric=metric, seed=options.seed, progress=listener)
        )
    else:
        basis = Basis.of(
            measure_corpus(place, counting, metric=metric, shuffles=shuffles, progress=listener)
        )
    listener.stage("fitting")
    return _fit(basis, options)


def _measure_again(survey: Survey, options: FitOptions, listener: Progress) -> Basis:
    """Return what a survey found, measured again where another metric is asked for."""
    own = Basis.of_survey(survey)
    if options.metric in (None, survey.geometry.metric):
        return own
    other = measure_counts(
        survey.counts, metric=str(options.metric), seed=survey.options.seed, progress=listener
    )
    return replace(own, measured=other)


def _fit(basis: Basis, options: FitOptions) -> Fitted:
    wanted = options.estimator or "debiased"
    warnings = _about(basis, wanted)
    noise = basis.measured.noise
    if wanted == "debiased" and (noise is None or noise.debiased.rank == 0):
        points = _estimate(basis, options, "plugin")
        warnings = (_instead_of_debiased(basis, points.coordinates.shape[1]), *warnings)
    elif wanted == "debiased" and noise is not None:
        points = _fit_estimate(basis, noise.debiased, options)
    else:
        points = _estimate(basis, options, wanted)
    return _finish(points, options, warnings, basis.origin)


def _fit_estimate(basis: Basis, found: Debiased, options: FitOptions) -> Points:
    what = f"the debiased geometry has effective rank {found.rank}"
    rank = min(_rank(options, found.rank, found.rank, what), options.dimension)
    points = debiased_points(
        found, basis.places, rank=rank, method=options.method, metric=basis.measured.geometry.metric
    )
    fewer = isinstance(options.rank, str) and rank < found.rank
    return replace(points, warnings=(_shorten(found.rank, rank),) if fewer else ())


def _estimate(basis: Basis, options: FitOptions, estimator: str) -> Points:
    """Return the points of another estimator, at the effective rank where that is known."""
    geometry, places = basis.measured.geometry, basis.places
    if estimator != "plugin":
        rng = np.random.default_rng([basis.measured.seed, 3])
        geometry = measure(basis.measured.counts, geometry.metric, estimator=estimator, rng=rng)
        places = replace(places, units=geometry.positions)
    noise = basis.measured.noise
    effective = None if noise is None else noise.debiased.rank
    return _span(geometry, options, effective or NOISE_RANK, places=places)


def _fit_distances(source: Any, options: FitOptions) -> Fitted:
    """Fit distances as they are given: nobody knows their noise, so all directions count."""
    known = hasattr(source, "distances")
    given = source if known else _square(source)
    own = str(source.estimator) if known else Points.GIVEN
    if options.estimator not in (None, own):
        raise EncodingError(
            f"estimator is {options.estimator!r}, and these distances are {own} ones; pass counts "
            "or a survey, or leave the estimator out."
        )
    if options.metric is not None and not (known and options.metric == source.metric):
        raise EncodingError(
            f"metric is {options.metric!r}, and these distances are what they are; pass counts or "
            "a survey, or leave the metric out."
        )
    points = _span(given, options, len(Places.of(given).units))
    noisy = ("Plug-in distances hold sampling noise.",) if own == "plugin" else ()
    alike = () if points.coordinates.any() else ("All distances are 0, so every vector is 0.",)
    return _finish(points, options, (*alike, *noisy), {"seed": options.seed})


def _span(
    geometry: Any, options: FitOptions, effective: int, places: Places | None = None
) -> Points:
    """Return points in the directions that distances span, no more of them than were asked for.

    What is said of the rest is counted only where the dimension leaves something out.
    """
    count = len(Places.of(geometry).units)
    most = max(count - 1, 1)
    wanted = _rank(options, min(effective, most), most, f"{count} positions span {most} directions")
    points = Points.of_distances(
        geometry,
        method=options.method,
        dimension=options.dimension,
        rank=min(wanted, options.dimension),
        places=places,
    )
    there = int(np.count_nonzero(points.coordinates.any(axis=0)))
    if isinstance(options.rank, int) and there:
        what = f"these distances span {there} direction{'s' if there > 1 else ''}"
        Finish.check_rank(options.rank, dimension=options.dimension, most=there, what=what)
    whole = (
        min(wanted, Points.count_directions(geometry))
        if there == options.dimension < wanted
        else there
    )
    return replace(
        points,
        coordinates=points.coordinates[:, : max(there, 1)],
        warnings=(_shorten(whole, there),) if whole > there else (),
    )


def _square(source: Any) -> Any:
    """Return an array of distances, or say why it is none."""
    given = reals(
        source,
        f"What a fit is made of ({type(source).__name__})",
        kind=EncodingError,
        advice="pass a survey, counts, a geometry or a square array of distances",
    )
    if len(Places.of(given).units) < 2:
        raise EncodingError(
            f"The distances have shape {given.shape}; pass those of two positions or more."
        )
    largest = check_distances(given).max()
    if largest and not SMALLEST < largest < LARGEST:
        raise EncodingError(
            f"The largest distance is {largest:g}, which float32 cannot hold; multiply all of "
            "them by one number."
        )
    return given


def _rank(options: FitOptions, effective: int, most: int, what: str) -> int:
    """Return how many directions are asked for, before the dimension keeps fewer."""
    if isinstance(options.rank, str):
        return effective if options.rank == "effective" else most
    Finish.check_rank(options.rank, dimension=options.dimension, most=most, what=what)
    return options.rank


def _finish(
    points: Points, options: FitOptions, warnings: tuple[str, ...], origin: dict[str, Any]
) -> Fitted:
    about = {**points.origin, **origin, "gnomon": gnomon.__version__}
    said = replace(points, warnings=(*warnings, *points.warnings), origin=about)
    return said.finish(options.finish)


def _about(basis: Basis, estimator: str) -> tuple[str, ...]:
    """Return what speaks against an encoding fitted to this corpus by this estimator."""
    said = [_doubt(basis)]
    noise = basis.measured.noise
    if noise is not None and noise.debiased.rank > 0 and noise.no_geometry is not None:
        said.append(f"Little of this geometry is certain: {noise.no_geometry}.")
    if estimator == "plugin":
        share = None if noise is None else noise.noise_share
        amount = "" if share is None else f": {100 * share:.0f} % of their mean square here"
        said.append(f"Plug-in distances hold sampling noise{amount}.")
    said += [] if noise is None else list(noise.warnings)
    return tuple(text for text in said if text is not None)


def _doubt(basis: Basis) -> str | None:
    if basis.informative or basis.measured.flat:
        return None  # zeros describe nothing, and that is said
    shown = "" if basis.p_value is None else f" (p = {basis.p_value:.2g})"
    if basis.informative is None:
        return "Whether position matters in this corpus cannot be decided from so few documents."
    return (
        f"Nothing of position stands out from noise in this corpus{shown}: these vectors "
        "describe chance as much as position."
    )


def _instead_of_debiased(basis: Basis, rank: int) -> str:
    """Say that plug-in distances were fitted, and why."""
    if basis.measured.flat:
        return "All positions have the same law, so every vector is 0."
    if basis.measured.noise is None:
        reason = str(basis.measured.reason).rstrip(".")
        return (
            f"Nothing could be debiased ({reason}), so the plug-in distances were fitted at rank "
            f"{rank}: their sampling noise is in these vectors."
        )
    return (
        "No direction exceeds the noise (effective rank 0), so the plug-in distances were "
        f"fitted at rank {rank}: these vectors rest on sampling noise."
    )


def _shorten(there: int, kept: int) -> str:
    """Say that the dimension is too small for all directions."""
    return (
        f"There are {there} directions and the dimension holds {kept}: the others are left out, "
        "and distances are too short by their part."
    )
