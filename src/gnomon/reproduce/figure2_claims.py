"""What Figure 2 is said to show, judged on one corpus (or on one drawn again for every seed).

Bars that rise from MDS over the sinusoid to a random table; a map in the plane that shows the
distances; on the synthetic corpus, three regimes in it [cirrincione2026 sec. 6.2].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gnomon.reproduce.claims import spread
from gnomon.reproduce.evidence import Evidence, Judged, compared
from gnomon.reproduce.points import Point
from gnomon.reproduce.table3_claims import MUCH, NEAR, PUBLISHED

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
        means = {
            name: _matched([of(one) for one in bars[name]], len(bars["mds"])) for name in names
        }
        for low, high in pairwise(names):
            what = f"{kind} stress, {high} over {low}"
            bounds = [None if value is None else MUCH * value for value in means[low]]
            pieces += compared(what, means[high], ">=", bounds)
        words.append(_listed(kind, means, missing))
    return Judged(
        claim=f"MDS << sinusoidal << random (<<: at least {MUCH:g} times)",
        evidence=tuple(pieces),
        reason=f"{'; '.join(words)}. An encoding of zeros has raw stress 1.",
    )


def _matched(values: Sequence[float | None], count: int) -> list[float | None]:
    """Return one value for every corpus drawn: the mean of its readings."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return [None] * count
    return list(known) if len(known) == count else [sum(known) / len(known)]


def _listed(kind: str, means: Mapping[str, Sequence[float | None]], missing: str) -> str:
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
            *compared("plug-in map, plug-in distances", plugin, "<=", POOR),
            *compared("plug-in map, debiased distances", noisy, "<=", POOR),
            *compared("debiased map, debiased distances", debiased, "<=", POOR),
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
            *compared(
                "largest distance within, smallest between; plug-in",
                [within for within, _ in plugin],
                "<",
                [between for _, between in plugin],
            ),
            *compared(
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
            for piece in compared(
                f"relative difference from {PUBLISHED[name]:g}, {name}",
                [abs(means[name].mean / PUBLISHED[name] - 1.0)],
                "<=",
                NEAR,
            )
        ),
        reason=f"published and ours: {words}. The published dimension is not given; table3 says "
        "where these digits can occur.",
    )
