"""Runs that diverged or failed: named in verdicts and tables, and no claim holds without them."""

from __future__ import annotations

from typing import Any

import pytest

from gnomon.reproduce import deposit as deposit_claims
from gnomon.reproduce import extrapolation, fitted, jordan
from gnomon.reproduce.claims import LEVEL, Contrast, claim, list_contrasts
from gnomon.reproduce.grids import Table, report_grids, rows_of

SEEDS = (0, 1, 2, 3, 4)
WOBBLE = (0.002, -0.001, 0.0, 0.001, -0.002)
OTHERS = ("sinusoidal", "learned", "offset-bias", "t5")


def row(
    task: str,
    encoding: str,
    value: float,
    *,
    seeds: tuple[int, ...] = SEEDS,
    diverged: int = 0,
    failed: int = 0,
    long: float | None = None,
) -> dict[str, Any]:
    """Return a row with a planted value, of the seeds that ended."""
    values = [value + WOBBLE[seed] for seed in seeds]
    ends = None
    if long is not None:
        ends = {"length": [32, 128], "scores": [values, [long + WOBBLE[seed] for seed in seeds]]}
    return {
        "task": task,
        "encoding": encoding,
        "model": {"layers": 2, "heads": 8, "dimension": 64} if seeds else {},
        "seeds": list(seeds),
        "scores": values,
        "areas": values,
        "steps_to_90": [200 for _ in seeds],
        "cpu_seconds": [10.0 for _ in seeds],
        "diverged": diverged,
        "failed": failed,
        "ceiling": {"constant": 0.0, "value": 1.0},
        "lengths": ends if seeds else None,
        "heads": None,
    }


def grid(*rows: dict[str, Any], name: str = "deposit") -> dict[str, Any]:
    return {"name": name, "runs": 5 * len(rows), "rows": list(rows)}


def distance(*more: dict[str, Any], name: str = "deposit") -> Table:
    """Return RoPE above four additive encodings, and whatever else."""
    rows = [row("distance", "rope", 0.9), *(row("distance", other, 0.5) for other in OTHERS)]
    return Table(grid(*rows, *more, name=name))


@pytest.mark.parametrize("name", ["deposit", "deposit-large"])
def test_a_claim_does_not_hold_while_all_runs_of_a_rival_diverged(name) -> None:
    assert deposit_claims.judge_better([distance(name=name)]).holds == "holds"
    lost = row("distance", "alibi", 0.0, seeds=(), diverged=5)
    made = deposit_claims.judge_better([distance(lost, name=name)])
    assert made.holds == made.verdict.holds == "depends"
    assert "Open: rope less alibi, area on distance (alibi: 5 of 5 runs diverged)" in (
        made.verdict.reason
    )


def test_a_claim_whose_one_rival_was_lost_is_undecided() -> None:
    rows = (row("distance", "rope", 0.9), row("distance", "t5", 0.0, seeds=(), failed=5))
    made = deposit_claims.judge_better([Table(grid(*rows))])
    assert made.holds == "undecided"
    assert "t5: 5 of 5 runs failed" in made.verdict.reason
    assert deposit_claims.judge_better([Table(grid(rows[0]))]).holds == "untested here"


def test_lost_runs_do_not_save_a_claim_that_is_shown_otherwise() -> None:
    table = Table(
        grid(
            row("distance", "rope", 0.5),
            row("distance", "t5", 0.9),
            row("distance", "alibi", 0.0, seeds=(), diverged=5),
        )
    )
    assert deposit_claims.judge_better([table]).holds == "does not hold"


def test_a_rival_with_one_run_left_is_as_good_as_absent() -> None:
    made = deposit_claims.judge_better(
        [distance(row("distance", "alibi", 0.5, seeds=(3,), diverged=3, failed=1))]
    )
    assert made.holds == "depends"
    assert "alibi: 3 of 5 runs diverged and 1 of 5 runs failed" in made.verdict.reason


def test_a_contrast_of_the_seeds_that_are_left_names_those_that_were_lost() -> None:
    table = distance(row("distance", "alibi", 0.5, seeds=(0, 2, 4), diverged=2))
    (made,) = table.contrast(("distance", "rope"), ("distance", "alibi"), "areas")
    assert made.values == pytest.approx((0.4, 0.4, 0.4))
    assert made.what == "rope less alibi, area on distance (alibi: 2 of 5 runs diverged)"


def test_a_contrast_without_values_is_open_and_has_no_share_of_the_level() -> None:
    empty = Contrast(what="a less b (b: 5 of 5 runs diverged)", values=())
    assert (empty.interval, empty.outcome) == (None, "open")
    made = claim("c", [Contrast(what="a less c", values=(0.2, 0.21, 0.19)), empty])
    assert made.contrasts[0].level == LEVEL
    (_, piece) = list_contrasts([made])["c"]
    assert (piece["values"], piece["interval"], piece["reading"]) == ([], None, "open")


def test_a_task_on_which_every_run_was_lost_is_judged_and_not_left_out() -> None:
    gone = {"seeds": (), "diverged": 5}
    table = Table(
        grid(
            row("lag", "jordan", 0.9),
            row("lag", "rope", 0.5),
            row("phase", "jordan", 0.0, **gone),
            row("phase", "rope", 0.0, **gone),
        )
    )
    found = {one.claim.split()[4]: one for one in jordan.judge(table)}
    assert found["lag"].holds == "holds"
    assert found["phase"].holds == "undecided"
    assert "jordan: 5 of 5 runs diverged, rope: 5 of 5 runs diverged" in (
        found["phase"].verdict.reason
    )


def test_an_encoding_does_not_keep_what_its_lost_runs_can_not_show() -> None:
    kept = row("order", "alibi", 0.9, long=0.9)
    assert extrapolation.judge(Table(grid(kept)))[0].holds == "holds"
    lost = row("lag", "alibi", 0.0, seeds=(), diverged=5)
    made = extrapolation.judge(Table(grid(kept, lost)))[0]
    assert made.holds == "depends"
    assert "alibi: 5 of 5 runs diverged on lag" in made.verdict.reason


def test_the_best_of_the_usual_encodings_is_not_known_while_one_was_lost() -> None:
    rows = [row("splice", "mds", 0.9), row("splice", "rope", 0.5)]
    assert fitted.judge_best(Table(grid(*rows)), "mds", "c").holds == "holds"
    lost = row("splice", "t5", 0.0, seeds=(), diverged=5)
    assert fitted.judge_best(Table(grid(*rows, lost)), "mds", "c").holds == "depends"


def test_the_table_and_the_notes_of_a_reproduction_have_lost_runs() -> None:
    rows = [
        row("distance", "rope", 0.9, seeds=(0, 1, 2), diverged=2),
        row("distance", "alibi", 0.0, seeds=(), diverged=4, failed=1),
    ]
    first, second = rows_of(grid(*rows), {})
    assert first.ours["diverged or failed"] == "2 of 5"
    assert first.ours["reached 90 %"] == "3 of 5"
    assert (second.ours["score"], second.ours["diverged or failed"]) == (None, "5 of 5")
    assert second.reasons["score"] == "alibi: 4 of 5 runs diverged and 1 of 5 runs failed"
    made = report_grids("n", "t", source="gu2025", grids=[grid(*rows)], claims=[], notes=["first."])
    assert made.notes == (
        "first.",
        (
            "deposit: without a score: rope: 2 of 5 runs diverged on distance; "
            "alibi: 4 of 5 runs diverged and 1 of 5 runs failed on distance."
        ),
    )
