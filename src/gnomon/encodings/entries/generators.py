"""Transforms by one-parameter groups with generators of their own."""

from __future__ import annotations

from gnomon.encodings.entries.entry import Entry

ENTRIES: dict[str, Entry] = {}
