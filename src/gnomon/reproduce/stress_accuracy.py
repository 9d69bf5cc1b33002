"""`gnomon reproduce stress-accuracy`: does lower stress go with higher accuracy?

The open question of [cirrincione2026]: an encoding of low stress has the distances of its corpus,
and nobody has said whether a model with it learns better. Vectors of several kinds enter models at
several root mean squares, on corpora that are planted and real. For each corpus the rank
correlation [spearman1904] over all of them between stress and what the models reached,

    raw          against plug-in distances, at the scale at which the vectors enter
    scale_free   the same at the best scale
    debiased     scale-free, against distances without sampling noise

is one value; the claim is judged by these values over corpora. Stress is that of the vectors
before training, on the training rows. What is reached is the share of the way from the best
constant answer to the ceiling, at the end (share) and along training (along): encodings that all
end at the ceiling differ in the second alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.corpus import CountOptions, Progress
from gnomon.diagnostics import stress
from gnomon.encodings import encoding
from gnomon.lab import EncodingEntry, Grid, over_seeds
from gnomon.numeric.rows import distances_between
from gnomon.pipeline import measure_corpus
from gnomon.reproduce.claims import Claim, Contrast, Reproduction, claim, rank_correlation
from gnomon.reproduce.fits import (
    LEFT,
    corpus_of,
    mds_part,
    name_rows,
    task_in,
    with_data,
    with_parts,
)
from gnomon.reproduce.grids import Table, data_notes, grid_named, report_grids, run_named, share_of
from gnomon.reproduce.subjects import Options

TITLE = "does lower stress go with higher accuracy?"
KINDS = {"raw": "raw stress", "scale_free": "scale-free stress", "debiased": "debiased stress"}
REACHED = {"share": "at the end", "along": "along training"}
SCALE = "-x"
"""What stands between the name of an encoding and its root mean square in a label."""
FEWEST = 4
"""Encodings of a corpus from which a rank correlation is taken."""
NOTES = (
    "correlations are over encodings and scales that were chosen; another set may differ.",
    "stress is of vectors before training; the model may turn and stretch them as it likes.",
    "the interval is over corpora, so that it holds what differs between them.",
)
Line = dict[str, Any]
Floats = NDArray[np.float64]


def make(options: Options, progress: Progress) -> Reproduction:
    """Fit, run or resume the grid, measure stress, and judge."""
    grid, left = with_data(grid_named("stress-accuracy", options.records), options)
    whole = _with_mds(grid, options, progress)
    labels = {label.rpartition(".")[0] for label in whole.encodings if label not in grid.encodings}
    table = name_rows(run_named(whole, options, progress), labels)
    lines = measure_stresses(whole, Table(table), options, progress)
    notes = [*NOTES, *data_notes(table)]
    if left:
        notes.append(f"{LEFT}: {', '.join(left)}.")
    return report_grids(
        "stress-accuracy",
        TITLE,
        source="cirrincione2026",
        grids=[table],
        claims=judge(lines),
        notes=notes,
        more={"stress": lines, "correlations": correlations_of(lines)},
    )


def _with_mds(grid: Grid, options: Options, progress: Progress) -> Grid:
    """Return the grid with MDS of every corpus, at the scales that the others have."""
    folder = options.records / "stress-encodings"
    scales = dict.fromkeys(_scale(one) for one in grid.encodings.values())
    parts = {}
    for label in grid.tasks:
        progress.stage(f"fitting to {label}")
        task = task_in(grid, label, options)
        path = folder / f"mds-{label}-{grid.model.dimension}.safetensors"
        made = mds_part(task, path, grid.model.dimension)
        for scale in scales:
            entry = EncodingEntry(parts=(made,), model={"extra": {"vectors_rms": scale}})
            parts[f"mds{SCALE}{scale}", label] = entry
    return with_parts(grid, parts)


def _scale(entry: EncodingEntry) -> float:
    return float(dict(entry.model).get("extra", {}).get("vectors_rms", 0.5))


def measure_stresses(grid: Grid, table: Table, options: Options, progress: Progress) -> list[Line]:
    """Return stress and share of every encoding on every corpus."""
    lines: list[Line] = []
    for corpus in table.tasks:
        progress.stage(f"stress on {corpus}")
        task = task_in(grid, corpus, options)
        counting = CountOptions(length=task.length, cache=False)
        found = measure_corpus(corpus_of(task), counting, progress=progress)
        geometry = found.geometry
        for label in table.encodings(corpus):
            entry = grid.encodings.get(label) or grid.encodings[f"{label}.{corpus}"]
            drawn = [one[geometry.positions] for one in _vectors(entry, grid, task.length)]
            row, shares = table.rows[corpus, label], table.values(corpus, label, "share")
            lines.append(
                {
                    "corpus": corpus,
                    "encoding": label.rpartition(SCALE)[0] or label,
                    "scale": _scale(entry),
                    **_stresses(drawn, geometry, found.target),
                    "shares": list(shares.values()),
                    "share": float(np.mean(list(shares.values()))),
                    "along": float(np.mean([share_of(row, area) for area in row["areas"]])),
                }
            )
    return lines


def _vectors(entry: EncodingEntry, grid: Grid, length: int) -> list[Floats]:
    """Return the vectors at the root mean square at which they enter; random ones by seed."""
    (part,) = entry.parts
    given = dict(part.parameters)
    several: list[dict[str, Any]] = [{}]
    if not part.contents:
        given |= {"dimension": grid.model.dimension}
    if part.name == "random":
        several = [{"seed": seed} for seed in grid.report.seeds]
    at = np.arange(length, dtype=np.float64)
    found = [np.asarray(encoding(part.name, **given, **one).vectors(at)) for one in several]
    return [one * _scale(entry) / np.sqrt(np.mean(one**2)) for one in found]


def _stresses(drawn: Sequence[Floats], geometry: Any, target: Any) -> Line:
    """Return each kind of stress, the mean over vectors that were drawn several times."""
    apart = [distances_between(vectors) for vectors in drawn]
    reports = [stress(distances, geometry) for distances in apart]
    free = [] if target is None else [target.stress(one).scale_free for one in apart]
    return {
        "raw": float(np.mean([one.raw for one in reports])),
        "scale_free": float(np.mean([one.scale_free for one in reports])),
        "debiased": float(np.mean(free)) if free else None,
    }


def by_corpus(
    lines: Sequence[Mapping[str, Any]], kind: str, reached: str = "share"
) -> dict[str, float]:
    """Return the rank correlation of stress and what was reached, corpus by corpus."""
    found = {}
    for corpus in dict.fromkeys(line["corpus"] for line in lines):
        own = [line for line in lines if line["corpus"] == corpus and line[kind] is not None]
        if len(own) >= FEWEST:
            pair = ([line[key] for line in own] for key in (kind, reached))
            value = rank_correlation(*pair)
            if value is not None:
                found[corpus] = value
    return found


def correlations_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return for each kind of stress the mean correlation, its interval, and all values."""
    made: dict[str, Any] = {}
    for kind in KINDS:
        found = by_corpus(lines, kind)
        if found:
            estimate = over_seeds(list(found.values()))
            made[kind] = {"value": estimate.mean, "interval": estimate.interval, "by": found}
    return made


