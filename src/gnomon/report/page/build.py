"""How a self-contained page is made: text, style, script, Plotly and all numbers in one file.

Nothing is fetched: the page's own policy (Content-Security-Policy) forbids every connection and
every script but the two whose SHA-256 it names, so that text of a corpus could not run even if it
slipped through the escaping of the templates.

*Arrays* stand in the page once each. A symmetric matrix travels as its upper triangle with the
diagonal, row by row, in 16-bit steps: value = low + code * step, code 65535 for what is not there,
so that an error is at most step / 2. A vector travels as float64, bit for bit, in base64. All
stands in one JSON text inside a script element that is not run; no text of a stranger can end that
element, since "<" is never written.

*Numbers* of survey.json stand each in an element that names where it comes from,
`<span data-survey="0" data-key="geometry.mean_squared.plugin">0.4984</span>`, so that a reader, or
a test, can hold the text against the file. What is null is a dash with its reason.

The reference scale, `reference.json`, ships with the package: what documented corpora gave, so that
a number means something.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from gnomon.report.figure import Figure, Symmetric, Triangles
from gnomon.report.page import glossary, words
from gnomon.report.page.glossary import explanation
from gnomon.report.page.reading import label_of
from gnomon.report.phrases import percent
from gnomon.report.text import cell

if TYPE_CHECKING:
    from gnomon.pipeline import Pictures


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
    comparison = _shown(_comparison(surveys), "all", "comparison", packer, store)
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


def _comparison(surveys: Sequence[Given]) -> Sequence[Figure]:
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
    from gnomon.report.page.reading import folders_from, read_surveys, refuse_mixed, survey_file

    place = survey_file(paths[0]).parent if at is None else at
    found = read_surveys(paths)
    with refuse_mixed(paths):
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
        shown=shown,
        tied=_number_functions,
        scale_for=without,
        glossary=glossary.WORDS,
        anchor=glossary.anchor,
        word=glossary.link,
        label_of=label_of,
    )
    return made


def _number_functions(part: Part) -> dict[str, Any]:
    """Return the functions that show numbers of one survey."""
    return {
        "number": partial(number, part.contents, survey=part.index),
        "interval": partial(interval, part.contents, survey=part.index),
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


ABSENT = 65535
"""The code of an entry that has no value."""
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_LONG = 32
"""Vectors of numbers longer than this are packed; shorter ones stay legible."""


class Packer:
    """Collects arrays; a matrix that several figures or a table use is stored once."""

    def __init__(self) -> None:
        self.arrays: list[dict[str, Any]] = []
        self._known: dict[tuple[str, bytes], int] = {}

    def figure(self, figure: Figure, *, file: str) -> dict[str, Any]:
        """Return a figure as plain values, its arrays as references."""
        return {
            "file": file,
            "height": figure.height,
            "data": self.value(figure.data),
            "layout": self.value(figure.layout),
            "narrow": self.value(figure.narrow),
            "table": self._table(figure.table),
        }

    def value(self, value: Any) -> Any:
        """Return a value that JSON can hold; what is undefined becomes null."""
        if isinstance(value, Symmetric):
            return self._store(np.asarray(value.matrix, np.float64), pack_symmetric)
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(np.asarray(value))
        if isinstance(value, Mapping):
            return {str(key): self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return value

    def _array(self, array: NDArray[Any]) -> Any:
        if array.ndim == 1 and array.dtype.kind in "fiu" and len(array) > _LONG:
            return self._store(array.astype("<f8"), pack_vector)
        return self.value(array.tolist())

    def _table(self, table: Any) -> Any:
        if isinstance(table, Triangles):
            return {
                "positions": self.value(list(table.positions)),
                "matrices": [[k, self.value(Symmetric(m))] for k, m in table.matrices.items()],
            }
        return {"columns": [[name, self.value(column)] for name, column in (table or {}).items()]}

    def _store(self, array: NDArray[np.float64], pack: Any) -> dict[str, int]:
        key = (pack.__name__, np.ascontiguousarray(array).tobytes())
        if key not in self._known:
            self._known[key] = len(self.arrays)
            self.arrays.append(pack(array))
        return {"$array": self._known[key]}


def pack_vector(vector: NDArray[np.float64]) -> dict[str, Any]:
    """Return a vector as float64 in base64.

    >>> pack_vector(np.array([1.0]))
    {'kind': 'vector', 'bytes': 'AAAAAAAA8D8='}
    """
    return {"kind": "vector", "bytes": _base64(vector.astype("<f8").tobytes())}


def pack_symmetric(matrix: NDArray[np.float64]) -> dict[str, Any]:
    """Return the upper triangle of a symmetric matrix in 16-bit steps between its extremes."""
    upper = matrix[np.triu_indices(len(matrix))]
    there = np.isfinite(upper)
    low, high = (upper[there].min(), upper[there].max()) if there.any() else (0.0, 0.0)
    step = float(high - low) / (ABSENT - 1)
    codes = np.full(len(upper), ABSENT, "<u2")
    codes[there] = np.rint((upper[there] - low) / step) if step > 0 else 0
    return {
        "kind": "symmetric",
        "n": len(matrix),
        "low": float(low),
        "step": step,
        "bytes": _base64(codes.tobytes()),
    }


def script_json(value: Any) -> str:
    r"""Return JSON that may stand inside a script element, whatever its strings hold.

    >>> script_json("</script><!--")
    '"\\u003c/script\\u003e\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


