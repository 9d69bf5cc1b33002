"""One line of a comparison: an encoding read under a lift, once or several times, as a mean.

A line is read several times where chance or a choice decides it: a random table or probe for every
seed, a slope for every head. Beside the figures against plug-in distances, as published, stands the
stress against the debiased geometry of the corpus, or the reason why there is none.

One point of a figure: the stress of some distances as published, scale-free, and debiased.

Raw and scale-free stress are against plug-in distances; the debiased one is scale-free against the
low-rank geometry of the core, with a 95 % interval that holds sampling only.

Stress of one line against the debiased geometry of a corpus, and of two lines together.

A line may be a mean over readings (a random table for every seed). With h the low-rank distances of
the core and h_g the same without fold g, its curve is

    S_0 = mean over readings of S*(D, h),   S_g = mean over readings of S*(D, h_g),

with S* the scale-free stress, or the same of squared distances. The interval of a line is that of
the delete-fold jackknife of its curve. Two lines meet the same folds, so their difference is
jackknifed as the difference of their curves: two intervals that overlap can belong to lines whose
difference is certain. All of this is sampling noise only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics import GRAIN, correlation, stress, violations
from gnomon.distances import Figure as GeometryFigure
from gnomon.distances import (
    Geometry,
    classical_mds,
    double_centred,
    figure,
    jackknife_error,
    spectrum,
)
from gnomon.encodings import Encoding, lift
from gnomon.numeric.rows import distances_between
from gnomon.pipeline import DebiasedTarget, scale_free
from gnomon.reproduce.claims import Figure, Spread, spread, spread_or_none

UNDEFINED = "all distances are equal, or no two lags differ"
DEBIASED_COLUMNS = ("debiased", "interval", "squared", "squared interval")
"""Columns of scale-free stress against the debiased geometry, of distances and of their squares."""


@dataclass(frozen=True)
class Reading:
    """An encoding with the lift that gives it distances."""

    encoding: Encoding
    lift: str = "kernel"
    probe: Any = None
    rng: np.random.Generator | None = None
    over: str = "seeds"


@dataclass(frozen=True, kw_only=True)
class _Figures:
    """What one reading gives."""

    raw: float
    scale_free: float
    rank: int
    violations: float | None
    pearson: float | None
    distances: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Line:
    """The figures of one line, as columns and as numbers for the verdicts."""

    raw: Spread
    scale_free: Spread
    violations: float | None
    debiased: Curves | None
    columns: dict[str, Figure]
    reasons: dict[str, str]

    @property
    def stresses(self) -> Stresses:
        """Return its stresses, the mean where there are several readings."""
        known = None if self.debiased is None else stress_of(self.debiased.plain)
        return Stresses(self.raw.mean, self.scale_free.mean, known)


def read_line(
    readings: Sequence[Reading],
    geometry: Geometry,
    target: DebiasedTarget | None = None,
    missing: str = "",
) -> Line:
    """Read an encoding against a geometry; O(n^3) for the rank of its distances.

    `missing` says why there is no debiased target, where there is none.
    """
    found = [_read_figures(reading, geometry) for reading in readings]
    over = readings[0].over
    raw = spread([one.raw for one in found], over=over)
    scale_free = spread([one.scale_free for one in found], over=over)
    rates = spread_or_none([one.violations for one in found], over=over)
    pearson = spread_or_none([one.pearson for one in found], over=over)
    undefined = {"violations": rates, "Pearson": pearson}
    reasons = {key: UNDEFINED for key, value in undefined.items() if value is None}
    known = None if target is None else mean_curves([one.distances for one in found], target)
    return Line(
        raw=raw,
        scale_free=scale_free,
        violations=None if rates is None else rates.mean,
        debiased=known,
        columns={
            "lift": readings[0].lift,
            "raw": raw,
            "scale-free": scale_free,
            **_columns_of_debiased(known),
            "rank": _rank_or_spread(spread([one.rank for one in found], over=over)),
            **undefined,
        },
        reasons=reasons | (dict.fromkeys(DEBIASED_COLUMNS, missing) if known is None else {}),
    )


def _columns_of_debiased(known: Curves | None) -> dict[str, Figure]:
    """Return the columns against the debiased geometry."""
    if known is None:
        return dict.fromkeys(DEBIASED_COLUMNS)
    plain, squared = stress_of(known.plain), stress_of(known.squared)
    values = (plain.value, plain.interval, squared.value, squared.interval)
    return dict(zip(DEBIASED_COLUMNS, values, strict=True))


def _read_figures(reading: Reading, geometry: Geometry) -> _Figures:
    made = lift(
        reading.encoding,
        geometry.coordinates,
        lift=reading.lift,
        probe=reading.probe,
        rng=reading.rng,
    )
    report = stress(made, geometry)
    centred = double_centred(np.square(made.distances))
    order = violations(made.distances, positions=geometry.coordinates, grain=GRAIN)
    return _Figures(
        raw=report.raw,
        scale_free=report.scale_free,
        rank=spectrum(centred).rank_numerical,
        violations=order.violations,
        pearson=correlation(made.distances, geometry).pearson,
        distances=made.distances,
    )


def _rank_or_spread(found: Spread) -> Figure:
    """Return a rank as a whole number where all readings agree."""
    return int(found.smallest) if found.smallest == found.largest else found


if TYPE_CHECKING:
    from gnomon.reproduce.subjects import Sample

Floats = NDArray[np.float64]
DEBIASED_COLUMN = "debiased"


class Point(NamedTuple):
    """Raw and scale-free stress against plug-in distances; scale-free against debiased ones."""

    raw: float
    scale_free: float
    debiased: Estimate | None
    squared: float | None = None
    """The debiased one of squared distances, to be trusted where few pairs are surely apart."""


def measure_point(distances: Floats, sample: Sample) -> Point:
    """Return the stresses of distances between the positions of a corpus."""
    report = stress(distances, sample.geometry)
    target = sample.measured.target
    if target is None:
        return Point(report.raw, report.scale_free, None)
    found = target.stress(distances)
    known = Estimate(found.scale_free, *found.interval)
    return Point(report.raw, report.scale_free, known, found.squared)


def lift_distances(made: Encoding, sample: Sample, **options: Any) -> Floats:
    """Return the distances of an encoding between the positions of a corpus."""
    return np.asarray(lift(made, sample.geometry.coordinates, **options).distances)


def mds_distances(sample: Sample, dimension: int) -> Floats:
    """Return the distances of classical scaling of the plug-in distances."""
    kept = min(dimension, len(sample.geometry.positions) - 1)
    return distances_between(np.asarray(classical_mds(sample.geometry.gram, kept).vectors))


def point_columns(points: Sequence[Point], prefix: str = "") -> dict[str, Figure]:
    """Return the columns of a line: one point, or a spread over seeds."""
    known = [one.debiased for one in points if one.debiased is not None]
    name = f"{prefix}{DEBIASED_COLUMN}"
    found: dict[str, Figure] = {
        f"{prefix}raw": one_or_spread([one.raw for one in points]),
        f"{prefix}scale-free": one_or_spread([one.scale_free for one in points]),
        name: one_or_spread([one.value for one in known]) if len(known) == len(points) else None,
    }
    if len(points) == 1 and known:
        found[f"{name} interval"] = known[0].interval
    squared = [one.squared for one in points if one.squared is not None]
    if len(squared) == len(points):
        found[f"{prefix}squared"] = one_or_spread(squared)
    return found


def one_or_spread(values: Sequence[float]) -> Figure:
    """Return a number, or the spread of several."""
    return values[0] if len(values) == 1 else spread(values)


class Estimate(NamedTuple):
    """A debiased figure with the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return the figure with its interval.

        >>> str(Estimate(0.4929, 0.4336, 0.5522))
        '0.493 [0.434, 0.552]'
        """
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    @property
    def interval(self) -> tuple[float, float]:
        """Return the two ends."""
        return self.low, self.high

    def overlaps(self, other: Estimate) -> bool:
        """Say whether the two intervals have a point in common."""
        return self.low <= other.high and other.low <= self.high

    @classmethod
    def of(cls, found: GeometryFigure | None) -> Estimate | None:
        """Return a figure of the geometry as an estimate."""
        return None if found is None else cls(found.value, *found.interval)


class Stresses(NamedTuple):
    """Raw and scale-free stress against plug-in distances; scale-free against debiased ones."""

    raw: float
    scale_free: float
    debiased: Estimate | None = None


class Curves(NamedTuple):
    """Stress against the debiased geometry and against it without each fold."""

    plain: Floats
    squared: Floats


def mean_curves(made: Sequence[Floats], target: DebiasedTarget) -> Curves:
    """Return the mean curves of one or more readings, each a matrix of distances."""
    upper = np.triu_indices(len(target.rows), 1)
    core = [distances[np.ix_(target.rows, target.rows)][upper] for distances in made]
    wanted = target.targets
    return Curves(
        plain=np.mean([scale_free(one, wanted) for one in core], axis=0),
        squared=np.mean([scale_free(one**2, wanted**2) for one in core], axis=0),
    )


def stress_of(curve: Floats) -> Estimate:
    """Return a stress with its interval, which ends where stress does."""
    value, low, high = _jackknife(curve)
    return Estimate(value, max(low, 0.0), min(high, 1.0))


def difference(first: Floats, second: Floats) -> Estimate:
    """Return how much the stress of the first line exceeds that of the second, fold by fold."""
    return _jackknife(first - second)


def _jackknife(curve: Floats) -> Estimate:
    folds = len(curve) - 1
    return Estimate(
        float(curve[0]), *figure(float(curve[0]), jackknife_error(curve[1:]), folds).interval
    )
