"""Frozen results that serialise and show themselves.

A result is a frozen dataclass: its arrays are read-only, `to_dict` gives plain JSON values
(an undefined number becomes None, never NaN), Jupyter shows it as a small table, and `plot` draws
it where there is something to draw.
"""

from __future__ import annotations

import dataclasses
import html
import importlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.errors import MissingExtraError


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """Base of all results; subclasses are frozen dataclasses with `eq=False`."""

    def __post_init__(self) -> None:
        """Make every array field read-only: a result does not change after it was made."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) and value.flags.writeable:
                view = value.view()
                view.flags.writeable = False
                object.__setattr__(self, field.name, view)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as nested plain values that JSON can hold."""
        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}

    def plot(self) -> Any:
        """Return the result as a Plotly figure; where there is nothing to draw, say so."""
        return drawn(self)

    def _repr_html_(self) -> str:
        """Show scalar fields as a table, arrays by their shape."""
        return html_fields(
            type(self).__name__, {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        )


def drawn(value: Any) -> Any:
    """Return the Plotly figure of a result or an encoding.

    The report room is asked for by name and only now: it lies above all that it draws.
    """
    return importlib.import_module("gnomon.report.figures.results").draw(value)


def sentences() -> Any:
    """Return the module that says results in sentences.

    The report room is asked for by name and only now, as for a figure.
    """
    return importlib.import_module("gnomon.report.verdict_sentences")


def html_fields(caption: str, fields: Mapping[str, Any]) -> str:
    """Return names and values as an HTML table in which every text stays text."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(str(name))}</th>"
        f"<td style='text-align:left'>{html.escape(_short(value))}</td></tr>"
        for name, value in fields.items()
    )
    return f"<table><caption>{html.escape(caption)}</caption>{rows}</table>"


def html_table(caption: str, rows: list[dict[str, Any]]) -> str:
    """Return rows with the same keys as an HTML table; None is shown as a dash."""
    cells = [[_short("-" if v is None else v) for v in row.values()] for row in rows]
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in (rows[0] if rows else {}))
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in cells
    )
    return (
        f"<table><caption>{html.escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def plain(value: Any) -> Any:
    """Turn arrays, results, mappings and NumPy scalars into JSON values; NaN becomes None."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def to_dataframe(rows: list[dict[str, Any]]) -> Any:
    """Return rows as a pandas DataFrame; pandas is asked for only here."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError(
            "to_dataframe() needs pandas, which is not installed; run `pip install gnomon[pandas]`."
        ) from error
    return pd.DataFrame(rows)


def pairs_dataframe(positions: Any, matrices: Mapping[str, Any]) -> Any:
    """Return one row per pair i < j: both positions, and the entry of each matrix."""
    rows, columns = np.triu_indices(len(positions), 1)
    first, second = (np.asarray(positions)[which].tolist() for which in (rows, columns))
    values = [np.asarray(matrix)[rows, columns].tolist() for matrix in matrices.values()]
    names = ("first", "second", *matrices)
    lines = zip(first, second, *values, strict=True)
    return to_dataframe([dict(zip(names, line, strict=True)) for line in lines])


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {value.dtype}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Result):
        return type(value).__name__
    if isinstance(value, tuple) and value and isinstance(value[0], (Result, np.ndarray)):
        return f"{len(value)} x {_short(value[0])}"
    text = str(value)
    return text if len(text) <= 120 else text[:117] + "..."
