"""Rotary encoding of times: a ladder of periods between a shortest and a longest one.

    R_t turns pair k by 2 pi t / (P_k unit),  P_k = shortest (longest / shortest)^(k / (m - 1)),

m = dimension / 2 pairs, the fastest first. q~.k~ depends on the time between two events alone, and
steps of time may be uneven: events, visits, sensors [gao2024]. The ladder base^(-2k/d) of rotary
encoding supposes steps of 1. Times have no such step, so the periods are chosen: the shortest below
which nothing is told apart, the longest over which order must still show, say twice the longest
history.

Seconds since 1970 need no origin: phases are float64, or limbs where there is none. With u = 2^-53
a phase errs by 2 u times itself: 2e-6 radians for a period of one second at 1.7e9 seconds, 2e-11
for one of a day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.rotary.rope import Rotating
from gnomon.encodings.times import check_spans, spans, unit_of
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

TESTS = "encodings/test_encoding_times.py"
CARD = Card(
    name="rope-time",
    family="rotary",
    kind=("transform",),
    formula="R_t turns pair k by 2 pi t / P_k, periods P_k geometric from shortest to longest",
    source="gao2024",
    level=in_words("L0"),
    relative=True,
    reading=(
        "the authors turn by times with the ladder of rotary encoding, whose periods suppose steps "
        "of 1; here the shortest and the longest period are given in a unit of time"
    ),
    proofs=proved(
        ORACLE,
        ("rotary encoding", TESTS, "test_periods_of_the_usual_ladder_give_rotary_encoding"),
        ("whole periods", TESTS, "test_events_whole_periods_apart_are_turned_alike"),
        (
            "60 digits at timestamps, in all libraries",
            TESTS,
            "test_timestamps_turn_as_60_digits_do",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RopeTime(Rotating):
    """Rotary encoding whose periods run from `shortest` to `longest`, in `unit`s of the positions.

    >>> made = RopeTime(dimension=6, shortest=1.0, longest=100.0, unit="day")
    >>> made.periods / 86400
    array([  1.,  10., 100.])
    """

    on_grids: ClassVar[bool] = False
    shortest: float
    longest: float
    unit: Any = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_axis("rope-time", self.axes)
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why="two per pair")
        check_spans(self.shortest, self.longest)
        unit_of(self.unit)

    @property
    def card(self) -> Card:
        """Return the card of rotary encoding of times."""
        return CARD

    @property
    def periods(self) -> NDArray[np.float64]:
        """Return the periods in positions, such as seconds, the shortest first."""
        ladder = spans(float(self.shortest), float(self.longest), self.dimension // 2)
        return ladder * unit_of(self.unit)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return 2 pi over every period, in radians per position: shape (dimension/2, 1)."""
        return (2.0 * np.pi / self.periods)[:, None]
