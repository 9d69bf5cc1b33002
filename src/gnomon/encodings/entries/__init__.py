"""The entries of the catalogue, family by family."""

from __future__ import annotations

from gnomon.encodings.entries import (
    additive,
    biases,
    content,
    generators,
    relative,
    rotary,
    tables,
    wrappers,
)
from gnomon.encodings.entries.entry import Entry

ENTRIES: dict[str, Entry] = {
    **additive.ENTRIES,
    **rotary.ENTRIES,
    **generators.ENTRIES,
    **biases.ENTRIES,
    **relative.ENTRIES,
    **content.ENTRIES,
    **wrappers.ENTRIES,
    **tables.ENTRIES,
}
"""Every encoding by its name."""
