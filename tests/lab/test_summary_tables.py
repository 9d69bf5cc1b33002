"""Differences to a reference against SciPy, and what a row says of its documents."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gnomon.lab.records import Record
from gnomon.lab.table import grid_table

AREAS = {
    "rope": [0.60, 0.64, 0.59, 0.66],
    "alibi": [0.55, 0.60, 0.56, 0.60],
    "nope": [0.20, 0.71, 0.43, 0.55],
    "t5": [0.58, 0.63, 0.60, 0.64],
}


def record(encoding, seed, area, *, task="distance", data=None, held_out=2048, score=0.9):
    return Record(
        cell={
            "task": task, "encoding": encoding, "seed": seed, "phase": "report", "parts": [],
            "choice": {}, "training": {"learning_rate": 1e-3, "steps": 5, "held_out": held_out},
            "model": {"kind": "x", "dimension": 1, "layers": 1, "heads": 1, "extra": {}},
        },
        status="done",
        score=score,
        area=area,
        ceiling={"measure": "accuracy", "value": 1.0, "prior": 0.5, "constant": 0.5},
        curve=({"step": 1, "score": area, "loss": 1.0},),
        data=data or {},
    )  # fmt: skip


def records(areas=AREAS, **more):
    return [record(n, seed, a, **more) for n, own in areas.items() for seed, a in enumerate(own)]


def test_differences_are_paired_by_seed_and_corrected_as_scipy_and_holm_say():
    lines = {one["encoding"]: one for one in grid_table(records())["compared"]}
    assert set(lines) == {"alibi", "nope", "t5"}
    tests = {name: stats.ttest_rel(AREAS[name], AREAS["rope"]) for name in lines}
    ordered = sorted(lines, key=lambda name: tests[name].pvalue)
    largest = 0.0
    for place, name in enumerate(ordered):
        one, found = lines[name], tests[name]
        ends = found.confidence_interval(0.95)
        assert one["reference"] == "rope"
        assert one["difference"] == pytest.approx(np.mean(AREAS[name]) - np.mean(AREAS["rope"]))
        assert one["interval"] == pytest.approx([ends.low, ends.high], rel=1e-4)
        assert one["p"] == pytest.approx(found.pvalue, rel=1e-4)
        largest = max(largest, min(1.0, (3 - place) * found.pvalue))
        assert one["p_holm"] == pytest.approx(largest, rel=1e-4)


def test_a_task_without_rope_is_compared_with_its_first_encoding_and_one_alone_with_none():
    others = {name: AREAS[name] for name in ("nope", "t5")}
    alone = {"rope": AREAS["rope"]}
    made = grid_table([*records(others, task="lag"), *records(alone, task="order"), *records()])
    by_task = {(one["task"], one["encoding"], one["reference"]) for one in made["compared"]}
    assert ("lag", "t5", "nope") in by_task
    assert {task for task, _, _ in by_task} == {"lag", "distance"}


def test_a_row_says_how_many_documents_it_rests_on_and_what_they_leave_open():
    data = {"digest": "a", "one_answer": True, "train": 900, "validation": 90, "test": 100}
    (row,) = grid_table(records({"rope": [0.5, 0.6]}, data=data))["rows"]
    assert row["data"]["standard_error"] == pytest.approx(0.03)  # sqrt(0.9 0.1 / 100)
    assert (row["data"]["test"], row["data"]["digests"]) == (100, 1)
    (row,) = grid_table(records({"rope": [0.5]}, data=data, held_out=25))["rows"]
    assert row["data"]["standard_error"] == pytest.approx(0.06)  # 25 of them were asked for
    (row,) = grid_table(records({"rope": [0.5]}, data=data | {"one_answer": False}))["rows"]
    assert row["data"]["standard_error"] is None
    (row,) = grid_table(records({"rope": [0.5]}))["rows"]
    assert row["data"] is None


def test_runs_on_different_data_are_counted():
    data = {"digest": "a", "one_answer": True, "train": 900, "validation": 90, "test": 100}
    runs = [record("rope", seed, 0.5, data=data | {"digest": digest})
            for seed, digest in enumerate("aab")]  # fmt: skip
    (row,) = grid_table(runs)["rows"]
    assert row["data"]["digests"] == 2
