"""One worker: reads cells as lines of JSON, runs each, and answers with a line.

It is a process with one thread: two of these do more than one process with two threads. A line is
{"cell": ..., "folder": ..., "attempt": ...}; the answer is {"status": ..., "reason": ...}, after a
first line that says that the process is ready. Records are written here. The process ends with
whoever asks, however that ended: what it was doing is kept by its last checkpoint.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, TextIO

from gnomon.errors import GnomonError, StorageError
from gnomon.lab.cells import Cell
from gnomon.lab.records import Record, write_failure, write_record

READY = "ready"


def run_cell(cell: Cell, folder: Path, *, attempt: int = 1) -> Record:
    """Run one cell and write its record; a checkpoint of it is taken up, and removed at the end."""
    import dataclasses

    from gnomon.lab import checkpoints
    from gnomon.lab.building import parts_for, task_of
    from gnomon.lab.training import train

    checkpoint = cell.file(folder, ".checkpoint")
    task = task_of(cell)
    trained = train(
        task,
        parts_for(cell.parts, cell.model, task, seed=cell.seed),
        model=cell.model,
        training=cell.training,
        seed=cell.seed,
        cell=cell,
        checkpoint=checkpoint,
    )
    record = dataclasses.replace(trained.record, attempts=attempt)
    if cell.training.keep_weights:
        checkpoints.save_weights(cell.file(folder, ".safetensors"), trained.model)
    write_record(cell.file(folder), record)
    checkpoints.remove(checkpoint)
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
        return _failed(cell, folder, str(error) or "not enough memory")
    except Exception as error:  # noqa: BLE001 - the border of a process: the grid goes on
        return _failed(cell, folder, f"{type(error).__name__}: {error}")
    return {"status": record.status, "reason": record.reason}


def _failed(cell: Cell, folder: Path, reason: str) -> dict[str, Any]:
    write_failure(cell, folder, reason)
    return {"status": "failed", "reason": reason}


def serve(lines: Iterable[str], write: TextIO) -> None:
    """Say that the process is ready, then answer line by line until nobody asks any more."""
    _say(write, {"status": READY})
    for line in lines:
        _say(write, answer(line))


def _say(write: TextIO, told: dict[str, Any]) -> None:
    write.write(json.dumps(told) + "\n")
    write.flush()


def lines_while_asked(read: TextIO) -> Iterator[str]:
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
    serve(lines_while_asked(sys.stdin), answers)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(0)  # whoever asked has gone; the last checkpoint is there