_NONE = "–"


def lookup(contents: Any, path: str) -> Any:
    """Return what stands at a path of keys and indices; None where the path ends early.

    >>> lookup({"a": [{"b": 7}]}, "a.0.b"), lookup({"a": None}, "a.0.b")
    (7, None)
    """
    found = contents
    for step in path.split("."):
        if isinstance(found, list):
            found = found[int(step)] if int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found


def shown(value: Any, style: str = "decimal") -> str:
    """Return a number as text in one of the styles: decimal, stress, percent, count, p, plain.

    >>> shown(0.0479), shown(0.38, "percent"), shown(64000, "count"), shown(None)
    ('0.0479', '38 %', '64,000', '–')
    """
    if value is None or isinstance(value, bool):
        return {None: _NONE, True: "yes", False: "no"}[value]
    if not isinstance(value, (int, float)):
        return str(value)
    return _STYLES[style](value)


def stress(value: float) -> str:
    """Return stress or skill with three decimals, or four digits where it is large.

    >>> stress(0.18069), stress(240.6), stress(2e-5), stress(1e-16), stress(-0.0171)
    ('0.181', '240.6', '<0.001', '0', '−0.017')
    """
    if abs(value) < 1e-12:
        return "0"
    if 0 < value < 0.0005:
        return "<0.001"
    text = f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
    return "\u2212" + text[1:] if text.startswith("-") else text


def decimal(value: float) -> str:
    """Return a number with four digits, its sign the printed one.

    >>> decimal(-0.0179), decimal(3e-17)
    ('−0.0179', '0')
    """
    text = "0" if abs(value) < 1e-12 else cell(value)
    return "\u2212" + text[1:] if text.startswith("-") else text


_STYLES: dict[str, Callable[[Any], str]] = {
    "decimal": decimal,
    "stress": stress,
    "percent": percent,
    "count": lambda value: f"{value:,.0f}",
    "p": lambda value: f"{value:.2g}",
    "plain": str,
}


def number(contents: Any, path: str, style: str = "decimal", *, survey: int = 0) -> Markup:
    """Return the element that shows the number at a path of survey.json."""
    value = lookup(contents, path)
    if value is None:
        reason = lookup(contents, ".".join([*path.split(".")[:-1], "reason"])) or "not defined here"
        return Markup(
            '<span class="none" data-survey="{}" data-key="{}" title="{}">{}</span>'
        ).format(survey, path, reason, _NONE)
    kind = Markup(' class="text"') if style == "plain" else ""
    return Markup('<span{} data-survey="{}" data-key="{}">{}</span>').format(
        kind, survey, path, shown(value, style)
    )


def interval(contents: Any, path: str, style: str = "decimal", *, survey: int = 0) -> Markup:
    """Return both ends of an interval, [low, high]; nothing where there is none."""
    if lookup(contents, path) is None:
        return Markup("")
    ends = [number(contents, f"{path}.{end}", style, survey=survey) for end in (0, 1)]
    return Markup('<span class="interval">[{}, {}]</span>').format(*ends)


@dataclass(frozen=True)
class Scale:
    """Corpora as columns, encodings under their lift as rows."""

    corpora: list[dict[str, Any]]
    encodings: list[tuple[str, str]]
    cells: dict[tuple[str, str, int], dict[str, Any]]
    made_by: str


def reference_scale() -> Scale | None:
    """Return the reference scale of the package, or None where there is none."""
    place = files("gnomon.report").joinpath("reference.json")
    if not place.is_file():
        return None
    found = json.loads(place.read_text(encoding="utf-8"))
    return _scale(found["corpora"], str(found["made_by"]))


def without(scale: Scale | None, corpus: dict[str, Any]) -> Scale | None:
    """Return the scale without a corpus that is on it: nobody is compared with herself.

    The same by digest, or by name where it is a built-in one, which libraries may change a little.
    """
    if scale is None:
        return None
    others = [
        one
        for one in scale.corpora
        if one.get("digest") != corpus["digest"] and one["name"] != corpus["source"]
    ]
    return _scale(others, scale.made_by) if others else None


def _scale(corpora: list[dict[str, Any]], made_by: str) -> Scale:
    cells: dict[tuple[str, str, int], dict[str, Any]] = {}
    for index, corpus in enumerate(corpora):
        for entry in corpus["encodings"]:
            cells[_row(entry), str(entry["lift"]), index] = entry
    rows = list(dict.fromkeys((label, lift) for label, lift, _ in cells))
    return Scale(corpora=corpora, encodings=rows, cells=cells, made_by=made_by)


def _row(entry: dict[str, Any]) -> str:
    """Return the label without the rank, which differs from corpus to corpus."""
    label = str(entry["label"])
    return "mds, debiased" if label.startswith("mds, debiased") else label
