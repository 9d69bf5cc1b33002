"""Figure 4: stress against dimension for MDS, the sinusoid and rotary encodings.

Said to show [cirrincione2026 sec. 6.4]: MDS reaches zero stress at the rank of B, which is called
the intrinsic dimensionality; the sinusoid and RoPE grow exponentially with d, indistinguishable
from each other, since added frequencies are increasingly misaligned. All values are lost.

Ours: raw stress as published, scale-free stress, and scale-free stress against the debiased
geometry of the core. Classical scaling of plug-in distances is exact from rank(B) on for any
corpus, noise included; against the debiased distances it need not come to rest at zero. Growth is
judged by three curves with two numbers each (`gnomon.reproduce.dimension`).

What Figure 4 is said to show, judged on one corpus (or on one drawn again for every seed).

Zero stress of MDS at the rank, the rank as intrinsic dimensionality, exponential growth of the
sinusoid and of RoPE, two curves that cannot be told apart, added frequencies that are worse
aligned [cirrincione2026 sec. 6.4].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.corpus import Progress
from gnomon.diagnostics import stress
from gnomon.distances import classical_mds
from gnomon.encodings import encoding
from gnomon.numeric.rows import distances_between
from gnomon.report import cell
from gnomon.reproduce.claims import (
    ABSENT,
    LOST,
    Evidence,
    Figure,
    Judged,
    Published,
    Reproduction,
    Row,
    compare,
    spread,
)
from gnomon.reproduce.dimension import DIMENSIONS, FITTED_FROM, FORMS, RISE, fit_forms
from gnomon.reproduce.figure1 import numbers
from gnomon.reproduce.readings import (
    Point,
    lift_distances,
    measure_point,
    one_or_spread,
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
from gnomon.reproduce.table4 import NEARLY, ZERO

TITLE = "stress against dimension"
SMALL = (1, 2, 3, 4)


def make(options: Options, progress: Progress) -> Reproduction:
    """Make Figure 4 again on the three-regime corpus, or on corpora."""
    studied = read_subjects("figure4", options, progress)
    found = {one.name: _curves(one, options, progress) for one in studied}
    return reproduction(
        "figure4",
        TITLE,
        setting=f"d = {SMALL[0]} to {DIMENSIONS[-1]}; normal probes from {describe_seeds(options)}",
        rows={one.name: list(_rows(one, found[one.name])) for one in studied},
        judged={one.name: judge(one, found[one.name]) for one in studied},
        studied=studied,
        options=options,
        notes=(
            "RoPE is with normal probes; under the kernel lift it has the sinusoid's distances.",
            "at d = rank(B) and one below it MDS has a line of its own.",
        ),
    )


def _curves(subject: Subject, options: Options, progress: Progress) -> list[Curves]:
    """Return the curves of every seed; a corpus that was given is probed once for every seed."""
    progress.stage("stress at every dimension")
    seeds = list(options.streams)
    return [_curve(s, [s.seed] if subject.drawn else seeds) for s in subject.samples]


def _curve(sample: Sample, probes: Sequence[int]) -> Curves:
    axes = sample.geometry.coordinates.shape[1]
    whole = [d for d in DIMENSIONS if d % (2 * axes) == 0]
    sinusoid = {
        d: measure_point(
            lift_distances(encoding("sinusoidal", dimension=d, axes=axes), sample), sample
        )
        for d in whole
    }
    normal = {d: tuple(_probe_curve(sample, d, seed) for seed in probes) for d in whole}
    curves = {
        "sinusoid": {d: found.raw for d, found in sinusoid.items()},
        "RoPE": {d: sum(raw) / len(raw) for d, raw in normal.items()},
    }
    return Curves(
        mds=_scale_curve(sample),
        sinusoid=sinusoid,
        kernel={d: _rope(sample, d) for d in whole},
        normal=normal,
        ones={d: _probe_curve(sample, d, None) for d in whole},
        fits={name: _fit_curve(raw) for name, raw in curves.items()},
    )


def _fit_curve(raw: dict[int, float]) -> dict[str, float]:
    """Return the typical relative error of each form, and the slope on two log axes."""
    long = [d for d in raw if d >= FITTED_FROM]
    found = fit_forms(np.array(long), np.array([raw[d] for d in long]))
    return {**found.errors, "slope": found.slope}


def _rope(sample: Sample, dimension: int) -> float:
    axes = sample.geometry.coordinates.shape[1]
    return stress(encoding("rope", dimension=dimension, axes=axes), sample.geometry).raw


def _probe_curve(sample: Sample, dimension: int, seed: int | None) -> float:
    """Return raw stress of RoPE with a normal probe; without a seed with a probe of ones."""
    axes = sample.geometry.coordinates.shape[1]
    made = encoding("rope", dimension=dimension, axes=axes)
    rng = None if seed is None else np.random.default_rng([seed, 1])
    probe = np.ones(dimension) if seed is None else None
    return stress(made, sample.geometry, lift="probe", probe=probe, rng=rng).raw


def _scale_curve(sample: Sample) -> dict[int, Point]:
    """Return the curve of classical scaling, at the rank and one below it as well."""
    rank = sample.rank
    wanted = sorted({*SMALL, *DIMENSIONS, max(rank - 1, 1), rank})
    vectors = np.asarray(classical_mds(sample.geometry.gram, rank).vectors)
    exact = measure_point(distances_between(vectors), sample)
    return {
        d: exact if d >= rank else measure_point(distances_between(vectors[:, :d]), sample)
        for d in wanted
    }


def _rows(subject: Subject, curves: Sequence[Curves]) -> Iterator[Row]:
    shown = sorted(set.intersection(*(set(one.mds) for one in curves)))
    for d in shown:
        ours = point_columns([one.mds[d] for one in curves], "MDS ")
        if all(d in one.sinusoid for one in curves):
            ours |= point_columns([one.sinusoid[d] for one in curves], "sinusoid ")
            probed: Figure = one_or_spread([raw for one in curves for raw in one.normal[d]])
            ours["RoPE raw"] = probed
        reasons = {key: subject.reason for key, value in ours.items() if value is None}
        yield Row(
            what=f"d = {d}",
            published=Published(quantity="stress", reason=ABSENT if subject.drawn else LOST),
            ours=ours,
            reasons=reasons or None,
            group=subject.name,
        )


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


def judge(subject: Subject, curves: Sequence[Curves]) -> list[Judged]:
    """Judge every claim on one corpus."""
    return [
        judge_zero(subject, curves),
        judge_intrinsic(subject),
        judge_growth(curves),
        judge_closeness(curves),
        judge_alignment(subject, curves),
    ]


def judge_zero(subject: Subject, curves: Sequence[Curves]) -> Judged:
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
            *compare("raw stress at the rank", [one.raw for one in exact], "<", ZERO),
            *compare("raw stress one below the rank", before, ">", ZERO),
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
        return f"Debiased: none, since {subject.reason}."
    best = min(known, key=lambda d: known[d].value)
    seed = f" (seed {subject.first.seed})" if len(curves) > 1 else ""
    return (
        f"Against the debiased distances{seed} the same vectors have {known[rank]} at the rank and "
        f"{known[best]} at d = {best}, the least of all dimensions shown: what further ones add is "
        "noise."
        if best < rank
        else f"Against the debiased distances{seed} the same vectors have {known[rank]} there."
    )


def judge_intrinsic(subject: Subject) -> Judged:
    """Say whether the rank is the number of directions above noise."""
    samples = subject.samples
    ranks, above = [s.rank for s in samples], [s.above for s in samples]
    effective = [s.effective for s in samples]
    known = [rank for rank in effective if rank is not None]
    debiased = numbers(known) if len(known) == len(samples) else f"none, since {subject.reason}"
    positions = subject.positions
    return Judged(
        claim="rank(B) is the intrinsic dimensionality of the positional metric",
        evidence=(
            *compare("rank(B) and eigenvalues above the null band", ranks, "==", above),
            *compare("rank(B) and directions above the noise edge", ranks, "==", effective),
        ),
        reason=f"rank(B) is {numbers(ranks)} of at most n - 1 = {positions - 1}, and "
        f"{numbers([s.null_rank for s in samples])} for the same tokens dealt at random; "
        f"eigenvalues above those of dealt tokens: {numbers(above)}; directions above the noise "
        f"edge, debiased: {debiased}.",
    )


def judge_growth(curves: Sequence[Curves]) -> Judged:
    """Say whether the exponential is the form that fits best."""
    evidence: list[Evidence] = []
    words = []
    for name in curves[0].fits:
        fits = [one.fits[name] for one in curves]
        others = [min(fit[form] for form in FORMS if form != "exponential") for fit in fits]
        what = f"error of the exponential, and of the better of the other two forms: {name}"
        evidence += compare(what, [fit["exponential"] for fit in fits], "<", others)
        means = {form: spread([fit[form] for fit in fits]).mean for form in FORMS}
        errors = ", ".join(f"{form} {100 * error:.2g} %" for form, error in means.items())
        words.append(f"{name}: {errors}; slope {spread([fit['slope'] for fit in fits])}")
    return Judged(
        claim="the stress of the sinusoid and of RoPE grows exponentially with d",
        evidence=tuple(evidence),
        reason=f"from d = {FITTED_FROM} on, typical relative error of each form, and the slope on "
        f"two log axes (1: proportional to d): {'. '.join(words)}.",
    )


def judge_closeness(curves: Sequence[Curves]) -> Judged:
    """Say whether RoPE has the raw stress of the sinusoid at every dimension, by probe."""
    gaps = {
        "content of unit pairs": [one.gap(one.kernel) for one in curves],
        "normal probes": [one.gap(one.normal) for one in curves],
        "a probe of ones": [one.gap(one.ones) for one in curves],
    }
    words = ", ".join(f"{_percent(max(found))} with {name}" for name, found in gaps.items())
    return Judged(
        claim=f"the curves of sinusoid and RoPE cannot be told apart (less than "
        f"{100 * NEARLY:.0f} % at every d)",
        evidence=tuple(
            piece
            for name, found in gaps.items()
            for piece in compare(f"RoPE with {name}", found, "<", NEARLY)
        ),
        reason=f"the widest gap over all d is {words}. With unit pairs they are the same distances "
        "by algebra, so the agreement is of the construction and not of the encodings.",
    )


def _percent(share: float) -> str:
    if share <= 1e-9:
        return "nothing (rounding)"
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def judge_alignment(subject: Subject, curves: Sequence[Curves]) -> Judged:
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
            *compare("scale-free stress at the largest d", free[0], ">", free[1]),
            *compare("debiased stress at the largest d", debiased[0], ">", debiased[1]),
        ),
        reason=f"from d = {small} to {large} the sinusoid goes from {_ends(curves, 'raw')} raw, "
        f"which follows its squared norm d/2; {_ends(curves, 'scale_free')} scale-free; "
        f"{_ends_of_debiased(subject, curves)} debiased (it has grown from {RISE:g} times on).",
    )


def _ends(curves: Sequence[Curves], name: str) -> str:
    first, last = (spread([getattr(one.ends[k], name) for one in curves]) for k in (0, 1))
    return f"{first} to {last}"


def _ends_of_debiased(subject: Subject, curves: Sequence[Curves]) -> str:
    found = [one.ends for one in curves]
    if any(end.debiased is None for ends in found for end in ends):
        return f"none, since {subject.reason},"
    first, last = ([e[k].debiased for e in found if e[k].debiased is not None] for k in (0, 1))
    if len(curves) == 1:
        return f"{first[0]} to {last[0]}"
    return " to ".join(
        str(spread([one.value for one in ends if one is not None])) for ends in (first, last)
    )
