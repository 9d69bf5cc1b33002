"""Parameters of an encoding on the command line: NAME=VALUE, as often as there are any.

A value is a number, or JSON (true, null, [16, 24, 24], {"name": "yarn"}), or else a word.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from gnomon.errors import InputError
from gnomon.reading import parse_json

Parameter = Annotated[
    list[str] | None,
    typer.Option(
        "-p", "--parameter", help="NAME=VALUE of the encoding, as heads=12; may be repeated."
    ),
]

_LIST = re.compile(r"[-+.\deE\s]+(,[-+.\deE\s]+)+")
"""Numbers with commas between them, as people write a list."""


def parse_parameters(texts: list[str] | None) -> dict[str, Any]:
    """Return the parameters of an encoding by name.

    >>> parse_parameters(["heads=12", "sections=[2, 1, 1]", "layout=half"])
    {'heads': 12, 'sections': [2, 1, 1], 'layout': 'half'}
    """
    given: dict[str, Any] = {}
    for text in texts or []:
        name, value = _parse_pair(text)
        if name == "name":
            raise InputError(
                f"--parameter {text!r} is no parameter; the encoding is named by the argument."
            )
        if name in given:
            raise InputError(f"--parameter {name} is given twice; keep the right one.")
        given[name] = value
    return given


def _parse_pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--parameter {text!r} has no '='; write it like heads=12.")
    if not name.strip():
        raise InputError(f"--parameter {text!r} has no name; write it like heads=12.")
    for kind in (int, float, parse_json):
        try:
            return name.strip(), kind(value)
        except ValueError:
            continue
    if value[:1] in ("[", "{"):
        raise InputError(f"--parameter {text!r} is no JSON; write it like sections=[16,24,24].")
    if _LIST.fullmatch(value):
        raise InputError(
            f"--parameter {text!r} is a list without brackets; write it like "
            f"{name.strip()}=[{value}]."
        )
    return name.strip(), value
