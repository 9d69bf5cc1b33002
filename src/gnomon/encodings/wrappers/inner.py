"""The encoding inside of a wrapper: given as it is, or as its name with parameters.

A wrapper changes at which positions, or in which layers, another encoding acts; what that one does
stays its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnomon.encodings.base import Encoding
from gnomon.errors import EncodingError


def inner_encoding(inner: Any) -> Encoding:
    """Return the encoding that a wrapper was given, made from {"name": ..., parameters} if need be.

    >>> inner_encoding({"name": "rope", "dimension": 8}).card.name
    'rope'
    """
    if isinstance(inner, Encoding):
        return inner
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        raise EncodingError(
            f"inner is {inner!r}; pass an encoding, or its parameters with its name, such as "
            '{"name": "rope", "dimension": 64}.'
        )
    from gnomon.encodings.registry import encoding  # which loads wrappers by name: not before

    parameters = {key: value for key, value in inner.items() if key != "name"}
    return encoding(inner["name"], **parameters)


def inner_parameters(encoding: Encoding) -> dict[str, Any]:
    """Return an encoding as plain values from which `inner_encoding` makes it again.

    The name is that of the entry whose maker is its class: a card may have a narrower one.
    """
    from gnomon.encodings.registry import ENTRIES

    kind = type(encoding)
    maker = f"{kind.__module__.removeprefix('gnomon.encodings.')}:{kind.__qualname__}"
    names = [name for name, entry in ENTRIES.items() if entry.maker == maker]
    return {"name": names[0] if names else encoding.name, **encoding.parameters}
