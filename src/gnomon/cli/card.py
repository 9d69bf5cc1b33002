"""`gnomon card NAME`: one encoding with its formula, level, source and proofs, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import gnomon
from gnomon.cli import options as o
from gnomon.cli.output import check_json, emit
from gnomon.cli.parameters import Parameter, given_parameters
from gnomon.errors import InputError
from gnomon.files import check_place, write_with

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


def card(
    name: Name,
    *,
    parameter: Parameter = None,
    figure: Page = None,
    json_file: o.Json = None,
    quiet: o.Quiet = False,
) -> None:
    """Show what an encoding is, who defined it and what it was verified against."""
    from gnomon.encodings import described
    from gnomon.report import card_text

    check_json(json_file)
    _check_page(figure)
    given = given_parameters(parameter)
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
    emit(contents, text, json_file=json_file, quiet=quiet)


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


def _check_page(page: Path | None) -> None:
    if page is None:
        return
    if page.is_dir():
        raise InputError(f"{page} is a folder; name a file with --figure, such as card.html.")
    if page.suffix.lower() not in {".html", ".htm"}:
        raise InputError(
            f"--figure {page} is no HTML file; give it a name that ends in .html (the page saves "
            "each of its figures as SVG)."
        )
    check_place(page)
