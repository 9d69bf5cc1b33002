"""What positions are called: a position of a sequence, a bin of merged ones, a cell of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np


def unit(contents: dict[str, Any]) -> str:
    """Return what a position of this survey is, in one word."""
    corpus = contents["corpus"]
    if len(corpus["axes"]) > 1:
        return "cell"
    return "position" if corpus["bins"] is None else "bin"


def units(contents: dict[str, Any]) -> str:
    """Return the plural of `unit`."""
    return f"{unit(contents)}s"


def name(contents: dict[str, Any], index: int) -> str:
    """Return what a reader calls this position: 7, 20-23 for a bin, (3, 4) on a grid."""
    line = contents["positions"][index]
    if "first" in line:
        first, last = line["first"], line["last"]
        return str(first) if first == last else f"{first}-{last}"
    axes = contents["corpus"]["axes"]
    if len(axes) == 1:
        return str(index)
    return str(tuple(int(i) for i in np.unravel_index(index, axes)))


def names(contents: dict[str, Any], indices: Any = None) -> list[str]:
    """Return the names of these positions, of all by default."""
    chosen = range(len(contents["positions"])) if indices is None else indices
    return [name(contents, int(index)) for index in chosen]


def counted(number: int, one: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "cell"), counted(1200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{number:,} {one}" + ("" if number == 1 else "s")


def some(number: int, one: str) -> str:
    """Return a number with its noun, none in words.

    >>> some(0, "direction"), some(1, "direction"), some(3, "direction")
    ('no direction', '1 direction', '3 directions')
    """
    return f"no {one}" if number == 0 else counted(number, one)


def rate(share: float) -> str:
    """Return a share in per cent, to two digits.

    >>> rate(0.0), rate(0.01325), rate(0.3814), rate(1.058)
    ('0 %', '1.3 %', '38 %', '106 %')
    """
    value = 100.0 * share
    return f"{value:.0f} %" if value >= 10.0 else f"{value:.2g} %"


def as_text(label: str) -> str:
    """Return a label that Plotly shows as it is; it reads a little HTML in every text it draws.

    >>> as_text("<b> & co")
    '&lt;b&gt; &amp; co'
    """
    return label.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def figure_of(value: float | None, digits: int = 3) -> str:
    """Return a number for a sentence; what is not there is called undefined.

    >>> figure_of(0.04179), figure_of(12345.6), figure_of(None), figure_of(-1e-17)
    ('0.0418', '12,300', 'undefined', '0')
    """
    if value is None:
        return "undefined"
    if abs(value) < 1e-12:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    if abs(rounded) >= 1000.0:
        return f"{rounded:,.0f}"
    return np.format_float_positional(rounded, trim="-")
