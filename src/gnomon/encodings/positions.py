"""Which unit of time fits the data: chosen from the gaps between events, with the reasons.

    unit       the calendar's largest that is not above the median gap, where positions are seconds;
               else the largest of 1, 2 or 5 times a power of 10 that is not above it
    shortest   twice the gap that 95 % of all exceed: a period below is seen at no two phases
    longest    twice the longest sequence: a period over which order still shows

The shortest follows from sampling: a turn must be met twice in a period [shannon1949]. Gaps are
heavy-tailed more often than not, so the median and the range from 5 to 95 % describe them, not the
mean. Events at the same time have a gap of 0, which says nothing about a unit: these are counted,
and left out.

Times as positions: units, and ladders of spans between a shortest and a longest one.

A position may be a time, at uneven steps: seconds since 1970, say. Spans (periods, half-lives) are
told in a *unit*, which is a number of positions: 86400 where positions are seconds and spans days.
Units of the calendar have names, in seconds; a year is 365.2425 days, the mean of the Gregorian
calendar [iso8601].

A ladder of m spans is geometric, s_k = shortest (longest / shortest)^(k / (m - 1)) for k = 0 to
m - 1; a single span is the shortest.

Positions from declared lengths: one truth for packed, padded and continued sequences.

    packed   lengths 3, 2           -> 0 1 2 0 1
    padded   lengths 3, 2, right    -> 0 1 2 / 0 1 0      left -> 0 1 2 / 0 0 1
    continued after 5, 2 more       -> 5 6

Padding gets position 0: it is masked, and 0 is in every table. Two tokens may see each other only
within one document (`documents`), never across padding (`real`). The functions take arrays of any
library that keeps the array standard [array-api]; widths are given as plain numbers, so that
compiled code knows its shapes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import EncodingError, nearest
from gnomon.numeric import checks
from gnomon.numeric.arrays import Array, Namespace, device_beside, hidden, namespace_of
from gnomon.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping


Floats = NDArray[np.float64]
_EPOCH = (1e8, 1e10)
"""Times that are taken for seconds since 1970: March 1973 to the year 2286."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeUnit(Result):
    """A unit of time, and the shortest and longest span worth telling apart, in that unit.

    Gaps and the span are in positions. `origin` is the earliest event, for encodings that want one.
    """

    unit: str | float
    shortest: float
    longest: float
    median_gap: float
    usual_gaps: tuple[float, float]
    """The gaps that 5 and 95 % do not exceed."""
    span: float
    """The time from the first event of a sequence to its last, the longest."""
    origin: float | None
    gaps: int
    ties: int
    """Events at the same time as the one before."""
    reasons: tuple[str, ...]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of an encoding of times, such as rope-time or decay-time."""
        return {"unit": self.unit, "shortest": self.shortest, "longest": self.longest}

    def text(self) -> str:
        """Return the choice and its reasons as lines of text."""
        head = f"unit {self.unit}, spans from {self.shortest:g} to {self.longest:g}"
        return "\n".join([head, *(f"  {reason}" for reason in self.reasons)])


def time_unit(times: Any = None, *, gaps: Any = None, seconds: bool | None = None) -> TimeUnit:
    """Choose a unit from the times of one sequence, of several, or from gaps alone.

    Times are numbers, or dates of NumPy (datetime64), and do not fall within a sequence. `seconds`
    says whether positions are seconds, so that units of the calendar have names; by default those
    are that lie in the years 1973 to 2286, counted from 1970.

    >>> visits = 1.7e9 + 86400.0 * np.array([0.0, 1.0, 3.0, 4.5, 10.0])
    >>> chosen = time_unit(visits)
    >>> chosen.unit, chosen.longest
    ('day', 20.0)
    """
    if (times is None) == (gaps is None):
        raise EncodingError("A unit is chosen from times or from gaps; pass one of the two.")
    if gaps is not None:
        every = _numbers("gaps", gaps)
        _check_gaps(every)
        span, origin, calendar = float(every.sum()), None, bool(seconds)
    else:
        sequences, dated = _sequences(times)
        every = np.concatenate([np.diff(one) for one in sequences])
        span = max(float(one[-1] - one[0]) for one in sequences)
        origin = min(float(one[0]) for one in sequences)
        epoch = dated or all(_EPOCH[0] <= one[0] and one[-1] <= _EPOCH[1] for one in sequences)
        calendar = epoch if seconds is None else bool(seconds)
    return _chosen(every, span, origin, calendar=calendar)


def _chosen(every: Floats, span: float, origin: float | None, *, calendar: bool) -> TimeUnit:
    positive = every[every > 0.0]
    if positive.size == 0:
        raise EncodingError(
            "All events have the same time, so no gap says what a unit would be; pass times that "
            "differ, or name the unit yourself."
        )
    low, median, high = (float(x) for x in np.quantile(positive, (0.05, 0.5, 0.95)))
    unit = _unit(median, calendar=calendar)
    size = unit_of(unit)
    shortest, longest = _round(2.0 * low / size, up=False), _round(2.0 * span / size, up=True)
    ties = int(every.size - positive.size)
    return TimeUnit(
        unit=unit,
        shortest=shortest,
        longest=longest,
        median_gap=median,
        usual_gaps=(low, high),
        span=span,
        origin=origin,
        gaps=int(every.size),
        ties=ties,
        reasons=_reasons(unit, (low, median, high), span, ties, calendar=calendar),
    )


def _reasons(
    unit: str | float, gaps: tuple[float, float, float], span: float, ties: int, *, calendar: bool
) -> tuple[str, ...]:
    low, median, high = (_in_words(gap, calendar=calendar) for gap in gaps)
    reach = _in_words(span, calendar=calendar)
    name = f"a {unit}" if isinstance(unit, str) else f"{unit:g}"
    made = [
        f"the median gap is {median}, so the unit is {name}",
        f"gaps range from {low} to {high} (5 to 95 %): the shortest span is twice the lower end",
        f"the longest sequence spans {reach}: the longest span is twice that",
    ]
    made += [f"{ties} events have the time of the one before, and were left out"] if ties else []
    made += [] if calendar else ["positions are not known to be seconds, so units have no names"]
    return tuple(made)


def _in_words(span: float, *, calendar: bool) -> str:
    """Return a span in the largest unit that it fills, or as a number.

    >>> _in_words(5400.0, calendar=True), _in_words(5400.0, calendar=False)
    ('1.5 hours', '5400')
    """
    if not calendar:
        return f"{span:.4g}"
    unit = _unit(span, calendar=True)
    size = span / unit_of(unit)
    return f"{size:.3g} {unit}{'' if f'{size:.3g}' == '1' else 's'}"


def _unit(span: float, *, calendar: bool) -> Any:
    """Return the largest unit that is not above a span; below a second, a second."""
    if calendar:
        fitting = [name for name, size in UNITS.items() if size <= span]
        return fitting[-1] if fitting else "second"
    power = 10.0 ** math.floor(math.log10(span))
    return float(
        max(step * power for step in (1.0, 2.0, 5.0) if step * power <= span * (1 + 1e-12))
    )


def _round(value: float, *, up: bool) -> float:
    """Return a number to three digits, outwards."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    whole = value / step
    near = round(whole)
    if abs(whole - near) > 1e-9 * near:
        near = math.ceil(whole) if up else math.floor(whole)
    return float(f"{near * step:.3g}")


