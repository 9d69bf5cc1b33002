"""The catalogue and a card as plain text for a terminal; nothing is computed here."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gnomon.report.text import table

if TYPE_CHECKING:
    from gnomon.encodings import Card

WIDTH = 100
"""Columns of a line."""
LABEL = 15
"""Columns of the names of facts."""
YES_OR_NO = ("relative", "learnable", "causal_only", "cacheable")


def catalogue_text(cards: Sequence[Card]) -> str:
    """Return one line per encoding; where none is left, a sentence."""
    if not cards:
        return "no encoding of the catalogue is all of that; ask for less."
    rows = [
        [card.name, card.family, ", ".join(card.kind), card.level, _marks(card), card.source]
        for card in cards
    ]
    listing = table(["name", "family", "kind", "level", "notes", "source"], rows)
    count = f"{len(cards)} encodings" if len(cards) > 1 else "1 encoding"
    return f"{listing}\n{count}; `gnomon card NAME` says more of one."


def _marks(card: Card) -> str:
    marks = {
        "relative": card.relative,
        "learnable": card.learnable,
        "causal only": card.causal_only,
        "no cache": not card.cacheable,
    }
    return ", ".join(mark for mark, holds in marks.items() if holds)


def layer_in_words(layer: dict[str, Any] | None) -> str:
    """Return how near the kernel of a fitted group is to the measured one."""
    if layer is None:
        return ""
    return (
        f"lags of {layer['source']}: its kernel explains {layer['explained']:.0%} of how the "
        f"measured one varies, and is off by {layer['largest_error']:.2g} at most, at lag "
        f"{layer['largest_at']}"
    )


def facts_of(contents: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what a card says, as names and values in words."""
    made = contents["made_with"]
    facts = {
        "family": contents["family"],
        "kind": ", ".join(contents["kind"]),
        "level": contents["level"],
        **{key.replace("_", " "): "yes" if contents[key] else "no" for key in YES_OR_NO},
        "extrapolation": contents["extrapolation"],
        "reading": contents["reading"],
        "frameworks": ", ".join(contents["frameworks"]),
        "source": f"{contents['citation']} [{contents['source']}]",
        "verified": "; ".join(f"{p['against']} ({p['test']})" for p in contents["proofs"]),
        "fitted to": layer_in_words(contents.get("layer")),
        "parameters": parameters_in_words(contents) if made is None else _listed(made),
    }
    return [(name, value) for name, value in facts.items() if value]


def card_text(contents: dict[str, Any]) -> str:
    """Return a card, one fact to a line, long ones wrapped."""
    lines = [contents["name"], f"  {contents['formula']}"]
    for name, value in facts_of(contents):
        lines += _wrapped(name, value)
    return "\n".join(lines)


def _wrapped(name: str, value: str) -> list[str]:
    parts = value.split("; ") if name == "verified" else [value]
    found: list[str] = []
    for part in parts:
        label = name.ljust(LABEL) if not found else " " * LABEL
        found += textwrap.wrap(
            part,
            WIDTH,
            initial_indent=label,
            subsequent_indent=" " * LABEL,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return found


def parameters_in_words(contents: dict[str, Any]) -> str:
    """Return the parameters with their defaults, those that must be given first."""
    declared = contents["parameters"]
    needed = [f"{name} (needed)" for name in contents["needs"]]
    rest = {name: value for name, value in declared.items() if name not in contents["needs"]}
    return ", ".join([*needed, *filter(None, [_listed(rest)])])


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {in_short(value)}" for name, value in values.items())


def in_short(value: Any) -> str:
    """Return the value of a parameter for a line of text.

    >>> in_short(1e4), in_short(None), in_short({"name": "yarn", "factor": 4.0})
    ('10000', 'none', 'yarn (factor 4)')
    """
    if isinstance(value, dict):
        rest = _listed({key: item for key, item in value.items() if key != "name"})
        return " ".join(filter(None, [str(value.get("name", "")), f"({rest})" if rest else ""]))
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list) and len(value) > 8:
        return f"[{len(value)} numbers]"
    return "none" if value is None else str(value)
