"""One line of a comparison: an encoding read under a lift, once or several times, as a mean.

A line is read several times where chance or a choice decides it: a random table or probe for every
seed, a slope for every head. Beside the figures against plug-in distances, as published, stands the
stress against the debiased geometry of the corpus, or the reason why there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics import GRAIN, correlation, stress, violations
from gnomon.distances import Geometry, double_centred, spectrum
from gnomon.encodings import Encoding, lift
from gnomon.pipeline import DebiasedTarget
from gnomon.reproduce.claims import Figure, Spread, spread, spread_or_none
from gnomon.reproduce.debiasing import Curves, Stresses, curves, stress_of

UNDEFINED = "all distances are equal, or no two lags differ"
DEBIASED = ("debiased", "interval", "squared", "squared interval")
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


def line(
    readings: Sequence[Reading],
    geometry: Geometry,
    target: DebiasedTarget | None = None,
    missing: str = "",
) -> Line:
    """Read an encoding against a geometry; O(n^3) for the rank of its distances.

    `missing` says why there is no debiased target, where there is none.
    """
    found = [_read(reading, geometry) for reading in readings]
    over = readings[0].over
    raw = spread([one.raw for one in found], over=over)
    scale_free = spread([one.scale_free for one in found], over=over)
    rates = spread_or_none([one.violations for one in found], over=over)
    pearson = spread_or_none([one.pearson for one in found], over=over)
    undefined = {"violations": rates, "Pearson": pearson}
    reasons = {key: UNDEFINED for key, value in undefined.items() if value is None}
    known = None if target is None else curves([one.distances for one in found], target)
    return Line(
        raw=raw,
        scale_free=scale_free,
        violations=None if rates is None else rates.mean,
        debiased=known,
        columns={
            "lift": readings[0].lift,
            "raw": raw,
            "scale-free": scale_free,
            **_debiased(known),
            "rank": _whole(spread([one.rank for one in found], over=over)),
            **undefined,
        },
        reasons=reasons | (dict.fromkeys(DEBIASED, missing) if known is None else {}),
    )


def _debiased(known: Curves | None) -> dict[str, Figure]:
    """Return the columns against the debiased geometry."""
    if known is None:
        return dict.fromkeys(DEBIASED)
    plain, squared = stress_of(known.plain), stress_of(known.squared)
    values = (plain.value, plain.interval, squared.value, squared.interval)
    return dict(zip(DEBIASED, values, strict=True))


def _read(reading: Reading, geometry: Geometry) -> _Figures:
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


def _whole(found: Spread) -> Figure:
    """Return a rank as a whole number where all readings agree."""
    return int(found.smallest) if found.smallest == found.largest else found
