"""One point of a figure: the stress of some distances as published, scale-free, and debiased.

Raw and scale-free stress are against plug-in distances; the debiased one is scale-free against the
low-rank geometry of the core, with a 95 % interval that holds sampling only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics import stress
from gnomon.distances import classical_mds
from gnomon.encodings import Encoding, lift
from gnomon.numeric.rows import distances_between
from gnomon.reproduce.claims import Figure, spread
from gnomon.reproduce.debiasing import Estimate
from gnomon.reproduce.subjects import Sample

Floats = NDArray[np.float64]
DEBIASED = "debiased"


class Point(NamedTuple):
    """Raw and scale-free stress against plug-in distances; scale-free against debiased ones."""

    raw: float
    scale_free: float
    debiased: Estimate | None
    squared: float | None = None
    """The debiased one of squared distances, to be trusted where few pairs are surely apart."""


def point(distances: Floats, sample: Sample) -> Point:
    """Return the stresses of distances between the positions of a corpus."""
    report = stress(distances, sample.geometry)
    target = sample.measured.target
    if target is None:
        return Point(report.raw, report.scale_free, None)
    found = target.stress(distances)
    known = Estimate(found.scale_free, *found.interval)
    return Point(report.raw, report.scale_free, known, found.squared)


def lifted(made: Encoding, sample: Sample, **options: Any) -> Floats:
    """Return the distances of an encoding between the positions of a corpus."""
    return np.asarray(lift(made, sample.geometry.coordinates, **options).distances)


def scaled(sample: Sample, dimension: int) -> Floats:
    """Return the distances of classical scaling of the plug-in distances."""
    kept = min(dimension, len(sample.geometry.positions) - 1)
    return distances_between(np.asarray(classical_mds(sample.geometry.gram, kept).vectors))


def columns(points: Sequence[Point], prefix: str = "") -> dict[str, Figure]:
    """Return the columns of a line: one point, or a spread over seeds."""
    known = [one.debiased for one in points if one.debiased is not None]
    name = f"{prefix}{DEBIASED}"
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
