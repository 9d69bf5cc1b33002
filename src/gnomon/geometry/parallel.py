"""Run a kernel over stripes of an array on all cores; the stripes do not depend on their number.

The compiled kernels release the interpreter lock, so plain threads suffice.
Every stripe writes its own part of the result, so that the result is the same on any machine.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def cores() -> int:
    """Return how many cores this process may use.

    >>> cores() >= 1
    True
    """
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def stripes(start: int, stop: int, width: int) -> list[tuple[int, int]]:
    """Cut start:stop in pieces of `width`.

    >>> stripes(0, 5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(first, min(first + width, stop)) for first in range(start, stop, width)]


def each(work: Callable[[int, int], None], pieces: list[tuple[int, int]]) -> None:
    """Call work(first, last) for every piece, on as many threads as there are cores."""
    workers = min(cores(), len(pieces))
    if workers <= 1:
        for first, last in pieces:
            work(first, last)
        return
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(work, first, last) for first, last in pieces]:
            done.result()
