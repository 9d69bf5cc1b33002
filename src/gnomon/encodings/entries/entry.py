"""What the catalogue says of one encoding: where it is made, examples, and rows of a survey.

The examples bring an encoding the whole suite of laws, the agreement of frameworks and the oracle.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnomon.encodings.base import Encoding
    from gnomon.encodings.card import Card


@dataclass(frozen=True, kw_only=True)
class Row:
    """Rows of a survey's stress table: an encoding that needs no training, under its lifts."""

    parameters: dict[str, Any] = field(default_factory=dict)
    """What it is made with beside the dimension, the axes and the seed of the survey."""
    lifts: tuple[str, ...] = ("kernel",)
    label: str = ""
    """What the rows are called; by default the name of the encoding."""
    pairs: bool = True
    """Whether its dimension must be a whole number of pairs on every axis."""
    known: bool = True
    """Whether a corpus may be said to be near it; nothing is near a random table."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One encoding of the catalogue: where its maker and its card are, and examples of it."""

    maker: str
    """`module:name` of the class or function, below `gnomon.encodings`."""
    card: str = ""
    """`module:name` or `module:name:key` of its card; by default the CARD of its maker's module."""
    examples: tuple[dict[str, Any], ...] = field(default=())
    """Parameters with which it can be made from nothing else; empty where data are needed."""
    shown: dict[str, Any] = field(default_factory=dict)
    """Parameters of its picture, beside its defaults (`gnomon.encodings.cards.shown`)."""
    surveyed: tuple[Row, ...] = ()
    """Its rows in a survey; none where training or a choice would decide its distances."""

    @property
    def factory(self) -> Callable[..., Encoding]:
        """Return the class or function that makes the encoding."""
        return found(self.maker)

    def read_card(self) -> Card:
        """Return the card of the encoding with its usual parameters."""
        return found(self.card or f"{self.maker.partition(':')[0]}:CARD")


def found(path: str) -> Any:
    """Return what stands at `module:name`, or under a key of it, below `gnomon.encodings`."""
    module, name, *key = path.split(":")
    value = getattr(importlib.import_module(f"gnomon.encodings.{module}"), name)
    return value[key[0]] if key else value
