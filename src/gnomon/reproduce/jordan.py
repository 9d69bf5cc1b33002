"""`gnomon reproduce jordan`: where a non-semisimple group helps, where not, and at what cost.

exp(tX) with a defective X has entries t^k exp(lambda t): the class that [puranik2026] calls
unexplored and [zhang2026] builds. It is compared with the semisimple rotations (RoPE), with a bias
linear in the lag (ALiBi), and with both together, on tasks made of lags.

What decides was fixed before the runs: the area under the learning curve, task by task, against
each of the three; the cost is the time of the processor for the same number of steps, of which a
tenth more is allowed.
"""

from __future__ import annotations

from math import log

from gnomon.corpus.progress import Progress
from gnomon.reproduce.claims import Reproduction
from gnomon.reproduce.contrasts import Claim, claim
from gnomon.reproduce.lab_run import grid_named, ran, reproduced
from gnomon.reproduce.lab_tables import Table, words
from gnomon.reproduce.samples import Options

TITLE = "non-semisimple groups against RoPE, ALiBi and both together"
OTHERS = ("rope", "alibi", "rope-alibi")
OURS = ("jordan", "jordan-damped")
ALLOWED = 1.1
NOTES = (
    (
        "a distance is linear in the lag, and phase x distance a polynomial times an oscillation: "
        "a Jordan block writes both down, so a gain there is no general merit."
    ),
    "a Jordan block of order two has half as many frequencies as RoPE of the same width.",
    "sequences of 32 (64 for characters) say nothing on long contexts, where t^k may grow.",
)


def jordan(options: Options, progress: Progress) -> Reproduction:
    """Run or resume the grid, and judge task by task."""
    grid = ran(grid_named("jordan", options.records), options, progress)
    return reproduced(
        "jordan",
        TITLE,
        source="puranik2026",
        grids=[grid],
        claims=claims(Table(grid)),
        notes=NOTES,
    )


def claims(table: Table) -> list[Claim]:
    """Judge every task, and the cost."""
    return [*(better(table, task) for task in table.tasks), cheap(table)]


def better(table: Table, task: str) -> Claim:
    """Judge whether the Jordan class learns a task better than each of the others."""
    found = [
        one
        for ours in OURS
        for other in OTHERS
        for one in table.contrast((task, ours), (task, other), "areas")
    ]
    told = words(table, task, "scores", (*OURS, *OTHERS))
    return claim(
        f"a Jordan block learns {task} better than RoPE, ALiBi and both together",
        found,
        f"Scores at the end: {told}." if told else "",
    )


def cheap(table: Table) -> Claim:
    """Judge whether it costs hardly more than RoPE."""
    found = [
        one
        for task in table.tasks
        for one in table.contrast(
            (task, "jordan"),
            (task, "rope"),
            "cpu_seconds",
            relation="<",
            bound=log(ALLOWED),
            note="log of CPU time",
        )
    ]
    return claim(f"a Jordan block takes at most {ALLOWED} times the time of RoPE", found)
