"""`gnomon lab report`: one page of a grid that was run, or of what `gnomon reproduce` found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import gnomon
from gnomon.cli import options as o
from gnomon.cli.output import check_json, emit
from gnomon.errors import InputError
from gnomon.files import check_place, write_with
from gnomon.reading import believing, read_written

Place = Annotated[
    Path,
    typer.Argument(
        help="A grid (TOML, or the name of one that ships), its folder of records, or the JSON of "
        "`gnomon reproduce`."
    ),
]
Records = Annotated[
    Path | None,
    typer.Option("--records", help="Folder of the grid's records. Default: its name, beside it."),
]
Page = Annotated[
    Path | None,
    typer.Option("--out", help="The page, an HTML file. Default: report.html in the folder."),
]


def report(
    place: Place,
    *,
    records: Records = None,
    out: Page = None,
    json_file: o.Json = None,
    quiet: o.Quiet = False,
) -> None:
    """Make one self-contained page of a grid: scores, curves, heads, lengths."""
    from gnomon.report import lab_page

    check_json(json_file)
    told = records or place
    with believing(str(told), "make it again, and report it if a fresh one is refused, too"):
        contents, default = _contents(place, records)
        page = _checked(out or default)
        made = lab_page(contents, version=gnomon.__version__)
    write_with(page, lambda handle: handle.write(made))
    rows = sum(len(grid["rows"]) for grid in contents["grids"])
    value = {"page": str(page), "bytes": len(made), "name": contents["name"], "rows": rows}
    emit(value, f"page: {page}", json_file=json_file, quiet=quiet)


def _contents(place: Path, records: Path | None) -> tuple[dict[str, Any], Path]:
    """Return what is drawn, and where its page goes unless another place is named."""
    if records is None and place.suffix == ".json" and place.is_file():
        return _of_record(place), place.with_suffix(".html")
    from gnomon.lab import built_in_grids, folder_table, read_grid

    if records is None and place.is_dir():
        folder, grid = place, None
    elif place.suffix == ".toml" or str(place) in built_in_grids():
        folder, grid = records or place.with_suffix(""), read_grid(place)
    elif records is not None:
        raise InputError(f"{place} is no grid, which --records is for; name one, in TOML.")
    else:
        what = "is neither" if place.exists() else "does not exist"
        raise InputError(
            f"{place} {what}; name a grid, the folder of its records, or the JSON of "
            "`gnomon reproduce`."
        )
    made = folder_table(folder, grid=grid)
    if not made["rows"]:
        raise InputError(
            f"{folder} holds no records of reported runs{' of this grid' if grid else ''}; run the "
            "grid first, with `gnomon lab run`."
        )
    told = {"name": made["name"], "question": made["question"], "grids": [made]}
    return told, folder / "report.html"


def _of_record(place: Path) -> dict[str, Any]:
    """Return the contents of a record that `gnomon reproduce` wrote of grids."""
    try:
        record = read_written(place)
        laboratory = record["corpora"]["laboratory"]
        grids = list(laboratory["grids"].values())
        title, verdicts, notes = record["title"], record["verdicts"], record["notes"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{place} is no record of a grid ({_lacks(error)}); pass the JSON that "
            "`gnomon reproduce deposit --json FILE` or another of its grids writes."
        ) from error
    beside = {key: laboratory.get(key) for key in ("optimisation", "stress", "correlations")}
    return {
        "name": record["name"],
        "question": title,
        "grids": grids,
        "verdicts": verdicts,
        "notes": notes,
        **beside,
    }


def _lacks(error: Exception) -> str:
    """Say in words what a file lacks."""
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def _checked(page: Path) -> Path:
    """Refuse a place that no page can be written to."""
    if page.is_dir():
        raise InputError(f"{page} is a folder; name a file with --out, such as report.html.")
    if page.suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"--out {page} is no HTML file; give it a name that ends in .html.")
    check_place(page)
    return page
