"""`gnomon survey`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.cli import options as o
from gnomon.cli.output import emit
from gnomon.cli.progress import TerminalProgress
from gnomon.errors import InputError
from gnomon.files import check_writable

Tables = Annotated[
    list[Path] | None,
    typer.Option(
        "--table",
        help="A table to compare (.npy, .npz, .safetensors; FILE:NAME where a file holds several); "
        "may be repeated.",
    ),
]
Shuffles = Annotated[
    int,
    typer.Option(
        "--shuffles",
        help="Passes over the corpus with every window shuffled, to tell word order from which "
        "documents reach a position; 0 for none.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Estimate memory and time, then stop.")]
Corpus = Annotated[
    str | None,
    typer.Argument(
        help="File, folder, glob, URL, hf:NAME, built-in name, or -. Default: all built-in ones."
    ),
]


def survey(
    corpus: Corpus = None,
    *,
    column: o.Column = None,
    group: o.Group = None,
    tokenizer: o.Tokenizer = None,
    length: o.Length = None,
    dimension: o.Dimension = 128,
    rank: o.Rank = 3,
    metric: o.Metric = "chord",
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
    shuffles: Shuffles = 2,
    table: Tables = None,
    engine: o.Engine = "local",
    memory: o.Memory = 4.0,
    threads: o.Threads = None,
    no_cache: o.NoCache = False,
    limit_line: o.LimitLine = 64 * 2**20,
    limit_expansion: o.LimitExpansion = 1000.0,
    limit_tokenizer: o.LimitTokenizer = 256 * 2**20,
    dry_run: DryRun = False,
    seed: o.Seed = 0,
    out: o.Out = None,
    json_file: o.Json = None,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Survey a corpus: distances between positions, what of them is noise, stress, a verdict."""
    from gnomon.corpus.counting import CountOptions
    from gnomon.corpus.limits import Limits
    from gnomon.survey.run import SurveyOptions

    _check_engine(engine)
    counting = CountOptions(
        format=file_format,
        column=column,
        group=group,
        unit=unit,  # type: ignore[arg-type]  # checked by the reader, with the names there are
        split=split,
        separator=separator,
        dtype=dtype,
        errors=errors,  # type: ignore[arg-type]  # likewise
        limits=Limits(
            line_bytes=limit_line, expansion=limit_expansion, tokenizer_bytes=limit_tokenizer
        ),
        tokenizer=tokenizer,
        vocabulary=vocabulary,
        length=length,
        window=window,  # type: ignore[arg-type]  # likewise
        stride=stride,
        minimum_count=minimum_count,
        top_k=top_k,
        bins=o.number_or_word(bins),
        folds=folds,
        memory=_bytes(memory),
        threads=threads,
        cache=not no_cache,
        seed=seed,
    )
    surveying = SurveyOptions(
        dimension=dimension,
        rank=rank,
        metric=metric,
        seed=seed,
        shuffles=shuffles,
        tables=tuple(table or ()),
    )
    if dry_run:
        _estimate(corpus, counting, surveying, json_file=json_file, quiet=quiet)
        return
    _check_places(out, json_file)
    progress = TerminalProgress(quiet=quiet)
    try:
        found, text = _surveyed(corpus, counting, surveying, out, progress, verbose=verbose)
    finally:
        progress.close()
    emit(found, text, json_file=json_file, quiet=quiet)


def _check_engine(engine: str) -> None:
    if engine != "local":
        raise InputError(
            f"--engine {engine!r} is unknown; this version counts on one machine: local."
        )


def _bytes(gigabytes: float) -> int:
    if not 0 < gigabytes < 2**33:  # also NaN
        raise InputError(f"--memory is {gigabytes:g} GB; it must be more than 0, and a size.")
    return max(int(gigabytes * 2**30), 1)


def _check_places(out: Path | None, json_file: str | None) -> None:
    """Refuse places that can not be written to before the work is done for them."""
    if out is not None:
        check_writable(out)
    if json_file not in (None, "-"):
        check_writable(Path(str(json_file)).parent)


def _surveyed(
    corpus: str | None,
    counting: Any,
    surveying: Any,
    out: Path | None,
    progress: TerminalProgress,
    *,
    verbose: bool,
) -> tuple[dict[str, Any], str]:
    """Survey one corpus, or all built-in ones, each into a folder of its own."""
    from gnomon.corpus.reading.builtin import BUILTIN
    from gnomon.report.text import survey_text
    from gnomon.survey.run import survey_with
    from gnomon.survey.saving import save_survey

    results: dict[str, dict[str, Any]] = {}
    for name in [corpus] if corpus is not None else list(BUILTIN):
        chosen = counting if corpus is not None else _for(name, counting)
        found = survey_with(name, chosen, surveying, progress=progress)
        results[name] = found.to_dict()
        if out is not None:
            save_survey(found, out if corpus is not None else out / name)
    text = "\n\n".join(survey_text(r, verbose=verbose) for r in results.values())
    if out is not None:
        text += f"\n\nwritten to {out}"
    return (results[corpus] if corpus is not None else {"surveys": results}), text


def _for(name: str, counting: Any) -> Any:
    """Leave the options of sequences out for a built-in grid when all built-ins are surveyed."""
    from dataclasses import replace

    return (
        replace(counting, length=None, window="start", stride=None, bins=None)
        if name == "digits"
        else counting
    )


def _estimate(
    corpus: str | None, counting: Any, surveying: Any, *, json_file: str | None, quiet: bool
) -> None:
    from gnomon.corpus.reading.builtin import BUILTIN
    from gnomon.survey.estimate import estimate, estimate_text

    if corpus is not None:
        found = estimate(corpus, counting, surveying)
        emit(found.to_dict(), estimate_text(found), json_file=json_file, quiet=quiet)
        return
    all_found = {name: estimate(name, _for(name, counting), surveying) for name in BUILTIN}
    text = "\n\n".join(estimate_text(one) for one in all_found.values())
    value = {"estimates": {name: one.to_dict() for name, one in all_found.items()}}
    emit(value, text, json_file=json_file, quiet=quiet)
