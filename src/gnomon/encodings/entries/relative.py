"""Logits in which queries and keys meet vectors of their lag."""

from __future__ import annotations

from gnomon.encodings.entries.entry import Entry

ENTRIES: dict[str, Entry] = {}
