"""`gnomon fit`: an encoding fitted to a corpus, as a file that a model can load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.cli import fit_group as lag
from gnomon.cli import options as o
from gnomon.cli.counting import count_options
from gnomon.cli.output import check_json, emit, warn
from gnomon.cli.progress import TerminalProgress
from gnomon.errors import InputError
from gnomon.files import check_place

Place = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A corpus (as of survey), a counts.npz, or the folder of a survey.",
    ),
]
Rank = Annotated[
    str,
    typer.Option(
        "--rank",
        help="effective (directions above the noise edge), full (all there are), or a number.",
    ),
]
Method = Annotated[
    str, typer.Option("--method", help="classical (least strain) or smacof (least stress).")
]
Estimator = Annotated[
    str,
    typer.Option(
        "--estimator",
        help="debiased (noise taken out), plugin (as published), u, null-subtracted or split-half.",
    ),
]
Metric = Annotated[
    str | None,
    typer.Option("--metric", help="chord or angle. Default: chord, or that of the survey."),
]
Scale = Annotated[
    str | None,
    typer.Option(
        "--scale",
        help="corpus (its own distances), match (the root mean square of a token embedding), or "
        "learned (a trainable factor). Default: corpus, or match with --match.",
    ),
]
Match = Annotated[
    str | None,
    typer.Option(
        "--match",
        help="What to match: a token embedding (.npy, .npz, .safetensors, FILE:TENSOR), or the "
        "root mean square of its entries, as 0.02.",
    ),
]
Masked = Annotated[
    str,
    typer.Option(
        "--masked",
        help="Positions with too few tokens: continue (the last one trusted; on a grid the "
        "nearest), interpolate, or refuse.",
    ),
]
Beyond = Annotated[
    str,
    typer.Option(
        "--beyond",
        help="Positions past the end: refuse, clamp, or interpolate (stretched to --reach rows).",
    ),
]
Reach = Annotated[
    int | None, typer.Option("--reach", help="Rows after stretching, with --beyond interpolate.")
]
Rotation = Annotated[
    int, typer.Option("--rotation", help="Seed of the rotation into the dimension.")
]
NoRotation = Annotated[
    bool, typer.Option("--no-rotation", help="Fitted directions first, then zeros.")
]
Out = Annotated[
    Path | None, typer.Option("--out", help="The .safetensors file that receives the encoding.")
]


Dimension = Annotated[
    int | None,
    typer.Option(
        "--dimension", help="Dimension d of the vectors (128), or of a head with a group (64)."
    ),
]


def fit(
    context: typer.Context,
    source: Place,
    *,
    family: lag.Family = "mds",
    lags: lag.Lags = 128,
    heads: lag.Heads = None,
    page: lag.Page = None,
    dimension: Dimension = None,
    rank: Rank = "effective",
    method: Method = "classical",
    estimator: Estimator = "debiased",
    metric: Metric = None,
    scale: Scale = None,
    match: Match = None,
    masked: Masked = "continue",
    beyond: Beyond = "refuse",
    reach: Reach = None,
    rotation: Rotation = 0,
    no_rotation: NoRotation = False,
    column: o.Column = None,
    group: o.Group = None,
    tokenizer: o.Tokenizer = None,
    length: o.Length = None,
    window: o.Window = "start",
    stride: o.Stride = None,
    minimum_count: o.MinimumCount = 10,
    top_k: o.TopK = None,
    bins: o.Bins = None,
    folds: o.Folds = 16,
    file_format: o.Format = None,
    unit: o.Unit = "line",
    split: o.Split = None,
    separator: o.Separator = None,
    dtype: o.Dtype = None,
    vocabulary: o.Vocabulary = None,
    errors: o.Errors = "strict",
    shuffles: o.Shuffles = 2,
    engine: o.Engine = "local",
    memory: o.Memory = 4.0,
    threads: o.Threads = None,
    no_cache: o.NoCache = False,
    limit_line: o.LimitLine = 64 * 2**20,
    limit_expansion: o.LimitExpansion = 1000.0,
    limit_tokenizer: o.LimitTokenizer = 256 * 2**20,
    seed: o.Seed = 0,
    out: Out = None,
    json_file: o.Json = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Fit an encoding to a corpus and write it as a file that NumPy, PyTorch and JAX load."""
    given = dict(locals())
    lag.check_family(context, family)
    counting = count_options(**{key: given[key] for key in COUNTING})
    place = _checked_place(out, json_file)
    if family != "mds":
        lag.fit_lags(source, counting, given, place, TerminalProgress(quiet=quiet))
        return
    fitting = _fit_options({key: given[key] for key in FITTING}, no_rotation=no_rotation)
    progress = TerminalProgress(quiet=quiet)
    try:
        made = _fitted(source, counting, fitting, shuffles, progress)
    finally:
        progress.close()
    made.save(place)
    _report(made, place, json_file=json_file, quiet=quiet, verbose=verbose)


VECTORS = 128
"""Dimension of fitted vectors, where none is asked for."""
COUNTING = (
    *("column", "group", "tokenizer", "length", "window", "stride", "minimum_count", "top_k"),
    *("bins", "folds", "file_format", "unit", "split", "separator", "dtype", "vocabulary"),
    *("errors", "engine", "memory", "threads", "no_cache", "limit_line", "limit_expansion"),
    *("limit_tokenizer", "seed"),
)
FITTING = (
    *("dimension", "rank", "method", "estimator", "metric", "scale", "match", "masked"),
    *("beyond", "reach", "rotation", "seed"),
)


def _checked_place(out: Path | None, json_file: str | None) -> Path:
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
    check_json(json_file)
    return out


def _fit_options(given: dict[str, Any], *, no_rotation: bool) -> Any:
    from gnomon.pipeline import FitOptions

    given["dimension"] = VECTORS if given["dimension"] is None else given["dimension"]
    given["rank"] = o.number_or_word(given["rank"])
    given["match"] = _matched(given["match"])
    given["rotation"] = None if no_rotation else given["rotation"]
    return FitOptions(**given)


def _matched(text: str | None) -> Any:
    """Return the number, or the table of the file, that the scale is to match."""
    from gnomon.encodings import names_table, open_table

    if text is None:
        return None
    if names_table(text):
        return _table(open_table(text), text)
    try:
        return float(text)
    except ValueError as error:
        raise InputError(
            f"--match {text!r} is neither a number nor a file of numbers (.npy, .npz, "
            ".safetensors); pass a token embedding, or the root mean square of its entries."
        ) from error


def _table(opened: Any, text: str) -> Any:
    """Return the rows of a table from a file."""
    from gnomon.encodings import Fitted, Table

    if isinstance(opened, Fitted):
        return opened.table()
    if isinstance(opened, Table):
        return opened.values
    raise InputError(
        f"--match {text} holds the encoding {opened.name!r}, which is no table; pass a token "
        "embedding, or the root mean square of its entries."
    )


def _fitted(source: str, counting: Any, fitting: Any, shuffles: int, progress: Any) -> Any:
    from gnomon.pipeline import fit_place

    return fit_place(source, counting, fitting, shuffles=shuffles, progress=progress)


def _report(made: Any, place: Path, *, json_file: str | None, quiet: bool, verbose: bool) -> None:
    """Print the card in words; warnings go to standard error, where no pipe swallows them."""
    from gnomon.cli.fit_text import fitted_text

    card = made.to_dict()
    text = f"{fitted_text(card, verbose=verbose)}\n\nwritten to {place}"
    emit(card | {"file": str(place)}, text, json_file=json_file, quiet=quiet)
    for warning in made.warnings:
        warn(f"warning: {warning}")
