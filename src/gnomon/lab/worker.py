"""Where cells run: in this process, or in processes of one thread each that are told what to run.

An executor has one method, `run(jobs)`, which yields an `Outcome` for every job as it ends. A
process that died is replaced, and its cell tried again: it goes on from its checkpoint. Another
executor (a cluster) has only to do the same.

A worker is this module run as a program. It reads cells as lines of JSON, runs each, and answers
with a line. It has one thread: two workers do more than one process with two threads. A line is
{"cell": ..., "folder": ..., "attempt": ...}; the answer is {"status": ..., "reason": ...}, after a
first line that says that the process is ready. Records are written here. The process ends with
whoever asks, however that ended: what it was doing is kept by its last checkpoint.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Protocol, TextIO

from gnomon.errors import GnomonError, StorageError
from gnomon.lab.grid import Cell
from gnomon.lab.records import Record, write_failure, write_record

ATTEMPTS = 3
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True, kw_only=True)
class Job:
    """A cell that is to be run, and where its record goes."""

    cell: Cell
    folder: Path
    attempt: int = 1

    def line(self) -> str:
        """Return the job as a line for a worker."""
        told = {"cell": self.cell.to_dict(), "folder": str(self.folder), "attempt": self.attempt}
        return json.dumps(told) + "\n"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a job ended: done, diverged, failed, storage (its disk), died (its process), unstarted.

    The last is one that had no process: none could be started, or it ended before any job.
    """

    job: Job
    status: str
    reason: str = ""


class Executor(Protocol):
    """What runs jobs."""

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Yield an outcome for every job, as they end."""


class InProcess:
    """Runs one job after the other, in this process."""

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Yield an outcome for every job."""
        for job in jobs:
            yield Outcome(job=job, **answer(job.line()))


class Processes:
    """Runs jobs in so many processes, one for each core where their number is not given.

    Every process has a thread here that gives it jobs and waits for its answers.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or count_cores()

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Yield an outcome for every job; processes end with the last, or when the caller stops."""
        waiting: SimpleQueue[Job] = SimpleQueue()
        for job in jobs:
            waiting.put(job)
        ended: SimpleQueue[Outcome] = SimpleQueue()
        desks = [_Desk(waiting, ended) for _ in range(min(self.workers, len(jobs)))]
        try:
            for desk in desks:
                desk.start()
            for _ in jobs:
                yield _next_outcome(ended)
        finally:
            for desk in desks:
                desk.close()
            for desk in desks:
                if desk.is_alive():
                    desk.join()


class _Desk(Thread):
    """One process and its jobs; a process that died is replaced, and its cell tried again."""

    def __init__(self, waiting: SimpleQueue[Job], ended: SimpleQueue[Outcome]) -> None:
        super().__init__(daemon=True)
        self._waiting, self._ended = waiting, ended
        self._closed, self._lock = False, Lock()
        self._worker: subprocess.Popen[str] | None = None

    def run(self) -> None:
        """Take jobs until there are no more."""
        while not self._closed:
            try:
                job = self._waiting.get_nowait()
            except Empty:
                break
            outcome = self._ask_safely(job)
            while outcome.status == "died" and outcome.job.attempt < ATTEMPTS and not self._closed:
                outcome = self._ask_safely(replace(outcome.job, attempt=outcome.job.attempt + 1))
            self._ended.put(outcome)

    def close(self) -> None:
        """End the process: what it was doing is kept by its last checkpoint."""
        with self._lock:
            self._closed = True
            if self._worker is not None:
                _end_worker(self._worker)

    def _ask_safely(self, job: Job) -> Outcome:
        """Return how a job ended, whatever happens: the caller waits for as many as there are."""
        try:
            return self._ask(job)
        except Exception as error:  # noqa: BLE001 - the border of a thread
            reason = f"{type(error).__name__}: {error}"
            return Outcome(job=job, status="unstarted", reason=reason)

    def _ask(self, job: Job) -> Outcome:
        """Return how a job ended in the process of this desk, which is started where it is not."""
        with self._lock:
            if self._closed:
                return Outcome(job=job, status="died", reason="its process was ended")
            fresh = self._worker is None
            self._worker = worker = start_worker() if self._worker is None else self._worker
        if fresh and not is_ready(worker):
            reason = f"it ended at once ({worker.wait()})"
            outcome = Outcome(job=job, status="unstarted", reason=reason)
        else:
            outcome = ask_worker(worker, job)
        if outcome.status in ("died", "unstarted"):
            with self._lock:
                _end_worker(worker)
                self._worker = None
        return outcome


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start_worker() -> subprocess.Popen[str]:
    """Start a worker with one thread, whatever library counts them.

    It imports what this process could import, and nothing from the folder that it stands in: a
    json.py there would run. What the user asked for in PYTHONPATH stays, but for that folder.
    """
    environment = {**os.environ, **dict.fromkeys(_THREADS, "1")}
    kept = [
        part for part in environment.pop("PYTHONPATH", "").split(os.pathsep) if _names_folder(part)
    ]
    if kept:
        environment["PYTHONPATH"] = os.pathsep.join(kept)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "gnomon.lab.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment,
    )


