"""What the record of `deposit` shows beside its claims, found when the runs had been seen.

Nothing here was claimed before, so nothing gets a verdict: an interval says how far seeds agree,
and not how many things were looked at. Numbers come from the record alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gnomon.lab.table import over_seeds
from gnomon.reproduce.deposit import ABLATIONS, ADDITIVE, DISTANCE, ROPE
from gnomon.reproduce.grids import Table

Record = dict[str, Any]
TASKS = ("distance", "counting", "order")
CURVED = (
    "Curvature of the loss at the end (geometric mean of its top eigenvalue over seeds), with the "
    "score and the contraction of logits in the trained model; a loss near 0 is flat whatever the "
    "encoding:"
)
AT = "-at-"
"""Between an encoding and its rate, in the labels of deposit-rates."""


def seen(record: Record) -> list[str]:
    """Return lines of Markdown; none for a record without the grids of `deposit`."""
    grids = record["corpora"]["laboratory"]["grids"]
    if not {"deposit", "deposit-rates"} <= set(grids):
        return []
    table, rates = Table(grids["deposit"]), grids["deposit-rates"]["rows"]
    return [
        "#### Seen afterwards",
        "",
        "Not claimed before the runs, so without a verdict; intervals are 95 %, one by one.",
        "",
        *_points([*_rivals(table), *_rate_or_encoding(rates), *_one_by_one(rates)]),
        "",
        "Deposit index of layer 0 by zero-ablation, mean over the seeds that have one (how many):",
        "",
        *_indices(table),
        "",
        CURVED,
        "",
        *_curvature(rates),
    ]


def _points(lines: Sequence[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _rivals(table: Table) -> Iterator[str]:
    """Tell RoPE's index against the mean of its rivals, seed by seed."""
    for ablation in ABLATIONS:
        ours = table.values(DISTANCE, ROPE, f"index {ablation}")
        theirs = [table.values(DISTANCE, name, f"index {ablation}") for name in ADDITIVE]
        common = sorted(set(ours).intersection(*theirs))
        if len(common) > 1:
            values = [ours[s] - float(np.mean([one[s] for one in theirs])) for s in common]
            yield (
                f"RoPE's index on distance less the mean of {', '.join(ADDITIVE)}, by "
                f"{ablation}-ablation: {_interval(values)}, {len(common)} seeds."
            )


def _rate_or_encoding(rows: Sequence[Record]) -> Iterator[str]:
    """Tell how the index varies in a full grid of encodings, rates and seeds."""
    for ablation in ABLATIONS:
        cells = {
            tuple(row["encoding"].split(AT)): [one[0] for one in row["heads"][ablation]["index"]]
            for row in rows
            if row.get("heads")
        }
        names, at = (list(dict.fromkeys(key[k] for key in cells)) for k in (0, 1))
        if len(cells) != len(names) * len(at) or any(None in one for one in cells.values()):
            continue
        shares = variation(np.array([[cells[name, rate] for rate in at] for name in names]))
        told = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
        yield f"Of the variation of the index in deposit-rates, {ablation}-ablation: {told}."


def variation(values: np.ndarray) -> dict[str, float]:
    """Return shares of the sum of squares of values (encodings, rates, seeds)."""
    whole = values.mean()
    cell = values.mean(axis=2)
    parts = {
        "encodings": values[0].size * np.sum((values.mean(axis=(1, 2)) - whole) ** 2),
        "rates": values[:, 0].size * np.sum((values.mean(axis=(0, 2)) - whole) ** 2),
        "seeds": np.sum((values - cell[..., None]) ** 2),
    }
    total = np.sum((values - whole) ** 2)
    parts["encodings with rates"] = total - sum(parts.values())
    return {name: float(part / total) for name, part in parts.items()}


def _one_by_one(rows: Sequence[Record]) -> Iterator[str]:
    """Tell what taking heads out one at a time does not see."""
    told = []
    for name, own in _by_name(rows).items():
        found = [row["redundancy"] for row in own if row.get("redundancy")]
        above = [
            a > b for one in found for a, b in zip(one["largest"], one["noise_band"], strict=True)
        ]
        if above:
            told.append(f"{name} {sum(above)} of {len(above)} runs")
    if told:
        yield (
            "Two heads of layer 0 taken out together lose more than both alone, above the noise: "
            f"{', '.join(told)}. The index is of heads one at a time, and misses what they share."
        )
    for name, own in _by_name(rows).items():
        drops = [row["pairs"]["drops"] for row in own if row.get("pairs") and row["pairs"]["drops"]]
        if drops:
            layers = "; ".join(
                f"layer {k}: {', '.join(f'{value:.2f}' for value in layer)}"
                for k, layer in enumerate(np.mean(drops, axis=0))
            )
            yield f"Score lost without a rotary pair, fastest first, {name}: {layers}."


def _indices(table: Table) -> list[str]:
    lines = [f"| encoding | {' | '.join(TASKS)} |", "| --- " * (len(TASKS) + 1) + "|"]
    for name in table.encodings(DISTANCE):
        cells = []
        for task in TASKS:
            found = list(table.values(task, name, "index zero").values())
            cells.append(f"{np.mean(found):.2f} ({len(found)})" if found else "-")
        if any(cell != "-" for cell in cells):
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _curvature(rows: Sequence[Record]) -> list[str]:
    lines = ["| encoding | rate | curvature | score | contraction |", "| --- " * 5 + "|"]
    for row in rows:
        name, rate = row["encoding"].split(AT)
        curved = [value for value in row["hessian"] or [] if value and value > 0.0]
        if not curved:
            continue
        value = float(np.exp(np.mean(np.log(curved))))
        cells = [f"{value:,.0f}" if value >= 10.0 else f"{value:.2g}"]
        cells.append(f"{np.mean(row['scores']):.3f}")
        cells.append(f"{np.mean(row['contraction']):.2f}" if row.get("contraction") else "-")
        lines.append(f"| {name} | {rate} | {' | '.join(cells)} |")
    return lines


def _by_name(rows: Sequence[Record]) -> dict[str, list[Record]]:
    made: dict[str, list[Record]] = {}
    for row in rows:
        made.setdefault(row["encoding"].split(AT)[0], []).append(row)
    return made


def _interval(values: Sequence[float]) -> str:
    low, high = over_seeds(values).interval or (np.nan, np.nan)
    return f"{np.mean(values):+.3f} [{low:+.3f}, {high:+.3f}]"
