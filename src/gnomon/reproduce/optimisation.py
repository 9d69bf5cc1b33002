r"""Does contraction of logits help optimisation? Measured beside one another, by encoding.

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
from dataclasses import dataclass, replace
from math import atanh, isfinite, sqrt, tanh
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.corpus import Progress
from gnomon.diagnostics import mean_ranks
from gnomon.files import dump_json, write_text
from gnomon.lab import NUMBER, Cell, Grid, ModelConfig, Part, holding, maybe
from gnomon.pipeline import fault
from gnomon.reading import read_written
from gnomon.reproduce.contrasts import LEVEL, Claim, Contrast
from gnomon.reproduce.lab_tables import Table

SEEDS = 3
DIGITS = 2
"""Of ratios: what differs by less must have the same rank."""
STEPS, BATCH, ROWS = 60, 32, 128
MOST = 16
"""Trials that a border is looked for in."""
TASK = "distance"
MEAN = 1.0
"""Size of the mean that drawn content shares, against its spread."""
GROWN = 1.5
"""Times its start that a loss has grown by where a trial counts as diverged: noise does less."""
FEWEST = 5
"""Encodings from which a correlation is judged."""
CLAIMED = {"stable_rate": "<", "hessian": ">", "area": "<"}
"""Side of 0 on which a rank correlation with contraction is claimed to be."""
RATIOS = {"contraction": "drawn content", "in_model": "the untrained model"}
Line = dict[str, Any]
_KEPT = holding(dict.fromkeys(("contraction", "in_model", "stable_rate", "hessian"), maybe(NUMBER)))
"""What is read again of a file of one seed; one that lacks it is measured anew."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Correlation(Contrast):
    """A rank correlation over points, with its own interval; `values` is it alone."""

    points: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the interval of Bonett and Wright; None below four points."""
        from scipy.stats import norm

        value = float(np.clip(self.values[0], -0.9999, 0.9999))
        if self.points < 4:
            return None
        half = norm.ppf(1.0 - self.level / 2.0) * sqrt((1.0 + value**2 / 2.0) / (self.points - 3))
        return tanh(atanh(value) - half), tanh(atanh(value) + half)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation; None where one side does not vary.

    >>> rank_correlation([1.0, 2.0, 5.0], [3.0, 7.0, 9.0])
    1.0
    """
    one, other = (mean_ranks(np.asarray(values, np.float64)) for values in (first, second))
    one, other = one - one.mean(), other - other.mean()
    norm = float(np.sqrt((one @ one) * (other @ other)))
    return float(np.clip(one @ other / norm, -1.0, 1.0)) if norm > 0.0 else None


def helps(lines: Sequence[Mapping[str, Any]]) -> Claim:
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
        for value, points in [_correlated(lines, ratio, key)]
        if value is not None and points >= FEWEST
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


def least_shown(points: int, level: float) -> float:
    """Return the smallest rank correlation whose interval leaves 0 out.

    >>> round(least_shown(100, 0.05), 2)
    0.2
    """
    from scipy.optimize import brentq

    def inside(value: float) -> float:
        found = Correlation(what="", values=(value,), points=points, level=level).interval
        return -1.0 if found is None else found[0]

    return float(brentq(inside, 0.0, 0.9999)) if inside(0.9999) > 0.0 else 1.0


def correlations_of(lines: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the rank correlations with the drawn contraction, each with its 95 % interval."""
    made = {}
    for key in CLAIMED:
        value, points = _correlated(lines, "contraction", key)
        if value is not None and points >= FEWEST:
            found = Correlation(what=key, values=(value,), points=points)
            made[key] = {"value": value, "interval": found.interval, "points": points}
    return made


def _correlated(
    lines: Sequence[Mapping[str, Any]], ratio: str, key: str
) -> tuple[float | None, int]:
    known = [one for one in lines if one.get(ratio) is not None and one.get(key) is not None]
    if len(known) < FEWEST:
        return None, len(known)
    pair = ([float(one[name]) for one in known] for name in (ratio, key))
    return rank_correlation(*pair), len(known)


def measured(grid: Grid, table: Table, folder: Path, progress: Progress) -> list[Line]:
    """Return one line for every encoding that learned distance; what is there is read."""
    made = []
    for encoding in [one for one in table.encodings(TASK) if table.learned(TASK, one)]:
        choice = dict(table.rows[TASK, encoding]["choice"])
        seeds = grid.report.seeds[:SEEDS]
        found = []
        for seed in seeds:
            cell = grid.cell(TASK, encoding, choice=choice, seed=seed, phase="report")
            progress.stage(f"largest stable rate: {encoding}, seed {seed}")
            found.append(_kept(cell, folder))
        area = float(np.mean(table.rows[TASK, encoding]["areas"]))
        made.append({"encoding": encoding, **_joined(found), "area": area})
    return made


def _joined(found: Sequence[Line]) -> Line:
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


def _kept(cell: Cell, folder: Path) -> Line:
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
        largest_stable_rate,
        logits_report,
        loss,
        model_for,
        parts_for,
        starting_seed,
        task_of,
        top_eigenvalue,
        trial_losses,
    )

    task = task_of(cell)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(starting_seed(cell.seed))
        parts = parts_for(cell.parts, cell.model, task, seed=cell.seed)
        model = model_for(parts, cell.model, task)
        batch = task.held_out().batch(np.random.default_rng(cell.seed), ROWS)
        rate = largest_stable_rate(
            lambda at: _from_grown(
                trial_losses(model, task, at, steps=STEPS, size=BATCH, seed=cell.seed)
            ),
            most=MOST,
        )
        curved = top_eigenvalue(lambda: loss(model, batch), model.parameters())
        inside = float(np.mean(logits_report(model, batch).contraction))
    return {
        "contraction": _drawn(parts, task.length, cell.model),
        "in_model": round(inside, DIGITS) if isfinite(inside) else None,
        "stable_rate": rate.rate,
        "unstable_rate": rate.unstable,
        "hessian": curved.value,
    }


def _from_grown(losses: list[float]) -> list[float]:
    """Return losses whose start is so much larger that noise at their end is no divergence."""
    return [GROWN * losses[0], *losses[1:]]


def _drawn(parts: Sequence[Part], length: int, model: ModelConfig) -> float | None:
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
