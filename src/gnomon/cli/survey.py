"""`gnomon survey`: the main job."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.cli import options as o
from gnomon.cli.counting import count_options
from gnomon.cli.output import check_json, emit
from gnomon.cli.progress import TerminalProgress
from gnomon.files import check_writable, write_with

PAGE = "report.html"

Tables = Annotated[
    list[Path] | None,
    typer.Option(
        "--table",
        help="A table to compare (.npy, .npz, .safetensors; FILE:NAME where a file holds several); "
        "may be repeated.",
    ),
]
FirstRow = Annotated[
    list[int] | None,
    typer.Option(
        "--first-row",
        min=0,
        help="Row of a --table that stands for position 0: 1 where row 0 is that of [CLS], as in "
        "BERT, 2 for RoBERTa and OPT. Once for all tables, or once for each. Default: 0.",
    ),
]
Encodings = Annotated[
    list[str] | None,
    typer.Option(
        "--encoding",
        help="A further encoding of `gnomon catalogue` to compare, as xpos; may be repeated.",
    ),
]
ShowTokens = Annotated[
    bool,
    typer.Option(
        "--show-tokens",
        help="Name typical tokens of the positions that differ, in survey.json and on the page; "
        "otherwise no text of the corpus is shown.",
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
    shuffles: o.Shuffles = 2,
    draws: o.Draws = None,
    table: Tables = None,
    first_row: FirstRow = None,
    encoding: Encodings = None,
    show_tokens: ShowTokens = False,
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
    from gnomon.pipeline import SurveyOptions

    counting = count_options(
        file_format=file_format,
        column=column,
        group=group,
        unit=unit,
        split=split,
        separator=separator,
        dtype=dtype,
        errors=errors,
        limit_line=limit_line,
        limit_expansion=limit_expansion,
        limit_tokenizer=limit_tokenizer,
        tokenizer=tokenizer,
        vocabulary=vocabulary,
        length=length,
        window=window,
        stride=stride,
        minimum_count=minimum_count,
        top_k=top_k,
        bins=bins,
        folds=folds,
        engine=engine,
        memory=memory,
        threads=threads,
        no_cache=no_cache,
        seed=seed,
    )
    surveying = SurveyOptions(
        dimension=dimension,
        rank=rank,
        metric=metric,
        seed=seed,
        shuffles=shuffles,
        draws=draws,
        tables=tuple(table or ()),
        first_rows=tuple(first_row or ()),
        encodings=tuple(encoding or ()),
        show_tokens=show_tokens,
    )
    if dry_run:
        _estimate(corpus, counting, surveying, json_file=json_file, quiet=quiet)
        return
    _check_places(out, json_file)
    with closing(TerminalProgress(quiet=quiet)) as progress:
        found, text = _surveyed(corpus, counting, surveying, out, progress, verbose=verbose)
    emit(found, text, json_file=json_file, quiet=quiet)


def _check_places(out: Path | None, json_file: str | None) -> None:
    """Refuse places that can not be written to before the work is done for them."""
    if out is not None:
        check_writable(out)
    check_json(json_file)


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
    from gnomon.corpus import BUILTIN
    from gnomon.pipeline import survey_with
    from gnomon.report import survey_text

    results: dict[str, dict[str, Any]] = {}
    pages: list[Any] = []
    for name in [corpus] if corpus is not None else list(BUILTIN):
        chosen = counting if corpus is not None else _for(name, counting)
        found = survey_with(name, chosen, surveying, progress=progress)
        results[name] = found.to_dict()
        if out is not None:
            progress.stage("the page")
            pages.append(_saved(found, results[name], out if corpus is not None else out / name))
    text = "\n\n".join(survey_text(r, verbose=verbose) for r in results.values())
    if out is not None:
        text += f"\n\nwritten to {out}\npage: {_page_of_all(pages, list(results), out)}"
    return (results[corpus] if corpus is not None else {"surveys": results}), text


def _saved(found: Any, contents: dict[str, Any], folder: Path) -> Any:
    """Write a survey with its page; return what a page of several surveys needs of it."""
    from gnomon.pipeline import pictures, save_survey
    from gnomon.report import label_of, page_bytes

    drawn = pictures(found)
    shown = (label_of(contents), contents, drawn)
    save_survey(found, folder, more={PAGE: page_bytes([shown])}, pictures=drawn)
    return shown


def _page_of_all(pages: list[Any], folders: list[str], out: Path) -> Path:
    """Return the page of a survey, or make one of several that compares them."""
    from gnomon.report import page_bytes

    if len(pages) > 1:
        whole = page_bytes(pages, folders=folders)
        write_with(out / PAGE, lambda handle: handle.write(whole))
    return out / PAGE


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
    from gnomon.corpus import BUILTIN
    from gnomon.pipeline import estimate, estimate_text

    if corpus is not None:
        found = estimate(corpus, counting, surveying)
        emit(found.to_dict(), estimate_text(found), json_file=json_file, quiet=quiet)
        return
    all_found = {name: estimate(name, _for(name, counting), surveying) for name in BUILTIN}
    text = "\n\n".join(estimate_text(one) for one in all_found.values())
    value = {"estimates": {name: one.to_dict() for name, one in all_found.items()}}
    emit(value, text, json_file=json_file, quiet=quiet)
