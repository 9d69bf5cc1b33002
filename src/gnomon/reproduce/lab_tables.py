"""Numbers of a grid by task, encoding and seed, and their contrasts.

score   at the end        area    under the learning curve
index   deposit index of the first layer, of runs that have learned their task and have a head
        whose removal is above its noise
share   of the way from the best constant answer to the ceiling
order   the same from what the best order-blind observer reaches

Runs that diverged or failed have no numbers. They are *lost*: a contrast names them, and where too
few seeds are left it has no values, so that no claim holds for want of a rival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.reproduce.contrasts import Contrast, Side

LEARNED = 0.5
"""Share of the way to the ceiling from which a run has learned its task."""
FEWEST = 2
FROM = {"share": "constant", "order": "prior"}
Values = dict[int, float]


class Table:
    """The compact rows of one grid, looked up by task and encoding."""

    def __init__(self, grid: Mapping[str, Any]) -> None:
        self.name = str(grid["name"])
        self.known: dict[tuple[str, str], Mapping[str, Any]] = {
            (row["task"], row["encoding"]): row for row in grid["rows"]
        }
        """Every row, those without a finished run among them."""
        self.rows = {key: row for key, row in self.known.items() if row["scores"]}

    @property
    def tasks(self) -> list[str]:
        """Return the tasks that have runs, finished or not."""
        return list(dict.fromkeys(task for task, _ in self.known))

    def encodings(self, task: str) -> list[str]:
        """Return the encodings that have finished runs on a task."""
        return [encoding for found, encoding in self.rows if found == task]

    def lost(self, task: str, encoding: str) -> str:
        """Say how many runs diverged or failed, nothing where all ended."""
        row = self.known.get((task, encoding), {"scores": ()})
        counts = {state: int(row.get(state, 0)) for state in ("diverged", "failed")}
        runs = len(row["scores"]) + sum(counts.values())
        told = [f"{count} of {runs} runs {state}" for state, count in counts.items() if count]
        return f"{encoding}: {' and '.join(told)}" if told else ""

    def absent(self, task: str, encoding: str) -> list[Contrast]:
        """Return a contrast without values, where too few runs ended for any: a list of one."""
        words = self.lost(task, encoding)
        found = words and self._too_few((task, encoding))
        return [Contrast(what=f"{words} on {task}", values=())] if found else []

    def _too_few(self, *keys: tuple[str, str]) -> bool:
        """Whether these are rows that have too few finished seeds in common."""
        if not self.known.keys() >= {*keys}:
            return False
        return len(set.intersection(*({*self.known[key]["seeds"]} for key in keys))) < FEWEST

    def values(self, task: str, encoding: str, quantity: str) -> Values:
        """Return one number for every seed; none where there are no runs."""
        row = self.rows.get((task, encoding))
        if row is None:
            return {}
        if quantity in FROM:
            pairs = zip(row["seeds"], row["scores"], strict=True)
            return {seed: share_of(row, score, FROM[quantity]) for seed, score in pairs}
        if quantity.startswith("index"):
            return _indices(row, quantity.partition(" ")[2] or "zero")
        if quantity == "cpu_seconds":
            pairs = zip(row["seeds"], row["cpu_seconds"], strict=True)
            return {seed: float(np.log(cost)) for seed, cost in pairs if cost}
        return dict(zip(row["seeds"], row[quantity], strict=True))

    def learned(self, task: str, encoding: str, least: float = LEARNED) -> bool:
        """Whether the runs have learned their task, in their mean."""
        found = self.values(task, encoding, "share")
        return bool(found) and float(np.mean(list(found.values()))) >= least

    def level(
        self, task: str, encoding: str, quantity: str, *, bound: float, note: str = ""
    ) -> list[Contrast]:
        """Return the numbers themselves against a bound: a list of one, empty without two seeds."""
        found = self.values(task, encoding, quantity)
        if len(found) < FEWEST:
            return []
        what = f"{encoding}, {note or quantity.rstrip('s')} on {task}"
        return [Contrast(what=what, values=tuple(found.values()), bound=bound)]

    def contrast(
        self,
        first: tuple[str, str],
        second: tuple[str, str],
        quantity: str,
        *,
        relation: Side = ">",
        bound: float = 0.0,
        note: str = "",
    ) -> list[Contrast]:
        """Return first less second by common seeds: a list of one, empty without common seeds.

        Where runs were lost it names them, and has no values if too few seeds are left.
        """
        one, other = self.values(*first, quantity), self.values(*second, quantity)
        common = sorted(one.keys() & other.keys())
        lost = [words for words in (self.lost(*first), self.lost(*second)) if words]
        if len(common) < FEWEST and not (lost and self._too_few(first, second)):
            return []
        same = first[0] == second[0]
        names = (
            (first[1], second[1]) if same else tuple(" on ".join(x[::-1]) for x in (first, second))
        )
        what = f"{names[0]} less {names[1]}, {note or quantity.rstrip('s')}"
        if same:
            what += f" on {first[0]}"
        runs = set.intersection(*({*self.known[key]["seeds"]} for key in (first, second)))
        if lost or len(common) < len(runs):
            what += f" ({', '.join(lost) or f'{len(common)} of {len(runs)} seeds'})"
        kept = common if len(common) >= FEWEST else []
        return [
            Contrast(
                what=what,
                values=tuple(one[seed] - other[seed] for seed in kept),
                relation=relation,
                bound=bound,
            )
        ]


def share_of(row: Mapping[str, Any], score: float, low_end: str = "constant") -> float:
    """Return where a score lies between the best constant answer (0) and the ceiling (1)."""
    ceiling = row["ceiling"]
    low, high = float(ceiling.get(low_end, 0.0)), float(ceiling.get("value", 1.0))
    return (score - low) / (high - low) if high > low else 0.0


def _indices(row: Mapping[str, Any], ablation: str) -> Values:
    """Return the index of the first layer, by run, where there is something to share out."""
    if not row.get("heads"):
        return {}
    told = row["heads"][ablation]
    learned = [share_of(row, score) >= LEARNED for score in row["scores"]]
    runs = zip(row["seeds"], learned, told["index"], strict=True)
    clear = [
        top[0] > band[0] for top, band in zip(told["largest"], told["noise_band"], strict=True)
    ]
    return {
        seed: index[0]
        for (seed, done, index), above in zip(runs, clear, strict=True)
        if done and above and index[0] is not None
    }


def words(table: Table, task: str, quantity: str, encodings: Sequence[str]) -> str:
    """Return means by encoding in words, of those that have runs."""
    told = []
    for encoding in encodings:
        found = list(table.values(task, encoding, quantity).values())
        if found:
            told.append(f"{encoding} {np.mean(found):.3f}")
    return ", ".join(told)
