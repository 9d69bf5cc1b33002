"""`gnomon reproduce deposit`: which encodings learn position, and whether one head does it.

Three grids: fourteen encodings on four tasks; distance at four layers of sixteen heads; and
distance at several learning rates, where curvature of the loss and contraction of logits are
measured as well. The claims are those of [gu2025], whose released code leaves several of them
untested; here all encodings have the same model, masks, data, budget and sweep.

What is claimed of encodings in trained Transformers, and what decides it [gu2025].

(i)   RoPE learns the distance between two tokens better than additive encodings
(ii)  without an encoding, or with MLA, counting is learned no worse than with RoPE
(iii) one head of the first layer does the work of position (a deposit) with RoPE on distance, and
      neither with other encodings nor on counting; judged in two halves
(iv)  MLA lowers that concentration
(v)   RoPE on one head is enough

What decides was fixed before the runs: the area under the learning curve for (i) and (ii), since
final accuracies meet at the ceiling; the deposit index of the first layer under zero- and
mean-ablation for (iii) and (iv), of runs that have learned the task and whose largest drop is above
its noise; final score and area for (v). "No worse" allows 0.02, "enough" 0.05. One thing was added
when the first runs of RoPE on distance had been seen: that "one head does it" means more than half
of what the layer loses head by head. Until then (iii) was a comparison with others alone.

Does contraction of logits help optimisation? Measured beside one another, by encoding.

For every encoding that learns the distance task of a grid, before training:

    contraction   |L|_2 / |L0|_2 of drawn content that shares a mean (`gnomon.spectra`),
                  mean over heads; 1 in heads that no part acts on
    in_model      the same ratio of the logits of the untrained model, mean over layers and heads
    stable_rate   largest learning rate at which a short trial of AdamW does not diverge: its loss
                  does not end above 1.5 times that of the start
    hessian       top eigenvalue of the Hessian of the loss
    area          under the learning curve, from the grid

The claim is that the smaller the ratio, the larger the rate, the flatter the loss and the quicker
the learning [gu2025]. It is judged by rank correlations over encodings [spearman1904], with the
interval of [bonett2000]: z = artanh(r) +- u sqrt((1 + r^2 / 2) / (n - 3)).

Encodings are few and of few families, so `least_shown` says from which correlation on anything can
be shown at all. Those that do not learn at any rate are no evidence on how quickly one learns, and
are left out. Measurements are kept by encoding and seed, and are not made twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.corpus import Progress
from gnomon.files import dump_json, write_text
from gnomon.lab import NUMBER, Cell, Grid, ModelConfig, Placement, nullable, table_of
from gnomon.pipeline import fault
from gnomon.reading import read_written
from gnomon.reproduce.claims import (
    LEVEL,
    Claim,
    Contrast,
    Correlation,
    Reproduction,
    claim,
    least_shown,
    rank_correlation,
)
from gnomon.reproduce.grids import Table, grid_named, report_grids, run_named, words
from gnomon.reproduce.subjects import Options

TITLE = "which encodings learn position, and do they put it into one head?"
GRIDS = ("deposit", "deposit-large", "deposit-rates")
PUBLISHED = {
    ("distance", "rope-sinusoidal"): 92.64,
    ("distance", "mla"): 88.34,
    ("counting", "mla"): 97.41,
    ("counting", "nope"): 77.69,
    ("counting", "rope-sinusoidal"): 69.43,
}
"""What the released code calls rope adds sinusoids to its input, too: its values stand there."""
NOTES = (
    (
        "published accuracies are of six layers of sixteen heads, sequences of 120 and one seed, "
        "with other masks, wiring and slopes; the grid deposit-paper has that size without those "
        "faults."
    ),
    "at this size a claim that fails is not refuted for larger models: it does not appear here.",
    "rates are chosen by area on other seeds; every learned table is offered a rate of its own.",
    (
        "with five seeds and several comparisons in a claim, intervals are wide: what is open is "
        "open, and a margin below half of its interval could not have been shown."
    ),
    (
        "what the released code calls rope is rope-sinusoidal here; claims name RoPE and are "
        "judged on rope."
    ),
    (
        "rates of deposit-rates that deposit chose are the same runs, looked at every 150 steps "
        "instead of 50: scores and heads are the same, areas are not."
    ),
    (
        "contraction is 1 by definition for vectors that are added, so rotary encodings and others "
        "are two groups of points."
    ),
)


def make(options: Options, progress: Progress) -> Reproduction:
    """Run or resume the grids, measure what optimisation needs, and judge."""
    asked = [grid_named(name, options.records) for name in GRIDS]
    grids = [run_named(grid, options, progress) for grid in asked]
    tables = [Table(grid) for grid in grids]
    beside = measure_optimisation(
        asked[0], tables[0], options.records / "deposit-optimisation", progress
    )
    claims = [*judge_grids(tables[:2]), judge_optimisation(beside)]
    return report_grids(
        "deposit",
        TITLE,
        source="gu2025",
        grids=grids,
        claims=claims,
        notes=NOTES,
        published=PUBLISHED,
        more={"optimisation": beside, "correlations": correlations_of(beside)},
    )


ADDITIVE = ("sinusoidal", "learned", "alibi", "offset-bias", "t5")
NO_WORSE, ENOUGH, MOST = 0.02, 0.05, 0.5
ABLATIONS = ("zero", "mean")
ROPE, DISTANCE, COUNTING = "rope", "distance", "counting"


def judge_grids(tables: Sequence[Table]) -> list[Claim]:
    """Judge the claims on one size of model or several."""
    return [
        judge_better(tables),
        judge_counting(tables),
        judge_deposit(tables),
        judge_only(tables),
        judge_mla(tables),
        judge_one_head(tables),
    ]


def judge_better(tables: Sequence[Table]) -> Claim:
    """Judge (i)."""
    found = [
        one
        for table in tables
        for other in ADDITIVE
        for one in _name_grid(table, table.contrast((DISTANCE, ROPE), (DISTANCE, other), "areas"))
    ]
    told = words(tables[0], DISTANCE, "scores", (ROPE, *ADDITIVE)) if tables else ""
    return claim(
        "(i) RoPE learns distance better than additive encodings",
        found,
        f"Scores at the end: {told}." if told else "",
    )


def judge_counting(tables: Sequence[Table]) -> Claim:
    """Judge (ii)."""
    found = [
        one
        for table in tables
        for other in ("nope", "mla")
        for one in _name_grid(
            table,
            table.contrast((COUNTING, other), (COUNTING, ROPE), "areas", bound=-NO_WORSE),
        )
    ]
    told = words(tables[0], COUNTING, "scores", (ROPE, "nope", "mla", "mla-nope")) if tables else ""
    return claim(
        "(ii) NoPE and MLA learn counting no worse than RoPE",
        found,
        f"No worse: by less than {NO_WORSE}. Scores at the end: {told}." if told else "",
    )


def judge_deposit(tables: Sequence[Table]) -> Claim:
    """Judge the first half of (iii)."""
    found = [
        one
        for table in tables
        for ablation in ABLATIONS
        for one in _name_grid(
            table,
            table.level(DISTANCE, ROPE, f"index {ablation}", bound=MOST, note=_index(ablation)),
        )
    ]
    return claim(
        "(iii) with RoPE one head of the first layer does most of the work of distance",
        found,
        f"Most: an index above {MOST}.",
    )


def judge_only(tables: Sequence[Table]) -> Claim:
    """Judge the second half of (iii)."""
    found: list[Contrast] = []
    left: list[str] = []
    for table in tables:
        found += _name_grid(table, table.absent(DISTANCE, ROPE))
        if not table.has_learned(DISTANCE, ROPE):
            continue
        for ablation in ABLATIONS:
            quantity, note = f"index {ablation}", _index(ablation)
            for other in ADDITIVE:
                if (DISTANCE, other) in table.rows and not table.has_learned(DISTANCE, other):
                    left.append(other)
                    continue  # one that has no rows at all is told by the contrast
                made = table.contrast((DISTANCE, ROPE), (DISTANCE, other), quantity, note=note)
                found += _name_grid(table, made)
            if table.has_learned(COUNTING, ROPE):
                made = table.contrast((DISTANCE, ROPE), (COUNTING, ROPE), quantity, note=note)
                found += _name_grid(table, made)
    told = f"Left out, since they did not learn distance: {_list_names(left)}." if left else ""
    return claim(
        "(iii) and it is concentrated more than with other encodings, or than on counting",
        found,
        told,
    )


def judge_mla(tables: Sequence[Table]) -> Claim:
    """Judge (iv)."""
    found = [
        one
        for table in tables
        for name in (ROPE, "mla")
        for one in _name_grid(table, table.absent(DISTANCE, name))
    ]
    found += [
        one
        for table in tables
        if table.has_learned(DISTANCE, ROPE) and table.has_learned(DISTANCE, "mla")
        for ablation in ABLATIONS
        for one in _name_grid(
            table,
            table.contrast(
                (DISTANCE, "mla"),
                (DISTANCE, ROPE),
                f"index {ablation}",
                relation="<",
                note=_index(ablation),
            ),
        )
    ]
    return claim("(iv) MLA lowers the deposit index", found)


def judge_one_head(tables: Sequence[Table]) -> Claim:
    """Judge (v)."""
    found = [
        one
        for table in tables
        for quantity in ("scores", "areas")
        for one in _name_grid(
            table,
            table.contrast((DISTANCE, "rope-one-head"), (DISTANCE, ROPE), quantity, bound=-ENOUGH),
        )
    ]
    return claim(
        "(v) RoPE on one head is enough for distance",
        found,
        f"Enough: within {ENOUGH} of RoPE on all heads, at the end and along training.",
    )


def _name_grid(table: Table, found: Sequence[Contrast]) -> list[Contrast]:
    """Say of which grid a contrast is, where it is not the first one."""
    if table.name == "deposit":
        return list(found)
    return [
        Contrast(
            what=f"{one.what} ({table.name})",
            values=one.values,
            relation=one.relation,
            bound=one.bound,
        )
        for one in found
    ]


def _index(ablation: str) -> str:
    return f"index by {ablation}-ablation"


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))


SEEDS = 3
DIGITS = 2
"""Of ratios: what differs by less must have the same rank."""
STEPS, BATCH, ROWS = 60, 32, 128
MOST_TRIALS = 16
"""Trials that a border is looked for in."""
TASK = "distance"
MEAN = 1.0
"""Size of the mean that drawn content shares, against its spread."""
GROWN = 1.5
"""Times its start that a loss has grown by where a trial counts as diverged: noise does less."""
FEWEST_POINTS = 5
"""Encodings from which a correlation is judged."""
CLAIMED = {"stable_rate": "<", "hessian": ">", "area": "<"}
"""Side of 0 on which a rank correlation with contraction is claimed to be."""
RATIOS = {"contraction": "drawn content", "in_model": "the untrained model"}
Line = dict[str, Any]
_KEPT = table_of(
    dict.fromkeys(("contraction", "in_model", "stable_rate", "hessian"), nullable(NUMBER))
)
"""What is read again of a file of one seed; one that lacks it is measured anew."""


def judge_optimisation(lines: Sequence[Mapping[str, Any]]) -> Claim:
    """Judge whether contraction goes with what is called good optimisation."""
    found = [
        Correlation(
            what=f"rank correlation of contraction ({RATIOS[ratio]}) and {key.replace('_', ' ')}",
            values=(value,),
            relation=">" if side == ">" else "<",
            points=points,
        )
        for ratio in RATIOS
        for key, side in CLAIMED.items()
        for value, points in [_correlate(lines, ratio, key)]
        if value is not None and points >= FEWEST_POINTS
    ]
    level = LEVEL / max(1, len(found))
    shared = tuple(replace(one, level=level) for one in found)
    reason = (
        "Claimed are a negative correlation with the stable rate and with the area, and a positive "
        "one with the curvature; each point is an encoding that learned the task."
    )
    if shared:
        least = least_shown(min(one.points for one in shared), level)
        reason += f" With so few of them nothing below {least:.2f} in size can be shown."
    return Claim(
        claim="(vi) contraction of the spectrum of logits helps optimisation",
        contrasts=shared,
        reason=reason,
    )


def correlations_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the rank correlations with the drawn contraction, each with its 95 % interval."""
    made = {}
    for key in CLAIMED:
        value, points = _correlate(lines, "contraction", key)
        if value is not None and points >= FEWEST_POINTS:
            found = Correlation(what=key, values=(value,), points=points)
            made[key] = {"value": value, "interval": found.interval, "points": points}
    return made


