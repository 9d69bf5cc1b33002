"""Running grids: checked first, chosen on seeds apart, resumed, and never left half-written."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from threading import Thread

import numpy as np
import pytest

pytest.importorskip("torch")

from gnomon.errors import LabError, StorageError
from gnomon.lab import worker
from gnomon.lab import worker as executor
from gnomon.lab.grid import grid_of, read_grid
from gnomon.lab.records import Record, read_record, write_record
from gnomon.lab.run import Progress, check_cells, run_grid, status, try_cell
from gnomon.lab.worker import InProcess, Job, Processes

TINY = {
    "model": {"dimension": 16, "heads": 2, "layers": 1},
    "training": {"steps": 4, "batch": 4, "held_out": 16, "evaluate_every": 2},
    "sweep": {"learning_rate": [1e-3, 4e-3], "seeds": [100, 101]},
    "report": {"seeds": [0, 1]},
    "tasks": {"order": {"length": 8}},
    "encodings": {"rope": {}, "nope": {}},
}


def grid(**changes):
    return grid_of({**TINY, **changes}, name="tiny")


def planted(scores, folder, made=None):
    """Records for all cells that are asked for, with an area by learning rate."""
    made = grid() if made is None else made
    for cell in Progress(made, folder).next_cells():
        area = scores.get(cell.training.learning_rate)
        status = "diverged" if area is None else "done"
        record = Record(cell=cell.to_dict(), status=status, area=area, score=area)
        write_record(cell.file(folder), record)


def test_a_grid_runs_its_sweep_then_the_best_rate_on_other_seeds(tmp_path):
    told = []
    made = run_grid(
        grid(),
        tmp_path,
        executor=InProcess(),
        told=lambda done, cells, _: told.append((done, cells)),
    )
    assert made.complete
    assert made.done == made.cells == 2 * (2 * 2 + 2)
    assert told[-1] == (12, 12)
    for one in made.selected:
        means = {row["learning_rate"]: row["mean"] for row in one.tried}
        assert means[one.choice["learning_rate"]] == max(means.values())
    records = [read_record(path) for path in tmp_path.glob("*/*/*.json")]
    assert len(records) == 12
    assert {r.cell["seed"] for r in records if r.cell["phase"] == "report"} == {0, 1}
    assert not list(tmp_path.rglob("*.checkpoint"))
    assert json.loads((tmp_path / "grid.json").read_text())["done"] == 12


def test_a_grid_that_was_stopped_runs_only_what_has_no_record(tmp_path, monkeypatch):
    run_cell, ran = worker.run_cell, []

    def counting(cell, folder, *, attempt=1):
        ran.append(cell.digest)
        if len(ran) == 5:
            raise KeyboardInterrupt
        return run_cell(cell, folder, attempt=attempt)

    monkeypatch.setattr(worker, "run_cell", counting)
    with pytest.raises(KeyboardInterrupt):
        run_grid(grid(), tmp_path, executor=InProcess())
    assert status(grid(), tmp_path).done == 4
    made = run_grid(grid(), tmp_path, executor=InProcess())
    assert made.complete
    assert len(ran) == 13  # twelve cells, one of them begun twice
    run_grid(grid(), tmp_path, executor=InProcess())
    assert len(ran) == 13


def test_the_rate_with_the_best_mean_is_chosen_and_a_rate_that_diverged_is_not(tmp_path):
    planted({1e-3: 0.7, 4e-3: None}, tmp_path)
    chosen = Progress(grid(), tmp_path).selection("order", "rope")
    assert chosen is not None
    assert chosen.choice == {"learning_rate": 1e-3}
    assert [row["mean"] for row in chosen.tried] == [0.7, None]
    assert chosen.at_edge


def test_a_best_rate_at_the_edge_asks_for_the_next_one_as_often_as_allowed(tmp_path):
    made = grid(sweep={**TINY["sweep"], "extend": 2})
    rates = {1e-3: 0.1, 4e-3: 0.2, 0.016: 0.3, 0.064: 0.25}
    for expected in (1e-3, 0.016, 0.064):
        asked = {c.training.learning_rate for c in Progress(made, tmp_path).next_cells()}
        assert expected in asked
        planted(rates, tmp_path, made)
    chosen = Progress(made, tmp_path).selection("order", "rope")
    assert chosen.choice == {"learning_rate": 0.016}
    assert not chosen.at_edge


def test_a_cell_that_fails_is_recorded_with_its_reason_and_tried_again_next_time(
    tmp_path, monkeypatch
):
    run_cell = worker.run_cell

    def failing(cell, folder, *, attempt=1):
        if cell.encoding == "nope" and cell.seed == 1:
            raise RuntimeError("no such luck")
        return run_cell(cell, folder, attempt=attempt)

    with monkeypatch.context() as patched:
        patched.setattr(worker, "run_cell", failing)
        made = run_grid(grid(), tmp_path, executor=InProcess())
    assert not made.complete
    assert (made.done, made.cells) == (11, 12)
    assert len(made.failed) == 1
    assert "RuntimeError: no such luck" in made.failed[0]
    again = run_grid(grid(), tmp_path, executor=InProcess())
    assert again.complete
    assert again.failed == ()


def test_a_full_disk_stops_the_grid_with_a_sentence_and_leaves_what_is_there_whole(
    tmp_path, monkeypatch
):
    write, written = worker.write_record, []

    def filling(path, record):
        if len(written) == 3:
            raise StorageError(f"{path} could not be written: no room left on its disk.")
        written.append(path)
        write(path, record)

    with monkeypatch.context() as patched:
        patched.setattr(worker, "write_record", filling)
        with pytest.raises(StorageError, match="no room left on its disk"):
            run_grid(grid(), tmp_path, executor=InProcess())
    assert sorted(tmp_path.rglob("*.json")) == sorted(written)
    assert run_grid(grid(), tmp_path, executor=InProcess()).complete


def test_a_record_that_is_no_record_is_run_again(tmp_path):
    run_grid(grid(), tmp_path, executor=InProcess())
    broken = next(tmp_path.glob("order/rope/report-0-*.json"))
    broken.write_text("{", encoding="utf-8")
    assert status(grid(), tmp_path).done == 11
    assert run_grid(grid(), tmp_path, executor=InProcess()).complete
    assert read_record(broken).status == "done"


def test_a_worker_that_is_killed_is_replaced_and_its_cell_goes_on_from_its_checkpoint(
    tmp_path, monkeypatch
):
    long = {**TINY["training"], "steps": 120, "checkpoint_every": 1, "evaluate_every": 120}
    made = grid(training=long, sweep={}, report={"seeds": [0]}, encodings={"rope": {}})
    (cell,) = Progress(made, tmp_path).next_cells()
    started, ask = [], executor.ask_worker

    def killing(worker, job):
        started.append(worker)
        if len(started) == 1:
            Thread(target=kill, args=(worker,)).start()
        return ask(worker, job)

    def kill(worker):
        checkpoint, until = cell.file(tmp_path, ".checkpoint"), time.monotonic() + 600
        while not checkpoint.exists() and time.monotonic() < until:
            time.sleep(0.01)
        worker.kill()

    monkeypatch.setattr(executor, "ask_worker", killing)
    (outcome,) = Processes(1).run([Job(cell=cell, folder=tmp_path)])
    assert outcome.status == "done"
    assert len(started) == 2
    record = read_record(cell.file(tmp_path))
    assert record.attempts == 2
    calm = tmp_path / "calm"
    (plain,) = InProcess().run([Job(cell=cell, folder=calm)])
    assert plain.status == "done"
    assert read_record(cell.file(calm)).curve == record.curve


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"encodings": {"rop": {}}},
            "encoding 'rop', learning_rate 0.001, seed 0 cannot work: There",
        ),
        ({"tasks": {"ordr": {}}}, "is no task; did you mean 'order'"),
        ({"tasks": {"order": {"lenght": 8}}}, "did you mean 'length'"),
        ({"encodings": {"xpos": {}}}, "or say both_directions = true"),
        ({"encodings": {"rope": {"dimension": 6}}}, "cannot work"),
        (
            {"encodings": {"learned": {}}, "training": {**TINY["training"], "lengths": [12]}},
            "has 8 rows, and sequences of 12 are asked for; give it rows = 12",
        ),
        (
            {"report": {"seeds": [0], "measures": ["head"]}},
            "no measure 'head': did you mean 'heads'",
        ),
        (
            {
                "encodings": {"sinusoidal": {"model": {"kind": "gru"}}},
                "report": {"seeds": [0], "measures": ["heads"]},
            },
            "no heads to be scaled",
        ),
        (
            {"tasks": {"order": {"length": 8, "training": {"watch": ["hesian"]}}}},
            "task 'order', .* cannot work: There is no measure 'hesian': did you mean 'hessian'",
        ),
        (
            {"encodings": {"rope": {"training": {"watch": ["hesian"]}}}},
            "cannot work: There is no measure 'hesian'",
        ),
        (
            {
                "encodings": {"sinusoidal": {"model": {"kind": "gru"}}},
                "training": {**TINY["training"], "watch": ["heads"]},
            },
            "no heads to be scaled",
        ),
    ],
)
def test_a_cell_that_can_not_work_is_named_with_the_reason_before_anything_is_trained(
    changes, words, tmp_path
):
    with pytest.raises(LabError, match=words):
        run_grid(grid(**changes), tmp_path, executor=InProcess())
    assert not list(tmp_path.rglob("*.json"))


def test_measures_and_other_lengths_of_report_seeds_are_in_their_records(tmp_path):
    made = grid(
        sweep={},
        report={"seeds": [3], "measures": ["heads"]},
        training={**TINY["training"], "lengths": [12], "keep_weights": True},
        encodings={"rope": {}},
    )
    check_cells(made)
    run_grid(made, tmp_path, executor=InProcess())
    (record,) = (read_record(path) for path in tmp_path.glob("*/*/*.json"))
    assert [point["length"] for point in record.lengths] == [12]
    assert len(record.measures["heads"]["zero"]["drops"][0]) == 2
    assert list(tmp_path.rglob("*.safetensors"))


@pytest.mark.parametrize("name", ["deposit", "deposit-large", "deposit-paper"])
def test_every_cell_of_a_grid_that_ships_can_be_built(name):
    made = read_grid(name)
    for task, encoding in made.pairs():
        cell = made.cell(task, encoding, choice=made.choices(encoding)[0], seed=0, phase="report")
        try_cell(cell)


def test_a_grid_and_a_model_say_what_to_install_where_there_is_no_framework(tmp_path):
    probe = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path; from gnomon import lab; from gnomon.errors import GnomonError\n"
        "grid = lab.read_grid('deposit')\n"
        "for ask in (lambda: lab.train, lambda: lab.run_grid(grid, Path(sys.argv[1]))):\n"
        "    try: ask()\n"
        "    except GnomonError as error: print(error)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", probe, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert told.stdout.count("run `pip install gnomon[torch]`") == 2


def test_a_measure_can_be_watched_along_training(tmp_path):
    made = grid(
        sweep={},
        report={"seeds": [0]},
        training={**TINY["training"], "watch": ["logits"]},
        encodings={"rope": {}},
    )
    run_grid(made, tmp_path, executor=InProcess())
    (record,) = (read_record(path) for path in tmp_path.glob("*/*/*.json"))
    shares = [point["logits"]["toeplitz_share"] for point in record.curve]
    assert len(shares) == 2
    assert all(0.0 <= value <= 1.0 for value in shares[0][0])


def test_an_encoding_in_a_file_is_used_and_another_file_is_another_cell(tmp_path):
    file = tmp_path / "table.npy"
    rows = np.random.default_rng(0).normal(size=(8, 16))
    np.save(file, rows)
    made = {"sweep": {}, "report": {"seeds": [0]}, "encodings": {"mine": {"name": str(file)}}}
    first = grid(**made).cell("order", "mine", choice={}, seed=0, phase="report")
    assert run_grid(grid(**made), tmp_path / "runs", executor=InProcess()).complete
    np.save(file, rows + 1.0)
    second = grid(**made).cell("order", "mine", choice={}, seed=0, phase="report")
    assert first.digest != second.digest


@pytest.mark.data
def test_real_data_are_found_by_the_variable_and_their_place_is_in_no_record(
    tmp_path, monkeypatch, data_root
):
    made = grid(sweep={}, report={"seeds": [0]}, encodings={"rope": {}}, tasks={"promoters": {}})
    monkeypatch.delenv("GNOMON_DATA", raising=False)
    with pytest.raises(LabError, match="reads real data: name the folder"):
        run_grid(made, tmp_path, executor=InProcess())
    monkeypatch.setenv("GNOMON_DATA", str(data_root))
    assert run_grid(made, tmp_path, executor=InProcess()).complete
    (file,) = tmp_path.glob("*/*/*.json")
    assert str(data_root) not in file.read_text()
