"""What Figure 4 is said to show, judged on one corpus (or on one drawn again for every seed).

Zero stress of MDS at the rank, the rank as intrinsic dimensionality, exponential growth of the
sinusoid and of RoPE, two curves that can not be told apart, added frequencies that are worse
aligned [cirrincione2026 sec. 6.4].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gnomon.report import cell
from gnomon.reproduce.claims import spread
from gnomon.reproduce.dimension import FITTED_FROM, FORMS, RISE
from gnomon.reproduce.evidence import Evidence, Judged, compared
from gnomon.reproduce.figure1 import numbers
from gnomon.reproduce.points import Point
from gnomon.reproduce.subjects import Subject
from gnomon.reproduce.table4_claims import NEARLY, ZERO


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Stress by dimension on one corpus."""

    mds: Mapping[int, Point]
    sinusoid: Mapping[int, Point]
    kernel: Mapping[int, float]
    """Raw stress of RoPE with content of unit pairs."""
    normal: Mapping[int, tuple[float, ...]]
    """Raw stress of RoPE with normal probes."""
    ones: Mapping[int, float]
    """Raw stress of RoPE with a probe of ones."""
    fits: Mapping[str, Mapping[str, float]]
    """Typical relative error of each form, and the slope on two log axes, by encoding."""

    def gap(self, raw: Mapping[int, float | tuple[float, ...]]) -> float:
        """Return the widest relative difference from the sinusoid, over all dimensions."""
        return max(
            abs(value / self.sinusoid[d].raw - 1.0)
            for d, found in raw.items()
            for value in (found if isinstance(found, tuple) else (found,))
        )

    @property
    def ends(self) -> tuple[Point, Point]:
        """Return the sinusoid at its smallest dimension and at its largest."""
        found = [self.sinusoid[d] for d in sorted(self.sinusoid)]
        return found[0], found[-1]


def judged(subject: Subject, curves: Sequence[Curves]) -> list[Judged]:
    """Judge every claim on one corpus."""
    return [
        zero(subject, curves),
        intrinsic(subject),
        growth(curves),
        indistinguishable(curves),
        misaligned(subject, curves),
    ]


def zero(subject: Subject, curves: Sequence[Curves]) -> Judged:
    """Say whether MDS reaches zero stress at the rank.

    It does by algebra, whatever the distances: so the reason also says how far the same vectors are
    from the distances without noise, which the claim does not speak of.
    """
    pairs = list(zip(subject.samples, curves, strict=True))
    exact = [one.mds[sample.rank] for sample, one in pairs]
    before = [one.mds[max(sample.rank - 1, 1)].raw for sample, one in pairs]
    return Judged(
        claim="MDS reaches zero stress at d = rank(B)",
        evidence=(
            *compared("raw stress at the rank", [one.raw for one in exact], "<", ZERO),
            *compared("raw stress one below the rank", before, ">", ZERO),
        ),
        reason=f"at d = {numbers([s.rank for s in subject.samples])} the raw stress is "
        f"{max(one.raw for one in exact):.1e}, one dimension below {cell(max(before))}; it is so "
        f"for any corpus, noise included. {_against_debiased(subject, curves)}",
    )


def _against_debiased(subject: Subject, curves: Sequence[Curves]) -> str:
    """Say at which dimension plug-in MDS comes nearest to the debiased geometry."""
    first, rank = curves[0].mds, subject.first.rank
    known = {d: p.debiased for d, p in first.items() if p.debiased is not None}
    if not known or len(known) < len(first):
        return f"Debiased: none, since {subject.missing}."
    best = min(known, key=lambda d: known[d].value)
    seed = f" (seed {subject.first.seed})" if len(curves) > 1 else ""
    return (
        f"Against the debiased distances{seed} the same vectors have {known[rank]} at the rank and "
        f"{known[best]} at d = {best}, the least of all dimensions shown: what further ones add is "
        "noise."
        if best < rank
        else f"Against the debiased distances{seed} the same vectors have {known[rank]} there."
    )


def intrinsic(subject: Subject) -> Judged:
    """Say whether the rank is the number of directions above noise."""
    samples = subject.samples
    ranks, above = [s.rank for s in samples], [s.above for s in samples]
    effective = [s.effective for s in samples]
    known = [rank for rank in effective if rank is not None]
    debiased = numbers(known) if len(known) == len(samples) else f"none, since {subject.missing}"
    positions = subject.positions
    return Judged(
        claim="rank(B) is the intrinsic dimensionality of the positional metric",
        evidence=(
            *compared("rank(B) and eigenvalues above the null band", ranks, "==", above),
            *compared("rank(B) and directions above the noise edge", ranks, "==", effective),
        ),
        reason=f"rank(B) is {numbers(ranks)} of at most n - 1 = {positions - 1}, and "
        f"{numbers([s.null_rank for s in samples])} for the same tokens dealt at random; "
        f"eigenvalues above those of dealt tokens: {numbers(above)}; directions above the noise "
        f"edge, debiased: {debiased}.",
    )


