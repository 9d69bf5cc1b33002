"""A grid in one table: rows of made-up records, and what is left of a grid that really ran."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from gnomon.lab.records import Record, write_record
from gnomon.lab.table import POINTS, folder_table, grid_table

DROPS = {0: [[0.1, 0.5, 0.2], [0.0, 0.0, 0.3]], 1: [[0.4, 0.0, 0.1], [0.2, 0.0, 0.0]]}


def layer(number, drops):
    told = {"layer": number, "index": max(drops) / sum(drops), "effective_heads": 2.0, "gini": 0.4}
    told |= {"largest": max(drops), "head": int(np.argmax(drops)), "noise_band": 0.05}
    return told | {"uniform": 1 / 3, "null": 0.4, "deposit": True, "reason": None}


def record(seed, score, *, task="distance", encoding="rope", phase="report", **more):
    drops = DROPS[seed % 2]
    lines = [layer(number, one) for number, one in enumerate(drops)]
    heads = {"zero": {"drops": drops}, "mean": {"drops": drops}}
    heads |= {"zero_concentration": lines, "mean_concentration": lines}
    cell = {
        "task": task,
        "encoding": encoding,
        "seed": seed,
        "phase": phase,
        "task_name": task,
        "parts": [{"name": "somebody/private/mds.safetensors", "parameters": {}, "on_heads": None}],
        "model": {"kind": "transformer", "dimension": 64, "layers": 2, "heads": 3, "extra": {}},
        "training": {"learning_rate": 0.003, "steps": 500},
        "choice": {"learning_rate": 0.003},
    }
    curve = tuple({"step": 10 * k, "score": score * k / 50, "loss": 1.0} for k in range(1, 51))
    given = {
        "cell": cell,
        "status": "done",
        "score": score,
        "area": score / 2,
        "steps_to_90": 400 + seed,
        "curve": curve,
        "ceiling": {"measure": "accuracy", "value": 1.0, "prior": 0.1, "constant": 0.1},
        "lengths": ({"length": 32, "score": score}, {"length": 64, "score": score / 4}),
        "measures": {"heads": heads, "hessian": {"value": 3.0 + seed}},
        "parameters": 70,
        "cpu_seconds": 2.0,
    }
    return Record(**{**given, **more})


def test_a_row_has_every_seed_and_no_run_of_the_selection():
    runs = [record(1, 0.8), record(0, 0.6), record(100, 0.1, phase="selection")]
    made = grid_table(runs, name="try", question="Which?")
    assert (made["name"], made["runs"], made["cpu_seconds"]) == ("try", 3, 6)
    (row,) = made["rows"]
    assert row["seeds"] == [0, 1]
    assert row["scores"] == [0.6, 0.8]
    assert row["areas"] == [0.3, 0.4]
    assert row["steps_to_90"] == [400, 401]
    assert row["hessian"] == [3.0, 4.0]
    assert row["lengths"] == {"length": [32, 64], "scores": [[0.6, 0.8], [0.15, 0.2]]}
    low, high = row["scores_interval"]  # Student's t with one degree of freedom: 12.706
    assert high - low == pytest.approx(2 * 12.706 * 0.1, rel=1e-3)


def test_heads_are_put_in_order_in_every_run_before_they_are_averaged():
    (row,) = grid_table([record(0, 0.6), record(1, 0.8)])["rows"]
    np.testing.assert_allclose(
        row["heads"]["zero"]["drops"], [[0.45, 0.15, 0.05], [0.25, 0.0, 0.0]]
    )
    assert row["heads"]["zero"]["index"][0][0] == pytest.approx(0.5 / 0.8)
    assert row["heads"]["zero"]["index"][1] == pytest.approx([0.8, 1.0])


def test_the_largest_excess_of_two_heads_has_a_band_for_all_pairs_and_rotary_pairs_are_averaged():
    """Three heads are three pairs: the band is z(1 - 0.05 / 6) = 2.394 standard errors."""

    def measures(excess, lost):
        errors = [[0.0, 0.02, 0.01], [0.02, 0.0, 0.03], [0.01, 0.03, 0.0]]
        told = {"excess": excess, "excess_errors": errors}
        where = {"coordinates": [[[0, 1], [2, 3]]], "reason": ""}
        return {"redundancy": told, "pairs": {"drops": [[lost, 0.0]], **where}}

    first = measures([[0.0, 0.1, 0.0], [0.1, 0.0, -0.3], [0.0, -0.3, 0.0]], 0.2)
    second = measures([[0.0, 0.1, 0.0], [0.1, 0.0, 0.4], [0.0, 0.4, 0.0]], 0.4)
    (row,) = grid_table([record(0, 0.6, measures=first), record(1, 0.8, measures=second)])["rows"]
    assert row["redundancy"]["largest"] == [0.1, 0.4]
    assert row["redundancy"]["noise_band"] == pytest.approx([2.394 * 0.02, 2.394 * 0.03], rel=1e-3)
    assert row["pairs"]["drops"] == [[pytest.approx(0.3), 0.0]]
    assert row["pairs"]["by_seed"] == [[[0.2, 0.0]], [[0.4, 0.0]]]


def test_pairs_without_coordinates_are_not_shown_and_a_model_that_turns_none_is_named():
    def row_of(**pairs):
        (row,) = grid_table([record(0, 0.6, measures={"pairs": pairs})])["rows"]
        return row["pairs"]

    assert row_of(drops=[[0.1]]) is None  # nothing says which coordinates were taken out
    assert row_of(drops=[[], []], coordinates=[[], []], reason="none") == {
        "drops": [], "by_seed": [], "reason": "none"
    }  # fmt: skip
    fewer = row_of(drops=[[0.1], [None]], coordinates=[[[0, 1]], []], reason="")
    assert fewer["drops"] == [[0.1], [None]]


def test_a_curve_keeps_its_ends_and_few_points():
    (row,) = grid_table([record(0, 0.6), record(1, 0.8)])["rows"]
    steps = row["curve"]["step"]
    assert len(steps) == POINTS
    assert (steps[0], steps[-1]) == (10, 500)
    assert row["curve"]["mean"][-1] == pytest.approx(0.7)
    assert (row["curve"]["low"][-1], row["curve"]["high"][-1]) == (0.6, 0.8)


def test_runs_that_did_not_end_are_counted_and_not_averaged():
    gone = {"score": None, "area": None, "curve": (), "lengths": (), "measures": {}}
    lost = dataclasses.replace(record(1, 0.8), status="diverged", **gone)
    made = grid_table([record(0, 0.6), lost])
    (row,) = made["rows"]
    assert (made["diverged"], row["diverged"], row["scores"]) == (1, 1, [0.6])
    assert row["scores_interval"] is None


def test_a_table_names_no_private_place():
    text = json.dumps(grid_table([record(0, 0.6)]))
    assert "mds.safetensors" in text
    assert "somebody" not in text


def test_a_folder_gives_its_rows_in_the_order_of_the_grid(tmp_path):
    for name in ("alibi", "rope"):
        write_record(tmp_path / "distance" / name / "report-0.json", record(0, 0.6, encoding=name))
    assert [row["encoding"] for row in folder_table(tmp_path)["rows"]] == ["alibi", "rope"]
    chosen = [
        {"task": "distance", "encoding": name, "at_edge": name == "rope", "tried": [{"mean": 0.5}]}
        for name in ("rope", "alibi")
    ]
    (tmp_path / "grid.json").write_text(json.dumps({"selected": chosen}), encoding="utf-8")
    rows = folder_table(tmp_path)["rows"]
    assert [row["encoding"] for row in rows] == ["rope", "alibi"]
    assert [row["at_edge"] for row in rows] == [True, False]
    assert rows[0]["tried"] == [{"mean": 0.5}]
