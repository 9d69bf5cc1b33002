"""Where cells run: in processes of one thread each, or here.

An executor has one method, `run(jobs)`, which yields an `Outcome` for every job as it ends. A
process that died is replaced, and its cell tried again: it goes on from its checkpoint. Another
executor (a cluster) has only to do the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Protocol

from gnomon.lab.cells import Cell

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


class Here:
    """Runs one job after the other, in this process."""

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Yield an outcome for every job."""
        from gnomon.lab.worker import answer

        for job in jobs:
            yield Outcome(job=job, **answer(job.line()))


class Processes:
    """Runs jobs in so many processes, one for each core where their number is not given.

    Every process has a thread here that gives it jobs and waits for its answers.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()

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
                yield _next(ended)
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
            outcome = self._safely(job)
            while outcome.status == "died" and outcome.job.attempt < ATTEMPTS and not self._closed:
                outcome = self._safely(replace(outcome.job, attempt=outcome.job.attempt + 1))
            self._ended.put(outcome)

    def close(self) -> None:
        """End the process: what it was doing is kept by its last checkpoint."""
        with self._lock:
            self._closed = True
            if self._worker is not None:
                _end(self._worker)

    def _safely(self, job: Job) -> Outcome:
        """Return how a job ended, whatever happens: the caller waits for as many as there are."""
        try:
            return self._tried(job)
        except Exception as error:  # noqa: BLE001 - the border of a thread
            reason = f"{type(error).__name__}: {error}"
            return Outcome(job=job, status="unstarted", reason=reason)

    def _tried(self, job: Job) -> Outcome:
        """Return how a job ended in the process of this desk, which is started where it is not."""
        with self._lock:
            if self._closed:
                return Outcome(job=job, status="died", reason="its process was ended")
            fresh = self._worker is None
            self._worker = worker = started() if self._worker is None else self._worker
        if fresh and not ready(worker):
            reason = f"it ended at once ({worker.wait()})"
            outcome = Outcome(job=job, status="unstarted", reason=reason)
        else:
            outcome = asked(worker, job)
        if outcome.status in ("died", "unstarted"):
            with self._lock:
                _end(worker)
                self._worker = None
        return outcome


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def started() -> subprocess.Popen[str]:
    """Start a worker with one thread, whatever library counts them.

    It imports what this process could import, and nothing from the folder that it stands in: a
    json.py there would run. What the user asked for in PYTHONPATH stays, but for that folder.
    """
    environment = {**os.environ, **dict.fromkeys(_THREADS, "1")}
    kept = [part for part in environment.pop("PYTHONPATH", "").split(os.pathsep) if _stands(part)]
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


def _stands(part: str) -> bool:
    """Whether a part of PYTHONPATH names a folder: an empty one, or a dot, is wherever one is."""
    return bool(part) and Path(part) != Path()


def ready(worker: subprocess.Popen[str]) -> bool:
    """Wait until a worker says that it is ready; False: it ended before it did."""
    with suppress(OSError, ValueError):  # the pipe of a process that is gone
        return worker.stdout is not None and worker.stdout.readline().endswith("\n")
    return False


def asked(worker: subprocess.Popen[str], job: Job) -> Outcome:
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


def _next(ended: SimpleQueue[Outcome]) -> Outcome:
    """Return the next outcome; waiting in pieces lets Ctrl-C through on every system."""
    while True:
        with suppress(Empty):
            return ended.get(timeout=1.0)


def _end(worker: subprocess.Popen[str]) -> None:
    worker.kill()
    worker.wait()
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.close()
