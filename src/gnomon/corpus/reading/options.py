"""How a corpus is to be read: the options that decide what its documents are."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal

from gnomon.corpus.limits import Limits

Unit = Literal["line", "file", "block"]
OnError = Literal["strict", "replace"]


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """What the user asked for; None means that the format decides."""

    format: str = "text"
    column: str | None = None
    group: str | None = None
    unit: Unit = "line"
    split: str | None = None
    separator: int | None = None
    dtype: str | None = None
    errors: OnError = "strict"
    limits: Limits = field(default_factory=Limits)

    def stamp(self) -> bytes:
        """Return the options that change documents as bytes, for fingerprints.

        Limits are left out: they refuse a corpus or let it pass, and never change a document.
        """
        names = ("format", "column", "group", "unit", "split", "separator", "dtype", "errors")
        return json.dumps({name: getattr(self, name) for name in names}, sort_keys=True).encode()
