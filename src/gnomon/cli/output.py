"""Where a result goes: a table for people, JSON for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from gnomon.files import dump_json, write_text


def emit(value: dict[str, Any], text: str, *, json_file: str | None, quiet: bool) -> None:
    """Print the text, and write JSON where it was asked for (`-`: instead of the text)."""
    if json_file == "-":
        typer.echo(dump_json(value), nl=False)
        return
    if json_file is not None:
        write_text(Path(json_file), dump_json(value))
    if not quiet:
        typer.echo(text)
