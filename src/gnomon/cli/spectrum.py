"""`gnomon spectrum ENCODING`: eigenvalues of its kernel, its symbol, and what coupling does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import gnomon
from gnomon.cli.options import Seed, Verbose, check_page, flag, takes
from gnomon.cli.output import Output
from gnomon.cli.parameters import Parameter, parse_parameters
from gnomon.errors import InputError
from gnomon.files import write_with
from gnomon.options import DIMENSION

Name = Annotated[
    str,
    typer.Argument(help="Name of an encoding, or a table (.npy, .npz, .safetensors, FILE:NAME)."),
]
Length = Annotated[
    int | None, typer.Option("--length", help="Number of positions n. Default: 512.")
]
Shape = Annotated[
    str | None,
    typer.Option(
        "--shape",
        help="With several axes: all places of a picture of this size, such as 14,14. Default: "
        "positions along a line.",
    ),
]
LENGTH = 512
Head = Annotated[
    int | None,
    typer.Option("--head", help="One head of those that differ. Default: the mean over heads."),
]
Direction = Annotated[
    str | None,
    typer.Option(
        "--direction",
        help="With several axes: the step on every axis, such as 1,1. Default: the first axis.",
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        help="Eigenvalues below this part of the largest count as 0. Default: n times 2.2e-16.",
    ),
]
Means = Annotated[
    list[float] | None,
    typer.Option(
        "--mean",
        help="Size of the mean that drawn queries and keys share, against their spread; may be "
        "repeated. Default: 0, 0.5, 1, 2, 4.",
    ),
]
Dimension = Annotated[
    int | None,
    flag(
        "dimension",
        DIMENSION,
        text="Dimension of drawn queries and keys where an encoding takes any, as a bias does. "
        "Default: 64.",
    ),
]
Apart = Annotated[
    bool,
    typer.Option("--apart", help="Draw queries and keys, and their means, apart. Default: q = k."),
]
Page = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        help="Write a page (.html): symbol, eigenvalues, contraction, lag profile.",
    ),
]


@takes(output=Output)
def spectrum(
    name: Name,
    *,
    length: Length = None,
    shape: Shape = None,
    parameter: Parameter = None,
    head: Head = None,
    direction: Direction = None,
    tolerance: Tolerance = None,
    mean: Means = None,
    dimension: Dimension = None,
    apart: Apart = False,
    figure: Page = None,
    seed: Seed = 0,
    output: Output,
    verbose: Verbose = False,
) -> None:
    """Show what an encoding does to logits: its kernel's eigenvalues, and coupling with content."""
    from gnomon.encodings import shown
    from gnomon.spectra import MEANS, lattice_spectrum
    from gnomon.spectra import spectrum as measured

    output.check()
    check_page(figure, "--figure", "spectrum.html", saves=True)
    encoding = shown(name, **parse_parameters(parameter))
    asked: dict[str, Any] = {"head": head, "tolerance": tolerance}
    of_line: dict[str, Any] = {"length": length, "direction": direction, "mean": mean}
    of_line |= {"dimension": dimension, "apart": apart or None}
    found: Any
    with output.progress() as progress:
        if shape is not None:
            sizes = _sizes(shape, of_line)
            found = lattice_spectrum(encoding, sizes, **asked, progress=progress.stage)
        else:
            asked |= {"dimension": dimension, "direction": _steps(direction), "seed": seed}
            asked |= {"means": tuple(mean) if mean else MEANS, "tied": not apart}
            count = LENGTH if length is None else length
            found = measured(encoding, count, **asked, progress=progress.stage)
    text = found.text(verbose=verbose)
    if figure is not None:
        from gnomon.report import spectrum_page

        page = spectrum_page(found, version=gnomon.__version__)
        write_with(figure, lambda handle: handle.write(page))
        text += f"\n\npage: {figure}"
    output.emit(found.to_dict(), text)


def _steps(direction: str | None) -> tuple[float, ...] | None:
    """Return the numbers of a direction."""
    if direction is None:
        return None
    try:
        return tuple(float(part) for part in direction.split(","))
    except ValueError:
        raise InputError(
            f"--direction {direction} is no list of numbers; pass the step on every axis, such as "
            "--direction 1,1."
        ) from None


def _sizes(shape: str, of_line: dict[str, Any]) -> tuple[int, ...]:
    """Return the places on every axis; refused beside an option that asks for a line."""
    for option, value in of_line.items():
        if value is not None:
            raise InputError(
                f"--shape asks for all places of a picture, and --{option} is about a line; pass "
                "one of both."
            )
    try:
        return tuple(int(part) for part in shape.split(","))
    except ValueError:
        raise InputError(
            f"--shape {shape} is no list of integers; pass the places on every axis, such as "
            "--shape 14,14."
        ) from None
