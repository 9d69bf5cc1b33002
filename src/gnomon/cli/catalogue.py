"""`gnomon catalogue` and `gnomon card NAME`: what encodings there are, and one of them in full.

A card has the formula, level, source and proofs of an encoding and, on a page, its figures.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import gnomon
from gnomon.cli.options import check_page, takes
from gnomon.cli.output import Output
from gnomon.cli.parameters import Parameter, parse_parameters
from gnomon.errors import InputError
from gnomon.files import write_with

FITTED = ("mds", "mds-low-rank", "smacof")
"""Encodings that are made of the geometry of a corpus."""
Name = Annotated[
    str,
    typer.Argument(help="Name of an encoding, or a table (.npy, .npz, .safetensors, FILE:NAME)."),
]
Page = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        help="Write the card as a page (.html): vectors, lag profile, frequency ladder.",
    ),
]
Family = Annotated[str | None, typer.Option("--family", help="additive, rotary, bias, fitted, ...")]
Level = Annotated[
    str | None, typer.Option("--level", help="L0 (strict group) to L7 (content decides the index).")
]
Kind = Annotated[str | None, typer.Option("--kind", help="vectors, transform, bias or content.")]
Framework = Annotated[str | None, typer.Option("--framework", help="numpy, torch or jax.")]


@takes(output=Output)
def catalogue(
    *,
    family: Family = None,
    level: Level = None,
    kind: Kind = None,
    framework: Framework = None,
    output: Output,
) -> None:
    """List the encodings there are, with their level and where they come from."""
    from gnomon.encodings import catalogue as cards_of
    from gnomon.report import catalogue_text

    output.check()
    cards = cards_of(family=family, level=level, kind=kind, framework=framework)
    value = [card.to_dict() for card in cards]
    output.emit(value, catalogue_text(cards))


@takes(output=Output)
def card(
    name: Name,
    *,
    parameter: Parameter = None,
    figure: Page = None,
    output: Output,
) -> None:
    """Show what an encoding is, who defined it and what it was verified against."""
    from gnomon.encodings import described
    from gnomon.report import card_text

    output.check()
    check_page(figure, "--figure", "card.html", saves=True)
    given = parse_parameters(parameter)
    if figure is not None:
        _check_drawn(name, given)
    contents, made = described(name, given, make=figure is not None)
    text = card_text(contents)
    if figure is not None:
        from gnomon.encodings import portrait
        from gnomon.report import card_page

        page = card_page(contents, portrait(made), version=gnomon.__version__)
        write_with(figure, lambda handle: handle.write(page))
        text += f"\npage: {figure}"
    output.emit(contents, text)


def _check_drawn(name: str, given: dict[str, Any]) -> None:
    """Refuse to draw what only a file can hold, and say which file."""
    if name == "table" and "path" not in given:
        raise InputError(
            "A table is drawn from its file; name that instead, as in `gnomon card vectors.npy "
            "--figure card.html`."
        )
    if name in FITTED:
        raise InputError(
            f"The encoding {name!r} is fitted to a corpus; make it with `gnomon fit CORPUS --out "
            "encoding.safetensors` and name that file instead."
        )
