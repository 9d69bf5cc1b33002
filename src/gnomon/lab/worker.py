"""One worker: reads cells as lines of JSON, runs each, and answers with a line.

It is a process with one thread: two of these do more than one process with two threads. A line is
{"cell": ..., "folder": ..., "attempt": ...}; the answer is {"status": ..., "reason": ...}. The
record is written here, so that nothing is lost if whoever asked is gone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from gnomon.errors import GnomonError, StorageError
from gnomon.lab.cells import Cell
from gnomon.lab.records import Record, write_record


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
    """Leave a record of a run that could not be finished, so that the grid goes on without it."""
    failed = Record(cell=cell.to_dict(), status="failed", reason=reason)
    write_record(cell.file(folder), failed)
    return {"status": "failed", "reason": reason}


def serve(read: TextIO, write: TextIO) -> None:
    """Answer line by line until nobody asks any more."""
    for line in read:
        write.write(json.dumps(answer(line)) + "\n")
        write.flush()


def main() -> None:
    """Serve standard input; whatever else is printed goes to standard error."""
    import torch

    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, answers)


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(0)  # whoever asked has gone; the last checkpoint is there
