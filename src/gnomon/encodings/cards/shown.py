"""An encoding as its card shows it: with given parameters, and usual ones for the rest.

A parameter that has no default and is not given is what the catalogue names for its picture, then
64 for a dimension, then that of the first example.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gnomon.encodings.additive.table_files import names_table
from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import encoding, entry_of
from gnomon.results import plain
from gnomon.sources import cite

DIMENSION = 64
"""A common size of one attention head."""


def shown(name: str, **given: Any) -> Encoding:
    """Return the encoding of that name, or in that file, with usual parameters for the rest.

    >>> shown("rope", base=500.0).parameters["dimension"]
    64
    """
    if names_table(name):
        return encoding(name, **given)
    return encoding(name, **(usual_parameters(name) | given))


def usual_parameters(name: str) -> dict[str, Any]:
    """Return values for the parameters that have no default.

    >>> usual_parameters("rope"), usual_parameters("alibi"), usual_parameters("mds")
    ({'dimension': 64}, {}, {})
    """
    entry = entry_of(name)
    example = entry.examples[0] if entry.examples else {}
    usual = example | ({"dimension": DIMENSION} if "dimension" in example else {}) | entry.shown
    return {key: value for key, value in usual.items() if key in entry.shown or _needed(name, key)}


def declared_parameters(name: str) -> dict[str, Any]:
    """Return the parameters of an encoding with their defaults; None where one must be given."""
    empty = inspect.Parameter.empty
    known = inspect.signature(entry_of(name).factory).parameters
    return {key: None if value.default is empty else value.default for key, value in known.items()}


def _needed(name: str, parameter: str) -> bool:
    declared = inspect.signature(entry_of(name).factory).parameters.get(parameter)
    return declared is not None and declared.default is inspect.Parameter.empty


def described(
    name: str, given: Mapping[str, Any] | None = None, *, make: bool = False
) -> tuple[dict[str, Any], Any]:
    """Return what a card says as plain values, and the encoding itself where one was made.

    One is made where parameters are given, where `make` asks for it, or out of a file.
    """
    made = shown(name, **(given or {})) if make or given or names_table(name) else None
    card = entry_of(name).read_card() if made is None else made.card
    known = name if made is None or not names_table(name) else _entry_of_file(made)
    declared = declared_parameters(known)
    contents = {
        **card.to_dict(),
        "citation": cite(card.source),
        "parameters": {key: _as_plain(value) for key, value in declared.items()},
        "needs": [key for key in declared if _needed(known, key)],
        "made_with": None if made is None else made.parameters,
    }
    layer = _layer_of(name) if names_table(name) else None
    if layer is not None:
        contents["layer"] = layer
    return contents, made


def _layer_of(name: str) -> dict[str, Any] | None:
    """Return how near the kernel of a group in a file is to the corpus it was read from."""
    from gnomon.encodings.files.container import format_of
    from gnomon.encodings.files.stored import origin_of

    file = Path(name)
    if format_of(file) is None:
        return None
    origin = origin_of(file)
    layer = origin.get("layer")
    known = isinstance(layer, dict) and isinstance(layer.get("explained"), float)
    return {"source": str(origin.get("source", "")), **layer} if known and layer else None


def _entry_of_file(made: Encoding) -> str:
    """Return the entry of what a file holds; a fitted table is a table there."""
    from gnomon.encodings.files.definitions import entry_name
    from gnomon.encodings.fitted.fitted import Fitted

    return "table" if isinstance(made, Fitted) else entry_name(made)


def _as_plain(value: Any) -> Any:
    """Return a default as plain values; a scaling has parameters of its own."""
    return plain(getattr(value, "parameters", value))
