"""Figure 4: stress against dimension for MDS, the sinusoid and rotary encodings.

Said to show [cirrincione2026 sec. 6.4]: MDS reaches zero stress at the rank of B, which is called
the intrinsic dimensionality; the sinusoid and RoPE grow exponentially with d, indistinguishable
from each other, since added frequencies are increasingly misaligned. All values are lost.

Ours: raw stress as published, scale-free stress, and scale-free stress against the debiased
geometry of the core. Classical scaling of plug-in distances is exact from rank(B) on for any
corpus, noise included; against the debiased distances it need not come to rest at zero. Growth is
judged by three curves with two numbers each (`gnomon.reproduce.dimension`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gnomon.corpus import Progress
from gnomon.diagnostics import stress
from gnomon.distances import classical_mds
from gnomon.encodings import encoding
from gnomon.numeric.rows import distances_between
from gnomon.reproduce.claims import ABSENT, LOST, Figure, Published, Reproduction, Row
from gnomon.reproduce.dimension import DIMENSIONS, FITTED_FROM, fitted
from gnomon.reproduce.figure4_claims import Curves, judged
from gnomon.reproduce.points import Point, columns, lifted, one_or_spread, point
from gnomon.reproduce.samples import Options, repeated
from gnomon.reproduce.subjects import Sample, Subject, reproduction, subjects

TITLE = "stress against dimension"
SMALL = (1, 2, 3, 4)


def figure4(options: Options, progress: Progress) -> Reproduction:
    """Make Figure 4 again on the three-regime corpus, or on corpora."""
    studied = subjects("figure4", options, progress)
    found = {one.name: _curves(one, options, progress) for one in studied}
    return reproduction(
        "figure4",
        TITLE,
        setting=f"d = {SMALL[0]} to {DIMENSIONS[-1]}; normal probes from {repeated(options)}",
        rows={one.name: list(_rows(one, found[one.name])) for one in studied},
        judged={one.name: judged(one, found[one.name]) for one in studied},
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
        d: point(lifted(encoding("sinusoidal", dimension=d, axes=axes), sample), sample)
        for d in whole
    }
    normal = {d: tuple(_probed(sample, d, seed) for seed in probes) for d in whole}
    curves = {
        "sinusoid": {d: found.raw for d, found in sinusoid.items()},
        "RoPE": {d: sum(raw) / len(raw) for d, raw in normal.items()},
    }
    return Curves(
        mds=_scaled(sample),
        sinusoid=sinusoid,
        kernel={d: _rope(sample, d) for d in whole},
        normal=normal,
        ones={d: _probed(sample, d, None) for d in whole},
        fits={name: _fitted(raw) for name, raw in curves.items()},
    )


def _fitted(raw: dict[int, float]) -> dict[str, float]:
    """Return the typical relative error of each form, and the slope on two log axes."""
    long = [d for d in raw if d >= FITTED_FROM]
    found = fitted(np.array(long), np.array([raw[d] for d in long]))
    return {**found.errors, "slope": found.slope}


def _rope(sample: Sample, dimension: int) -> float:
    axes = sample.geometry.coordinates.shape[1]
    return stress(encoding("rope", dimension=dimension, axes=axes), sample.geometry).raw


def _probed(sample: Sample, dimension: int, seed: int | None) -> float:
    """Return raw stress of RoPE with a normal probe; without a seed with a probe of ones."""
    axes = sample.geometry.coordinates.shape[1]
    made = encoding("rope", dimension=dimension, axes=axes)
    rng = None if seed is None else np.random.default_rng([seed, 1])
    probe = np.ones(dimension) if seed is None else None
    return stress(made, sample.geometry, lift="probe", probe=probe, rng=rng).raw


def _scaled(sample: Sample) -> dict[int, Point]:
    """Return the curve of classical scaling, at the rank and one below it as well."""
    rank = sample.rank
    wanted = sorted({*SMALL, *DIMENSIONS, max(rank - 1, 1), rank})
    vectors = np.asarray(classical_mds(sample.geometry.gram, rank).vectors)
    exact = point(distances_between(vectors), sample)
    return {
        d: exact if d >= rank else point(distances_between(vectors[:, :d]), sample) for d in wanted
    }


def _rows(subject: Subject, curves: Sequence[Curves]) -> Iterator[Row]:
    shown = sorted(set.intersection(*(set(one.mds) for one in curves)))
    for d in shown:
        ours = columns([one.mds[d] for one in curves], "MDS ")
        if all(d in one.sinusoid for one in curves):
            ours |= columns([one.sinusoid[d] for one in curves], "sinusoid ")
            probed: Figure = one_or_spread([raw for one in curves for raw in one.normal[d]])
            ours["RoPE raw"] = probed
        reasons = {key: subject.missing for key, value in ours.items() if value is None}
        yield Row(
            what=f"d = {d}",
            published=Published(quantity="stress", reason=ABSENT if subject.drawn else LOST),
            ours=ours,
            reasons=reasons or None,
            group=subject.name,
        )
