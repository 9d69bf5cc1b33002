"""Surveys on disk, as a page needs them.

survey.json is held against its schema, geometry.npz against survey.json. Both may come from a
stranger. What does not keep to the schema is refused in one sentence; numbers that JSON does not
have (NaN, Infinity, 1e999) are refused as well. What keeps to the schema may still not go together,
and is refused while it is drawn (`refuse_mixed`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.errors import InputError
from gnomon.reading import read_written, refuse_mismatch

if TYPE_CHECKING:
    from gnomon.pipeline import Pictures


MOST_BYTES = 256 * 2**20
Read = tuple[str, dict[str, Any], "Pictures | None"]


def read_surveys(paths: Sequence[Path]) -> list[Read]:
    """Return (label, contents of survey.json, pictures or None) of each folder or file."""
    found = [(survey_file(path), *read_survey(survey_file(path))) for path in paths]
    labels = unique([label_of(contents) for _, contents, _ in found], [p for p, _, _ in found])
    return [
        (label, contents, drawn) for label, (_, contents, drawn) in zip(labels, found, strict=True)
    ]


def refuse_mixed(paths: Sequence[Path]) -> AbstractContextManager[None]:
    """Refuse surveys whose values do not go together, where they are drawn."""
    names = ", ".join(str(survey_file(path)) for path in paths)
    return refuse_mismatch(
        names, "run the survey again, and report it if a fresh one is refused, too"
    )


def survey_file(path: Path) -> Path:
    """Return the survey.json that a folder or a path means."""
    return path / "survey.json" if path.is_dir() else path


def folders_from(place: Path, paths: Sequence[Path]) -> list[str]:
    """Return where the files of each survey are, seen from the folder of a page.

    Below it, the path; elsewhere the folder's name alone, so that a page that is passed on does not
    tell how somebody's disk is arranged.

    >>> folders_from(Path("a"), [Path("a/survey.json"), Path("a/b/c/survey.json")])
    ['', 'b/c']
    """
    found = []
    for path in paths:
        folder, from_here = survey_file(path).absolute().parent.resolve(), place.resolve()
        below = folder.is_relative_to(from_here)
        found.append(folder.relative_to(from_here).as_posix() if below else folder.name)
    return ["" if one == "." else one for one in found]


def read_survey(path: Path) -> tuple[dict[str, Any], Pictures | None]:
    """Read one survey.json and the geometry.npz beside it, where there is one."""
    from gnomon.pipeline import load_pictures

    contents = read_contents(path)
    beside = path.with_name("geometry.npz")
    if not beside.exists():
        return contents, None
    drawn = load_pictures(beside)
    _check_match(contents, drawn, beside)
    return contents, drawn


def read_contents(path: Path) -> dict[str, Any]:
    """Read one survey.json and hold it against the schema."""
    from gnomon.pipeline import SCHEMA_VERSION, fault

    contents = _parse(path)
    if not isinstance(contents, dict) or "schema_version" not in contents:
        raise InputError(
            f"{path} is JSON but no survey; name a folder that `gnomon survey --out` wrote."
        )
    version = contents["schema_version"]
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise InputError(
            f"{path} has schema version {version}, and this Gnomon reads {SCHEMA_VERSION}; "
            "update it with `pip install --upgrade gnomon`."
        )
    wrong = fault(contents)
    if wrong is not None:
        raise InputError(
            f"{path} does not keep to the schema of survey.json ({wrong}); run the survey again."
        )
    return contents


def _parse(path: Path) -> Any:
    try:
        return read_written(path, most=MOST_BYTES)
    except FileNotFoundError as error:
        raise InputError(
            f"there is no {path}; name a folder that `gnomon survey --out` wrote, or its "
            "survey.json."
        ) from error
    except OSError as error:
        raise InputError(f"{path} could not be read ({error.strerror}); check it.") from error
    except ValueError as error:
        where = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise InputError(
            f"{path} is damaged or no JSON ({where[:80]}); run the survey again."
        ) from error


def _check_match(contents: dict[str, Any], drawn: Pictures, path: Path) -> None:
    """Refuse pictures of another survey: their positions are not the measured ones."""
    measured = [i for i, p in enumerate(contents["positions"]) if p["status"] != "masked"]
    axes = tuple(contents["corpus"]["axes"])
    same = drawn.positions.tolist() == measured and tuple(drawn.axes) == axes
    if not same or len(drawn.shepard_made) != len(contents["encodings"]):
        raise InputError(
            f"{path} belongs to another survey than the survey.json beside it; run it again."
        )


def label_of(contents: dict[str, Any]) -> str:
    """Return the short name of a corpus: its source without the folders.

    >>> label_of({"corpus": {"source": "/data/texts/reviews.csv (column text)"}})
    'reviews.csv (column text)'
    """
    source = str(contents["corpus"]["source"]).strip()
    head, bracket, rest = source.partition(" (")
    return (head.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] or head) + bracket + rest


def unique(labels: list[str], paths: Sequence[Path]) -> list[str]:
    """Return labels that differ: by the folder, then by a number, where corpora share a name.

    >>> unique(["a", "a"], [Path("x/survey.json"), Path("y/survey.json")])
    ['a, x', 'a, y']
    """
    named = [
        f"{label}, {path.absolute().parent.name}" if labels.count(label) > 1 else label
        for label, path in zip(labels, paths, strict=True)
    ]
    return [
        f"{name} ({named[: i + 1].count(name)})" if named.count(name) > 1 else name
        for i, name in enumerate(named)
    ]
