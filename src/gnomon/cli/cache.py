"""`gnomon cache`: list and clear the token cache."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from gnomon.cli.options import takes
from gnomon.cli.output import Output
from gnomon.errors import InputError

app = typer.Typer(
    help="List and clear the token cache.", no_args_is_help=False, rich_markup_mode=None
)


@app.callback(invoke_without_command=True)
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        _list(Output())


@app.command("list")
@takes(output=Output)
def list_entries(*, output: Output) -> None:
    """List the entries: what was tokenised, how large it is, when it was last used."""
    _list(output)


@app.command("clear")
@takes(output=Output)
def clear(
    *,
    older_than: Annotated[
        float | None, typer.Option("--older-than", help="Only entries unused for this many days.")
    ] = None,
    output: Output,
) -> None:
    """Remove entries; the cache can always be rebuilt."""
    from gnomon.corpus import clear

    if older_than is not None and not older_than >= 0:  # also NaN
        raise InputError(f"--older-than is {older_than:g}; give days, 0 or more.")
    removed, freed = clear(older_than=older_than)
    text = f"removed {removed} entries, {freed / 1e6:,.1f} MB"
    output.emit({"removed": removed, "bytes": freed}, text)


def _describe(entry: Any) -> dict[str, Any]:
    return {
        "key": entry.key,
        "source": entry.source,
        "rows": entry.rows,
        "tokens": entry.tokens,
        "bytes": entry.bytes,
        "days": round((time.time() - entry.used) / 86_400, 1),
    }


def _list(output: Output) -> None:
    from gnomon.corpus import entries, folder, limit_bytes, total_bytes
    from gnomon.report import table

    rows = [_describe(entry) for entry in entries()]
    header = ["key", "source", "documents", "tokens", "MB", "days unused"]
    value: dict[str, Any] = {
        "folder": str(folder()),
        "bytes": total_bytes(),
        "limit": limit_bytes(),
        "entries": rows,
    }
    total = f"{folder()}: {value['bytes'] / 1e6:,.1f} of {value['limit'] / 1e6:,.0f} MB"
    shown = [
        [r["key"][:12], r["source"], r["rows"], r["tokens"], r["bytes"] / 1e6, r["days"]]
        for r in rows
    ]
    output.emit(value, total + ("\n" + table(header, shown) if rows else ""))
