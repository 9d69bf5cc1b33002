"""Few, whole labels for logarithmic axes, all of one size.

Plotly's own labels of such an axis mix full numbers with single small digits, and its powers raise
their exponents in another font. Here every label is a number as a reader writes it, or, where an
axis leaves 0.001 to 100,000, a power of ten in the digits that Unicode has for exponents.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, log10
from typing import Any

from gnomon.report.figures.places import figure_of

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
