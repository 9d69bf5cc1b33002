"""Frozen results that serialise and show themselves.

A result is a frozen dataclass: its arrays are read-only, `to_dict` gives plain JSON values
(an undefined number becomes None, never NaN), and Jupyter shows it as a small table.
"""

from __future__ import annotations

import dataclasses
import html
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

    def _repr_html_(self) -> str:
        """Show scalar fields as a table, arrays by their shape."""
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(f.name)}</th>"
            f"<td>{html.escape(_short(getattr(self, f.name)))}</td></tr>"
            for f in dataclasses.fields(self)
        )
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"


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


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {value.dtype}"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 120 else text[:117] + "..."
