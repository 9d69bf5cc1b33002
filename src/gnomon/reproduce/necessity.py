"""`gnomon reproduce necessity`: which models need an encoding to tell order.

Attention without a mask treats orders alike, so without an encoding no task of order can be learned
[cirrincione2026 thm. 1]. A causal mask already tells orders apart [haviv2022]
[kazemnejad2023], and a recurrence [cho2014] or a state space [gu2022] reads in order.

What decides was fixed before the runs: the share of the way from what the best order-blind observer
reaches to the ceiling, *blind* below a tenth and *told* above it; areas under the learning curve
where a model is compared with itself under an encoding, of which 0.02 is allowed where it shall be
no worse.
"""

from __future__ import annotations

from gnomon.corpus import Progress
from gnomon.reproduce.claims import Claim, Contrast, Reproduction, Side, claim
from gnomon.reproduce.grids import FEWEST, Table, of_one_grid
from gnomon.reproduce.subjects import Options

TITLE = "which models need an encoding to tell order?"
BLIND, MARGIN = 0.1, 0.02
WITHOUT = {
    "causal": "a causal mask",
    "gru": "a gated recurrence",
    "state-space": "a diagonal state space",
}
WITH = {"causal": "causal-rope", "gru": "gru-sinusoidal", "state-space": "state-space-sinusoidal"}
NOTES = (
    "sequences of 32: how far order is told without an encoding is not asked.",
    "models have the same width and number of layers, not the same number of parameters.",
    "without an encoding the first causal layer sees what came before as a set; order comes after.",
)


def make(options: Options, progress: Progress) -> Reproduction:
    """Run or resume the grid, and judge by model."""
    return of_one_grid(
        "necessity", TITLE, options, progress, source="cirrincione2026", claims=judge, notes=NOTES
    )


def judge(table: Table) -> list[Claim]:
    """Judge what tells order, and whether an encoding still helps there."""
    return [
        _share(table, "attention", "<", "attention without mask and encoding is blind to order"),
        *(
            _share(table, model, ">", f"{words} tells order without an encoding")
            for model, words in WITHOUT.items()
        ),
        *(_no_worse(table, model, words) for model, words in WITHOUT.items()),
    ]


def _share(table: Table, model: str, side: Side, text: str) -> Claim:
    """Judge the share of the way from order-blind to the ceiling, on every task."""
    found: list[Contrast] = []
    for task in table.tasks:
        shares = tuple(table.values(task, model, "order").values())
        found += table.absent(task, model)
        if len(shares) >= FEWEST:
            what = f"{model}, share of order on {task}"
            found.append(Contrast(what=what, values=shares, relation=side, bound=BLIND))
    return claim(text, found)


def _no_worse(table: Table, model: str, words: str) -> Claim:
    """Judge whether a model does as well without an encoding as with one."""
    found = [
        one
        for task in table.tasks
        for one in table.contrast((task, model), (task, WITH[model]), "areas", bound=-MARGIN)
    ]
    return claim(f"{words} does as well without an encoding as with one", found)
