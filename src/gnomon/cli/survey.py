"""`gnomon survey`: the main job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.cli.options import Verbose, takes
from gnomon.cli.output import Output, TerminalProgress
from gnomon.corpus import CountOptions
from gnomon.files import check_writable, write_with
from gnomon.pipeline import SurveyOptions

PAGE = "report.html"

Out = Annotated[Path | None, typer.Option("--out", help="Folder that receives the files.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Estimate memory and time, then stop.")]
Corpus = Annotated[
    str | None,
    typer.Argument(
        help="File, folder, glob, URL, hf:NAME, built-in name, or -. Default: all built-in ones."
    ),
]


@takes(counting=CountOptions, comparing=SurveyOptions, output=Output)
def survey(
    corpus: Corpus = None,
    *,
    counting: CountOptions,
    comparing: SurveyOptions,
    dry_run: DryRun = False,
    out: Out = None,
    output: Output,
    verbose: Verbose = False,
) -> None:
    """Survey a corpus: distances between positions, what of them is noise, stress, a verdict."""
    if dry_run:
        _estimate(corpus, counting, comparing, output)
        return
    if out is not None:
        check_writable(out)
    output.check()
    with output.progress() as progress:
        found, text = _survey_all(corpus, counting, comparing, out, progress, verbose=verbose)
    output.emit(found, text)


def _survey_all(
    corpus: str | None,
    counting: CountOptions,
    comparing: SurveyOptions,
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
        found = survey_with(name, chosen, comparing, progress=progress)
        results[name] = found.to_dict()
        if out is not None:
            progress.stage("the page")
            pages.append(_save(found, results[name], out if corpus is not None else out / name))
    text = "\n\n".join(survey_text(r, verbose=verbose) for r in results.values())
    if out is not None:
        text += f"\n\nwritten to {out}\npage: {_page_of_all(pages, list(results), out)}"
    return (results[corpus] if corpus is not None else {"surveys": results}), text


def _save(found: Any, contents: dict[str, Any], folder: Path) -> Any:
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
        page = page_bytes(pages, folders=folders)
        write_with(out / PAGE, lambda handle: handle.write(page))
    return out / PAGE


def _for(name: str, counting: CountOptions) -> CountOptions:
    """Leave the options of sequences out for a built-in grid when all built-ins are surveyed."""
    if name != "digits":
        return counting
    return replace(counting, length=None, window="start", stride=None, bins=None)


def _estimate(
    corpus: str | None, counting: CountOptions, comparing: SurveyOptions, output: Output
) -> None:
    from gnomon.corpus import BUILTIN
    from gnomon.pipeline import estimate, estimate_text

    if corpus is not None:
        found = estimate(corpus, counting, comparing)
        output.emit(found.to_dict(), estimate_text(found))
        return
    all_found = {name: estimate(name, _for(name, counting), comparing) for name in BUILTIN}
    text = "\n\n".join(estimate_text(one) for one in all_found.values())
    output.emit({"estimates": {name: one.to_dict() for name, one in all_found.items()}}, text)
