"""One line of a comparison: an encoding read under a lift, once or several times, as a mean.

A line is read several times where chance or a choice decides it: a random table or probe for every
seed, a slope for every head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.diagnostics.correlation import correlation
from gnomon.diagnostics.monotonicity import GRAIN, violations
from gnomon.diagnostics.stress import stress
from gnomon.encodings.base import Encoding
from gnomon.encodings.lifts import lift
from gnomon.geometry.gram import double_centred
from gnomon.geometry.measure import Geometry
from gnomon.geometry.spectrum import spectrum
from gnomon.reproduce.claims import Figure, Spread, spread, spread_or_none

UNDEFINED = "all distances are equal, or no two lags differ"


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


@dataclass(frozen=True, kw_only=True)
class Line:
    """The figures of one line; a debiased estimate would be one more of `columns`."""

    raw: Spread
    scale_free: Spread
    violations: float | None
    columns: dict[str, Figure]
    reasons: dict[str, str]

    @property
    def means(self) -> tuple[float, float]:
        """Return raw and scale-free stress, the mean where there are several readings."""
        return self.raw.mean, self.scale_free.mean


def line(readings: Sequence[Reading], geometry: Geometry) -> Line:
    """Read an encoding against a geometry; O(n^3) for the rank of its distances."""
    found = [_read(reading, geometry) for reading in readings]
    over = readings[0].over
    raw = spread([one.raw for one in found], over=over)
    scale_free = spread([one.scale_free for one in found], over=over)
    rates = spread_or_none([one.violations for one in found], over=over)
    pearson = spread_or_none([one.pearson for one in found], over=over)
    undefined = {"violations": rates, "Pearson": pearson}
    return Line(
        raw=raw,
        scale_free=scale_free,
        violations=None if rates is None else rates.mean,
        columns={
            "lift": readings[0].lift,
            "raw": raw,
            "scale-free": scale_free,
            "rank": _whole(spread([one.rank for one in found], over=over)),
            **undefined,
        },
        reasons={key: UNDEFINED for key, value in undefined.items() if value is None},
    )


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
    )


def _whole(found: Spread) -> Figure:
    """Return a rank as a whole number where all readings agree."""
    return int(found.smallest) if found.smallest == found.largest else found
