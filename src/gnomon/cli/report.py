"""`gnomon report`: one page of one or several surveys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.cli.options import takes
from gnomon.cli.output import Output
from gnomon.errors import InputError
from gnomon.files import check_place, write_with

Surveys = Annotated[
    list[Path],
    typer.Argument(help="Folders that `gnomon survey --out` wrote, or their survey.json files."),
]
Page = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="The page, an HTML file. Default, for one survey: report.html beside survey.json.",
    ),
]


@takes(output=Output)
def report(surveys: Surveys, *, out: Page = None, output: Output) -> None:
    """Make one self-contained page of a survey, or of several side by side."""
    from gnomon.report import folders_from, page_bytes, read_surveys, refuse_mixed

    place = _place(surveys, out)
    check_place(place)
    output.check()
    found = read_surveys(surveys)
    with refuse_mixed(surveys):
        page = page_bytes(found, folders=folders_from(place.parent, surveys))
    write_with(place, lambda handle: handle.write(page))
    value = {
        "page": str(place),
        "bytes": len(page),
        "surveys": [_line(label, contents) for label, contents, _ in found],
    }
    output.emit(value, f"page: {place}")


def _place(surveys: list[Path], out: Path | None) -> Path:
    from gnomon.report import survey_file

    if out is None:
        if len(surveys) > 1:
            raise InputError(
                f"{len(surveys)} surveys make one page, and it needs a place: name the file with "
                "--out."
            )
        return survey_file(surveys[0]).with_name("report.html")
    if out.is_dir():
        raise InputError(
            f"{out} is a folder; name a file with --out, such as {out / 'report.html'}."
        )
    if out.suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"--out {out} is no HTML file; give it a name that ends in .html.")
    return out


def _line(label: str, contents: dict[str, Any]) -> dict[str, Any]:
    keys = ("informative", "recommended")
    return {"label": label, **{key: contents["verdict"][key] for key in keys}}
