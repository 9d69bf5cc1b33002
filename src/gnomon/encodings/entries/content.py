"""Rules in which content decides: learned clocks, paths, and counted tokens."""

from __future__ import annotations

from gnomon.encodings.entries.entry import Entry

ENTRIES: dict[str, Entry] = {}
