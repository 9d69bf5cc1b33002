"""Whether kernels are compiled, and on how many threads they run.

`GNOMON_NUMBA=0` in the environment chooses the NumPy route that every compiled kernel has. Counts,
shuffles, deals, violated triples and sums by lag are then equal bit for bit. Other sums of floats
are taken in another order: Gram matrices, distances and expected nulls stay within 1e-13 of their
largest entry, debiased sums and steps of SMACOF within 1e-09, sums under signs, which are in single
precision, within 1e-04. `tests/distances/test_routes_agree.py` holds both routes to this.
`GNOMON_THREADS` says how many threads the kernels may use; it changes no bit.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from gnomon.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def use_numba() -> bool:
    """Say whether compiled kernels are used: numba is installed, and nobody switched it off."""
    if os.environ.get("GNOMON_NUMBA", "1") == "0":
        return False
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return False  # kernels count on the integer types of compiled code
    if importlib.util.find_spec("numba") is None:
        return False
    _check_environment()
    return True


MOST_THREADS = 4096
"""More than any machine has; a larger number is a slip of the hand."""


def _check_environment() -> None:
    """Refuse variables on which numba would fail, or print a traceback, when loaded."""
    asked = os.environ.get("NUMBA_NUM_THREADS", "1")
    digits = asked.isascii() and asked.isdecimal() and len(asked) < 20
    if not digits or not 1 <= int(asked) <= MOST_THREADS:
        raise InputError(
            f"NUMBA_NUM_THREADS is {asked[:40]!r}; set it to a whole number from 1 to "
            f"{MOST_THREADS}, or unset it."
        )
    if any(name.startswith("NUMBA_") for name in os.environ):
        _load_numba()  # it alone knows what it can read; without any it is loaded when it is used


def _load_numba() -> None:
    """Load numba, which goes on with a warning and a traceback where it cannot read a variable."""
    if "numba" in sys.modules:
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Environment variable", RuntimeWarning)
        try:
            importlib.import_module("numba")
        except RuntimeWarning as error:
            found = str(error).split("\n", maxsplit=1)[0].rstrip(".")
            raise InputError(
                f"numba cannot be configured: {found[0].lower()}{found[1:]}; set it to what numba "
                "knows, or unset it."
            ) from error


def threads() -> int:
    """Return how many threads a kernel may use: `GNOMON_THREADS`, else the cores given to us."""
    asked = os.environ.get("GNOMON_THREADS")
    if asked is None:
        affinity = getattr(os, "sched_getaffinity", None)  # macOS and Windows have none
        return len(affinity(0)) if affinity else os.cpu_count() or 1
    digits = asked.isascii() and asked.isdecimal() and len(asked) < 20
    if not digits or not 1 <= int(asked) <= MOST_THREADS:
        raise InputError(
            f"GNOMON_THREADS is {asked[:40]!r}; set it to a whole number from 1 to {MOST_THREADS}."
        )
    return int(asked)


def stripes(start: int, stop: int, width: int) -> list[tuple[int, int]]:
    """Cut start:stop in pieces of `width`.

    >>> stripes(0, 5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(first, min(first + width, stop)) for first in range(start, stop, width)]


def map_threads(work: Callable[[int, int], T], pieces: list[tuple[int, int]]) -> list[T]:
    """Return work(first, last) for every piece, in order, on threads.

    Compiled kernels release the interpreter lock, so plain threads suffice. The pieces do not
    depend on the number of threads, so neither does what is made of them.
    """
    workers = min(threads(), len(pieces))
    if workers <= 1:
        return [work(first, last) for first, last in pieces]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda piece: work(*piece), pieces))


def over_rows(work: Callable[[int, int], T], rows: int, *, block: int = 256) -> list[T]:
    """Return `work(start, stop)` for stretches of `block` rows, in order, on threads.

    >>> over_rows(lambda start, stop: stop - start, 10, block=4)
    [4, 4, 2]
    """
    return map_threads(work, stripes(0, rows, block))
