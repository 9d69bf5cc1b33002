"""`gnomon catalogue`: every encoding there is, or those of a family, level, kind or framework."""

from __future__ import annotations

from typing import Annotated

import typer

from gnomon.cli import options as o
from gnomon.cli.output import check_json, emit

Family = Annotated[str | None, typer.Option("--family", help="additive, rotary, bias, fitted, ...")]
Level = Annotated[
    str | None, typer.Option("--level", help="L0 (strict group) to L7 (content decides the index).")
]
Kind = Annotated[str | None, typer.Option("--kind", help="vectors, transform, bias or content.")]
Framework = Annotated[str | None, typer.Option("--framework", help="numpy, torch or jax.")]


def catalogue(
    *,
    family: Family = None,
    level: Level = None,
    kind: Kind = None,
    framework: Framework = None,
    json_file: o.Json = None,
    quiet: o.Quiet = False,
) -> None:
    """List the encodings there are, with their level and where they come from."""
    from gnomon.encodings import catalogue as cards_of
    from gnomon.report import catalogue_text

    check_json(json_file)
    cards = cards_of(family=family, level=level, kind=kind, framework=framework)
    value = [card.to_dict() for card in cards]
    emit(value, catalogue_text(cards), json_file=json_file, quiet=quiet)
