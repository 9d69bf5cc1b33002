"""A record: one finished run, as a file of JSON.

A record says what was run (the whole cell), the learning curve on held-out data, the final score,
what was measured afterwards, library versions, and what it cost. `status` is "done", "diverged"
(the loss was no longer a number) or "failed" (with the reason); the last two have no final score.

    area         mean score over the points of the curve
    steps_to_90  first step whose score is at least 90 % of the way from the best constant answer to
                 the ceiling
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gnomon.errors import LabError
from gnomon.files import dump_json, write_text
from gnomon.lab.cells import Cell
from gnomon.lab.record_shape import RECORD
from gnomon.pipeline import fault
from gnomon.reading import read_written
from gnomon.results import Result

SCHEMA = 1
STATES = ("done", "diverged", "failed")


@dataclass(frozen=True, kw_only=True, eq=False)
class Record(Result):
    """What one run has shown."""

    cell: Mapping[str, Any]
    status: str
    reason: str = ""
    score: float | None = None
    """Accuracy or R^2 on held-out data at the end."""
    loss: float | None = None
    area: float | None = None
    steps_to_90: int | None = None
    curve: tuple[Mapping[str, Any], ...] = ()
    """Points {step, score, loss}: held-out score, mean training loss since the point before."""
    ceiling: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    """Digest of the documents that were read, and how many each part has; none of drawn tasks."""
    lengths: tuple[Mapping[str, Any], ...] = ()
    """Points {length, score} of the trained model."""
    measures: Mapping[str, Any] = field(default_factory=dict)
    parameters: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    wall_seconds: float | None = None
    cpu_seconds: float | None = None
    attempts: int = 1
    schema_version: int = SCHEMA

    @property
    def finished(self) -> bool:
        """Whether the run need not be repeated."""
        return self.status in ("done", "diverged")


def write_record(path: Path, record: Record) -> None:
    """Write a record, whole or not at all."""
    write_text(path, dump_json(record.to_dict()))


def write_failure(cell: Cell, folder: Path, reason: str, *, attempts: int = 1) -> None:
    """Leave a record of a run that could not be finished, so that the grid goes on without it."""
    told = Record(cell=cell.to_dict(), status="failed", reason=reason, attempts=attempts)
    write_record(cell.file(folder), told)


def read_record(path: Path) -> Record:
    """Return the record in a file, held against what a record must look like.

    Whoever changed it since, every value that is read further on has its type, and is a number
    that can be computed with.
    """
    try:
        table = read_written(path)
        wrong = fault(table, RECORD)
    except (OSError, ValueError) as error:
        wrong = f"{type(error).__name__}: {error}"
    if wrong is not None:
        raise LabError(
            f"{path} is no record of the laboratory ({wrong}); remove it, and its cell is run "
            "again."
        )
    known = {name: table[name] for name in Record.__dataclass_fields__ if name in table}
    return Record(**{**known, "curve": tuple(known["curve"]), "lengths": tuple(known["lengths"])})


def read_records(folder: Path) -> list[Record]:
    """Return all records in a folder, in the order of their names."""
    return [read_record(path) for path in sorted(folder.glob("*/*/*.json"))]


def area(curve: tuple[Mapping[str, Any], ...]) -> float | None:
    """Return the mean score over the points of a curve.

    >>> area(({"score": 0.5}, {"score": 1.0}))
    0.75
    """
    return sum(point["score"] for point in curve) / len(curve) if curve else None


def steps_to(curve: tuple[Mapping[str, Any], ...], level: float) -> int | None:
    """Return the first step of a curve with at least that score, or None."""
    return next((int(point["step"]) for point in curve if point["score"] >= level), None)
