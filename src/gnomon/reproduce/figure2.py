"""Figure 2: the MDS embedding of the three-regime corpus, and bars of stress beside it.

Both pictures are lost; the bars are taken to be Table 3 (MDS 0.009, sinusoidal 2.248, random
24.805), which is printed beside them [cirrincione2026 sec. 6.2].

Bars: raw stress as published, scale-free, and against the debiased geometry. Embedding: the map in
two dimensions, of plug-in distances as published and of debiased ones. A map shows its distances
where its scale-free stress is at most 0.04, the square of the 0.2 that is called poor
[kruskal1964]; of the synthetic corpus also where its regimes, the thirds of the window, are apart:
every distance within a regime below every distance between two.

What Figure 2 is said to show, judged on one corpus (or on one drawn again for every seed).

Bars that rise from MDS over the sinusoid to a random table; a map in the plane that shows the
distances; on the synthetic corpus, three regimes in it [cirrincione2026 sec. 6.2].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import Progress
from gnomon.diagnostics import condensed
from gnomon.distances import classical_mds, double_centred
from gnomon.encodings import encoding
from gnomon.numeric.rows import distances_between
from gnomon.pipeline import scale_free
from gnomon.reproduce.claims import (
    ABSENT,
    Evidence,
    Judged,
    Published,
    Reproduction,
    Row,
    compare,
    spread,
)
from gnomon.reproduce.readings import (
    Point,
    lift_distances,
    mds_distances,
    measure_point,
    point_columns,
)
from gnomon.reproduce.subjects import (
    Options,
    Sample,
    Subject,
    describe_seeds,
    read_subjects,
    reproduction,
)
from gnomon.reproduce.table3 import MUCH, NEAR, PUBLISHED

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


def make(options: Options, progress: Progress) -> Reproduction:
    """Make Figure 2 again on the three-regime corpus, or on corpora."""
    studied = read_subjects("figure2", options, progress)
    progress.stage("maps and bars")
    asked = options.dimension
    dimension = DIMENSIONS[not options.corpora] if asked is None else asked
    bars = {one.name: _bars(one, dimension, options) for one in studied}
    maps = {one.name: [_map(sample) for sample in one.samples] for one in studied}
    return reproduction(
        "figure2",
        TITLE,
        setting=f"d = {dimension}; random tables N(0, 1), {describe_seeds(options)}",
        rows={
            n: [*_bar_rows(one, bars[n]), *_map_rows(one, maps[n])]
            for n, one in _name_rows(studied)
        },
        judged={n: _judge(one, bars[n], maps[n]) for n, one in _name_rows(studied)},
        studied=studied,
        options=options,
        notes=(UNIQUE,),
        details={n: {"map": _points(one.first)} for n, one in _name_rows(studied)},
    )


def _name_rows(studied: Sequence[Subject]) -> list[tuple[str, Subject]]:
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
        "mds": [measure_point(mds_distances(s, dimension), s) for s in subject.samples],
        "sinusoidal": [measure_point(lift_distances(sinusoid, s), s) for s in subject.samples],
        "random": [
            measure_point(lift_distances(_random(dimension, seed, axes), s), s) for s, seed in draws
        ],
    }


def _random(dimension: int, seed: int, axes: int) -> Any:
    return encoding("random", dimension=dimension, sigma=1.0, seed=seed, axes=axes)


def _bar_rows(subject: Subject, bars: Bars) -> Iterator[Row]:
    for name in BARS:
        ours = point_columns(bars[name])
        value = PUBLISHED[name] if subject.drawn else None
        reason = FROM_TABLE if subject.drawn else ABSENT
        missing = {key: subject.reason for key, found in ours.items() if found is None}
        yield Row(
            what=name,
            published=Published(quantity="stress", value=value, reason=reason),
            ours=ours,
            reasons=missing or None,
            group=subject.name,
        )


def _map(sample: Sample) -> Map:
    """Return the map in two dimensions, of plug-in distances and of debiased ones."""
    plugin = mds_distances(sample, 2)
    regimes = 3 * np.arange(len(plugin)) // len(plugin)
    own = measure_point(plugin, sample)
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
    found = _points_of_debiased(sample)
    return None if found is None else distances_between(found)


def _points_of_debiased(sample: Sample) -> Floats | None:
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
    ours = point_columns([one.plugin for one in maps])
    missing = {key: subject.reason for key, found in ours.items() if found is None}
    yield Row(
        what="mds in two dimensions (the map)",
        published=Published(quantity="stress", reason=ABSENT),
        ours=ours,
        reasons=missing or None,
        group=subject.name,
    )


def _judge(subject: Subject, bars: Bars, maps: Sequence[Map]) -> list[Judged]:
    found = [
        judge_bars({name: bars[name] for name in BARS}, subject.reason),
        judge_map(maps, subject.reason),
    ]
    if not subject.drawn:
        return found
    return [*found, judge_regimes(maps), judge_heights({name: bars[name] for name in BARS})]


def _points(sample: Sample) -> dict[str, Any]:
    """Return the points of the map, thinned where there are many, for JSON."""
    positions = sample.geometry.positions
    vectors = np.asarray(classical_mds(sample.geometry.gram, 2).vectors)
    found = {"plugin": _thin(positions, vectors)}
    debiased = _points_of_debiased(sample)
    trust = sample.measured.noise
    if debiased is not None and trust is not None:
        found["debiased"] = _thin(trust.core, debiased)
    return found


def _thin(positions: NDArray[np.int64], vectors: Floats) -> dict[str, Any]:
    step = -(-len(positions) // DRAWN_POINTS)
    first, second = vectors[::step].round(4).T
    return {
        "positions": positions[::step].tolist(),
        "first": first.tolist(),
        "second": second.tolist(),
    }


POOR = 0.04
"""Scale-free stress above which a map is worse than poor: 0.2 squared [kruskal1964]."""


@dataclass(frozen=True, kw_only=True)
class Map:
    """The map of a corpus in two dimensions; what is debiased is None where there is none."""

    plugin: Point
    apart: tuple[float, float] | None
    """Largest distance within a third of the window, smallest between two thirds."""
    debiased: float | None = None
    """Scale-free stress of the map of debiased distances against these."""
    debiased_apart: tuple[float, float] | None = None


def judge_bars(bars: Mapping[str, Sequence[Point]], missing: str) -> Judged:
    """Say whether each bar is much lower than the next: raw, scale-free and debiased.

    Where a bar has several readings of one corpus (random tables), their mean is compared.
    """
    kinds: dict[str, Callable[[Point], float | None]] = {
        "raw": lambda one: one.raw,
        "scale-free": lambda one: one.scale_free,
        "debiased": lambda one: None if one.debiased is None else one.debiased.value,
    }
    names = list(bars)
    pieces: list[Evidence] = []
    words = []
    for kind, of in kinds.items():
        means = {name: _match([of(one) for one in bars[name]], len(bars["mds"])) for name in names}
        for low, high in pairwise(names):
            what = f"{kind} stress, {high} over {low}"
            bounds = [None if value is None else MUCH * value for value in means[low]]
            pieces += compare(what, means[high], ">=", bounds)
        words.append(_list_names(kind, means, missing))
    return Judged(
        claim=f"MDS << sinusoidal << random (<<: at least {MUCH:g} times)",
        evidence=tuple(pieces),
        reason=f"{'; '.join(words)}. An encoding of zeros has raw stress 1.",
    )


def _match(values: Sequence[float | None], count: int) -> list[float | None]:
    """Return one value for every corpus drawn: the mean of its readings."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return [None] * count
    return list(known) if len(known) == count else [sum(known) / len(known)]