def _names_folder(part: str) -> bool:
    """Whether a part of PYTHONPATH names a folder: an empty one, or a dot, is wherever one is."""
    return bool(part) and Path(part) != Path()


def is_ready(worker: subprocess.Popen[str]) -> bool:
    """Wait until a worker says that it is ready; False: it ended before it did."""
    with suppress(OSError, ValueError):  # the pipe of a process that is gone
        return worker.stdout is not None and worker.stdout.readline().endswith("\n")
    return False


def ask_worker(worker: subprocess.Popen[str], job: Job) -> Outcome:
    """Give a worker a job, and return what it says; nothing at all means that it died."""
    line = ""
    with suppress(OSError, ValueError):  # the pipe of a process that is gone
        if worker.stdin is not None and worker.stdout is not None:
            worker.stdin.write(job.line())
            worker.stdin.flush()
            line = worker.stdout.readline()
    try:
        return Outcome(job=job, **json.loads(line))
    except (ValueError, TypeError):  # nothing, or half an answer
        worker.kill()
        return Outcome(job=job, status="died", reason=f"its process ended ({worker.wait()})")


def _next_outcome(ended: SimpleQueue[Outcome]) -> Outcome:
    """Return the next outcome; waiting in pieces lets Ctrl-C through on every system."""
    while True:
        with suppress(Empty):
            return ended.get(timeout=1.0)


def _end_worker(worker: subprocess.Popen[str]) -> None:
    worker.kill()
    worker.wait()
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.close()


READY = "ready"


def run_cell(cell: Cell, folder: Path, *, attempt: int = 1) -> Record:
    """Run one cell and write its record; a checkpoint of it is taken up, and removed at the end."""
    import dataclasses

    from gnomon.lab.tasks import build_task
    from gnomon.lab.training import remove_checkpoint, save_weights, train
    from gnomon.lab.variants import build_placements

    checkpoint = cell.file(folder, ".checkpoint")
    task = build_task(cell)
    trained = train(
        task,
        build_placements(cell.parts, cell.model, task, seed=cell.seed),
        model=cell.model,
        training=cell.training,
        seed=cell.seed,
        cell=cell,
        checkpoint=checkpoint,
    )
    record = dataclasses.replace(trained.record, attempts=attempt)
    if cell.training.keep_weights:
        save_weights(cell.file(folder, ".safetensors"), trained.model)
    write_record(cell.file(folder), record)
    remove_checkpoint(checkpoint)
    return record


def answer(line: str) -> dict[str, Any]:
    """Run what a line asks for, and say how it ended."""
    asked = json.loads(line)
    cell, folder = Cell.from_dict(asked["cell"]), Path(asked["folder"])
    try:
        record = run_cell(cell, folder, attempt=asked["attempt"])
    except StorageError as error:
        return {"status": "storage", "reason": str(error)}
    except (GnomonError, MemoryError) as error:
        return _write_failure(cell, folder, str(error) or "not enough memory")
    except Exception as error:  # noqa: BLE001 - the border of a process: the grid goes on
        return _write_failure(cell, folder, f"{type(error).__name__}: {error}")
    return {"status": record.status, "reason": record.reason}


def _write_failure(cell: Cell, folder: Path, reason: str) -> dict[str, Any]:
    write_failure(cell, folder, reason)
    return {"status": "failed", "reason": reason}


def serve(lines: Iterable[str], write: TextIO) -> None:
    """Say that the process is ready, then answer line by line until nobody asks any more."""
    _write_line(write, {"status": READY})
    for line in lines:
        _write_line(write, answer(line))


def _write_line(write: TextIO, told: dict[str, Any]) -> None:
    write.write(json.dumps(told) + "\n")
    write.flush()


def read_lines(read: TextIO) -> Iterator[str]:
    """Yield lines, and end the process as soon as whoever writes them has gone.

    A thread waits for them: it sees the end of the pipe in the middle of a run, which nobody would
    take up, and which would run beside the one that is started anew.
    """
    lines: SimpleQueue[str] = SimpleQueue()

    def wait() -> None:
        for line in read:
            lines.put(line)
        os._exit(0)  # the last checkpoint is there, and files are whole or absent

    Thread(target=wait, daemon=True).start()
    while True:
        yield lines.get()


def main() -> None:
    """Serve standard input; whatever else is printed goes to standard error."""
    import torch

    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(read_lines(sys.stdin), answers)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(0)  # whoever asked has gone; the last checkpoint is there
