"""`gnomon reproduce jordan`: where a non-semisimple group helps, where not, and at what cost.

exp(tX) with a defective X has entries t^k exp(lambda t): the class that [puranik2026] calls
unexplored and [zhang2026] builds. It is compared with the semisimple rotations (RoPE), with a bias
linear in the lag (ALiBi), and with both together, on tasks made of lags and of places.

What decides was fixed before the runs: the area under the learning curve, task by task and rival by
rival; the cost is the time of the processor for the same number of steps, of which a tenth more is
allowed. Numbers of the group are frozen, as those of RoPE are; where both learn theirs they are
compared once more.
"""

from __future__ import annotations

from math import log

from gnomon.corpus import Progress
from gnomon.reproduce.claims import Claim, Reproduction, claim
from gnomon.reproduce.grids import Table, of_one_grid, words
from gnomon.reproduce.subjects import Options

TITLE = "non-semisimple groups against RoPE, ALiBi and both together"
NAMES = {"rope": "RoPE", "alibi": "ALiBi", "rope-alibi": "RoPE and ALiBi together"}
OTHERS = tuple(NAMES)
OURS = ("jordan", "jordan-damped")
LEARNED = ("jordan-learned", "rope-learned")
ALLOWED = 1.1
NOTES = (
    (
        "a distance is linear in the lag, and phase x distance a polynomial times an oscillation: "
        "a Jordan block writes both down, so a gain there is no general merit."
    ),
    "a Jordan block of order two has half as many frequencies as RoPE of the same width.",
    "times of the processor are those of runs beside one another, and of whatever else ran then.",
    "sequences of 32 (64 for characters) say nothing on long contexts, where t^k may grow.",
)


def make(options: Options, progress: Progress) -> Reproduction:
    """Run or resume the grid, and judge task by task."""
    return of_one_grid(
        "jordan", TITLE, options, progress, source="puranik2026", claims=judge, notes=NOTES
    )


def judge(table: Table) -> list[Claim]:
    """Judge every task and rival, learned numbers, and the cost."""
    found = [judge_better(table, task, other) for task in table.tasks for other in OTHERS]
    return [*(one for one in found if one.contrasts), judge_learned(table), judge_cost(table)]


def judge_better(table: Table, task: str, other: str) -> Claim:
    """Judge whether the Jordan class learns a task better than a rival."""
    found = [one for ours in OURS for one in table.contrast((task, ours), (task, other), "areas")]
    told = words(table, task, "scores", (*OURS, other))
    return claim(
        f"a Jordan block learns {task} better than {NAMES[other]}",
        found,
        f"Scores at the end: {told}." if told else "",
    )


def judge_learned(table: Table) -> Claim:
    """Judge whether it is better where numbers of both are learned."""
    first, second = LEARNED
    found = [
        one
        for task in table.tasks
        for one in table.contrast((task, first), (task, second), "areas")
    ]
    return claim("a Jordan block whose numbers are learned beats RoPE whose are", found)


def judge_cost(table: Table) -> Claim:
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
