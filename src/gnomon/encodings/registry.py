"""The catalogue: every encoding by its name.

Adding an encoding is one file and one `Entry` in `ENTRIES`: the name of its class or function, of
its card, and *examples* of its parameters. The examples bring it the whole suite of laws, the
agreement of frameworks and the oracle; its card says which laws those are. Modules are loaded when
an entry is first used.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gnomon.encodings.table_files import names_table
from gnomon.errors import EncodingError, nearest

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding
    from gnomon.encodings.card import Card


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One encoding of the catalogue: where its maker and its card are, and examples of it."""

    maker: str
    """`module:name` of the class or function, below `gnomon.encodings`."""
    card: str = ""
    """`module:name` or `module:name:key` of its card; by default the CARD of its maker's module."""
    examples: tuple[dict[str, Any], ...] = field(default=())
    """Parameters with which it can be made from nothing else; empty where data are needed."""

    @property
    def factory(self) -> Callable[..., Encoding]:
        """Return the class or function that makes the encoding."""
        return _found(self.maker)

    def read_card(self) -> Card:
        """Return the card of the encoding with its usual parameters."""
        return _found(self.card or f"{self.maker.partition(':')[0]}:CARD")


def _found(path: str) -> Any:
    """Return what stands at `module:name`, or under a key of it, below `gnomon.encodings`."""
    module, name, *key = path.split(":")
    found = getattr(importlib.import_module(f"gnomon.encodings.{module}"), name)
    return found[key[0]] if key else found


ENTRIES: dict[str, Entry] = {
    "sinusoidal": Entry(
        maker="sinusoidal:Sinusoidal",
        examples=({"dimension": 8}, {"dimension": 8, "axes": 2}, {"dimension": 12, "axes": 3}),
    ),
    "rope": Entry(
        maker="rotary.rope:Rope",
        examples=(
            {"dimension": 8},
            {"dimension": 8, "layout": "half", "fraction": 0.5, "base": 500000.0},
            {"dimension": 8, "axes": 2},
        ),
    ),
    "alibi": Entry(
        maker="alibi:Alibi",
        examples=({"heads": 3}, {"heads": 4, "symmetric": True}, {"heads": 2, "axes": 2}),
    ),
    "nope": Entry(maker="nope:Nope", examples=({},)),
    "random": Entry(maker="random:Random", examples=({"dimension": 8},)),
    "table": Entry(maker="table_files:open_table", card="table:CARD"),
    "mds": Entry(maker="fitted:mds", card="fitted:CARDS:mds"),
    "mds-low-rank": Entry(maker="fitted:low_rank", card="fitted:CARDS:mds-low-rank"),
    "smacof": Entry(maker="fitted:smacof", card="fitted:CARDS:smacof"),
}


def catalogue() -> list[Card]:
    """Return the card of every encoding there is.

    >>> [card.name for card in catalogue()][:3]
    ['sinusoidal', 'rope', 'alibi']
    """
    return [entry.read_card() for entry in ENTRIES.values()]


def encoding(name: str, **parameters: Any) -> Encoding:
    """Return the encoding of that name with these hyper-parameters, or the one in a file.

    >>> encoding("rope", dimension=64).card.level
    'L0 strict group'
    """
    if name not in ENTRIES and names_table(name):
        return encoding("table", path=name, **parameters)
    factory = entry_of(name).factory
    _check_names(name, inspect.signature(factory), parameters)
    return factory(**parameters)


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
