"""`gnomon reproduce fitted`: do encodings fitted to a corpus learn its task better?

The geometry paper fits an encoding to the distances between positions and asks what it is good for
[cirrincione2026]; the group is fitted to what the corpus does with the lag [puranik2026]. Both are
fitted to training rows alone, and compared with the usual encodings on real tasks.

What decides was fixed before the runs: the area under the learning curve, paired by seed. The best
of the usual ones is chosen on the seeds of the choice, which are not reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.corpus import Progress
from gnomon.errors import GnomonError
from gnomon.lab import EncodingEntry, Grid
from gnomon.reproduce.claims import Claim, Reproduction, claim
from gnomon.reproduce.fits import (
    LEFT,
    group_in_words,
    group_parts,
    mds_part,
    name_rows,
    task_in,
    with_data,
    with_parts,
)
from gnomon.reproduce.grids import Table, data_notes, grid_named, report_grids, run_named, words
from gnomon.reproduce.subjects import Options

TITLE = "encodings fitted to a corpus against the usual ones"
MDS, GROUP = "mds", "group"
USUAL = ("sinusoidal", "learned", "rope", "alibi", "rope-alibi", "t5")
NOTES = (
    "fits see the training rows of their task and nothing else, as a learned table does.",
    "windows of characters start anywhere: MDS of their positions rests on noise, as a control.",
    "of a group with half-lives a model without a mask has the periods, and slopes for the rest.",
    "numbers of a fitted group are frozen, as those of RoPE and ALiBi are.",
    "a group knows lags alone: what depends on the place, as in aligned rows, is beyond it.",
    "of promoters, fits see the rows of the class that has structure.",
    "these are small data sets and models of two layers: a gain is one of speed at this budget.",
)


def make(options: Options, progress: Progress) -> Reproduction:
    """Fit to every task, run or resume the grid, and judge."""
    grid, left = with_data(grid_named("fitted", options.records), options)
    whole, without = _with_fits(grid, options, progress)
    groups = [
        f"{label.removeprefix(GROUP)[1:]} ({group_in_words(one.parts)})"
        for label, one in whole.encodings.items()
        if label.startswith(f"{GROUP}.")
    ]
    table = name_rows(run_named(whole, options, progress), (MDS, GROUP))
    notes = [
        *NOTES,
        *data_notes(table),
        f"groups that were found: {'; '.join(groups)}.",
        *_absences(left, without),
    ]
    return report_grids(
        "fitted",
        TITLE,
        source="cirrincione2026",
        grids=[table],
        claims=judge(Table(table)),
        notes=notes,
    )


def _with_fits(grid: Grid, options: Options, progress: Progress) -> tuple[Grid, list[str]]:
    """Return the grid with what is fitted, and the tasks whose lags give no group."""
    folder = options.records / "fitted-encodings"
    parts, without = {}, []
    width = grid.model.dimension // grid.model.heads
    for label in grid.tasks:
        progress.stage(f"fitting to {label}")
        task = task_in(grid, label, options)
        path = folder / f"mds-{label}-{grid.model.dimension}.safetensors"
        mds = mds_part(task, path, grid.model.dimension)
        parts[MDS, label] = EncodingEntry(parts=(mds,))
        try:
            group = group_parts(task, width=width, heads=grid.model.heads)
            parts[GROUP, label] = EncodingEntry(parts=group)
        except GnomonError as error:  # too short, or nothing depends on the lag
            without.append(f"{label} ({str(error).partition(';')[0]})")
    return with_parts(grid, parts), without


def _absences(left: list[str], without: list[str]) -> list[str]:
    told = []
    if left:
        told.append(f"{LEFT}: {', '.join(left)}.")
    if without:
        told.append(f"no group could be fitted to: {', '.join(without)}.")
    return told


def judge(table: Table) -> list[Claim]:
    """Judge both kinds of fits against single rivals and against the best of the usual ones."""
    return [
        judge_against(
            table, MDS, "sinusoidal", "MDS of a corpus learns its task better than a sinusoid"
        ),
        judge_against(
            table, MDS, "learned", "MDS of a corpus learns its task better than a learned table"
        ),
        judge_best(table, MDS, "MDS of a corpus learns its task better than every usual encoding"),
        judge_against(
            table, GROUP, "rope", "the group of a corpus learns its task better than RoPE"
        ),
        judge_against(
            table,
            GROUP,
            "rope-alibi",
            "the group of a corpus learns its task better than RoPE with ALiBi",
        ),
        judge_best(
            table, GROUP, "the group of a corpus learns its task better than every usual encoding"
        ),
    ]


def judge_against(table: Table, ours: str, other: str, text: str) -> Claim:
    """Judge one encoding against another, task by task."""
    found = [
        one for task in table.tasks for one in table.contrast((task, ours), (task, other), "areas")
    ]
    told = "; ".join(
        f"{task}: {words(table, task, 'scores', (ours, other))}"
        for task in table.tasks
        if (task, ours) in table.rows
    )
    return claim(text, found, f"Scores at the end: {told}." if told else "")


def judge_best(table: Table, ours: str, text: str) -> Claim:
    """Judge an encoding against the usual one that the seeds of the choice found best, by task."""
    found = []
    for task in table.tasks:
        known = [name for name in USUAL if (task, name) in table.rows]
        if known:
            rival = max(known, key=lambda name: _chosen(table.rows[task, name]))
            found += table.contrast((task, ours), (task, rival), "areas")
        if (task, ours) in table.known:
            found += [one for name in USUAL for one in table.absent(task, name)]
    return claim(text, found)


def _chosen(row: Mapping[str, Any]) -> float:
    """Return the area that a choice was made by; that of the report where nothing was chosen."""
    means = [float(one["mean"]) for one in row.get("tried") or () if one.get("mean") is not None]
    return max(means) if means else float(np.mean(row["areas"]))
