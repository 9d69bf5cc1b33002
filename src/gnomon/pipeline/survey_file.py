"""A survey on disk: survey.json and what belongs to it, each file whole or absent.

counts.npz holds what was counted, geometry.npz what a page draws, encoding.safetensors the fitted
encoding. survey.json is named last: where it is, the files beside it are complete and belong to it.

Its shape is the JSON Schema (draft 2020-12) that ships beside this module. Other tools may check
what they read against it; every key of the contract is required, and a null needs a `reason` in its
own object. `fault` checks against it what is read here: a survey.json may come from a stranger or
from a damaged disk, and the plain installation has no validator. Known here: $ref into $defs, type,
const, enum, required, properties, additionalProperties, items, minItems, maxItems, minLength,
minimum, maximum, allOf, oneOf, if/then (draft 2020-12); a keyword that is not known is a fault of
ours and is raised as one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gnomon.corpus import Progress, load_counts, store_counts
from gnomon.errors import InputError
from gnomon.files import dump_json, write_together
from gnomon.pipeline.measured import Measured, measure_counts
from gnomon.reading import read_written

if TYPE_CHECKING:
    from gnomon.pipeline.page_data import Pictures
    from gnomon.pipeline.surveys import Survey

Writer = Callable[[BinaryIO], Any]
SCHEMA_VERSION = 1
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
# Each rule yields a sentence, or (value, schema) that is to be looked at, with its place.
Finding = tuple[Any, str]
Rule = Callable[[Any, Any, Schema, Schema], Iterator[Finding]]


def save_survey(
    survey: Survey,
    folder: Path,
    *,
    more: Mapping[str, bytes] | None = None,
    pictures: Pictures | None = None,
) -> None:
    """Write a survey to a folder, which is made where it is missing.

    `more` are further files that belong to it, such as its page; `pictures` saves making them
    again where the caller has them already.
    """
    from gnomon.pipeline.page_data import pictures as pictures_of
    from gnomon.pipeline.page_data import store_pictures

    text = dump_json(survey.to_dict()).encode("utf-8")
    encoding = encoding_bytes(survey)
    drawn = pictures_of(survey) if pictures is None else pictures
    writers: dict[str, Writer] = {
        "survey.json": lambda handle: handle.write(text),
        "counts.npz": lambda handle: store_counts(survey.counts, handle),
        "geometry.npz": lambda handle: store_pictures(drawn, handle),
        "encoding.safetensors": lambda handle: handle.write(encoding),
    }
    writers |= {name: _writer(content) for name, content in (more or {}).items()}
    write_together(folder, writers)


def _writer(content: bytes) -> Writer:
    return lambda handle: handle.write(content)


def encoding_bytes(survey: Survey) -> bytes:
    """Return the fitted encoding of a survey as a file, its card in the header."""
    from gnomon.encodings import fitted_bytes
    from gnomon.pipeline.fitting import fit_survey

    return fitted_bytes(fit_survey(survey))


def read_survey(
    folder: Path, *, metric: str | None = None, seed: int | None = None, progress: Progress
) -> tuple[Measured, dict[str, Any]]:
    """Measure the counts of a survey's folder again; return what its survey.json says, too."""
    file = folder / "survey.json"
    try:
        said = read_written(file)
        wrong = fault(said)
    except (OSError, ValueError) as error:
        wrong = type(error).__name__
    if wrong is not None:
        raise InputError(
            f"{file} cannot be read as the result of a survey ({wrong}); pass the folder that "
            "gnomon survey --out wrote, or its counts.npz."
        )
    counts, digest = load_counts(folder / "counts.npz"), said["corpus"]["digest"]
    if counts.digest != digest:
        raise InputError(
            f"{folder} holds a survey.json and a counts.npz of different corpora (digests {digest} "
            f"and {counts.digest}); survey the corpus again."
        )
    found = measure_counts(
        counts,
        metric=str(said["geometry"]["metric"]) if metric is None else metric,
        seed=int(said["provenance"]["seed"]) if seed is None else seed,
        progress=progress,
    )
    return found, said


def survey_schema() -> dict[str, Any]:
    """Return the JSON Schema of survey.json.

    >>> survey_schema()["properties"]["schema_version"]
    {'const': 1}
    """
    text = files("gnomon.pipeline").joinpath("survey.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


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
