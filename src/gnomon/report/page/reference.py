"""The reference scale: what documented corpora gave, so that a number means something.

`reference.json` ships with the package and is made by surveying those corpora; without it the page
leaves the scale out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


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
