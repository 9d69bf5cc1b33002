"""One self-contained page of one or several surveys: text, style, script, Plotly and all numbers.

Nothing is fetched: the page's own policy (Content-Security-Policy) forbids every connection and
every script but the two whose SHA-256 it names, so that text of a corpus could not run even if it
slipped through the escaping of the templates.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.report.page import glossary, numbers, words
from gnomon.report.page.explanations import explanation
from gnomon.report.page.packing import Packer, script_json
from gnomon.report.page.reading import label_of
from gnomon.report.page.reference import reference_scale, without

if TYPE_CHECKING:
    from gnomon.pipeline import Pictures
    from gnomon.report.figure import Figure

Given = tuple[str, dict[str, Any], "Pictures | None"]
_ROOM = "gnomon.report.page"
ENCODING = "encoding.safetensors"


@dataclass(frozen=True)
class Shown:
    """A figure's place on the page."""

    id: str
    figure: Figure
    explanation: Sequence[str]


@dataclass(frozen=True)
class Part:
    """One survey on the page."""

    index: int
    label: str
    contents: dict[str, Any]
    figures: list[Shown]
    folder: str
    """Where its files are, seen from the page; empty where they are beside it."""

    @property
    def encoding(self) -> str:
        """The file of the fitted encoding, seen from the page."""
        return f"{self.folder}/{ENCODING}" if self.folder else ENCODING


def page(surveys: Sequence[Given], *, folders: Sequence[str] | None = None) -> str:
    """Return the HTML text of one survey, or of several with a comparison first.

    `folders` says where the files of each survey are, seen from the page; by default beside it.
    """
    from gnomon.report.figures import survey_figures

    packer, store = Packer(), dict[str, Any]()
    parts = [
        Part(
            i,
            label,
            contents,
            _shown(survey_figures(contents, drawn), f"s{i}", label, packer, store),
            folders[i] if folders is not None else "",
        )
        for i, (label, contents, drawn) in enumerate(surveys)
    ]
    comparison = _shown(_compared(surveys), "all", "comparison", packer, store)
    figures = {"arrays": packer.arrays, "figures": store}
    scripts = page_scripts()
    return str(
        page_environment()
        .get_template("page.html")
        .render(
            parts=parts,
            comparison=comparison,
            style=page_style(),
            policy=page_policy(scripts.values()),
            figures=script_json(figures),
            whole_scale=reference_scale(),
            **scripts,
        )
    )


def _compared(surveys: Sequence[Given]) -> Sequence[Figure]:
    from gnomon.report import figures

    several = [(label, contents) for label, contents, _ in surveys]
    return figures.compare_figures(several) if len(several) > 1 else []


def page_bytes(surveys: Sequence[Given], *, folders: Sequence[str] | None = None) -> bytes:
    """Return the page as UTF-8; half a character (in a file name) becomes its escape."""
    return page(surveys, folders=folders).encode("utf-8", "backslashreplace")


def page_of_folders(paths: Sequence[Path], *, at: Path | None = None) -> str:
    """Return the page of surveys on disk, folders or survey.json files, in this order.

    `at` is the folder that will hold the page; by default that of the first survey.
    """
    from gnomon.report.page.reading import drawing, folders_from, read_surveys, survey_file

    place = survey_file(paths[0]).parent if at is None else at
    found = read_surveys(paths)
    with drawing(paths):
        return page(found, folders=folders_from(place, paths))


def _shown(
    figures: Sequence[Figure], prefix: str, label: str, packer: Packer, store: dict[str, Any]
) -> list[Shown]:
    found = []
    for figure in figures:
        place = f"{prefix}-{figure.key}"
        if figure.missing is None:
            store[place] = packer.figure(figure, file=f"{file_name(label)}-{figure.key}")
        found.append(Shown(place, figure, explanation(figure.key)))
    return found


def file_name(label: str) -> str:
    """Return a label as the name of a file that every system takes.

    >>> file_name("digits (scikit-learn)"), file_name("<img>")
    ('digits-scikit-learn', 'img')
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", label).strip("-")[:60] or "corpus"


def page_environment() -> Any:
    """Return the templates of pages, with the functions that they use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(_ROOM),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(
        words=words,
        shown=numbers.shown,
        tied=_tied,
        scale_for=without,
        glossary=glossary.WORDS,
        anchor=glossary.anchor,
        word=glossary.link,
        label_of=label_of,
    )
    return made


def _tied(part: Part) -> dict[str, Any]:
    """Return the functions that show numbers of one survey."""
    return {
        "number": partial(numbers.number, part.contents, survey=part.index),
        "interval": partial(numbers.interval, part.contents, survey=part.index),
    }


def page_style() -> str:
    """Return the style of every page."""
    return _text("page.css")


def page_scripts() -> dict[str, str]:
    """Return the two scripts of every page."""
    return {"plotly": _plotly(), "script": _text("page.js")}


def _text(name: str) -> str:
    return files(_ROOM).joinpath(name).read_text(encoding="utf-8")


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def page_policy(scripts: Any) -> str:
    """Return the policy of a page that runs these scripts and nothing else, and fetches nothing."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
