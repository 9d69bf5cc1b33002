"""What a record of the laboratory must look like, as a JSON Schema of its own.

Records are read by many: a status, a table, a page, an experiment. So they are checked once, where
they are read, and the fault is named with its place. Only what somebody reads is asked for, and a
record may hold more.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 2**62}
TEXT: Schema = {"type": "string"}
TABLE: Schema = {"type": "object"}


def maybe(schema: Schema) -> Schema:
    """Return the schema of a value that may be null."""
    return {**schema, "type": [schema["type"], "null"]}


def holding(needed: dict[str, Schema], **optional: Schema) -> Schema:
    """Return the schema of a table with these keys, of which the optional may be left out."""
    return {"type": "object", "required": list(needed), "properties": {**needed, **optional}}


def several(items: Schema, least: int = 0) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items, "minItems": least}


_ROWS = several(several(NUMBER), 1)
_SHARES = dict.fromkeys(("index", "effective_heads", "gini"), maybe(NUMBER))
_LAYER = holding(
    _SHARES
    | {"layer": COUNT, "deposit": {"type": "boolean"}, "largest": NUMBER, "uniform": NUMBER},
    noise_band=NUMBER,
    null=maybe(NUMBER),
)
_DROPS = holding({"drops": _ROWS})
_HEADS = holding(
    dict.fromkeys(("zero_concentration", "mean_concentration"), several(_LAYER, 1)),
    zero=_DROPS,
    mean=_DROPS,
)
_HESSIAN = holding({"value": maybe(NUMBER)})
_MEASURES = holding(
    {},
    heads=_HEADS,
    redundancy=holding({"excess": _ROWS, "excess_errors": _ROWS}),
    pairs=holding({"drops": several(several(maybe(NUMBER))), "reason": maybe(TEXT)}),
    hessian=_HESSIAN,
    logits=holding({"contraction": _ROWS, "toeplitz_share": _ROWS}),
)
_CELL = holding(
    {"task": TEXT, "encoding": TEXT, "seed": {**COUNT, "maximum": 2**128}},
    phase=TEXT,
    parts=several(holding({"name": TEXT}, parameters=TABLE)),
    model=TABLE,
    training=holding({}, steps=COUNT, held_out=COUNT, learning_rate=NUMBER),
    choice=TABLE,
)
_CEILING = holding({}, value=NUMBER, constant=NUMBER, measure=TEXT, how=TEXT, note=TEXT)
_DATA = holding({}, digest=TEXT, test=COUNT, one_answer={"type": "boolean"})
_POINT = holding({"step": COUNT, "score": NUMBER}, loss=maybe(NUMBER), hessian=_HESSIAN)
RECORD = holding(
    {
        "cell": _CELL,
        "status": {"enum": ["done", "diverged", "failed"]},
        "curve": several(_POINT),
        "lengths": several(holding({"length": COUNT, "score": maybe(NUMBER)})),
    },
    reason=TEXT,
    **dict.fromkeys(("score", "loss", "area", "wall_seconds", "cpu_seconds"), maybe(NUMBER)),
    **dict.fromkeys(("steps_to_90", "parameters"), maybe(COUNT)),
    ceiling=_CEILING,
    data=_DATA,
    measures=_MEASURES,
    versions={"type": "object", "additionalProperties": TEXT},
    attempts=COUNT,
    schema_version=COUNT,
)
