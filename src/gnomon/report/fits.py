"""A fit in words: the card of fitted vectors, and what an encoding by lag has of its corpus."""

from __future__ import annotations

import textwrap
from typing import Any

LITTLE = 0.25
"""Share of what varies with the lag below which a layer is said to explain little."""
_WIDTH = 100
_BEYOND = {
    "refuse": "refused past position {last}",
    "clamp": "clamped past position {last}: every later one has its vector",
}
_SCALE = {
    "corpus": "distances as in the corpus, often far smaller than those of token embeddings, which "
    "then drown them: --match brings both to one scale",
    "match": "entries have the root mean square that was to be matched (factor {factor:.4g})",
    "learned": "learned: one trainable factor over everything, from {gain:g}",
}
_RULES = {
    "continue": "continue the nearest one trusted",
    "interpolate": "lie between the trusted ones",
    "refuse": "are refused",
}


def fit_text(card: dict[str, Any], *, verbose: bool = False) -> str:
    """Return what was made, how large it is, and what it does where it was not measured."""
    lines = {
        "encoding": f"{card['name']} ({card['formula']}), {card['method']}",
        "distances": _distances(card),
        "size": _size(card),
        "rotation": _rotation(card),
        "scale": _SCALE[card["scale"]].format(**card),
        "masked": _masked(card),
        "projected": _projected(card),
        "the end": _end(card),
        "bins": _bins(card),
        "verdict": card["origin"].get("verdict") if verbose else None,
        "digest": card["origin"].get("digest") if verbose else None,
    }
    return "\n".join(_line(key, text) for key, text in lines.items() if text)


def lag_fit_lines(value: dict[str, Any], *, life_limit: float | None) -> list[str]:
    """Return how near the encoding is to what was measured, and what it has beside; or why not."""
    lines = [_nearness(value["layer"])] if value["layer"] is not None else []
    if value["encoding"] is None:
        return [*lines, f"no file is written: {value['reason']}"]
    if value["layer"] is None:
        return lines
    if value["positions"]["modes"] and value["found"]["modes"]:
        lines.append("the file also has the periods of the law of positions")
    elif value["positions"]["modes"]:
        lines.append("all that the file has comes from the law of positions")
    if life_limit is not None:
        times = life_limit / value["found"]["lags"]
        lines.append(
            f"half-lives in the file are {life_limit:,.0f} tokens at most, {times:.0f} times the "
            "lags: what lasts longer, or does not decay, has that"
        )
    return lines


def _nearness(layer: dict[str, Any]) -> str:
    """Return how near the kernel of the layer is to the measured one."""
    said = (
        f"the layer's kernel explains {layer['explained']:.0%} of how the measured one varies with "
        f"the lag; it is off by {layer['largest_error']:.2g} at most, at lag {layer['largest_at']}"
    )
    if layer["explained"] >= LITTLE:
        return said
    return f"{said}: it has little of what was measured, and a starting point is all that it is"


def _line(key: str, text: str) -> str:
    indent = " " * 11
    return textwrap.fill(f"{key:<10} {text}", width=_WIDTH, subsequent_indent=indent)


def _distances(card: dict[str, Any]) -> str:
    origin = card["origin"]
    where = f" of {origin['source']}" if origin.get("source") else ""
    metric = f" {origin['metric']}" if origin.get("metric") else ""
    return f"{card['estimator']}{metric}{where}; minimises {card['minimises']}"


def _size(card: dict[str, Any]) -> str:
    shape = " x ".join(f"{size:,}" for size in card["shape"])
    dense = card["reach"] * card["dimension"]
    return (
        f"{shape} positions, dimension {card['dimension']:,}, rank {card['rank']}: "
        f"{card['stored']:,} numbers stored, a full table has {dense:,}"
    )


def _rotation(card: dict[str, Any]) -> str:
    if card["rotation"] is None:
        return "none: the fitted directions come first, the other coordinates are 0"
    return f"into all {card['dimension']:,} coordinates by seed {card['rotation']}"


def _masked(card: dict[str, Any]) -> str:
    masked = card["origin"]["masked"]
    if not masked:
        return "none: every position was measured"
    return f"{_many(masked)} {_RULES[card['masked_rule']]}{_grid(card)}: {_ranges(masked)}"


def _projected(card: dict[str, Any]) -> str | None:
    found = card["origin"]["projected"]
    if not found:
        return None
    return f"{_many(found)} by what little was counted there{_grid(card)}: {_ranges(found)}"


def _end(card: dict[str, Any]) -> str:
    last = ", ".join(str(size - 1) for size in card["shape"])
    if card["beyond"] == "interpolate":
        return (
            f"{card['length']:,} positions stretched to {card['reach']:,} by interpolation, "
            f"refused past position {last}"
        )
    return _BEYOND[card["beyond"]].format(last=last)


def _bins(card: dict[str, Any]) -> str | None:
    bins = card["origin"].get("bins")
    if bins is None:
        return None
    return f"{len(bins['starts'])} bins ({bins['rule']}): every position has the row of its bin"


def _many(runs: list[list[int]]) -> str:
    count = sum(last - first + 1 for first, last in runs)
    return f"{count:,} position{'s' if count > 1 else ''}"


def _grid(card: dict[str, Any]) -> str:
    return " (row-major)" if len(card["shape"]) > 1 else ""


def _ranges(runs: list[list[int]], most: int = 8) -> str:
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in runs[:most]]
    more = f" and {len(runs) - most} more runs, all in the card" if len(runs) > most else ""
    return ", ".join(shown) + more