def _list_names(kind: str, means: Mapping[str, Sequence[float | None]], missing: str) -> str:
    known = {k: [v for v in values if v is not None] for k, values in means.items()}
    if any(len(known[k]) < len(values) for k, values in means.items()):
        return f"{kind}: none, since {missing}"
    shown = ", ".join(f"{name} {spread(values)}" for name, values in known.items())
    return f"{kind}: {shown}"


def judge_map(maps: Sequence[Map], missing: str) -> Judged:
    """Say whether the plane shows the distances: those it was made of, and those without noise."""
    plugin = [one.plugin.scale_free for one in maps]
    noisy = [None if one.plugin.debiased is None else one.plugin.debiased.value for one in maps]
    debiased = [one.debiased for one in maps]
    known = [value for value in debiased if value is not None]
    crossed = [value for value in noisy if value is not None]
    words = f"the plug-in map leaves {spread(plugin)} of the plug-in distances"
    words += (
        f" and {spread(crossed)} of the debiased ones; the map of debiased distances leaves "
        f"{spread(known)} of them"
        if len(known) == len(maps)
        else f". Debiased: none, since {missing}"
    )
    return Judged(
        claim=f"the map in two dimensions shows the distances (scale-free stress up to {POOR:g})",
        evidence=(
            *compare("plug-in map, plug-in distances", plugin, "<=", POOR),
            *compare("plug-in map, debiased distances", noisy, "<=", POOR),
            *compare("debiased map, debiased distances", debiased, "<=", POOR),
        ),
        reason=f"{words}.",
    )


def judge_regimes(maps: Sequence[Map]) -> Judged:
    """Say whether the three regimes are apart in the map."""
    plugin = [one.apart or (None, None) for one in maps]
    debiased = [one.debiased_apart or (None, None) for one in maps]
    words = [
        f"{name}: within a regime up to {spread(within)}, between two from {spread(between)} on"
        for name, found in (("plug-in", plugin), ("debiased", debiased))
        if (within := [w for w, _ in found if w is not None])
        and (between := [b for _, b in found if b is not None])
    ]
    return Judged(
        claim="the three regimes are apart in the map",
        evidence=(
            *compare(
                "largest distance within, smallest between; plug-in",
                [within for within, _ in plugin],
                "<",
                [between for _, between in plugin],
            ),
            *compare(
                "largest distance within, smallest between; debiased",
                [within for within, _ in debiased],
                "<",
                [between for _, between in debiased],
            ),
        ),
        reason=f"{'; '.join(words)}.",
    )


def judge_heights(bars: Mapping[str, Sequence[Point]]) -> Judged:
    """Say whether the mean raw stresses are the published ones."""
    means = {name: spread([one.raw for one in bars[name]]) for name in bars}
    words = ", ".join(f"{name} {PUBLISHED[name]:g} and {means[name]}" for name in bars)
    return Judged(
        claim=f"the bars have their published heights (within {100 * NEAR:.0f} %)",
        evidence=tuple(
            piece
            for name in bars
            for piece in compare(
                f"relative difference from {PUBLISHED[name]:g}, {name}",
                [abs(means[name].mean / PUBLISHED[name] - 1.0)],
                "<=",
                NEAR,
            )
        ),
        reason=f"published and ours: {words}. The published dimension is not given; table3 says "
        "where these digits can occur.",
    )