def growth(curves: Sequence[Curves]) -> Judged:
    """Say whether the exponential is the form that fits best."""
    evidence: list[Evidence] = []
    words = []
    for name in curves[0].fits:
        fits = [one.fits[name] for one in curves]
        others = [min(fit[form] for form in FORMS if form != "exponential") for fit in fits]
        what = f"error of the exponential, and of the better of the other two forms: {name}"
        evidence += compared(what, [fit["exponential"] for fit in fits], "<", others)
        means = {form: spread([fit[form] for fit in fits]).mean for form in FORMS}
        errors = ", ".join(f"{form} {100 * error:.2g} %" for form, error in means.items())
        words.append(f"{name}: {errors}; slope {spread([fit['slope'] for fit in fits])}")
    return Judged(
        claim="the stress of the sinusoid and of RoPE grows exponentially with d",
        evidence=tuple(evidence),
        reason=f"from d = {FITTED_FROM} on, typical relative error of each form, and the slope on "
        f"two log axes (1: proportional to d): {'. '.join(words)}.",
    )


def indistinguishable(curves: Sequence[Curves]) -> Judged:
    """Say whether RoPE has the raw stress of the sinusoid at every dimension, by probe."""
    gaps = {
        "content of unit pairs": [one.gap(one.kernel) for one in curves],
        "normal probes": [one.gap(one.normal) for one in curves],
        "a probe of ones": [one.gap(one.ones) for one in curves],
    }
    words = ", ".join(f"{_percent(max(found))} with {name}" for name, found in gaps.items())
    return Judged(
        claim=f"the curves of sinusoid and RoPE can not be told apart (less than "
        f"{100 * NEARLY:.0f} % at every d)",
        evidence=tuple(
            piece
            for name, found in gaps.items()
            for piece in compared(f"RoPE with {name}", found, "<", NEARLY)
        ),
        reason=f"the widest gap over all d is {words}. With unit pairs they are the same distances "
        "by algebra, so the agreement is of the construction and not of the encodings.",
    )


def _percent(share: float) -> str:
    if share <= 1e-9:
        return "nothing (rounding)"
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def misaligned(subject: Subject, curves: Sequence[Curves]) -> Judged:
    """Say whether stress without its scale grows from the smallest dimension to the largest."""

    def rise(of: Callable[[Point], float | None]) -> tuple[list[float | None], list[float | None]]:
        first = [of(one.ends[0]) for one in curves]
        last = [of(one.ends[1]) for one in curves]
        return last, [None if value is None else RISE * value for value in first]

    free = rise(lambda one: one.scale_free)
    debiased = rise(lambda one: None if one.debiased is None else one.debiased.value)
    small, large = min(curves[0].sinusoid), max(curves[0].sinusoid)
    return Judged(
        claim="added frequencies are increasingly misaligned with the corpus",
        evidence=(
            *compared("scale-free stress at the largest d", free[0], ">", free[1]),
            *compared("debiased stress at the largest d", debiased[0], ">", debiased[1]),
        ),
        reason=f"from d = {small} to {large} the sinusoid goes from {_ends(curves, 'raw')} raw, "
        f"which follows its squared norm d/2; {_ends(curves, 'scale_free')} scale-free; "
        f"{_debiased_ends(subject, curves)} debiased (it has grown from {RISE:g} times on).",
    )


def _ends(curves: Sequence[Curves], name: str) -> str:
    first, last = (spread([getattr(one.ends[k], name) for one in curves]) for k in (0, 1))
    return f"{first} to {last}"


def _debiased_ends(subject: Subject, curves: Sequence[Curves]) -> str:
    found = [one.ends for one in curves]
    if any(end.debiased is None for ends in found for end in ends):
        return f"none, since {subject.missing},"
    first, last = ([e[k].debiased for e in found if e[k].debiased is not None] for k in (0, 1))
    if len(curves) == 1:
        return f"{first[0]} to {last[0]}"
    return " to ".join(
        str(spread([one.value for one in ends if one is not None])) for ends in (first, last)
    )
