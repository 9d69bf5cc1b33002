"""What Table 3 is said to show, judged by the numbers found.

The order MDS << sinusoidal << random, with and without scale; whether the printed digits can occur
at d = 128 at all, and where they occur together; whether 0.009 is what curvature leaves
[cirrincione2026 sec. 6.2].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.report import cell
from gnomon.reproduce.claims import Spread, Verdict, agreement

PUBLISHED: Mapping[str, float] = {"mds": 0.009, "sinusoidal": 2.248, "random": 24.805}
MUCH = 5.0
"""The factor from which one stress is much less than another (<<)."""
NEAR = 0.1
"""Relative difference up to which a mean over seeds counts as the published figure."""
ZERO = 1e-20
"""Stress below this is rounding: the square of a relative error in the distances."""

ByDimension = Mapping[int, Mapping[str, Sequence[float]]]


def judge_order(found: ByDimension, *, scale_free: bool) -> Verdict:
    """Say whether each stress is much less than the next, at every dimension and seed."""
    steps = [step for d in found for step in _steps(found[d])]
    words = "; ".join(f"d = {d}: {_ratios(found[d])}" for d in found)
    kind = "scale-free" if scale_free else "raw"
    claim = f"MDS << sinusoidal << random, in {kind} stress (<<: at least {MUCH:g} times)"
    reason = f"how many times sinusoidal is above MDS, and random above sinusoidal: {words}."
    if not scale_free:
        reason += (
            f" As published: {_times(PUBLISHED['sinusoidal'] / PUBLISHED['mds'])} and "
            f"{_times(PUBLISHED['random'] / PUBLISHED['sinusoidal'])}. "
            "An encoding of zeros scores 1."
        )
    return Verdict(claim=claim, holds=agreement(steps), reason=reason)


def _steps(stresses: Mapping[str, Sequence[float]]) -> list[bool]:
    triples = list(zip(*(stresses[name] for name in PUBLISHED), strict=True))
    first = all(MUCH * low <= middle for low, middle, _ in triples)
    second = all(MUCH * middle <= high for _, middle, high in triples)
    return [first, second]


def _ratios(stresses: Mapping[str, Sequence[float]]) -> str:
    low, middle, high = (sum(stresses[n]) / len(stresses[n]) for n in PUBLISHED)
    exact = low < ZERO
    return f"{'MDS is exact' if exact else _times(middle / low)}, {_times(high / middle)}"


def _times(ratio: float) -> str:
    return f"{ratio:,.3g}x" if ratio < 1000 else f"{ratio:,.0f}x"


def judge_digits(dimension: int, least: Mapping[str, float]) -> Verdict:
    """Say whether the printed stresses lie above what any corpus must give."""
    words = ", ".join(
        f"{name} {PUBLISHED[name]:g} against at least {cell(bound)}"
        for name, bound in least.items()
    )
    return Verdict(
        claim=f"sinusoidal 2.248 and random 24.805 are raw stresses at d = {dimension}, unscaled",
        holds=agreement(PUBLISHED[name] >= bound for name, bound in least.items()),
        reason=f"over all corpora there can be: {words}.",
    )


def judge_together(settings: Mapping[str, Mapping[str, float]]) -> Verdict:
    """Say in which settings all three printed figures are met."""
    met = {where: _meets(found) for where, found in settings.items()}
    words = "; ".join(
        f"{where}: {', '.join(cell(found[name]) for name in PUBLISHED)}"
        + (" (met)" if met[where] else "")
        for where, found in settings.items()
    )
    return Verdict(
        claim="0.009, 2.248 and 24.805 occur together (each within 10 %)",
        holds=agreement(met.values()),
        reason=f"with MDS cut to rank 2: {words}. Only scale times sqrt(d) is identified, "
        "so meeting the digits does not identify the setting.",
    )


def _meets(found: Mapping[str, float]) -> bool:
    return all(abs(found[name] / value - 1.0) <= NEAR for name, value in PUBLISHED.items())


def judge_curvature(by_rank: Mapping[int, Spread], length: int) -> Verdict:
    """Say whether any stress is left at full rank, as curvature would leave it."""
    full = by_rank[length - 1]
    low = ", ".join(f"rank {r}: {found}" for r, found in by_rank.items() if r < length - 1)
    return Verdict(
        claim="the 0.009 of MDS is residual curvature",
        holds=agreement([full.smallest > ZERO]),
        reason=f"at rank {length - 1} the raw stress is {full.largest:.1e} at most: chords have an "
        f"exact embedding. What is left at a low rank is truncation and sampling noise ({low}).",
    )
