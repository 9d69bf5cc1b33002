"""Figure 2: the MDS embedding of the three-regime corpus, and bars of stress beside it.

Both pictures are lost; the bars are taken to be Table 3 (MDS 0.009, sinusoidal 2.248, random
24.805), which is printed beside them [cirrincione2026 sec. 6.2].

Bars: raw stress as published, scale-free, and against the debiased geometry. Embedding: the map in
two dimensions, of plug-in distances as published and of debiased ones. A map shows its distances
where its scale-free stress is at most 0.04, the square of the 0.2 that is called poor
[kruskal1964]; of the synthetic corpus also where its regimes, the thirds of the window, are apart:
every distance within a regime below every distance between two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import Progress
from gnomon.diagnostics import condensed
from gnomon.distances import classical_mds, double_centred
from gnomon.encodings import encoding
from gnomon.numeric.rows import distances_between
from gnomon.pipeline import scale_free
from gnomon.reproduce.claims import ABSENT, Published, Reproduction, Row
from gnomon.reproduce.evidence import Judged
from gnomon.reproduce.figure2_claims import Map, judge_bars, judge_heights, judge_map, judge_regimes
from gnomon.reproduce.points import Point, columns, lifted, point, scaled
from gnomon.reproduce.samples import Options, repeated
from gnomon.reproduce.subjects import Sample, Subject, reproduction, subjects
from gnomon.reproduce.table3_claims import PUBLISHED

TITLE = "the map of positions, and bars of stress"
DIMENSIONS = {True: 128, False: 768}
"""Of the synthetic corpus as in Table 2; of real ones that of BERT-base."""
DRAWN_POINTS = 128
"""A record keeps at most so many points of a map."""
FROM_TABLE = "from Table 3, which the lost bars are taken to show"
UNIQUE = (
    "a map is unique up to rotation and reflection; its axes have their largest entry positive."
)
BARS = ("mds", "sinusoidal", "random")
Floats = NDArray[np.float64]
Bars = Mapping[str, Sequence[Point]]


def figure2(options: Options, progress: Progress) -> Reproduction:
    """Make Figure 2 again on the three-regime corpus, or on corpora."""
    studied = subjects("figure2", options, progress)
    progress.stage("maps and bars")
    asked = options.dimension
    dimension = DIMENSIONS[not options.corpora] if asked is None else asked
    bars = {one.name: _bars(one, dimension, options) for one in studied}
    maps = {one.name: [_map(sample) for sample in one.samples] for one in studied}
    return reproduction(
        "figure2",
        TITLE,
        setting=f"d = {dimension}; random tables N(0, 1), {repeated(options)}",
        rows={
            n: [*_bar_rows(one, bars[n]), *_map_rows(one, maps[n])] for n, one in _named(studied)
        },
        judged={n: _judged(one, bars[n], maps[n]) for n, one in _named(studied)},
        studied=studied,
        options=options,
        notes=(UNIQUE,),
        details={n: {"map": _points(one.first)} for n, one in _named(studied)},
    )


def _named(studied: Sequence[Subject]) -> list[tuple[str, Subject]]:
    return [(one.name, one) for one in studied]


def _bars(subject: Subject, dimension: int, options: Options) -> Bars:
    """Return the stresses of each bar: of every seed, or of a random table for every seed."""
    axes = subject.first.geometry.coordinates.shape[1]
    sinusoid = encoding("sinusoidal", dimension=dimension, axes=axes)
    draws = [
        (sample, seed)
        for sample in subject.samples
        for seed in ([sample.seed] if subject.drawn else options.streams)
    ]
    return {
        "mds": [point(scaled(s, dimension), s) for s in subject.samples],
        "sinusoidal": [point(lifted(sinusoid, s), s) for s in subject.samples],
        "random": [point(lifted(_random(dimension, seed, axes), s), s) for s, seed in draws],
    }


def _random(dimension: int, seed: int, axes: int) -> Any:
    return encoding("random", dimension=dimension, sigma=1.0, seed=seed, axes=axes)


def _bar_rows(subject: Subject, bars: Bars) -> Iterator[Row]:
    for name in BARS:
        ours = columns(bars[name])
        value = PUBLISHED[name] if subject.drawn else None
        reason = FROM_TABLE if subject.drawn else ABSENT
        missing = {key: subject.missing for key, found in ours.items() if found is None}
        yield Row(
            what=name,
            published=Published(quantity="stress", value=value, reason=reason),
            ours=ours,
            reasons=missing or None,
            group=subject.name,
        )


def _map(sample: Sample) -> Map:
    """Return the map in two dimensions, of plug-in distances and of debiased ones."""
    plugin = scaled(sample, 2)
    regimes = 3 * np.arange(len(plugin)) // len(plugin)
    own = point(plugin, sample)
    flat = _flat(sample)
    if flat is None or sample.measured.target is None:
        return Map(plugin=own, apart=_apart(plugin, regimes))
    rows = sample.measured.target.rows
    value = float(scale_free(condensed(flat), sample.measured.target.targets[:1])[0])
    return Map(
        plugin=own,
        apart=_apart(plugin, regimes),
        debiased=value,
        debiased_apart=_apart(flat, regimes[rows]),
    )


def _flat(sample: Sample) -> Floats | None:
    """Return the distances of the debiased map of the core."""
    found = _debiased_points(sample)
    return None if found is None else distances_between(found)


def _debiased_points(sample: Sample) -> Floats | None:
    trust = sample.measured.noise
    if trust is None or sample.measured.target is None:
        return None
    gram = double_centred(trust.debiased.low_rank.squares)
    return np.asarray(classical_mds(gram, 2).vectors)


def _apart(distances: Floats, regimes: NDArray[np.int64]) -> tuple[float, float] | None:
    """Return the largest distance within a third and the smallest between two."""
    same = regimes[:, None] == regimes[None, :]
    if same.all():
        return None
    return float(distances[same].max()), float(distances[~same].min())


def _map_rows(subject: Subject, maps: Sequence[Map]) -> Iterator[Row]:
    ours = columns([one.plugin for one in maps])
    missing = {key: subject.missing for key, found in ours.items() if found is None}
    yield Row(
        what="mds in two dimensions (the map)",
        published=Published(quantity="stress", reason=ABSENT),
        ours=ours,
        reasons=missing or None,
        group=subject.name,
    )


def _judged(subject: Subject, bars: Bars, maps: Sequence[Map]) -> list[Judged]:
    found = [
        judge_bars({name: bars[name] for name in BARS}, subject.missing),
        judge_map(maps, subject.missing),
    ]
    if not subject.drawn:
        return found
    return [*found, judge_regimes(maps), judge_heights({name: bars[name] for name in BARS})]


def _points(sample: Sample) -> dict[str, Any]:
    """Return the points of the map, thinned where there are many, for JSON."""
    positions = sample.geometry.positions
    vectors = np.asarray(classical_mds(sample.geometry.gram, 2).vectors)
    found = {"plugin": _thinned(positions, vectors)}
    debiased = _debiased_points(sample)
    trust = sample.measured.noise
    if debiased is not None and trust is not None:
        found["debiased"] = _thinned(trust.core, debiased)
    return found


def _thinned(positions: NDArray[np.int64], vectors: Floats) -> dict[str, Any]:
    step = -(-len(positions) // DRAWN_POINTS)
    first, second = vectors[::step].round(4).T
    return {
        "positions": positions[::step].tolist(),
        "first": first.tolist(),
        "second": second.tolist(),
    }