def _correlate(
    lines: Sequence[Mapping[str, Any]], ratio: str, key: str
) -> tuple[float | None, int]:
    known = [one for one in lines if one.get(ratio) is not None and one.get(key) is not None]
    if len(known) < FEWEST_POINTS:
        return None, len(known)
    pair = ([float(one[name]) for one in known] for name in (ratio, key))
    return rank_correlation(*pair), len(known)


def measure_optimisation(grid: Grid, table: Table, folder: Path, progress: Progress) -> list[Line]:
    """Return one line for every encoding that learned distance; what is there is read."""
    made = []
    for encoding in [one for one in table.encodings(TASK) if table.has_learned(TASK, one)]:
        choice = dict(table.rows[TASK, encoding]["choice"])
        seeds = grid.report.seeds[:SEEDS]
        found = []
        for seed in seeds:
            cell = grid.cell(TASK, encoding, choice=choice, seed=seed, phase="report")
            progress.stage(f"largest stable rate: {encoding}, seed {seed}")
            found.append(_read_or_measure(cell, folder))
        area = float(np.mean(table.rows[TASK, encoding]["areas"]))
        made.append({"encoding": encoding, **_join(found), "area": area})
    return made


def _join(found: Sequence[Line]) -> Line:
    """Return means over seeds (geometric for rates), and the values they are of."""
    rates = [one["stable_rate"] for one in found if one["stable_rate"]]
    curved = [one["hessian"] for one in found if one["hessian"] is not None]
    inside = [one["in_model"] for one in found if one["in_model"] is not None]
    return {
        "contraction": found[0]["contraction"] if found else None,
        "in_model": float(np.mean(inside)) if inside else None,
        "stable_rate": float(np.exp(np.mean(np.log(rates)))) if rates else None,
        "stable_rates": rates,
        "hessian": float(np.mean(curved)) if curved else None,
        "hessians": curved,
    }


