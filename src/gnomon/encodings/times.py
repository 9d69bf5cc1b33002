"""Times as positions: units, and ladders of spans between a shortest and a longest one.

A position may be a time, at uneven steps: seconds since 1970, say. Spans (periods, half-lives) are
told in a *unit*, which is a number of positions: 86400 where positions are seconds and spans days.
Units of the calendar have names, in seconds; a year is 365.2425 days, the mean of the Gregorian
calendar [iso8601].

A ladder of m spans is geometric, s_k = shortest (longest / shortest)^(k / (m - 1)) for k = 0 to
m - 1; a single span is the shortest.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import EncodingError, nearest
from gnomon.numeric import checks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

UNITS: Mapping[str, float] = MappingProxyType(
    {
        "second": 1.0,
        "minute": 60.0,
        "hour": 3600.0,
        "day": 86400.0,
        "week": 604800.0,
        "year": 31556952.0,
    }
)
"""Seconds in units of the calendar."""


def unit_of(unit: Any) -> float:
    """Return how many positions a unit is: a number, or the name of one where they are seconds.

    >>> unit_of("day"), unit_of(1000)
    (86400.0, 1000.0)
    """
    if isinstance(unit, str):
        if unit not in UNITS:
            raise EncodingError(
                f"There is no unit {unit!r}: {nearest(unit, UNITS)}; or pass the number of "
                "positions that it is."
            )
        return UNITS[unit]
    checks.real("unit", unit, above=0.0)
    return float(unit)


def check_spans(shortest: Any, longest: Any) -> None:
    """Refuse spans that are no positive numbers in order."""
    checks.real("shortest", shortest, above=0.0)
    checks.real("longest", longest, above=0.0)
    if longest < shortest:
        raise EncodingError(
            f"shortest is {shortest!r} and longest {longest!r}; pass a longest that is not smaller."
        )


def spans(shortest: float, longest: float, count: int) -> NDArray[np.float64]:
    """Return a geometric ladder whose ends are exact.

    >>> spans(1.0, 100.0, 3)
    array([  1.,  10., 100.])
    """
    if count == 1:
        return np.array([shortest], dtype=np.float64)
    steps = np.arange(count) / (count - 1)
    ladder: NDArray[np.float64] = shortest * np.exp(steps * math.log(longest / shortest))
    ladder[-1] = longest
    return ladder
