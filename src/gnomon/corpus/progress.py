"""How far reading has come: what a terminal, a notebook or a test can listen to."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Somebody who wants to know how far the work is."""

    def stage(self, name: str) -> None:
        """Begin a stage of the work, in words."""

    def update(self, *, rows: int, tokens: int, fraction: float | None) -> None:
        """Say what was read so far, and which share of the whole it is where that is known."""


class Silence:
    """Nobody listens."""

    def stage(self, name: str) -> None:
        """Do nothing."""

    def update(self, *, rows: int, tokens: int, fraction: float | None) -> None:
        """Do nothing."""
