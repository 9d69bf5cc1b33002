"""`gnomon classify X.npy`: which encoding a generator matrix is, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.cli.options import takes
from gnomon.cli.output import Output
from gnomon.errors import GroupError
from gnomon.reading import UnreadableError, load_array

Matrix = Annotated[Path, typer.Argument(help="A square matrix of real numbers (.npy).")]
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        help="How well the matrix is known, relative to its norm. Default: 1e-10, more in float32.",
    ),
]
AsStep = Annotated[
    bool,
    typer.Option(
        "--step",
        help="The matrix is a step A(1) on integer positions, not a generator X of exp(tX).",
    ),
]


@takes(output=Output)
def classify(
    matrix: Matrix,
    *,
    tolerance: Tolerance = None,
    step: AsStep = False,
    output: Output,
) -> None:
    """Name the encoding that a generator matrix is, with its blocks and what else it may be."""
    from gnomon.groups import classify as classified
    from gnomon.groups import classify_step
    from gnomon.report import classification_text

    output.check()
    known = _read(matrix)
    route: Any = classify_step if step else classified
    value = route(known, tolerance=tolerance).to_dict()
    output.emit(value, classification_text(value, step=step))


def _read(path: Path) -> Any:
    """Read an array that holds plain numbers; everything else is refused in one sentence."""
    if not path.exists():
        raise GroupError(f"there is no file {path}; pass a square matrix saved by numpy.save.")
    if path.is_dir():
        raise GroupError(f"{path} is a folder; pass a square matrix saved by numpy.save.")
    try:
        return load_array(path)
    except (OSError, UnreadableError) as error:
        raise GroupError(
            f"{path} cannot be read as a .npy file ({error}); pass a square matrix saved by "
            "numpy.save."
        ) from error
