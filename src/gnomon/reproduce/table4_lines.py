"""The lines of Table 4: every encoding, under every lift that the published table may have used.

    kernel  D^2 = k_ii + k_jj - 2 k_ij, the positional part of the logit, for all alike
    probe   |R_i u - R_j u|, a content vector u carried by the rotation
    slope   m |i - j|, the bias of ALiBi read as a distance

[cirrincione2026 sec. 6.3] does not say which it used, so ours names its lift in every line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gnomon.distances import Geometry
from gnomon.encodings import best_slope, encoding, fit
from gnomon.pipeline import Measured, debiased_encoding
from gnomon.reproduce.readings import Reading
from gnomon.reproduce.samples import Options

HEADS = 12
"""BERT-base has 12 heads."""
SINUSOIDAL, ROPE, MDS = "sinusoidal", "rope", "mds"
NORMAL_PROBE, PROBE_OF_ONES = "rope, normal probe", "rope, probe of ones"
ALIBI, EACH_HEAD, BEST_SLOPE = f"alibi, {HEADS} heads", "alibi, each head", "alibi, best slope"


def candidates(
    measured: Measured, dimension: int, options: Options
) -> Iterator[tuple[str, list[Reading]]]:
    """Yield every line of the table as the readings it is a mean of."""
    geometry = measured.geometry
    axes = geometry.coordinates.shape[1]
    yield SINUSOIDAL, [Reading(encoding("sinusoidal", dimension=dimension, axes=axes))]
    yield from _ropes(dimension, axes, options)
    yield from _alibis(geometry, axes)
    for sigma in (1.0, 0.02):
        yield (
            f"random, sigma {sigma:g}",
            [
                Reading(encoding("random", dimension=dimension, sigma=sigma, seed=s, axes=axes))
                for s in options.streams
            ],
        )
    yield MDS, [Reading(fit(geometry, dimension=dimension))]
    if measured.noise is not None and measured.target is not None:
        made = debiased_encoding(measured.noise, geometry, dimension)
        yield f"mds, debiased, rank {made.rank}", [Reading(made)]


def _ropes(dimension: int, axes: int, options: Options) -> Iterator[tuple[str, list[Reading]]]:
    rope = encoding("rope", dimension=dimension, axes=axes)
    normal = [
        Reading(rope, lift="probe", rng=np.random.default_rng([s, 1])) for s in options.streams
    ]
    yield ROPE, [Reading(rope)]
    yield NORMAL_PROBE, normal
    yield PROBE_OF_ONES, [Reading(rope, lift="probe", probe=np.ones(dimension))]


def _alibis(geometry: Geometry, axes: int) -> Iterator[tuple[str, list[Reading]]]:
    best = best_slope(geometry.distances, geometry.coordinates)
    official: Any = encoding("alibi", heads=HEADS)
    heads = [encoding("alibi", slopes=(m,), axes=axes) for m in official.slopes]
    yield ALIBI, [Reading(encoding("alibi", heads=HEADS, axes=axes))]
    yield EACH_HEAD, [Reading(head, lift="slope", over="heads") for head in heads]
    yield BEST_SLOPE, [Reading(encoding("alibi", slopes=(best,), axes=axes), lift="slope")]
