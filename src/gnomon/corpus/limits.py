"""Limits on untrusted input: each is an option, and each has a message that names it."""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.errors import InputError

_OPTIONS = {
    "line_bytes": "--limit-line",
    "expansion": "--limit-expansion",
    "tokenizer_bytes": "--limit-tokenizer",
}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much a source may ask of this machine before it is refused."""

    line_bytes: int = 64 * 2**20
    """Longest line, field or document (`--limit-line`)."""
    expansion: float = 1000.0
    """Largest ratio of decompressed to compressed bytes (`--limit-expansion`)."""
    tokenizer_bytes: int = 256 * 2**20
    """Largest tokenizer file (`--limit-tokenizer`)."""

    def __post_init__(self) -> None:
        """Refuse limits that nothing, or everything, would pass."""
        for name, option in _OPTIONS.items():
            value = getattr(self, name)
            if not value >= 1:  # also NaN, which every comparison lets pass
                raise InputError(f"{option} is {value}; it must be 1 or more.")
