"""The catalogue: every encoding by its name.

Adding an encoding is one file and one `Entry` of its family (`gnomon.encodings.entries`):
the name of its class or function, of its card, and *examples* of its parameters. The examples bring
it the whole suite of laws, the agreement of frameworks and the oracle; its card says which laws
those are. Modules are loaded when an entry is first used.
"""

from __future__ import annotations

import inspect
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from gnomon.encodings.entries import ENTRIES
from gnomon.encodings.entries.entry import Entry, Row
from gnomon.errors import EncodingError, nearest
from gnomon.groups import Generator

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding
    from gnomon.encodings.card import Card

__all__ = ["ENTRIES", "Entry", "Row", "catalogue", "encoding", "entry_of", "takes"]


def catalogue(
    *,
    family: str | None = None,
    level: str | None = None,
    kind: str | None = None,
    framework: str | None = None,
) -> list[Card]:
    """Return the card of every encoding there is, or of those that are what is asked for.

    >>> [card.name for card in catalogue()][:2]
    ['sinusoidal', 'ctlpe']
    >>> [card.name for card in catalogue(level="L1", kind="bias")]
    ['alibi', 'sandwich', 'decay-time']
    """
    from gnomon.encodings.cards.choosing import chosen

    cards = [entry.read_card() for entry in ENTRIES.values()]
    return chosen(cards, family=family, level=level, kind=kind, framework=framework)


def encoding(name: str | PathLike[str] | Generator, **parameters: Any) -> Encoding:
    """Return the encoding of that name with these hyper-parameters, or the one in a file.

    A file is what `Encoding.save`, `gnomon fit` or a survey wrote, or a table of numbers; a
    generator becomes the encoding "generator".

    >>> encoding("rope", dimension=64).card.level
    'L0 strict group'
    """
    if isinstance(name, Generator):
        return encoding("generator", blocks=name.blocks, basis=name.basis, **parameters)
    name = fspath(name) if isinstance(name, PathLike) else name
    if not isinstance(name, str):
        raise EncodingError(
            f"An encoding is asked for by its name, not by {type(name).__name__}; pass one of the "
            "catalogue, or the path of a file."
        )
    if name not in ENTRIES and _names_table(name):
        return encoding("table", path=name, **parameters)
    factory = entry_of(name).factory
    _check_names(name, inspect.signature(factory), parameters)
    return factory(**parameters)


def _names_table(name: str) -> bool:
    """Whether a name that is no encoding's is that of a file; readers are loaded only then."""
    from gnomon.encodings.additive.table_files import names_table

    return names_table(name)


def entry_of(name: str) -> Entry:
    """Return the entry of a name, or say which was probably meant."""
    if name not in ENTRIES:
        raise EncodingError(f"There is no encoding {name!r}: {nearest(name, ENTRIES)}.")
    return ENTRIES[name]


def takes(name: str) -> tuple[str, ...]:
    """Return the names of the parameters an encoding takes."""
    return tuple(inspect.signature(entry_of(name).factory).parameters)


def _check_names(name: str, signature: inspect.Signature, given: dict[str, Any]) -> None:
    for parameter in given:
        if parameter not in signature.parameters:
            raise EncodingError(
                f"The encoding {name!r} has no parameter {parameter!r}: "
                f"{nearest(parameter, signature.parameters)}."
            )
    for parameter, declared in signature.parameters.items():
        if declared.default is inspect.Parameter.empty and parameter not in given:
            raise EncodingError(f"The encoding {name!r} needs {parameter}; pass {parameter}=... .")
