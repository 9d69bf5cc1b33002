"""Numbers that a caller passes, checked in one place: what was found, and what to pass."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import SpectrumError
from gnomon.numeric.checks import MOST_SEED, refuse_masked

Floats = NDArray[np.float64]


def check_int(
    name: str, value: Any, *, least: int, most: int | None = None, of: str = "", rest: str = ""
) -> int:
    """Return a whole number of Python, from `least` to `most`.

    >>> check_int("length", np.int64(3), least=2)
    3
    """
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:  # 3.0 is no count: neither a list nor range() takes it
        number = None
    if number is None or number < least or (most is not None and number > most):
        until = "on" if most is None else f"to {most}"
        until = "on, below 2^128" if most == MOST_SEED else until
        asked = f"the whole number {least}" if most == least else f"a whole number{of} from {least}"
        asked += "" if most == least else f" {until}"
        raise SpectrumError(f"{name} is {value!r}; pass {asked}{rest}.")
    return number


def check_float(name: str, value: Any, what: str, *, least: float = -math.inf) -> float:
    """Return a finite number from `least` on.

    >>> check_float("mean", 2, "0 or more", least=0.0)
    2.0
    """
    known = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not known or not math.isfinite(value) or value < least:
        raise SpectrumError(f"{name} is {value!r}; pass {what}.")
    return float(value)


def check_array(name: str, values: Any, what: str) -> Floats:
    """Return finite real numbers as float64; an imaginary part is refused, never dropped."""
    refuse_masked(values, f"{name} holds", kind=SpectrumError)
    try:
        array = np.asarray(values)
    except ValueError:
        raise SpectrumError(f"{name} holds rows of unequal length; pass {what}.") from None
    if array.dtype.kind not in "fiu":
        raise SpectrumError(f"{name} holds {array.dtype}; pass {what}, as real numbers.")
    if not np.isfinite(array).all():
        raise SpectrumError(f"{name} holds numbers that are not finite; pass {what} that are.")
    return np.asarray(array, dtype=np.float64)
