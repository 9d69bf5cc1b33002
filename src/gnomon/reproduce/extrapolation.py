"""`gnomon reproduce extrapolation`: trained on short sequences, tested on long ones.

What is claimed: ALiBi keeps its quality beyond the trained length, sinusoids and RoPE do not
[press2021]; attention without an encoding generalises in length, under a causal mask
[kazemnejad2023]; xPos extrapolates better than RoPE [sun2022]; a learned table cannot.

Quality is the share of the way from the best constant answer to the ceiling. An encoding that has
learned a task (a third of the way or more) *keeps* it where the share at the longest length is
within 0.1 of that at the trained length, and *loses* it where it is not. What it has not learned it
cannot keep: such tasks are left out, and of others the seeds that have not learned.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.corpus import Progress
from gnomon.reproduce.claims import Claim, Contrast, Reproduction, Side, claim
from gnomon.reproduce.grids import FEWEST, Table, of_one_grid, share_of
from gnomon.reproduce.subjects import Options

TITLE = "trained on short sequences, tested on long ones"
KEPT, LEARNED = 0.1, 1.0 / 3.0
NOTES = (
    "more fillers alone can lower a mean over tokens, whatever the encoding.",
    "a learned table has rows for all lengths; those beyond the trained one were never trained.",
    "four times 32 tokens is no long context.",
)
KEEPS = ("alibi", "t5", "kerple-log")
LOSES = ("sinusoidal", "learned", "rope")


def make(options: Options, progress: Progress) -> Reproduction:
    """Run or resume the grid, and judge by encoding."""
    return of_one_grid(
        "extrapolation", TITLE, options, progress, source="press2021", claims=judge, notes=NOTES
    )


def judge(table: Table) -> list[Claim]:
    """Judge what is claimed of each encoding."""
    return [
        *(_judge_keeping(table, name) for name in KEEPS),
        *(_judge_losing(table, name) for name in LOSES),
        _judge(
            table,
            "nope",
            "without an encoding a causal model keeps what it has learned",
            ">",
            tasks=("characters",),
        ),
        than_rope(table, "xpos"),
        than_rope(table, "jordan"),
    ]


def _judge_keeping(table: Table, encoding: str) -> Claim:
    return _judge(table, encoding, f"{encoding} keeps what it has learned on longer sequences", ">")


def _judge_losing(table: Table, encoding: str) -> Claim:
    return _judge(table, encoding, f"{encoding} loses what it has learned on longer sequences", "<")


def _judge(
    table: Table, encoding: str, text: str, side: Side, tasks: Sequence[str] | None = None
) -> Claim:
    found: list[Contrast] = []
    left: list[str] = []
    for task in table.tasks if tasks is None else tasks:
        changes = changes_by_seed(table, task, encoding)
        if absent := table.absent(task, encoding):
            found += absent
            continue
        if len(changes) < FEWEST:
            left += [task] if (task, encoding) in table.rows else []
            continue
        short, long = ends(table, task, encoding)
        seeds = len(table.rows[task, encoding]["seeds"])
        found.append(
            Contrast(
                what=f"{encoding} on {task}, share at length {long} less that at {short}"
                + ("" if len(changes) == seeds else f" ({len(changes)} of {seeds} seeds)"),
                values=tuple(changes.values()),
                relation=side,
                bound=-KEPT,
            )
        )
    told = f"Not learned, and so left out: {', '.join(left)}." if left else ""
    return claim(text, found, f"Kept: within {KEPT}. {told}".strip())


def than_rope(table: Table, encoding: str) -> Claim:
    """Judge whether an encoding keeps more than RoPE does, on tasks that both have learned."""
    found = []
    for task in table.tasks:
        ours, theirs = changes_by_seed(table, task, encoding), changes_by_seed(table, task, "rope")
        common = sorted(ours.keys() & theirs.keys())
        found += [one for name in (encoding, "rope") for one in table.absent(task, name)]
        if len(common) >= FEWEST:
            values = tuple(ours[seed] - theirs[seed] for seed in common)
            found.append(Contrast(what=f"change of {encoding} less rope on {task}", values=values))
    return claim(f"{encoding} keeps more of what it has learned than RoPE", found)


def ends(table: Table, task: str, encoding: str) -> tuple[int, int]:
    """Return the trained length, which is the shortest, and the longest that was tested."""
    lengths = table.rows[task, encoding]["lengths"]["length"]
    return int(lengths[0]), int(lengths[-1])


def changes_by_seed(table: Table, task: str, encoding: str) -> dict[int, float]:
    """Return by seed that has learned how the share changes, from trained length to longest."""
    row = table.rows.get((task, encoding))
    if row is None or not row["lengths"]:
        return {}
    first, last = row["lengths"]["scores"][0], row["lengths"]["scores"][-1]
    return {
        seed: share_of(row, long) - share_of(row, short)
        for seed, short, long in zip(row["seeds"], first, last, strict=True)
        if share_of(row, short) >= LEARNED
    }
