"""What a verb says: a table for people, JSON for programs, progress while it works.

Progress goes to standard error: rows, tokens a second, time remaining. Nothing is shown in the
first two seconds, and nothing at all where standard error is no terminal. A stage that began before
is shown when they are over, however long it says nothing more.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from gnomon.files import check_place, dump_dense_json, dump_json, write_text
from gnomon.options import Flag, option

PATIENCE = 2.0
_EVERY = 0.2


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where a result goes."""

    json_file: str | None = option(
        None,
        "Write the result as JSON to this file; - for standard output.",
        flag=Flag(name="--json"),
    )
    quiet: bool = option(False, "Print no table and no progress.", flag=Flag(name="-q --quiet"))

    def check(self) -> None:
        """Refuse a place for the JSON that cannot be written to, before work is done for it."""
        if self.json_file not in (None, "-"):
            check_place(Path(str(self.json_file)))

    def emit(self, value: Any, text: str, *, dense: bool = False) -> None:
        """Print the text, and write JSON where it was asked for (`-`: instead of the text).

        `dense` JSON has every list of numbers on one line.
        """
        if self.json_file == "-":
            typer.echo(_portable(dump_json(value)), nl=False)
            return
        if self.json_file is not None:
            self.check()
            write_text(Path(self.json_file), (dump_dense_json if dense else dump_json)(value))
        if not self.quiet:
            typer.echo(text)

    def progress(self) -> contextlib.closing[TerminalProgress]:
        """Return progress that ends, and leaves no line, with the block that it is opened for."""
        return contextlib.closing(TerminalProgress(quiet=self.quiet))


def warn(sentence: str) -> None:
    """Print a sentence to standard error, as well as it can be: the exit code says the rest."""
    try:
        typer.echo(f"gnomon: {sentence}", err=True)
    except (OSError, ValueError):  # it is full, or closed; leaving must not fail on it again
        abandon(sys.stderr)


def abandon(stream: Any) -> None:
    """Point a standard stream nowhere, so that leaving does not fail on what is still in it."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # it may have no descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _portable(text: str) -> str:
    """Return JSON with escapes for what standard output cannot hold (a legacy code page)."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), indent=2) + "\n"
    return text


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
