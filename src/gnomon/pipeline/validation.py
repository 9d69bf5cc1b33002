"""Whether a value keeps to survey.schema.json: the part of JSON Schema that the schema uses.

A survey.json may come from a stranger or from a damaged disk, and the plain installation has no
validator. Known here: $ref into $defs, type, const, enum, required, properties,
additionalProperties, items, minItems, maxItems, minLength, minimum, maximum, allOf, oneOf, if/then
(draft 2020-12); a keyword that is not known is a fault of ours and is raised as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gnomon.pipeline.schema import survey_schema

Schema = dict[str, Any]
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_WORDS = {"$schema", "$id", "$defs", "title", "description", "then"}


def fault(value: Any, schema: Schema | None = None) -> str | None:
    """Return the first fault, `place: what is wrong`, or None where the value keeps to the schema.

    >>> fault({"schema_version": 1})
    "the file itself: 'corpus' is missing"
    """
    whole = survey_schema() if schema is None else schema
    return next(_faults(value, whole, "", whole), None)


def _faults(value: Any, schema: Schema, place: str, whole: Schema) -> Iterator[str]:
    for keyword, rule in schema.items():
        if keyword in _WORDS:
            continue
        for found, where in _RULES[keyword](value, rule, schema, whole):
            if isinstance(found, str):
                yield f"{place or 'the file itself'}: {found}"
            else:
                inner = f"{place}.{where}".strip(".") if where else place
                yield from _faults(found[0], found[1], inner, whole)


# Each rule yields a sentence, or (value, schema) that is to be looked at, with its place.
Finding = tuple[Any, str]
Rule = Callable[[Any, Any, Schema, Schema], Iterator[Finding]]


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _TYPES[name])


def _type(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    names = [rule] if isinstance(rule, str) else rule
    if not any(_is(value, name) for name in names):
        yield f"{_short(value)} is not {' or '.join(names)}", ""


def _const(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    if not _same(value, rule):
        yield f"{_short(value)} is not {rule!r}", ""


def _enum(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    if not any(_same(value, one) for one in rule):
        yield f"{_short(value)} is none of {rule}", ""


def _same(left: Any, right: Any) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _required(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    if isinstance(value, dict):
        yield from ((f"{key!r} is missing", "") for key in rule if key not in value)


def _properties(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    if isinstance(value, dict):
        yield from (((value[key], inner), key) for key, inner in rule.items() if key in value)


def _additional(value: Any, rule: Any, schema: Schema, _w: Schema) -> Iterator[Finding]:
    if isinstance(value, dict):
        known = schema.get("properties", {})
        yield from (((item, rule), key) for key, item in value.items() if key not in known)


def _items(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    if isinstance(value, list):
        yield from (((item, rule), str(index)) for index, item in enumerate(value))


def _least_items(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    if isinstance(value, list) and len(value) < rule:
        yield f"it has {len(value)} parts, and {rule} are the least", ""


def _least_letters(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    if isinstance(value, str) and len(value) < rule:
        yield f"it has {len(value)} letters, and {rule} are the least", ""


def _most_items(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    if isinstance(value, list) and len(value) > rule:
        yield f"it has {len(value)} parts, and {rule} are the most", ""


def _minimum(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    if _is(value, "number") and value < rule:
        yield f"{value} is below {rule}", ""


def _maximum(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    if _is(value, "number") and value > rule:
        yield f"{value} is above {rule}", ""


def _reference(value: Any, rule: Any, _s: Schema, whole: Schema) -> Iterator[Finding]:
    yield (value, whole["$defs"][rule.removeprefix("#/$defs/")]), ""


def _all_of(value: Any, rule: Any, _s: Schema, _w: Schema) -> Iterator[Finding]:
    yield from (((value, inner), "") for inner in rule)


def _one_of(value: Any, rule: Any, _s: Schema, whole: Schema) -> Iterator[Finding]:
    kept = [inner for inner in rule if _keeps(value, inner, whole)]
    if len(kept) != 1:
        yield f"{_short(value)} has none of the forms allowed here", ""


def _if(value: Any, rule: Any, schema: Schema, whole: Schema) -> Iterator[Finding]:
    if _keeps(value, rule, whole):
        yield (value, schema["then"]), ""


def _keeps(value: Any, schema: Schema, whole: Schema) -> bool:
    return next(_faults(value, schema, "", whole), None) is None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


_RULES: dict[str, Rule] = {
    "type": _type,
    "const": _const,
    "enum": _enum,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "minItems": _least_items,
    "maxItems": _most_items,
    "minLength": _least_letters,
    "minimum": _minimum,
    "maximum": _maximum,
    "$ref": _reference,
    "allOf": _all_of,
    "oneOf": _one_of,
    "if": _if,
}
