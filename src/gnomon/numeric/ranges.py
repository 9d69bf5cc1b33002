"""The ranges of numbers that a user passes, in one table for the library and the command line.

What takes memory for each of its number, or time for each of its repetitions, ends far above any
use: a slip of the hand should neither fill the memory nor run for a year. Generators of random
numbers take seeds from 0 on, and more than 128 bits tell nothing apart.
"""

from __future__ import annotations

from typing import Any

from gnomon.errors import InputError

MOST_DIMENSION = 2**20
MOST_SEED = 2**128 - 1
MOST_REPETITIONS = 10_000
RANGES: dict[str, tuple[int, int]] = {
    "dimension": (1, MOST_DIMENSION),
    "rank": (1, MOST_DIMENSION),
    "seed": (0, MOST_SEED),
    "seeds": (1, MOST_REPETITIONS),
    "shuffles": (0, MOST_REPETITIONS),
    "draws": (19, 100 * MOST_REPETITIONS - 1),
}


def check_range(name: str, value: Any) -> None:
    """Refuse a number outside the range that its option has; None was not given.

    >>> check_range("shuffles", 99999999)
    Traceback (most recent call last):
    gnomon.errors.InputError: --shuffles is 99999999; it must be 10000 or less.
    """
    least, most = RANGES[name]
    if value is None or least <= value <= most:
        return
    if value < least:
        raise InputError(f"--{name} is {value}; it must be {least} or more.")
    words = "below 2^128" if most == MOST_SEED else f"{most} or less"
    raise InputError(f"--{name} is {value}; it must be {words}.")
