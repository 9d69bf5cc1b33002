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
    from gnomon.pipeline.fitting import fit_survey

    return fit_survey(survey).to_bytes()


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
        if keyword in _INSIDE:
            for part, inner, where in _INSIDE[keyword](value, rule, schema, whole):
                yield from _faults(part, inner, f"{place}.{where}".strip(".") or place, whole)
        elif (wrong := _wrong(value, keyword, rule, whole)) is not None:
            yield f"{place or 'the file itself'}: {wrong}"


def _wrong(value: Any, keyword: str, rule: Any, whole: Schema) -> str | None:
    """Say what is wrong with a value by itself."""
    if keyword == "required":
        missing = [key for key in rule if key not in value] if isinstance(value, dict) else []
        return f"{missing[0]!r} is missing" if missing else None
    if keyword == "oneOf":
        one = sum(_keeps(value, inner, whole) for inner in rule) == 1
        return None if one else f"{_short(value)} has none of the forms allowed here"
    applies, holds, words = _LIMITS[keyword]
    if not applies(value) or holds(value, rule):
        return None
    size = len(value) if isinstance(value, str | list) else value
    return words.format(short=_short(value), size=size, rule=rule, names=_either(rule))


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return isinstance(value, _TYPES[name])


def _either(rule: Any) -> str:
    return " or ".join(rule) if isinstance(rule, list) and all(map(_text, rule)) else str(rule)


def _same(left: Any, right: Any) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _keeps(value: Any, schema: Schema, whole: Schema) -> bool:
    return next(_faults(value, schema, "", whole), None) is None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _any(_: Any) -> bool:
    return True


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _number(value: Any) -> bool:
    return _is(value, "number")


# Where a keyword applies, what holds then, and what is said where it does not.
_LIMITS: dict[str, tuple[Callable[[Any], bool], Callable[[Any, Any], bool], str]] = {
    "type": (
        _any,
        lambda value, rule: any(_is(value, one) for one in ([rule] if _text(rule) else rule)),
        "{short} is not {names}",
    ),
    "const": (_any, _same, "{short} is not {rule!r}"),
    "enum": (
        _any,
        lambda value, rule: any(_same(value, r) for r in rule),
        "{short} is none of {rule}",
    ),
    "minItems": (_list, lambda v, r: len(v) >= r, "it has {size} parts, and {rule} are the least"),
    "maxItems": (_list, lambda v, r: len(v) <= r, "it has {size} parts, and {rule} are the most"),
    "minLength": (
        _text,
        lambda v, r: len(v) >= r,
        "it has {size} letters, and {rule} are the least",
    ),
    "minimum": (_number, lambda v, r: v >= r, "{size} is below {rule}"),
    "maximum": (_number, lambda v, r: v <= r, "{size} is above {rule}"),
}
# Which parts of a value are to be looked at by which schema, and where they are.
Inside = Callable[[Any, Any, Schema, Schema], list[tuple[Any, Schema, str]]]
_INSIDE: dict[str, Inside] = {
    "properties": lambda value, rule, _s, _w: (
        [(value[key], inner, key) for key, inner in rule.items() if key in value]
        if isinstance(value, dict)
        else []
    ),
    "additionalProperties": lambda value, rule, schema, _w: (
        [(one, rule, key) for key, one in value.items() if key not in schema.get("properties", {})]
        if isinstance(value, dict)
        else []
    ),
    "items": lambda value, rule, _s, _w: (
        [(one, rule, str(k)) for k, one in enumerate(value)] if _list(value) else []
    ),
    "$ref": lambda value, rule, _s, whole: [
        (value, whole["$defs"][rule.removeprefix("#/$defs/")], "")
    ],
    "allOf": lambda value, rule, _s, _w: [(value, inner, "") for inner in rule],
    "if": lambda value, rule, schema, whole: (
        [(value, schema["then"], "")] if _keeps(value, rule, whole) else []
    ),
}
