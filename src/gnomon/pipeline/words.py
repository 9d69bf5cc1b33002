"""Numbers as words of a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from gnomon.distances import Figure

LETTERS = ("characters", "dna", "protein")
FEW = 3
"""Blocks of up to this many positions are places; positions of stretches are above LONG."""
LONG = 8


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


def blocks_in_words(begins: Sequence[int], last: int) -> str:
    """Say where blocks lie; blocks of very few positions between long ones are places of their own.

    >>> blocks_in_words([0, 7, 14], 19)
    'in 3 blocks that begin at positions 0, 7, 14'
    >>> blocks_in_words([0, 218, 220, 223, 226, 248, 249, 250], 299)
    'at positions 218-225 and 248-249, which stand out of the stretches 0-217, 226-247, 250-299'
    """
    ends = [*(begin - 1 for begin in begins[1:]), last]
    spans = list(zip(begins, ends, strict=True))
    short = [span for span in spans if span[1] - span[0] < FEW]
    long = [span for span in spans if span[1] - span[0] >= LONG]
    if not short or not long or len(short) + len(long) < len(spans):
        return f"in {len(begins)} blocks that begin at positions {', '.join(map(str, begins))}"
    places = " and ".join(ranges(short).rsplit(", ", 1))
    one = places.isdecimal()
    stretches = ", ".join(f"{a}-{b}" for a, b in long)
    return (
        f"at position{'' if one else 's'} {places}, which stand{'s' if one else ''} out of the "
        f"stretch{'' if len(long) == 1 else 'es'} {stretches}"
    )


def skipped(named: Iterable[int], core: Sequence[tuple[int, int]]) -> str:
    """Say which positions a list of core positions leaves out because they are no core ones.

    >>> skipped([0, 2, 3], [(0, 0), (2, 2), (3, 3), (7, 7)])
    '; position 1 is too uncertain to tell'
    >>> skipped([0, 3], [(0, 0), (1, 1), (3, 3)])
    ''
    """
    chosen = set(named)
    gaps = [
        (left[1] + 1, right[0] - 1)
        for left, right in pairwise(core)
        if left[0] in chosen and right[0] in chosen and right[0] > left[1] + 1
    ]
    listed = ranges(gaps)
    if not gaps:
        return ""
    are = "position {} is" if listed.isdecimal() else "positions {} are"
    return f"; {are.format(listed)} too uncertain to tell"


def either_way(spans: Iterable[tuple[int, int]]) -> str:
    """Say which positions may belong to those named or to the rest.

    >>> either_way([(31, 31)]), either_way([(9, 9), (10, 10)]), either_way([])
    ('; position 31 may be on either side', '; positions 9-10 may be on either side', '')
    """
    listed = ranges(spans)
    if not listed:
        return ""
    return f"; position{'' if listed.isdecimal() else 's'} {listed} may be on either side"


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
