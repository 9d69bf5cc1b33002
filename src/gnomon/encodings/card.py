"""The card of an encoding: what it is, who defined it, and what it was verified against.

The *level* says how far an encoding is from a one-parameter group A(t) = exp(tX) acting on
queries and keys; it is always printed with its words.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from gnomon.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

LEVELS: Mapping[str, str] = MappingProxyType(
    {
        "L0": "strict group",
        "L1": "augmented group",
        "L2": "fixed feature map, then a group",
        "L3": "group with a learned clock",
        "L4": "path-ordered product",
        "L5": "relative, not separable",
        "L6": "not shift invariant",
        "L7": "content decides the index",
    }
)


def in_words(level: str) -> str:
    """Return a level with its words.

    >>> in_words("L0")
    'L0 strict group'
    """
    return f"{level} {LEVELS[level]}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Card(Result):
    """What an encoding is; `source` is a key of `gnomon.sources`."""

    name: str
    family: str
    kind: tuple[str, ...]
    formula: str
    source: str
    level: str
    relative: bool
    learnable: bool = False
    causal_only: bool = False
    verified_against: tuple[str, ...] = ()
