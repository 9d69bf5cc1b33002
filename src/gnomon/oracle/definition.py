"""What the oracle knows of one encoding: up to four functions of exact coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gnomon.oracle.exact import Real

Point = list[Real]
"""One exact number for each axis."""
Vector = list[Real]


@dataclass(frozen=True, kw_only=True)
class Content:
    """Queries, keys and tokens of one head, in order, with where they stand."""

    queries: list[Vector]
    keys: list[Vector]
    at_queries: list[Point]
    at_keys: list[Point]
    tokens: list[Vector]
    """What a rule reads of each key's token: the keys, unless something else is given."""
    head: int
    scale: Real
    beside: list[tuple[list[Vector], list[Vector]]] = field(default_factory=list)
    """Queries and keys of all heads, this one among them, for a rule that mixes heads."""

    def index(self, query: int) -> int:
        """Return which of the keys a query is: the queries are the last of them."""
        return len(self.keys) - len(self.queries) + query


@dataclass(frozen=True, kw_only=True)
class Definition:
    """The mathematics of a class of encodings; the first argument is always the encoding."""

    vectors: Callable[[Any, Point], Vector] | None = None
    """(encoding, i) -> what is added at position i."""
    turned: Callable[[Any, Vector, Point, str, int], Vector] | None = None
    """(encoding, x, i, side, head) -> a query ("q") or key ("k") as seen from position i."""
    between: Callable[[Any, Vector, Point, Point, int], Vector] | None = None
    """(encoding, k, i, j, head) -> a key at j as a query at i sees it, where two turned sides would
    need more digits than there are: one of them grows as the other fades."""
    bias: Callable[[Any, Point, Point, int], Real] | None = None
    """(encoding, i, j, head) -> what is added to the logit of query i and key j."""
    content: Callable[[Any, Content], list[Vector]] | None = None
    """(encoding, queries, keys and tokens of one head) -> the logits of every query, unmasked."""
