"""The card of a fitted encoding, read back: every field of its kind, or the file is not believed.

A card is JSON from a file that anybody may have written. Each field is checked by itself, and then
what they say together: an encoding that was not stretched has as many rows as it has positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gnomon.distances import METHODS
from gnomon.encodings.fitted.filling import MASKED_RULES
from gnomon.encodings.fitted.fitted import BEYOND, CARDS, SCALES
from gnomon.reading import parse_json


class CardError(ValueError):
    """What is wrong with a card, as a clause."""


def read_card(text: str) -> dict[str, Any]:
    """Return the fields of a card that an encoding is made of, or raise `CardError`."""
    try:
        card = parse_json(text)
    except ValueError as error:
        raise CardError("its card can not be read") from error
    if not isinstance(card, dict):
        raise CardError("its card can not be read")
    for key, fits in _FIELDS.items():
        if key not in card:
            raise CardError(f"its card says no {key}")
        if not fits(card[key]):
            raise CardError(f"its card says {key} {_shown(card[key])}")
    _check_length(card)
    known = {key: card[key] for key in _FIELDS if key != "name"}
    lists = {key: tuple(card[key]) for key in ("shape", "warnings")}
    numbers = {key: float(card[key]) for key in ("factor", "gain")}
    return {"family": card["name"], **known, **lists, **numbers}


def _check_length(card: dict[str, Any]) -> None:
    """Refuse more positions than rows, or fewer where nothing was stretched."""
    rows, length = math.prod(card["shape"]), card["length"]
    if length > rows or (length < rows and card["beyond"] != "interpolate"):
        raise CardError(f"its card says length {length} and axes {tuple(card['shape'])}")


def _shown(value: Any, most: int = 40) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]} ..."


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and value >= least  # True is no number here


def _finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300


def _words(value: Any) -> bool:
    return isinstance(value, str)


def _listed(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "name": _one_of(*CARDS),
    "method": _one_of(*METHODS),
    "estimator": _words,
    "minimises": _words,
    "dimension": _whole(1),
    "rank": _whole(1),
    "shape": lambda value: bool(value) and _listed(_whole(1))(value),
    "length": _whole(1),
    "masked_rule": _one_of(*MASKED_RULES),
    "beyond": _one_of(*BEYOND),
    "scale": _one_of(*SCALES),
    "factor": lambda value: _finite(value) and value > 0,
    "gain": _finite,
    "rotation": lambda value: value is None or _whole(0)(value),
    "warnings": _listed(_words),
    "origin": lambda value: isinstance(value, dict),
}
