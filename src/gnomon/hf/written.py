"""An encoding written down in a config: its name and its parameters, as plain JSON and never code.

    {"name": "rope", "parameters": {"dimension": 64, "base": 500000.0, ...}}

Numbers that are learned, and tables that are data, are weights of the model: the config holds what
they are, the weights hold how they stand. A fitted table and one from a file are thus written as
`learned` vectors, with the name of what they came from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.encodings import ENTRIES, Encoding
from gnomon.encodings import encoding as made
from gnomon.errors import EncodingError

Written = dict[str, Any]
_ROOM = "gnomon.encodings."


def written(encoding: Encoding, *, rows: int | None = None) -> Written:
    """Return an encoding as plain values; `rows` is given where its vectors become a table.

    >>> from gnomon.encodings import Nope
    >>> written(Nope())
    {'name': 'nope', 'parameters': {'axes': 1}}
    """
    name = name_of(encoding)
    if name is not None:
        return {"name": name, "parameters": encoding.parameters}
    if "vectors" in encoding.kinds and rows is not None:
        parameters = {"rows": rows, "dimension": int(getattr(encoding, "dimension", 0))}
        return {"name": "learned", "parameters": parameters, "from": encoding.name}
    raise EncodingError(
        f"The encoding {encoding.name!r} is made by {type(encoding).__name__}, which is not in the "
        "catalogue, so a model saved with it could not be opened; install one of the catalogue."
    )


def name_of(encoding: Encoding) -> str | None:
    """Return the name under which the catalogue makes encodings of this class, if it does."""
    kind = type(encoding)
    maker = f"{kind.__module__.removeprefix(_ROOM)}:{kind.__qualname__}"
    return next((name for name, entry in ENTRIES.items() if entry.maker == maker), None)


def rebuilt(record: Mapping[str, Any], **numbers: Any) -> Encoding:
    """Return the encoding that was written down, with the learned numbers of the weights."""
    known = made(record["name"], **_tuples(record["parameters"]))
    return dataclasses.replace(known, **numbers) if numbers else known


def _tuples(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with the tuples that JSON made lists of."""
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in parameters.items()
    }


def doubles(tensor: Any) -> np.ndarray[Any, Any]:
    """Return a tensor of weights as NumPy has it, in float64."""
    values: np.ndarray[Any, Any] = tensor.detach().to("cpu").double().numpy()
    return values
