"""Progress on standard error: rows, tokens a second, time remaining.

Nothing is shown in the first two seconds, and nothing at all where standard error is no terminal.
A stage that began before is shown when they are over, however long it says nothing more.
"""

from __future__ import annotations

import sys
import threading
import time

PATIENCE = 2.0
_EVERY = 0.2


class TerminalProgress:
    """One line that is written over; `close` removes it."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._shown = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._begun = self._last = self._stage_begun = time.monotonic()
        self._name = ""
        self._width = 0
        self._text = ""
        self._late: threading.Timer | None = None

    def stage(self, name: str) -> None:
        """Begin a stage of the work."""
        self._name = name
        self._stage_begun = time.monotonic()
        self._write(name)

    def update(self, *, rows: int, tokens: int, fraction: float | None) -> None:
        """Say how far reading has come."""
        now = time.monotonic()
        if now - self._last < _EVERY:
            return
        self._last = now
        spent = max(now - self._stage_begun, 1e-9)
        parts = [f"{rows:,} rows", f"{tokens / spent / 1e6:.2f} M tokens/s"]
        if fraction:
            parts.append(f"{100 * fraction:.0f} %, {spent * (1 / fraction - 1):.0f} s remaining")
        self._write(f"{self._name}: " + ", ".join(parts))

    def close(self) -> None:
        """Remove the line."""
        self._shown = False
        if self._late is not None:
            self._late.cancel()
            self._late.join()  # it may be writing just now
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0

    def _write(self, text: str) -> None:
        if not self._shown:
            return
        self._text = text
        wait = PATIENCE - (time.monotonic() - self._begun)
        if wait <= 0.0:
            self._draw()
        elif self._late is None:
            self._late = threading.Timer(wait, self._draw)
            self._late.daemon = True
            self._late.start()

    def _draw(self) -> None:
        text = self._text
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = max(self._width, len(text))
