"""A record: one finished run, as a file of JSON.

A record says what was run (the whole cell), the learning curve on held-out data, the final score,
what was measured afterwards, library versions, and what it cost. `status` is "done", "diverged"
(the loss was no longer a number) or "failed" (with the reason); the last two have no final score.

    area         mean score over the points of the curve
    steps_to_90  first step whose score is at least 90 % of the way from the best constant answer to
                 the ceiling

Records are read by many: a status, a table, a page, an experiment. So they are checked once, where
they are read, against a JSON Schema, and the fault is named with its place. Only what somebody
reads is asked for, and a record may hold more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gnomon.errors import LabError
from gnomon.files import dump_json, write_text
from gnomon.lab.grid import Cell
from gnomon.pipeline import fault
from gnomon.reading import read_written
from gnomon.results import Result

SCHEMA = 1


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
    def is_final(self) -> bool:
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


def mean_score(curve: tuple[Mapping[str, Any], ...]) -> float | None:
    """Return the mean score over the points of a curve.

    >>> mean_score(({"score": 0.5}, {"score": 1.0}))
    0.75
    """
    return sum(point["score"] for point in curve) / len(curve) if curve else None


def steps_to_score(curve: tuple[Mapping[str, Any], ...], level: float) -> int | None:
    """Return the first step of a curve with at least that score, or None."""
    return next((int(point["step"]) for point in curve if point["score"] >= level), None)


Schema = dict[str, Any]
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 2**62}
TEXT: Schema = {"type": "string"}
TABLE: Schema = {"type": "object"}


def nullable(schema: Schema) -> Schema:
    """Return the schema of a value that may be null."""
    return {**schema, "type": [schema["type"], "null"]}


def table_of(needed: dict[str, Schema], **optional: Schema) -> Schema:
    """Return the schema of a table with these keys, of which the optional may be left out."""
    return {"type": "object", "required": list(needed), "properties": {**needed, **optional}}


def list_of(items: Schema, least: int = 0) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items, "minItems": least}


_ROWS = list_of(list_of(NUMBER), 1)
_SHARES = dict.fromkeys(("index", "effective_heads", "gini"), nullable(NUMBER))
_LAYER = table_of(
    _SHARES
    | {"layer": COUNT, "deposit": {"type": "boolean"}, "largest": NUMBER, "uniform": NUMBER},
    noise_band=NUMBER,
    null=nullable(NUMBER),
)
_DROPS = table_of({"drops": _ROWS})
_HEADS = table_of(
    dict.fromkeys(("zero_concentration", "mean_concentration"), list_of(_LAYER, 1)),
    zero=_DROPS,
    mean=_DROPS,
)
_HESSIAN = table_of({"value": nullable(NUMBER)})
_MEASURES = table_of(
    {},
    heads=_HEADS,
    redundancy=table_of({"excess": _ROWS, "excess_errors": _ROWS}),
    pairs=table_of({"drops": list_of(list_of(nullable(NUMBER))), "reason": nullable(TEXT)}),
    hessian=_HESSIAN,
    logits=table_of({"contraction": _ROWS, "toeplitz_share": _ROWS}),
)
_CELL = table_of(
    {"task": TEXT, "encoding": TEXT, "seed": {**COUNT, "maximum": 2**128}},
    phase=TEXT,
    parts=list_of(table_of({"name": TEXT}, parameters=TABLE)),
    model=TABLE,
    training=table_of({}, steps=COUNT, held_out=COUNT, learning_rate=NUMBER),
    choice=TABLE,
)
_CEILING = table_of({}, value=NUMBER, constant=NUMBER, measure=TEXT, how=TEXT, note=TEXT)
_DATA = table_of({}, digest=TEXT, test=COUNT, one_answer={"type": "boolean"})
_POINT = table_of({"step": COUNT, "score": NUMBER}, loss=nullable(NUMBER), hessian=_HESSIAN)
RECORD = table_of(
    {
        "cell": _CELL,
        "status": {"enum": ["done", "diverged", "failed"]},
        "curve": list_of(_POINT),
        "lengths": list_of(table_of({"length": COUNT, "score": nullable(NUMBER)})),
    },
    reason=TEXT,
    **dict.fromkeys(("score", "loss", "area", "wall_seconds", "cpu_seconds"), nullable(NUMBER)),
    **dict.fromkeys(("steps_to_90", "parameters"), nullable(COUNT)),
    ceiling=_CEILING,
    data=_DATA,
    measures=_MEASURES,
    versions={"type": "object", "additionalProperties": TEXT},
    attempts=COUNT,
    schema_version=COUNT,
)
