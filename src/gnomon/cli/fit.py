"""`gnomon fit`: an encoding fitted to a corpus, as a file that a model can load.

`--family mds` places vectors at the distances of the corpus; `group` and `alibi` give a relative
encoding the periods and half-lives that tokens have by lag. Where nothing depends on the lag, that
is said, and no file is written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import gnomon
from gnomon.cli.options import Verbose, check_page, some, takes
from gnomon.cli.output import Output, warn
from gnomon.corpus import CountOptions
from gnomon.errors import InputError, nearest
from gnomon.files import check_place, write_with
from gnomon.pipeline import FitOptions, SurveyOptions

FAMILIES = ("mds", "group", "alibi")
ONLY_LAGS = ("lags", "heads", "page")
"""Parameters that a table has no use for."""
NOT_LAGS = (
    *("rank", "method", "estimator", "metric", "scale", "match", "masked", "beyond", "reach"),
    *("rotation", "no_rotation", "window", "stride", "minimum_count", "top_k", "bins"),
    *("shuffles", "memory", "threads"),
)
"""Parameters that lags have no use for: no position is measured, and no vector placed."""

Place = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A corpus (as of survey), a counts.npz, or the folder of a survey.",
    ),
]
Family = Annotated[
    str,
    typer.Option(
        "--family",
        help="mds (vectors with the distances of the corpus), group (rotations and decays with its "
        "periods and half-lives), or alibi (slopes with its half-lives).",
    ),
]
Lags = Annotated[int, typer.Option("--lags", help="group, alibi: lags to look at, from 1 on.")]
Heads = Annotated[
    int | None,
    typer.Option("--heads", help="group, alibi: heads, each with its own share of what is found."),
]
Page = Annotated[
    Path | None,
    typer.Option("--report", help="group, alibi: the page (.html) that says what was found."),
]
Dimension = Annotated[
    int | None,
    typer.Option(
        "--dimension", help="Dimension d of the vectors (128), or of a head with a group (64)."
    ),
]
NoRotation = Annotated[
    bool, typer.Option("--no-rotation", help="Fitted directions first, then zeros.")
]
Out = Annotated[
    Path | None, typer.Option("--out", help="The .safetensors file that receives the encoding.")
]
_FITTING = some(
    FitOptions,
    *("rank", "method", "estimator", "metric", "scale", "match", "masked", "beyond", "reach"),
    "rotation",
)


@takes(
    fitting=_FITTING,
    counting=CountOptions,
    again=some(SurveyOptions, "shuffles"),
    output=Output,
)
def fit(
    context: typer.Context,
    source: Place,
    *,
    family: Family = "mds",
    lags: Lags = 128,
    heads: Heads = None,
    page: Page = None,
    dimension: Dimension = None,
    fitting: dict[str, Any],
    no_rotation: NoRotation = False,
    counting: CountOptions,
    again: dict[str, Any],
    out: Out = None,
    output: Output,
    verbose: Verbose = False,
) -> None:
    """Fit an encoding to a corpus and write it as a file that NumPy, PyTorch and JAX load."""
    _check_family(context, family)
    place = _check_place(out)
    output.check()
    if family == "mds":
        given = fitting | {"seed": counting.seed}
        given |= {"rotation": None} if no_rotation else {}
        given |= {} if dimension is None else {"dimension": dimension}
        options = FitOptions(**given)
        _fit_vectors(source, counting, options, again["shuffles"], place, output, verbose=verbose)
        return
    if page is not None:
        check_page(page, "--report", "lags.html")
    sizes = {"family": family, "lags": lags, "dimension": dimension, "heads": heads}
    _fit_by_lag(source, counting, sizes, place, page, output)


def _check_family(context: typer.Context, family: str) -> None:
    """Refuse a family that there is not, and options that it has no use for."""
    if family not in FAMILIES:
        raise InputError(f"--family {family!r} is unknown: {nearest(family, FAMILIES)}.")
    unused = set(ONLY_LAGS if family == "mds" else NOT_LAGS)
    unused |= {"dimension"} if family == "alibi" else set()
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name in unused and source is not None and source.name == "COMMANDLINE":
            raise InputError(
                f"{parameter.opts[0]} does nothing with --family {family}; leave it out."
            )


def _check_place(out: Path | None) -> Path:
    """Return where the encoding goes, or refuse the place before the work is done for it."""
    if out is None:
        raise InputError(
            "--out is missing; name the file that receives the encoding, as "
            "--out encoding.safetensors."
        )
    if out.is_dir():
        raise InputError(
            f"--out {out} is a folder; name a file in it, as {out / 'encoding.safetensors'}."
        )
    if out.suffix != ".safetensors":
        raise InputError(f"--out {out} does not end in .safetensors; name such a file.")
    check_place(out)
    return out


def _fit_vectors(
    source: str,
    counting: CountOptions,
    options: FitOptions,
    shuffles: int,
    place: Path,
    output: Output,
    *,
    verbose: bool,
) -> None:
    """Fit vectors; warnings go to standard error, where no pipe swallows them."""
    from gnomon.pipeline import fit_place
    from gnomon.report import fit_text

    with output.progress() as progress:
        made = fit_place(source, counting, options, shuffles=shuffles, progress=progress)
    made.save(place)
    card = made.to_dict()
    text = f"{fit_text(card, verbose=verbose)}\n\nwritten to {place}"
    output.emit(card | {"file": str(place)}, text)
    for warning in made.warnings:
        warn(f"warning: {warning}")


def _fit_by_lag(
    source: str,
    counting: CountOptions,
    sizes: dict[str, Any],
    place: Path,
    page: Path | None,
    output: Output,
) -> None:
    """Measure the lags of a corpus; write the encoding, and the page where one is asked for."""
    from gnomon.pipeline import fit_lags
    from gnomon.report import lag_fit_lines, lags_page

    with output.progress() as progress:
        progress.stage("lags")
        fitted = fit_lags(source, counting, **sizes)
    value = fitted.to_dict() | {"file": None if fitted.made is None else str(place)}
    text = fitted.found.text(heads=sizes["heads"])
    lines = [text, "", *lag_fit_lines(value, life_limit=fitted.life_limit)]
    if fitted.made is not None:
        fitted.made.save(place, origin=fitted.origin | {"gnomon": gnomon.__version__})
        lines.append(f"written to {place}")
    if page is not None:
        stored = lags_page(value, text, version=gnomon.__version__)
        write_with(page, lambda handle: handle.write(stored))
        lines.append(f"page: {page}")
    output.emit(value, "\n".join(lines))