def _read_or_measure(cell: Cell, folder: Path) -> Line:
    path = folder / f"{cell.encoding}-{cell.seed}-{cell.digest}.json"
    with suppress(OSError, ValueError):
        found: Line = read_written(path)
        if fault(found, _KEPT) is None:
            return found
    found = _measure(cell)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(path, dump_json(found))
    return found


def _measure(cell: Cell) -> Line:
    import torch

    from gnomon.lab import (
        build_model,
        build_placements,
        build_task,
        largest_stable_rate,
        logits_report,
        loss,
        top_eigenvalue,
        trial_losses,
        weights_seed,
    )

    task = build_task(cell)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(weights_seed(cell.seed))
        parts = build_placements(cell.parts, cell.model, task, seed=cell.seed)
        model = build_model(parts, cell.model, task)
        batch = task.held_out().batch(np.random.default_rng(cell.seed), ROWS)
        rate = largest_stable_rate(
            lambda at: _from_grown(
                trial_losses(model, task, at, steps=STEPS, size=BATCH, seed=cell.seed)
            ),
            most=MOST_TRIALS,
        )
        curved = top_eigenvalue(lambda: loss(model, batch), model.parameters())
        inside = float(np.mean(logits_report(model, batch).contraction))
    return {
        "contraction": _contraction_of_drawn(parts, task.length, cell.model),
        "in_model": round(inside, DIGITS) if isfinite(inside) else None,
        "stable_rate": rate.rate,
        "unstable_rate": rate.unstable,
        "hessian": curved.value,
    }


def _from_grown(losses: list[float]) -> list[float]:
    """Return losses whose start is so much larger that noise at their end is no divergence."""
    return [GROWN * losses[0], *losses[1:]]


def _contraction_of_drawn(
    parts: Sequence[Placement], length: int, model: ModelConfig
) -> float | None:
    """Return the ratio of drawn content under the part that acts on logits, mean over heads."""
    from gnomon.errors import GnomonError
    from gnomon.spectra import contraction

    acting = next((one for one in parts if one.kind in ("transform", "bias")), None)
    if acting is None:
        return 1.0
    heads, own = model.heads, (acting.encoding.head_count or 1)
    span, width = acting.heads or heads, model.dimension // heads
    # A transform has a dimension of its own; a bias is added to products of heads of this width.
    size = width if acting.kind == "bias" else None
    try:
        found = [
            contraction(acting.encoding, length, means=(MEAN,), head=head, dimension=size)
            for head in range(own)
        ]
    except GnomonError:
        return None
    norms = [one.at(MEAN)["norm"] for one in found]
    ratio = (span * float(np.mean(norms)) + (heads - span)) / heads
    return round(ratio, DIGITS) if isfinite(ratio) else None
