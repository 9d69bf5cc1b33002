"""Phrases that figures and pages share: numbers with their noun, names of positions and encodings.

A position of a survey is a position of a sequence, a bin of merged ones, or a cell of a grid. Which
known encoding is the nearest, and by which measure of stress, is decided once, in the survey;
figures repeat it, so that a page gives one answer.

Plotly's own labels of a logarithmic axis mix full numbers with single small digits, and its powers
raise their exponents in another font. Here every label is a number as a reader writes it or, where
an axis leaves 0.001 to 100,000, a power of ten in the digits that Unicode has for exponents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gnomon.distances import Figure

LETTERS = ("characters", "dna", "protein")


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


def percent(share: float) -> str:
    """Return a share in whole per cent, with one digit where there is little, as in a sentence.

    >>> percent(0.0282), percent(0.4505), percent(0.00002), percent(0.0)
    ('2.8 %', '45 %', '<0.1 %', '0 %')
    """
    if 0 < share < 0.0005:
        return "<0.1 %" if share > 1e-12 else "0 %"
    if share == 0:
        return "0 %"
    near_all = 0.9949 < share < 0.99995
    return f"{100 * share:.1f} %" if abs(share) < 0.0995 or near_all else f"{100 * share:.0f} %"


def ranges(spans: Iterable[tuple[int, int]]) -> str:
    """Return positions, or bins of them by first and last, as ranges.

    >>> ranges([(1, 1), (2, 2), (3, 3), (8, 11)])
    '1-3, 8-11'
    """
    runs: list[list[int]] = []
    for first, last in spans:
        if runs and first == runs[-1][-1] + 1:
            runs[-1][-1] = last
        else:
            runs.append([first, last])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def order_in_words(axes: int, tokenizer: str) -> str:
    """Return what the order of tokens is called: of words, letters, places on a grid.

    >>> order_in_words(1, "dna"), order_in_words(1, "tokenizer.json"), order_in_words(2, "ids")
    ('order of letters', 'order of tokens', 'order of places')
    """
    if axes > 1:
        return "order of places"
    if tokenizer == "words":
        return "word order"
    return "order of letters" if tokenizer in LETTERS else "order of tokens"


def p_in_words(p_value: float, draws: int, folds: int | None = None) -> str:
    """Return a p-value, and that it is the smallest there is where that is so.

    It is twice a rank among K draws and the data, so never below 2 / (K + 1); F folds have 2^(F-1)
    patterns of signs, so nor is it below 2^(2-F).

    >>> p_in_words(0.02, 99, 16), p_in_words(0.31, 99, 16), p_in_words(0.25, 99, 4)
    ('p = 0.02, the least 99 draws can show', 'p = 0.31', 'p = 0.25, the least 4 folds can show')
    """
    by_draws, by_folds = 2.0 / (draws + 1), 0.0 if folds is None else 2.0 ** (2 - folds)
    if p_value > max(by_draws, by_folds) + 1e-12:
        return f"p = {p_value:.2g}"
    what = f"{draws} draws" if by_draws >= by_folds else f"{folds} folds"
    return f"p = {p_value:.2g}, the least {what} can show"


def signed_figure(found: Figure) -> str:
    """Return a figure with its interval, to as many digits as the interval allows.

    >>> from gnomon.distances import Figure
    >>> signed_figure(Figure(value=0.0479, error=0.002, interval=(0.0437, 0.0521)))
    '0.048 [0.044, 0.052]'
    """
    digits = 3 if found.error >= 0.0005 else 4 if found.error >= 0.00005 else 5
    value, low, high = (round(x, digits) + 0.0 for x in (found.value, *found.interval))  # no -0
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def rows_used(rows: Mapping[str, Any]) -> str:
    """Say which rows of a table were compared.

    >>> rows_used({"source": "a.npy", "first": 1, "last": 40, "of": 512})
    'a.npy: position 0 is row 1 (--first-row), rows 1 to 40 of 512 are used'
    """
    return (
        f"{rows['source']}: position 0 is row {rows['first']} (--first-row), rows {rows['first']} "
        f"to {rows['last']} of {rows['of']} are used"
    )


def called(label: str, lift: str) -> str:
    """Return an encoding as a sentence names it.

    >>> called("rope", "kernel"), called("rope", "probe")
    ('rope', 'rope under the probe lift')
    """
    return label if lift == "kernel" else f"{label} under the {lift} lift"


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


def encoding_name(found: dict[str, Any]) -> str:
    """Return an encoding of survey.json as a sentence names it."""
    return called(found["label"], found["lift"])


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
