"""What Table 4 is said to show, judged by the numbers found on one corpus.

ALiBi far below the sinusoid; sinusoid and rotary encoding within 3 %; an exact isometry at n - 1
dimensions; the rank as intrinsic dimension; a monotone MDS encoding [cirrincione2026 sec. 6].
"""

from __future__ import annotations

from gnomon.report.text import cell
from gnomon.reproduce.claims import Spread, Verdict, agreement

FAR = 0.5
"""Far below: less than half."""
NEARLY = 0.03
ZERO = 1e-20
"""Stress below this is rounding."""

Pair = tuple[float, float]
"""Raw and scale-free stress."""


def judge_alibi(*, sinusoidal: Pair, heads: Spread, best: Pair, kernel: Pair) -> Verdict:
    """Compare ALiBi with the sinusoid: raw over the slopes, scale-free under either lift."""
    raw, free = sinusoidal
    readings = [
        heads.smallest < FAR * raw,
        heads.largest < FAR * raw,
        best[0] < FAR * raw,
        best[1] < FAR * free,
        kernel[1] < FAR * free,
    ]
    return Verdict(
        claim="ALiBi is far below the sinusoid (less than half its stress)",
        holds=agreement(readings),
        reason=f"raw: sinusoid {cell(raw)}; ALiBi read as a slope {cell(heads.smallest)} to "
        f"{cell(heads.largest)} over the official slopes and {cell(best[0])} at the best one. "
        f"Scale-free: sinusoid {cell(free)}; ALiBi {cell(best[1])} as a slope, {cell(kernel[1])} "
        "under the kernel lift. An encoding of zeros has raw stress 1.",
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


def judge_isometry(raw: float, *, positions: int) -> Verdict:
    """Say whether classical scaling is exact at n - 1 dimensions."""
    return Verdict(
        claim="the MDS encoding is an exact isometry at dimension n - 1",
        holds=agreement([raw < ZERO]),
        reason=f"raw stress {raw:.1e} at {positions - 1} dimensions. It is so for any corpus, "
        "as sqrt(p) itself embeds the chords, and therefore says nothing of this one.",
    )


def judge_rank(*, rank: int, noise: int, above: int, participation: float) -> Verdict:
    """Say whether the rank is that of the directions above noise."""
    return Verdict(
        claim="the rank of the Gram matrix is the intrinsic dimension of the corpus",
        holds=agreement([rank == above]),
        reason=f"rank {rank}, and {noise} when the same tokens are dealt at random to the same "
        f"slots; eigenvalues above the largest one of those: {above}; participation ratio "
        f"{participation:.3g}.",
    )


def judge_monotone(
    rate: float | None, *, own: float | None, ties: float | None, stress: float
) -> Verdict:
    """Say whether MDS distances grow with the lag, and whose violations they have."""
    readings = [] if rate is None else [rate == 0.0]
    fitted = "exact" if stress < ZERO else f"of raw stress {cell(stress)}"
    return Verdict(
        claim="the MDS encoding is monotone: distances grow with the lag",
        holds=agreement(readings),
        reason=f"violations {cell(rate)} of the triples; the corpus itself has {cell(own)}, and "
        f"ties {cell(ties)}, which the fit, {fitted}, inherits. Where that is not 0, the "
        "hypothesis fails on this corpus.",
    )
