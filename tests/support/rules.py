"""Rules on content: every one of the catalogue, at a size that tests can sum by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gnomon
from gnomon.encodings.base import Encoding
from gnomon.encodings.registry import ENTRIES

HEADS, WIDTH = 2, 8
MORE: dict[str, list[dict[str, Any]]] = {
    "cope": [{"sigma": 1.0}],
    "path": [{"sigma": 0.5}, {"sigma": 0.5, "kernel": 3}],
    "selective-rope": [{}, {"kernel": 4}],
    "dape": [{"inner": {"name": "alibi", "heads": 2}}, {"inner": {"name": "t5", "heads": 2}}],
}
"""What some are made with besides, or several times."""


def rules() -> Iterator[Any]:
    """Yield every rule on content of the catalogue: its name, and what it is made with."""
    for name, entry in ENTRIES.items():
        if entry.card.kind == ("content",):
            for count, more in enumerate(MORE.get(name, [{}])):
                yield pytest.param(name, more, id=f"{name}-{count}")


def rule(name: str, more: dict[str, Any]) -> Encoding:
    """Make a rule for heads of that width."""
    taken = ENTRIES[name].parameters
    sizes = {"heads": HEADS, "dimension": WIDTH}
    return gnomon.encoding(name, **{n: x for n, x in sizes.items() if n in taken}, **more)
