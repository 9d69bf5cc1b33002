"""Rows of a summary, from records that are made here, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gnomon.errors import LabError
from gnomon.lab.records import Record, read_records, write_record
from gnomon.lab.table import summarise

CEILING = {"measure": "accuracy", "value": 1.0, "prior": 0.5, "constant": 0.5}


def concentration(layer, index):
    return {
        "layer": layer,
        "index": index,
        "effective_heads": None if index is None else 1 / index,
        "gini": index,
        "largest": 0.0 if index is None else index / 2,
        "uniform": 0.25,
        "deposit": index is not None and index > 0.5,
    }


def record(encoding, seed, score, *, task="order", phase="report", status="done", index=0.5):
    done = status == "done"
    heads = {
        "zero_concentration": [concentration(0, index), concentration(1, None)],
        "mean_concentration": [concentration(0, index), concentration(1, None)],
    }
    told = 0.0 if score is None else score
    points = [{"step": s, "score": told * s / 100, "loss": 1.0} for s in (50, 100)]
    return Record(
        cell={
            "task": task,
            "encoding": encoding,
            "seed": seed,
            "phase": phase,
            "choice": {"learning_rate": 0.003},
        },
        status=status,
        score=score if done else None,
        area=0.75 * score if done else None,
        steps_to_90=100 if done and score >= 0.95 else None,
        curve=tuple(points) if done else (),
        ceiling=CEILING if done else {},
        lengths=({"length": 64, "score": score / 2},) if done else (),
        measures={"heads": heads} if done else {},
        parameters=70_000,
        cpu_seconds=10.0,
    )


SCORES = {"rope": [0.99, 0.97, 0.98], "alibi": [0.50, 0.52, 0.51], "nope": [0.95, 0.55, 0.94]}


@pytest.fixture
def records():
    made = [record(name, seed, s) for name, v in SCORES.items() for seed, s in enumerate(v)]
    made.append(record("rope", 99, 0.1, phase="selection"))
    made.append(record("alibi", 3, None, status="diverged"))
    return made


def test_means_and_intervals_are_those_of_the_report_seeds(records):
    row = summarise(records).row("order", "rope")
    ends = stats.ttest_1samp(SCORES["rope"], 0.0).confidence_interval(0.95)
    assert row.score.mean == pytest.approx(np.mean(SCORES["rope"]))
    assert row.score.interval == pytest.approx((ends.low, ends.high))
    assert row.area.mean == pytest.approx(0.75 * np.mean(SCORES["rope"]))
    assert row.seeds == (0, 1, 2)
    assert row.steps_to_90 == (100, 100, 100)
    assert row.choice == {"learning_rate": 0.003}


def test_diverged_runs_are_counted_and_not_averaged_in(records):
    row = summarise(records).row("order", "alibi")
    assert (row.diverged, row.failed, len(row.scores)) == (1, 0, 3)
    alone = summarise([record("xpos", 0, None, status="failed")]).rows[0]
    assert (alone.failed, alone.score, alone.curve, alone.heads) == (1, None, (), ())


def test_a_seed_far_below_the_others_is_named_late(records):
    summary = summarise(records)
    assert summary.row("order", "nope").late == (1,)
    assert summary.row("order", "rope").late == ()
    assert summary.row("order", "alibi").late == ()  # none of them learned anything


def test_curves_and_lengths_are_averaged_point_by_point(records):
    row = summarise(records).row("order", "rope")
    assert [point["step"] for point in row.curve] == [50, 100]
    assert row.curve[0]["mean"] == pytest.approx(0.49)
    assert row.lengths[0]["length"] == 64
    assert row.lengths[0]["mean"] == pytest.approx(0.49)


def test_heads_are_summed_up_by_ablation_and_layer():
    runs = [record("rope", seed, 0.9, index=index) for seed, index in enumerate([0.4, 0.6, 0.8])]
    lines = summarise(runs).rows[0].heads
    assert [(line.ablation, line.layer) for line in lines] == [
        ("zero", 0),
        ("zero", 1),
        ("mean", 0),
        ("mean", 1),
    ]
    assert lines[0].index.mean == pytest.approx(0.6)
    assert (lines[0].deposits, lines[0].runs) == (2, 3)
    assert lines[1].index is None


def test_differences_are_paired_by_seed_and_corrected_by_holm(records):
    compared = {c.encoding: c for c in summarise(records).compare("rope", "score")}
    alibi, nope = (
        stats.ttest_rel(SCORES[name], SCORES["rope"]).pvalue for name in ("alibi", "nope")
    )
    assert set(compared) == {"alibi", "nope"}
    assert compared["alibi"].difference.mean == pytest.approx(-0.47)
    assert compared["alibi"].p_holm == pytest.approx(2 * alibi)
    assert compared["nope"].p_holm == pytest.approx(max(2 * alibi, nope))


def test_one_common_seed_gives_a_difference_and_no_p_value():
    runs = [record("rope", 0, 0.9), record("alibi", 0, 0.5), record("alibi", 1, 0.6)]
    (made,) = summarise(runs).compare("rope", "score")
    assert made.difference.mean == pytest.approx(-0.4)
    assert made.p_holm is None


def test_a_summary_of_files_is_that_of_their_records(records, tmp_path):
    for number, one in enumerate(records):
        folder = tmp_path / "order" / one.cell["encoding"]
        folder.mkdir(parents=True, exist_ok=True)
        write_record(folder / f"{number:02}.json", one)
    read = summarise(read_records(tmp_path))
    assert read.row("order", "nope").to_dict() == summarise(records).row("order", "nope").to_dict()


def test_a_table_has_one_line_per_row(records):
    pytest.importorskip("pandas")
    table = summarise(records).to_dataframe()
    assert table["encoding"].tolist() == ["rope", "alibi", "nope"]
    assert table["reached_90"].tolist() == [3, 0, 1]


def test_what_has_no_records_is_named(records):
    summary = summarise(records)
    with pytest.raises(LabError, match="there are no records of 'order / rop'; did you mean 'orde"):
        summary.row("order", "rop")
    with pytest.raises(LabError, match="there are no records of 'sinus'; known: alibi, nope, rope"):
        summary.compare("sinus")
    with pytest.raises(LabError, match="'scor' cannot be compared; did you mean 'score'"):
        summary.compare("rope", "scor")
