"""What Table 4 is said to show, judged by the numbers found on one corpus.

ALiBi far below the sinusoid; sinusoid and rotary encoding within 3 %; an exact isometry at n - 1
dimensions; the rank as intrinsic dimension; a monotone MDS encoding [cirrincione2026 sec. 6].

Each is judged against plug-in distances, as published, and, where noise could be taken out, against
the debiased geometry as well: a claim that holds in noise alone says nothing of the corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gnomon.report import cell
from gnomon.reproduce.claims import Spread, Verdict, agreement, divided
from gnomon.reproduce.debiasing import Estimate, Stresses

FAR = 0.5
"""Far below: less than half."""
NEARLY = 0.03
ZERO = 1e-20
"""Stress below this is rounding."""


class Directions(NamedTuple):
    """What stands above the noise edge of the core."""

    rank: int
    core: int
    largest: float
    edge: float
    participation: Estimate | None


def judge_alibi(
    *,
    sinusoidal: Stresses,
    heads: Spread,
    lifts: Mapping[str, Stresses],
    differences: Mapping[str, Estimate],
    missing: str | None = None,
) -> Verdict:
    """Compare ALiBi with the sinusoid: raw over the slopes, scale-free and debiased by lift.

    `lifts` are the readings of ALiBi, that of the best slope first; `differences` how much the
    debiased stress of the sinusoid exceeds each; `missing` says why there is none.
    """
    best = next(iter(lifts.values()))
    slopes = {
        "official slope that fits best": heads.smallest,
        "official slope that fits worst": heads.largest,
        "best slope of all": best.raw,
    }
    readings = {
        f"raw stress at the {words}": [_far(value, sinusoidal.raw)]
        for words, value in slopes.items()
    }
    for words, one in lifts.items():
        readings[f"scale-free stress {words}"] = [_far(one.scale_free, sinusoidal.scale_free)]
    readings |= _far_debiased(sinusoidal, lifts)
    free = _listed({words: cell(one.scale_free) for words, one in lifts.items()})
    return Verdict(
        claim="ALiBi is far below the sinusoid (less than half its stress)",
        holds=agreement(reading for found in readings.values() for reading in found),
        reason=f"raw: sinusoid {cell(sinusoidal.raw)}; ALiBi read as a slope "
        f"{cell(heads.smallest)} to {cell(heads.largest)} over the official slopes and "
        f"{cell(best.raw)} at the best one; an encoding of zeros has raw stress 1. Scale-free: "
        f"sinusoid {cell(sinusoidal.scale_free)}; ALiBi {free}. "
        + _debiased_order(sinusoidal, lifts, differences, missing)
        + divided(readings),
    )


def _far(value: float, other: float) -> bool:
    return value < FAR * other


def _far_debiased(sinusoidal: Stresses, lifts: Mapping[str, Stresses]) -> dict[str, list[bool]]:
    if sinusoidal.debiased is None:
        return {}
    return {
        f"debiased stress {words}": [_far(one.debiased.value, sinusoidal.debiased.value)]
        for words, one in lifts.items()
        if one.debiased is not None
    }


def _listed(shown: Mapping[str, str]) -> str:
    return ", ".join(f"{value} {words}" for words, value in shown.items())


def _debiased_order(
    sinusoidal: Stresses,
    lifts: Mapping[str, Stresses],
    differences: Mapping[str, Estimate],
    missing: str | None,
) -> str:
    """Say what debiasing does to the order of the two."""
    known = {words: one.debiased for words, one in lifts.items() if one.debiased is not None}
    if sinusoidal.debiased is None or not known:
        return f"Debiased: none, since {missing}."
    shown = _listed({words: str(one) for words, one in known.items()})
    parts = [f"Debiased: sinusoid {sinusoidal.debiased}; ALiBi {shown}."]
    parts += [
        order_sentence(
            words,
            plugin=sinusoidal.scale_free - lifts[words].scale_free,
            debiased=(sinusoidal.debiased, known[words]),
            difference=difference,
        )
        for words, difference in differences.items()
    ]
    return " ".join(parts)


def order_sentence(
    words: str, *, plugin: float, debiased: tuple[Estimate, Estimate], difference: Estimate
) -> str:
    """Say whether debiasing reverses the order, whether intervals overlap, and what is certain.

    `plugin` is the scale-free stress of the sinusoid minus that of ALiBi, `debiased` are the two
    after debiasing, and `difference` is theirs, jackknifed as one figure.
    """
    lower = "ALiBi" if difference.value > 0.0 else "the sinusoid"
    turned = plugin * difference.value < 0.0
    order = f"reverses the order, so that {lower} is lower" if turned else "keeps the order"
    overlap = "overlap" if debiased[0].overlaps(debiased[1]) else "do not overlap"
    certain = "may be 0" if difference.low <= 0.0 <= difference.high else "excludes 0"
    return (
        f"{words[:1].upper()}{words[1:]}, debiasing {order}; the two intervals {overlap}, and "
        f"their difference over the same folds, {difference}, {certain}."
    )


def judge_rope(*, sinusoidal: float, kernel: float, normal: Spread, ones: float) -> Verdict:
    """Compare raw stress of the rotary encoding with that of the sinusoid, probe by probe."""

    def gap(value: float) -> float:
        return abs(value / sinusoidal - 1.0)

    widest = max(gap(normal.smallest), gap(normal.largest))
    return Verdict(
        claim="sinusoid and RoPE differ by less than 3 %",
        holds=agreement(value < NEARLY for value in (gap(kernel), widest, gap(ones))),
        reason=f"with content of unit pairs they are the same distances (difference "
        f"{gap(kernel):.1e} of the raw stress); with normal probes they differ by up to "
        f"{100 * widest:.2g} %, with a probe of ones by {100 * gap(ones):.3g} %.",
    )


def judge_isometry(raw: float, *, positions: int, noise: float) -> Verdict:
    """Say whether classical scaling is exact at n - 1 dimensions, and whether noise has that, too.

    `noise` is the same stress for the tokens dealt at random.
    """
    return Verdict(
        claim="the MDS encoding is an exact isometry at dimension n - 1",
        holds=agreement([raw < ZERO]),
        reason=f"raw stress {raw:.1e} at {positions - 1} dimensions, and {noise:.1e} for the same "
        "tokens dealt at random. It is so for any corpus, noise included, as sqrt(p) itself embeds "
        "the chords, and therefore says nothing of this one.",
    )


def judge_rank(
    *,
    rank: int,
    noise: int,
    above: int,
    participation: float,
    directions: Directions | None,
    missing: str | None = None,
) -> Verdict:
    """Say whether the rank is that of the directions above noise."""
    readings = [rank == above] + ([] if directions is None else [rank == directions.rank])
    return Verdict(
        claim="the rank of the Gram matrix is the intrinsic dimension of the corpus",
        holds=agreement(readings),
        reason=f"rank {rank}, and {noise} when the same tokens are dealt at random to the same "
        f"slots; eigenvalues above the largest one of those: {above}; participation ratio "
        f"{participation:.3g}. " + _directions(directions, missing),
    )


def _directions(found: Directions | None, missing: str | None) -> str:
    if found is None:
        return f"Debiased: none, since {missing}."
    matter = "" if found.participation is None else f", participation ratio {found.participation}"
    return (
        f"Debiased, on {found.core} core positions: {found.rank} above the noise edge (the largest "
        f"eigenvalue is {found.largest:.3g}, the edge {found.edge:.3g}){matter}."
    )


def judge_monotone(
    rate: float | None,
    *,
    own: float | None,
    ties: float | None,
    stress: float,
    debiased: Estimate | None = None,
    missing: str | None = None,
) -> Verdict:
    """Say whether MDS distances grow with the lag, and whose violations they have.

    Debiased distances keep some noise, so they are called monotone where the interval of their
    violations holds 0.
    """
    readings = [] if rate is None else [rate == 0.0]
    readings += [] if debiased is None else [debiased.low <= 0.0]
    fitted = "exact" if stress < ZERO else f"of raw stress {cell(stress)}"
    core = f"the core has {debiased}" if debiased is not None else f"none, since {missing}"
    return Verdict(
        claim="the MDS encoding is monotone: distances grow with the lag",
        holds=agreement(readings),
        reason=f"violations {cell(rate)} of the triples; the corpus itself has {cell(own)}, and "
        f"ties {cell(ties)}, which the fit, {fitted}, inherits. Debiased: {core}. Distances in no "
        "order have about 0.5; where it is not 0, the hypothesis fails on this corpus.",
    )
