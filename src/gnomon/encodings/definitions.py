"""An encoding as plain values and tensors, and back: the two directions of a file.

    {"entry": "jordan", "parameters": {"dimension": 8, "decays": {"tensor": "decays"}, ...}}

The entry is that of the catalogue whose maker is the encoding's class, so that nothing can be made
from a file but what the catalogue has. Every parameter is one of: a plain value, a *tensor* under
the path of its field, a *block* of a generator, a *scaling*, or another *encoding*, inside of a
wrapper. Numbers that training may change are tensors even where they are still those that it starts
from: the file then does not depend on how those are drawn.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import ENTRIES
from gnomon.encodings.rotary.scaling import Scaling
from gnomon.errors import EncodingError, nearest
from gnomon.groups import Block

Tensors = dict[str, Any]
REFUSALS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, MemoryError)
"""What constructors raise for values they were not made for, beside sentences of ours."""


class DefinitionError(ValueError):
    """What is wrong with a definition, as a clause."""


def entry_name(encoding: Encoding) -> str:
    """Return the entry of the catalogue that an encoding's class belongs to, or refuse it."""
    entry = encoding.own_entry
    if entry is None:
        raise EncodingError(
            f"The encoding {encoding.name!r} is a {type(encoding).__qualname__}, which no entry of "
            "the catalogue makes by itself; save one that is, or the numbers of this one."
        )
    return entry.card.name


def written(encoding: Encoding) -> tuple[dict[str, Any], Tensors]:
    """Return the definition of an encoding and its tensors; `made` is the inverse."""
    tensors: Tensors = {}
    return _written(encoding, "", tensors), tensors


def _written(encoding: Encoding, path: str, tensors: Tensors) -> dict[str, Any]:
    entry = entry_name(encoding)
    learned = encoding.numbers if encoding.learnable else {}
    parameters = {}
    for field in _fields(type(encoding)).values():
        own = field.name in encoding.learnable and field.name in learned
        value = learned[field.name] if own else getattr(encoding, field.name)
        parameters[field.name] = _value(value, f"{path}{field.name}", tensors)
    return {"entry": entry, "parameters": parameters}


def _fields(kind: type[Encoding]) -> dict[str, Any]:
    return {field.name: field for field in dataclasses.fields(kind) if field.init}


def _value(value: Any, path: str, tensors: Tensors) -> Any:
    """Return one parameter as JSON, its array among the tensors."""
    if isinstance(value, Encoding):
        return _written(value, f"{path}.", tensors)
    if isinstance(value, Scaling):
        return {"scaling": value.parameters}
    if isinstance(value, Block):
        return {"block": vars(value)}
    if isinstance(value, np.ndarray):
        tensors[path] = _finite(path, value)
        return {"tensor": path}
    if isinstance(value, list | tuple):
        return [_value(item, path, tensors) for item in value]
    return _single(value, path)


def _single(value: Any, path: str) -> Any:
    """Return one number or word as the plain value that JSON gives back."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    raise EncodingError(
        f"{path} is {value!r}, which a file of numbers and words can not hold; give the encoding "
        "plain values."
    )


def _finite(path: str, array: Any) -> Any:
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise EncodingError(
            f"{path} holds what is not a finite number, so it is not written; go back to numbers "
            "from before training diverged."
        )
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")


def made(definition: Any, tensors: Tensors) -> Encoding:
    """Return the encoding of a definition, or raise `DefinitionError`; every tensor is used."""
    left = dict(tensors)
    encoding = _made(definition, left)
    if left:
        raise DefinitionError(f"no parameter asks for its tensor {min(left)!r}")
    return encoding


def _made(definition: Any, tensors: Tensors) -> Encoding:
    entry, given = _parts(definition)
    kind = _class(entry)
    fields = _fields(kind)
    for name in given:
        if name not in fields:
            raise DefinitionError(f"{entry!r} has no parameter {name!r}: {nearest(name, fields)}")
    for name, field in fields.items():
        needed = field.default is dataclasses.MISSING
        if needed and field.default_factory is dataclasses.MISSING and name not in given:
            raise DefinitionError(f"it says no {name} of its {entry!r}")
    values = {name: _parameter(value, tensors) for name, value in given.items()}
    try:
        return kind(**values)
    except REFUSALS as error:
        reason = " ".join(str(error).split()).partition(";")[0][:160] or type(error).__name__
        raise DefinitionError(f"{entry!r} can not have what it says: {reason}") from error


def _parts(definition: Any) -> tuple[str, dict[str, Any]]:
    """Return the entry and the parameters of a definition."""
    if not isinstance(definition, dict) or set(definition) != {"entry", "parameters"}:
        raise DefinitionError("its definition can not be read")
    entry, given = definition["entry"], definition["parameters"]
    if not isinstance(entry, str) or not isinstance(given, dict):
        raise DefinitionError("its definition can not be read")
    return entry, given


def _class(entry: str) -> type[Encoding]:
    """Return the class of an entry; entries that are made of a geometry have none here."""
    kind = ENTRIES[entry].makes if entry in ENTRIES else None
    if kind is None:
        known = [name for name, one in ENTRIES.items() if one.makes is not None]
        raise DefinitionError(f"this version knows no {entry!r}: {nearest(entry, known)}")
    return kind


def _parameter(value: Any, tensors: Tensors) -> Any:
    """Return one parameter from its JSON; a mapping is a tensor, block, scaling or encoding."""
    if isinstance(value, list):
        return tuple(_parameter(item, tensors) for item in value)
    if not isinstance(value, dict):
        return value
    if set(value) == {"tensor"}:
        if value["tensor"] not in tensors:
            raise DefinitionError(f"it holds no tensor {value['tensor']!r}")
        return tensors.pop(value["tensor"])
    if set(value) == {"block"}:
        return value["block"]  # its numbers, which the encoding checks
    return _scaling(value["scaling"]) if set(value) == {"scaling"} else _made(value, tensors)


def _scaling(value: Any) -> Scaling:
    from gnomon.encodings.rotary.scaling import as_scaling

    if not isinstance(value, Mapping):
        raise DefinitionError("its scaling can not be read")
    try:
        return as_scaling(value)
    except REFUSALS as error:
        reason = " ".join(str(error).split()).rstrip(".")[:160]
        raise DefinitionError(f"its scaling can not be made: {reason}") from error
