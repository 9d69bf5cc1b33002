"""Processes that die or never start, runs that are killed, and two runs in one folder."""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Thread

import pytest

pytest.importorskip("torch")

from gnomon.errors import LabError
from gnomon.lab import worker
from gnomon.lab import worker as executor
from gnomon.lab.grid import grid_of
from gnomon.lab.records import read_record
from gnomon.lab.run import Progress, alone_in, run_grid, status
from gnomon.lab.worker import InProcess, Job, Outcome, Processes

LONG = 10**7
WAIT = 600.0
"""Seconds that are given to what takes one, on a machine that has other things to do."""


def grid(**changes):
    table = {
        "model": {"dimension": 16, "heads": 2, "layers": 1},
        "training": {"steps": 2, "batch": 4, "held_out": 16},
        "report": {"seeds": [0, 1]},
        "tasks": {"order": {"length": 8}},
        "encodings": {"rope": {}, "nope": {}},
    }
    return grid_of({**table, **changes}, name="tiny")


def ended(jobs, made):
    """Return the outcomes of jobs, or fail where they are waited for in vain."""
    found = []
    thread = Thread(target=lambda: found.extend(made.run(jobs)), daemon=True)
    thread.start()
    thread.join(WAIT)
    assert not thread.is_alive(), "the executor waits for ever"
    return found


def test_a_worker_that_can_not_be_started_ends_its_job_and_stops_the_grid(tmp_path, monkeypatch):
    def refused():
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(executor, "start_worker", refused)
    cells = Progress(grid(), tmp_path).next_cells()
    found = ended([Job(cell=cell, folder=tmp_path) for cell in cells], Processes(2))
    assert [one.status for one in found] == ["unstarted"] * 4
    words = r"could be started \(OSError: \[Errno 12\] Cannot allocate memory\); see that memory"
    with pytest.raises(LabError, match=words):
        run_grid(grid(), tmp_path, executor=Processes(1))
    assert not list(tmp_path.glob("*/*/*.json"))


def test_a_worker_that_ends_before_it_is_ready_stops_the_grid(tmp_path, monkeypatch):
    def empty():
        silent = [sys.executable, "-c", "raise SystemExit(7)"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(silent, text=True, **pipes)

    monkeypatch.setattr(executor, "start_worker", empty)
    with pytest.raises(LabError, match=r"could be started \(it ended at once \(7\)\)"):
        run_grid(grid(), tmp_path, executor=Processes(1))


def test_a_cell_that_dies_every_time_is_recorded_as_failed_and_the_others_are_run(
    tmp_path, monkeypatch
):
    tries = []

    def idle():
        waiting = [sys.executable, "-c", "print('ready', flush=True); input()"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        return subprocess.Popen(waiting, text=True, **pipes)

    def dying(process, job):
        if job.cell.encoding == "rope" and job.cell.seed == 0:
            tries.append(job.attempt)
            process.kill()
            return Outcome(job=job, status="died", reason="its process ended (-9)")
        return Outcome(job=job, **worker.answer(job.line()))

    with monkeypatch.context() as patched:
        patched.setattr(executor, "start_worker", idle)
        patched.setattr(executor, "ask_worker", dying)
        told = []
        made = run_grid(
            grid(), tmp_path, executor=Processes(1), told=lambda *words: told.append(words)
        )
    assert tries == [1, 2, 3]
    assert (made.done, made.cells, made.complete) == (3, 4, False)
    (words,) = made.failed
    assert words.startswith("task 'order', encoding 'rope', seed 0: it died 3 times (its process")
    assert "look for memory that ran out" in words
    assert told[-1][:2] == (3, 4)
    record = read_record(next(tmp_path.glob("order/rope/report-0-*.json")))
    assert (record.status, record.attempts) == ("failed", 3)
    assert run_grid(grid(), tmp_path, executor=InProcess()).complete


@pytest.mark.wide  # three processes that load PyTorch; one is killed in `test_grid_running`
def test_workers_end_with_the_process_that_asks_however_it_ended(tmp_path):
    """Two of them, so that neither holds the pipe of the other; all write to one pipe of errors."""
    long = grid(training={"steps": LONG, "batch": 4, "held_out": 16, "checkpoint_every": 1})
    first, second, *_ = Progress(long, tmp_path).next_cells()
    lines = [Job(cell=cell, folder=tmp_path).line() for cell in (first, second)]
    asking = (
        "import sys, time; from gnomon.lab.worker import is_ready, start_worker\n"
        f"workers = [start_worker(), start_worker()]; lines = {lines!r}\n"
        "for worker, line in zip(workers, lines):\n"
        "    assert is_ready(worker); worker.stdin.write(line); worker.stdin.flush()\n"
        "print(*(worker.pid for worker in workers), flush=True); time.sleep(600)\n"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    parent = subprocess.Popen([sys.executable, "-c", asking], text=True, **pipes)
    workers = [int(word) for word in parent.stdout.readline().split()]
    assert len(workers) == 2
    parent.kill()
    try:
        _, told = parent.communicate(timeout=WAIT)  # the pipe ends with the last that holds it
    except subprocess.TimeoutExpired:
        for process in workers:
            os.kill(process, 9)
        pytest.fail("workers went on after whoever asked was gone")
    assert told == ""
    assert not list(tmp_path.rglob("*.json"))


def test_a_second_run_in_a_folder_is_refused_while_the_first_goes_on(tmp_path):
    with alone_in(tmp_path):
        words = rf"Another run is under way in .* \(process {os.getpid()}\); wait until it has"
        with pytest.raises(LabError, match=words):
            run_grid(grid(), tmp_path, executor=InProcess())
        assert status(grid(), tmp_path).done == 0
    with alone_in(tmp_path):
        pass


def test_a_run_that_was_killed_leaves_no_lock_in_the_way(tmp_path):
    holding = (
        "import sys, time; from pathlib import Path; from gnomon.lab.run import alone_in\n"
        "with alone_in(Path(sys.argv[1])): print('in', flush=True); time.sleep(600)\n"
    )
    told = {"stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", holding, str(tmp_path)], **told) as holder:
        assert holder.stdout.readline() == "in\n"
        with (
            pytest.raises(LabError, match=rf"\(process {holder.pid}\)"),
            alone_in(tmp_path),
        ):
            pass
        holder.kill()
    with alone_in(tmp_path):
        pass
