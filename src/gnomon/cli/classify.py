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
        "--step", help="The matrix is a step A(1) on whole positions, not a generator X of exp(tX)."
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

    output.check()
    known = _read(matrix)
    route: Any = classify_step if step else classified
    value = route(known, tolerance=tolerance).to_dict()
    output.emit(value, _text(value, step=step))


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
            f"{path} can not be read as a .npy file ({error}); pass a square matrix saved by "
            "numpy.save."
        ) from error


def _text(value: dict[str, Any], *, step: bool) -> str:
    """Return the name, the blocks in a line each, and the warnings."""
    lines = [value["named"]]
    if step and not value["has_generator"]:
        lines.append(f"no real generator: {value['reason']}")
    if value["structure"]:
        lines += ["", _blocks(value["structure"]), ""]
    words = {"causal": "for t >= 0", "both": "for all t"}
    ways = [words[way] for way in words if value["bounded"][way]]
    lines.append(f"bounded {ways[-1]}" if ways else "not bounded for t >= 0")
    own = value["step"] if step else value
    far = own["distance"]
    lines.append(
        f"at tolerance {own['tolerance']:.1e} of |X|; the nearest more special structure "
        + ("is not near" if far is None else f"that was found is {far:.1e} away")
        + f"; departure from normality {own['departure']:.3g}"
    )
    lines += _other_readings(own)
    lines += [f"warning: {sentence}" for sentence in value["warnings"]]
    return "\n".join(lines)


def _other_readings(known: dict[str, Any]) -> list[str]:
    """Return what else the matrix may be, where that cannot be told."""
    if known["verdict"] == "settled":
        return []
    lines = [f"which structure it is cannot be told: this one is {known['residual']:.1e} away"]
    return lines + [
        f"  or {one['blocks']}, {one['residual']:.1e} away (tolerance {one['tolerance']:.1e})"
        for one in known["alternatives"]
    ]


def _blocks(founds: list[dict[str, Any]]) -> str:
    from gnomon.report import table

    header = ["kind", "decay", "frequency", "order", "count", "error", "condition"]
    rows = [
        [
            one["kind"],
            f"{one['decay']:.6g}",
            f"{one['frequency']:.6g}",
            one["order"],
            one["count"],
            f"{one['backward_error']:.1e}",
            f"{one['condition']:.3g}",
        ]
        for one in founds
    ]
    return table(header, rows)
