"""The catalogue: every encoding by its name.

Adding an encoding is one file and one line in `_FACTORIES`.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from gnomon.encodings import alibi, fitted, nope, random, rotary, sinusoidal, table
from gnomon.encodings.table_files import names_table, open_table
from gnomon.errors import EncodingError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from gnomon.encodings.base import Encoding
    from gnomon.encodings.card import Card


def _mds(geometry: Any, *, dimension: int) -> Encoding:
    return fitted.fit(geometry, dimension=dimension)


def _low_rank(geometry: Any, *, dimension: int, rank: int) -> Encoding:
    return fitted.fit(geometry, dimension=dimension, rank=rank)


def _smacof(geometry: Any, *, dimension: int) -> Encoding:
    return fitted.fit(geometry, method="smacof", dimension=dimension)


_FACTORIES: dict[str, tuple[Callable[..., Encoding], Card]] = {
    "sinusoidal": (sinusoidal.Sinusoidal, sinusoidal.CARD),
    "rope": (rotary.Rotary, rotary.CARD),
    "alibi": (alibi.Alibi, alibi.CARD),
    "nope": (nope.Nope, nope.CARD),
    "random": (random.Random, random.CARD),
    "table": (open_table, table.CARD),
    "mds": (_mds, fitted.CARDS["mds"]),
    "mds-low-rank": (_low_rank, fitted.CARDS["mds-low-rank"]),
    "smacof": (_smacof, fitted.CARDS["smacof"]),
}


def catalogue() -> list[Card]:
    """Return the card of every encoding there is.

    >>> [card.name for card in catalogue()][:3]
    ['sinusoidal', 'rope', 'alibi']
    """
    return [card for _, card in _FACTORIES.values()]


def encoding(name: str, **parameters: Any) -> Encoding:
    """Return the encoding of that name with these hyper-parameters, or the one in a file.

    >>> encoding("rope", dimension=64).card.level
    'L0 strict group'
    """
    if name not in _FACTORIES and names_table(name):
        return encoding("table", path=name, **parameters)
    if name not in _FACTORIES:
        raise EncodingError(f"There is no encoding {name!r}: {nearest(name, _FACTORIES)}.")
    factory, _ = _FACTORIES[name]
    _check_names(name, inspect.signature(factory), parameters)
    return factory(**parameters)


def takes(name: str) -> tuple[str, ...]:
    """Return the names of the parameters an encoding takes."""
    if name not in _FACTORIES:
        raise EncodingError(f"There is no encoding {name!r}: {nearest(name, _FACTORIES)}.")
    return tuple(inspect.signature(_FACTORIES[name][0]).parameters)


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