def judge(lines: Sequence[Mapping[str, Any]]) -> list[Claim]:
    """Judge each kind of stress, and the encoding of least stress."""
    return [*(judge_together(lines, kind) for kind in KINDS), judge_least(lines)]


def judge_together(lines: Sequence[Mapping[str, Any]], kind: str) -> Claim:
    """Judge whether one kind of stress falls where accuracy rises."""
    contrasts, told = [], []
    for reached, words in REACHED.items():
        found = by_corpus(lines, kind, reached)
        if not found:
            continue
        what = f"rank correlation of {KINDS[kind]} and accuracy {words}, over {len(found)} corpora"
        contrasts.append(Contrast(what=what, values=tuple(found.values()), relation="<"))
        by = ", ".join(f"{corpus} {value:+.2f}" for corpus, value in found.items())
        told.append(f"By corpus, {words}: {by}.")
    return claim(f"lower {KINDS[kind]} goes with higher accuracy", contrasts, " ".join(told))


def judge_least(lines: Sequence[Mapping[str, Any]]) -> Claim:
    """Judge whether MDS, of least stress by construction, reaches more than a sinusoid."""
    scales = sorted({float(line["scale"]) for line in lines})
    contrasts = []
    for scale in scales:
        ours, theirs = (_score_reached(lines, name, scale) for name in ("mds", "sinusoidal"))
        common = [corpus for corpus in ours if corpus in theirs]
        if len(common) > 1:
            values = tuple(ours[corpus] - theirs[corpus] for corpus in common)
            what = f"MDS less a sinusoid, along training, rms {scale:g}, over {len(common)} corpora"
            contrasts.append(Contrast(what=what, values=values))
    return claim("MDS, of least stress, reaches more than a sinusoid of the same size", contrasts)


def _score_reached(lines: Sequence[Mapping[str, Any]], name: str, scale: float) -> dict[str, float]:
    own = [line for line in lines if line["encoding"] == name and line["scale"] == scale]
    return {str(line["corpus"]): float(line["along"]) for line in own}
