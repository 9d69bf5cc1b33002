"""Phrases that figures and pages share: numbers with their noun, names of positions and encodings.

A position of a survey is a position of a sequence, a bin of merged ones, or a cell of a grid. Which
known encoding is the nearest, and by which measure of stress, is decided once, in the survey;
figures repeat it, so that a page gives one answer.

Plotly's own labels of a logarithmic axis mix full numbers with single small digits, and its powers
raise their exponents in another font. Here every label is a number as a reader writes it or, where
an axis leaves 0.001 to 100,000, a power of ten in the digits that Unicode has for exponents.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, log10
from typing import Any

import numpy as np

from gnomon.pipeline import percent


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


def with_noun(number: int, one: str) -> str:
    """Return a number with its noun.

    >>> with_noun(1, "cell"), with_noun(1200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{number:,} {one}" + ("" if number == 1 else "s")


def some(number: int, one: str) -> str:
    """Return a number with its noun, none in words.

    >>> some(0, "direction"), some(1, "direction"), some(3, "direction")
    ('no direction', '1 direction', '3 directions')
    """
    return f"no {one}" if number == 0 else with_noun(number, one)


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


def nearest_known(contents: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the verdict says of the nearest known encoding; None where it names none."""
    found: dict[str, Any] | None = contents["verdict"].get("nearest")
    return found


def stress_measure(contents: dict[str, Any]) -> str:
    """Return the debiased stress that the verdict compares: scale_free, or squared."""
    found = nearest_known(contents)
    return "scale_free" if found is None else str(found["measure"])


def interval_key(measure: str) -> str:
    """Return what survey.json calls the interval of a measure."""
    return "squared_interval" if measure == "squared" else "interval"


def nearest_name(found: dict[str, Any]) -> str:
    """Return its name in a sentence, with its lift where that is not the kernel."""
    lift = "" if found["lift"] == "kernel" else f" under the {found['lift']} lift"
    return f"{found['label']}{lift}"


def leaves(found: dict[str, Any]) -> str:
    """Say what it leaves unexplained, and of what."""
    what = "squared distances" if found["measure"] == "squared" else "distances"
    return f"{percent(found['value'])} of the {what}"


MOST = 6
"""Labels of an axis."""
PLAIN = (-3, 5)
"""Exponents between which a power of ten is written out."""
_STEPS = ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
"""Labels in each power of ten, the most of them first."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def log_axis(values: Iterable[float], most: int = MOST) -> dict[str, Any]:
    """Return a logarithmic axis with at most `most` labels, all between the ends of `values`.

    >>> log_axis([3, 40_000])["ticktext"]
    ['10', '100', '1,000', '10,000']
    >>> log_axis([2e-7, 1.0], most=4)["ticktext"]
    ['10⁻⁶', '10⁻⁴', '10⁻²', '1']
    >>> log_axis([428, 54_784], most=5)["ticktext"]
    ['1,000', '3,000', '10,000', '30,000']
    >>> log_axis([4e-5, 3e-3])["ticktext"]
    ['5·10⁻⁵', '10⁻⁴', '2·10⁻⁴', '5·10⁻⁴', '10⁻³', '2·10⁻³']
    """
    known = [value for value in values if value > 0.0] or [1.0]
    ticks = _ticks(min(known), max(known), most)
    exponents = [round(log10(tick)) for tick in ticks]
    plain = not exponents or (PLAIN[0] <= exponents[0] and exponents[-1] <= PLAIN[1])
    texts = [figure_of(tick) if plain else _power(tick) for tick in ticks]
    return {"type": "log", "tickvals": ticks, "ticktext": texts}


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from `low` to `high`; both where there is none between them."""
    decades = range(floor(log10(low)), floor(log10(high)) + 1)
    for steps in _STEPS:
        ticks = [step * 10.0**k for k in decades for step in steps if low <= step * 10.0**k <= high]
        if len(ticks) <= most:
            return ticks or sorted({low, high})
    return ticks[len(ticks) % 2 == 0 :: -(-len(ticks) // most)]


def apart(values: list[int], ratio: float = 1.3) -> list[int]:
    """Return the values that a logarithmic axis can label without touching.

    >>> apart([1, 2, 3, 63, 127, 128])
    [1, 2, 3, 63, 127]
    """
    kept: list[int] = []
    for value in values:
        if not kept or value >= ratio * kept[-1]:
            kept.append(value)
    return kept


def _power(tick: float) -> str:
    """Return a number by its power of ten, with the digits before it where it is no power."""
    digits, _, exponent = f"{tick:.2e}".partition("e")
    front = f"{float(digits):g}"
    if int(exponent) == 0:
        return front
    power = f"10{str(int(exponent)).translate(_RAISED)}"
    return power if front == "1" else f"{front}·{power}"
