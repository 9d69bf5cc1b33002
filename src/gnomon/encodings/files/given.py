"""The encoding that a layer is made of: given as it is, or as the file that holds it."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from gnomon.encodings.base import Encoding
from gnomon.errors import EncodingError


def given_encoding(given: Any) -> Encoding:
    """Return an encoding, read from its file where a path was given."""
    if isinstance(given, Encoding):
        return given
    if isinstance(given, str | PathLike):
        from gnomon.encodings.registry import encoding
        from gnomon.encodings.tables import names_table

        if names_table(fspath(given)):
            return encoding(given)
        raise EncodingError(
            f"{fspath(given)!r} names no file of an encoding; pass the path of a .safetensors "
            "file, or what gnomon.encoding(...) returns."
        )
    raise EncodingError(
        f"A layer is made of an encoding, and this is {type(given).__name__}; pass what "
        "gnomon.encoding(...) returns, or the path of its file."
    )
