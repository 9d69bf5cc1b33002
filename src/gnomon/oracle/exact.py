"""Numbers of the oracle: exact on the way in, 80 digits while computing, 60 good ones out.

A whole number, a fraction and a decimal text are taken as they are written; a float is the binary
fraction that it holds, so 0.1 is 0.1000000000000000055511151231257827...; that is what an array
formula is given, too. Twenty guard digits pay for positions up to 10^20.

The context is the oracle's own: the precision that others set in mpmath [mpmath] is neither used
nor changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

from gnomon.errors import EncodingError, MissingExtraError

Real = Any
"""A real number of mpmath."""
Context = Any
"""The functions of mpmath at one precision."""
DIGITS = 60
"""Digits that a result is good for."""
GUARD = 20


@cache
def context() -> Context:
    """Return mpmath at the oracle's precision."""
    try:
        import mpmath
    except ImportError as error:
        raise MissingExtraError(
            "gnomon.oracle needs mpmath, which is not installed; run `pip install gnomon[oracle]`."
        ) from error
    own = mpmath.MPContext()
    own.dps = DIGITS + GUARD
    return own


def number(value: Any, name: str = "position") -> Real:
    """Return a number exactly as it is given.

    >>> number("1/3") * 3 == 1
    True
    >>> number(0.1) > number("0.1")
    True
    """
    mp = context()
    value = value.item() if hasattr(value, "item") else value
    try:
        if isinstance(value, Fraction | Decimal):
            exact = Fraction(value)
            return mp.mpf(exact.numerator) / exact.denominator
        made = mp.mpf(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise EncodingError(
            f"The {name} is {value!r}; pass a whole number, a float, a Fraction, or a text such as "
            "'0.1' or '1/3'."
        ) from error
    if not mp.isfinite(made):
        raise EncodingError(f"The {name} is {value!r}; pass a finite number.")
    return made


def coordinates(position: Any, axes: int) -> list[Real]:
    """Return a position as one exact number for each axis."""
    whole = axes == 1 or isinstance(position, str) or not hasattr(position, "__iter__")
    parts = [position] if whole else list(position)
    if len(parts) != axes:
        raise EncodingError(
            f"The position {position!r} has {len(parts)} coordinates, but this encoding has {axes} "
            f"axes; pass {axes} for each position."
        )
    return [number(part) for part in parts]


def vector(values: Any, name: str) -> list[Real]:
    """Return the entries of one vector, exactly."""
    return [number(value, f"entry of {name}") for value in values]


def dot(left: Sequence[Real], right: Sequence[Real]) -> Real:
    """Return the sum of products."""
    return context().fsum(a * b for a, b in zip(left, right, strict=True))
