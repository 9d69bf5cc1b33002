"""Numbers as words of a sentence."""

from __future__ import annotations

from collections.abc import Iterable

from gnomon.geometry.debiased.intervals import Figure


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


def signed_figure(found: Figure) -> str:
    """Return a figure with its interval, to as many digits as the interval allows.

    >>> signed_figure(Figure(value=0.0479, error=0.002, interval=(0.0437, 0.0521)))
    '0.048 [0.044, 0.052]'
    """
    digits = 3 if found.error >= 0.0005 else 4 if found.error >= 0.00005 else 5
    value, low, high = (round(x, digits) + 0.0 for x in (found.value, *found.interval))  # no -0
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
