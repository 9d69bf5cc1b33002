"""Where a result goes: a table for people, JSON for programs."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import typer

from gnomon.files import check_place, dump_dense_json, dump_json, write_text


def emit(value: Any, text: str, *, json_file: str | None, quiet: bool, dense: bool = False) -> None:
    """Print the text, and write JSON where it was asked for (`-`: instead of the text).

    `dense` JSON has every list of numbers on one line.
    """
    if json_file == "-":
        typer.echo(_portable(dump_json(value)), nl=False)
        return
    if json_file is not None:
        check_json(json_file)
        write_text(Path(json_file), (dump_dense_json if dense else dump_json)(value))
    if not quiet:
        typer.echo(text)


def warn(sentence: str) -> None:
    """Print a sentence to standard error, as well as it can be: the exit code says the rest."""
    try:
        typer.echo(f"gnomon: {sentence}", err=True)
    except (OSError, ValueError):  # it is full, or closed; leaving must not fail on it again
        with contextlib.suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stderr.fileno())
            os.close(nowhere)


def check_json(json_file: str | None) -> None:
    """Refuse a place for the JSON that can not be written to, before the work is done for it."""
    if json_file not in (None, "-"):
        check_place(Path(str(json_file)))


def _portable(text: str) -> str:
    """Return JSON with escapes for what standard output can not hold (a legacy code page)."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), indent=2) + "\n"
    return text