def _sequences(times: Any) -> tuple[list[Floats], bool]:
    """Return every sequence of two events or more, and whether times were dates."""
    ragged = isinstance(times, (list, tuple)) and len(times) > 0 and np.ndim(times[0]) > 0
    rows: Sequence[Any] = times if ragged else [times]
    if not ragged and np.ndim(times) == 2:
        rows = list(checks.array("times", times))
    read = [_times(row, f"sequence {place}" if len(rows) > 1 else "the sequence")
            for place, row in enumerate(rows)]  # fmt: skip
    usable = [values for values, _ in read if values.size > 1]
    if not usable:
        raise EncodingError(
            "No sequence has two events, so there is no gap between any; pass times of two events "
            "or more."
        )
    return usable, any(dated for _, dated in read)


def _times(row: Any, where: str) -> tuple[Floats, bool]:
    """Return the times of one sequence as seconds or numbers, or say what is wrong with them."""
    given = checks.array("times", row)
    dated = given.dtype.kind == "M"
    if dated:
        if np.isnat(given).any():
            raise EncodingError(f"The times of {where} hold NaT; pass the dates of events.")
        given = (given - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    values = _numbers(f"The times of {where}", given)
    falls = np.flatnonzero(np.diff(values) < 0.0)
    if falls.size:
        at = int(falls[0])
        raise EncodingError(
            f"The times of {where} fall from {values[at]:.17g} to {values[at + 1]:.17g} at event "
            f"{at + 1}; sort the events of each sequence."
        )
    return values, dated


def _numbers(what: str, given: Any) -> Floats:
    values = checks.array(what, given)
    if values.dtype.kind not in "iuf" or values.ndim != 1:
        raise EncodingError(
            f"{what} have shape {values.shape} and type {values.dtype}; pass real numbers in one "
            "row, (n,)."
        )
    wide = values.astype(np.float64)
    if not np.isfinite(wide).all():
        at = int(np.flatnonzero(~np.isfinite(wide))[0])
        raise EncodingError(f"{what} hold {wide[at]} at event {at}; pass finite numbers.")
    return wide


def _check_gaps(gaps: Floats) -> None:
    if gaps.size == 0:
        raise EncodingError("There are no gaps; pass one or more.")
    if (gaps < 0.0).any():
        at = int(np.flatnonzero(gaps < 0.0)[0])
        raise EncodingError(
            f"The gap {at} is {gaps[at]:g}; pass gaps from 0 on, later less earlier."
        )


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


SIDES = ("right", "left")


def packed_positions(lengths: Array, *, total: int | None = None) -> Array:
    """Return the position of every token in its own document, shape (total,).

    >>> packed_positions([3, 2])
    array([0, 1, 2, 0, 1])
    """
    values, xp, device = _lengths(lengths)
    width = _total(values, total)
    ends = xp.cumulative_sum(values)
    owner = documents(values, total=width)
    starts = xp.take(xp.concat([ends - values, ends[-1:]]), owner)
    return xp.arange(width, dtype=values.dtype, device=device) - starts


def documents(lengths: Array, *, total: int | None = None) -> Array:
    """Return the number of the document that every token of a packed sequence belongs to.

    >>> documents([3, 2])
    array([0, 0, 0, 1, 1])
    """
    values, xp, device = _lengths(lengths)
    width = _total(values, total)
    ends = xp.cumulative_sum(values)
    places = xp.arange(width, dtype=ends.dtype, device=device)
    return xp.searchsorted(ends, places, side="right")


def padded_positions(lengths: Array, *, width: int, side: str = "right") -> Array:
    """Return the position of every token in a padded batch, shape (batch, width); padding gets 0.

    >>> padded_positions([3, 2], width=3, side="left")
    array([[0, 1, 2],
           [0, 0, 1]])
    """
    values, xp, _ = _lengths(lengths)
    places = _places(values, width, side, xp=xp)
    return xp.where(real(values, width=width, side=side), places, xp.zeros_like(places))


def real(lengths: Array, *, width: int, side: str = "right") -> Array:
    """Return where a padded batch holds tokens and no padding, shape (batch, width).

    >>> real([3, 2], width=3, side="left")
    array([[ True,  True,  True],
           [False,  True,  True]])
    """
    values, xp, _ = _lengths(lengths)
    places = _places(values, width, side, xp=xp)
    return (places >= 0) & (places < values[:, None])


def continued_positions(start: int, count: int) -> Any:
    """Return the positions of `count` tokens that follow `start` cached ones.

    >>> continued_positions(5, 2)
    array([5, 6])
    """
    checks.whole("start", start, least=0)
    checks.whole("count", count, least=0)
    return np.arange(start, start + count)


def _places(values: Array, width: int, side: str, *, xp: Namespace) -> Array:
    checks.whole("width", width, least=1)
    checks.one_of("side", side, SIDES)
    seen = _seen(values)
    if seen is not None and seen.max() > width:
        raise EncodingError(
            f"A length is {seen.max()} and width is {width}; pass a width that holds all."
        )
    places = xp.arange(width, dtype=values.dtype, device=device_beside(values, xp=xp))
    first = width - values if side == "left" else xp.zeros_like(values)
    return places - first[:, None]


def _lengths(lengths: Array) -> tuple[Array, Namespace, Any]:
    xp = namespace_of(lengths)
    values = np.asarray(lengths) if xp is np else lengths
    if values.ndim != 1 or values.shape[0] == 0:
        raise EncodingError(
            f"The lengths have shape {tuple(values.shape)}; pass one list of lengths."
        )
    if not xp.isdtype(values.dtype, "integral"):
        raise EncodingError(f"The lengths have type {values.dtype}; pass whole numbers.")
    seen = _seen(values)
    if seen is not None and seen.min() < 0:
        raise EncodingError(f"A length is {seen.min()}; pass lengths from 0 on.")
    if xp.iinfo(values.dtype).bits < 32 or xp.isdtype(values.dtype, "unsigned integer"):
        values = xp.astype(values, xp.arange(1).dtype)  # sums and differences need the room
    return values, xp, device_beside(values, xp=xp)


def _seen(values: Array) -> NDArray[np.int64] | None:
    """Return lengths as NumPy's where they can be looked at: not while code is compiled."""
    if not isinstance(values, np.ndarray) and hidden(values):
        return None
    return np.asarray(values)


def _total(values: Array, total: int | None) -> int:
    if total is None:
        return int(values.sum())
    checks.whole("total", total, least=0)
    seen = _seen(values)
    if seen is not None and seen.sum() > total:
        raise EncodingError(
            f"The lengths sum to {seen.sum()} and total is {total}; pass a total that holds all."
        )
    return total
