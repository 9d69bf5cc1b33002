r"""Where a function is asked: the design of positions behind every law, and a record of it.

A law holds "for all positions", and a certificate sees some. Faults of tables, caches and layers do
not lie at random: they sit at the first token (attention sinks), at the ends of tables, at lengths
that are powers of two, in one half of a plane. So positions are asked in four ways, and each is
compared with itself after common shifts, every query with every key of its set:

* low    0, 1, 2, 3, 2^k - 1, 2^k, 2^k + 1 up to half of the reach, shifted up;
* high   the same from there on, and the last three, shifted down;
* free   some hundred random places in the lower half of every axis, beside a few others; shifted by
         half of the reach along each set of axes they lie evenly over all of it;
* far    random places all over the reach, for the longest lags, shifted a little.

Many get a partner near by, so that short lags are seen everywhere. On several axes coordinates are
drawn independently, so that places lie on no common line; the origin, each axis alone and the far
corner are among them. Of whole positions all rows are asked, on a grid of several axes,
too, up to `ROWS`: each as a query and as a key.

A fault that touches a share s of positions, or of lags, is missed by n uniform and independent ones
with probability (1 - s)^n: one in the lower half of an axis stands for those that shifts make of
it, so that it meets the part where the share is largest. The certificate states this for a share
of 1 %. A fault at a single real position or lag has no share, and none is promised to be found.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnomon.numeric.checks import reals
from gnomon.results import Result

if TYPE_CHECKING:
    from gnomon.groups.subject import Subject

Floats = NDArray[np.float64]
ROWS = 8192
"""Whole positions, of all axes together, up to which every one is asked."""
PARTNERS, FREE, FAR, FEW = 12, 512, 16, 6
CORNERS, MOST_AXES = 8, 3
"""Shifts at most by half of the reach, and axes up to which these are all there are."""
IN_LINE = 8
"""Tokens of a line, where their order counts."""
SHARE = 0.01
"""Share of positions, or of lags, for which the probability of missing a fault is stated."""


@dataclass(frozen=True)
class Moves:
    """Places of queries and of keys, (n,) or (n, axes), and steps that shift all of them."""

    queries: Floats
    keys: Floats
    steps: Floats

    @classmethod
    def of(cls, places: Floats, steps: Floats) -> Moves:
        """Return moves with the same places for both."""
        return cls(places, places, steps)


def special(last: float) -> Floats:
    """Return 0 to 3, powers of two and their neighbours, and the last three whole positions.

    >>> special(20.0).astype(int).tolist()
    [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 19, 20]
    """
    powers = 2.0 ** np.arange(2, max(3, math.floor(math.log2(max(last, 4.0))) + 1))
    near = np.concatenate([powers - 1.0, powers, powers + 1.0])
    made = np.concatenate([np.arange(4.0), near, last - np.arange(3.0)])
    return np.unique(made[(made >= 0.0) & (made <= last)])


def last_of(subject: Subject) -> float:
    """Return the last position."""
    return math.floor(subject.reach) if subject.whole else subject.reach


def random_places(
    subject: Subject, rng: np.random.Generator, count: int, *, low: float = 0.0, high: float
) -> Floats:
    """Return uniform places, every coordinate drawn by itself."""
    return shaped(subject, rng.uniform(low, high, size=(count, subject.axes)))


def rows(subject: Subject) -> Floats | None:
    """Return all whole positions (n, axes) up to the reach, or None where they are too many."""
    size = int(last_of(subject)) + 1
    if not subject.whole or size**subject.axes > ROWS:
        return None
    return np.indices((size,) * subject.axes).reshape(subject.axes, -1).T.astype(np.float64)


def shaped(subject: Subject, at: Floats) -> Floats:
    """Return coordinates (n, axes) as the subject takes them."""
    at = np.floor(at) if subject.whole else at
    return at[:, 0] if subject.axes == 1 else at


def many(subject: Subject, rng: np.random.Generator, count: int = 48) -> Floats:
    """Return all rows of a table that is short, or special places and random ones."""
    last = last_of(subject)
    if subject.whole and subject.axes == 1 and last < 1024.0:
        return np.arange(last + 1.0)
    ends = _special_places(subject, rng, 0.0, last)
    return np.concatenate([ends, random_places(subject, rng, count, high=last)])


def few(subject: Subject, rng: np.random.Generator, count: int = 2) -> tuple[Floats, Floats]:
    """Return early places with the first, and late ones with the last, some for each."""
    last = last_of(subject)
    ends = [shaped(subject, np.full((1, subject.axes), end)) for end in (0.0, last)]
    early = random_places(subject, rng, count, high=0.5 * last)
    late = random_places(subject, rng, count, low=0.5 * last, high=last)
    return np.concatenate([ends[0], early]), np.concatenate([ends[1], late])


def moves(subject: Subject, rng: np.random.Generator) -> Iterator[Moves]:
    """Yield sets of places with the steps by which they are shifted."""
    last = last_of(subject)
    half = 0.5 * last
    if subject.in_order:
        yield from _lines(subject, rng, last)
        return

    def steps(count: int, most: float, sign: float = 1.0) -> Floats:
        at = rng.uniform(0.0, most, size=(count, subject.axes))
        return sign * shaped(subject, np.maximum(at, min(1.0, most)))

    low = _special_places(subject, rng, 0.0, half)
    yield Moves.of(_with_partners(subject, rng, low, (0.0, half)), steps(2, half))
    high = _special_places(subject, rng, np.ceil(half), last)
    room = math.floor(half) if subject.whole else half
    yield Moves.of(_with_partners(subject, rng, high, (np.ceil(half), last)), steps(2, room, -1.0))
    yield from _free(subject, rng, half)
    if subject.axes <= MOST_AXES:
        subject.asked.free_places = FREE
    near = 0.1 * last
    far = random_places(subject, rng, FAR, high=last - near)
    first = shaped(subject, np.zeros((1, subject.axes)))
    small = np.exp(rng.uniform(0.0, math.log(half), size=(1, subject.axes)))
    yield Moves.of(np.concatenate([first, far]), steps(2, near))
    near_by = random_places(subject, rng, FAR, high=half)
    yield Moves.of(_with_partners(subject, rng, near_by, (0.0, half)), shaped(subject, small))


def _free(subject: Subject, rng: np.random.Generator, half: float) -> Iterator[Moves]:
    """Yield many random places as queries with few keys, and as keys with few queries."""
    if subject.axes > MOST_AXES:
        corners = rng.integers(0, 2, size=(CORNERS, subject.axes)).astype(np.float64)
    else:
        corners = np.array(list(itertools.product((0.0, 1.0), repeat=subject.axes)))[1:]
    steps = shaped(subject, half * corners)
    if subject.span is not None:
        for _ in range(2):
            places = random_places(subject, rng, FREE // 2, high=half)
            both = _with_partners(subject, rng, places, (0.0, half), most=FREE)
            yield Moves.of(both, steps)
        return
    every = random_places(subject, rng, FREE, high=half)
    near = rng.uniform(0.0, 0.2 * half, size=(2, FEW, subject.axes))
    near[:, 0] = 0.0
    early, late = shaped(subject, near[0]), shaped(subject, half - near[1])
    yield Moves(every, early, steps)
    yield Moves(late, every, steps)


def _lines(subject: Subject, rng: np.random.Generator, last: float) -> Iterator[Moves]:
    """Yield lines of tokens in their order: the first places, the last ones, and random ones."""
    count = int(min(IN_LINE, last + 1.0))
    first = np.arange(float(count))
    drawn = np.sort(rng.uniform(0.0, 0.5 * last, size=count))
    drawn = np.unique(np.floor(drawn)) if subject.whole else drawn
    random = shaped(subject, rng.uniform(1.0, 0.5 * last, size=(3, 1)))
    room = last - count + 1.0
    for places, steps in ((first, random), (first + room, -random), (drawn, random)):
        at = places if subject.axes == 1 else np.repeat(places[:, None], subject.axes, axis=1)
        way = steps if subject.axes == 1 else np.repeat(steps[:, None], subject.axes, axis=1)
        yield Moves.of(at, np.clip(way, -room, room))


def _special_places(subject: Subject, rng: np.random.Generator, low: float, high: float) -> Floats:
    """Return special places between two positions: ends, each axis alone, and mixed ones."""
    known = special(last_of(subject))
    known = known[(known >= low) & (known <= high)]
    if not len(known):
        known = np.array([low])
    if subject.axes == 1:
        return known
    made = [np.full((1, subject.axes), known[0]), np.full((1, subject.axes), known[-1])]
    for axis in range(subject.axes):
        alone = np.full((4, subject.axes), low)
        alone[:, axis] = [known[0], known[-1], *rng.choice(known, size=2)]
        made.append(alone)
    made.append(rng.choice(known, size=(16, subject.axes)))
    return np.unique(np.concatenate(made), axis=0)


def _with_partners(
    subject: Subject,
    rng: np.random.Generator,
    at: Floats,
    ends: tuple[float, float],
    *,
    most: int = PARTNERS,
) -> Floats:
    """Return places with others near to some of them, within the ends."""
    chosen = rng.choice(len(at), size=min(most, len(at)), replace=False)
    widest = max(2.0, min(subject.lags, ends[1] - ends[0]))
    size = np.exp(rng.uniform(0.0, math.log(widest), size=(len(chosen), subject.axes)))
    sign = rng.choice([-1.0, 1.0], size=size.shape)
    beside = at[chosen].reshape(len(chosen), subject.axes) + sign * size
    return np.concatenate([at, shaped(subject, np.clip(beside, *ends))])


@dataclass
class Ledger:
    """What was asked: positions at which some logit was finite, and how many pairs."""

    places: list[Floats] = field(default_factory=list)
    pairs: int = 0
    lags: list[Floats] = field(default_factory=list)
    """Lags (n, axes) at which what a group, or a finite rank, makes was compared."""
    rows: int = 0
    """Most queries, or keys, of one call."""
    free_places: int = 0
    """Uniform and independent positions that were compared with their shifts."""
    free_lags: list[int] = field(default_factory=list)
    """Uniform and independent lags of each comparison that did not have all."""

    def note(self, found: Floats, t: Any, s: Any) -> None:
        """Write down positions of queries and keys that were seen."""
        finite = np.isfinite(found).reshape(-1, *found.shape[-2:])
        seen: NDArray[np.bool_] = np.asarray(finite.any(axis=0))
        self.pairs += int(seen.sum())
        self.rows = max(self.rows, *seen.shape)
        self.places.append(reals(t, "t")[seen.any(axis=1)])
        self.places.append(reals(s, "s")[seen.any(axis=0)])

    def compare(self, lags: Floats, *, free: int | None) -> None:
        """Write down lags (n, axes) at which one law of the lag was compared.

        So many of them are uniform and independent; None, where all were compared.
        """
        self.lags.append(lags)
        if free is not None:
            self.free_lags.append(free)

    @property
    def compared(self) -> int:
        """Return at how many lags one law was compared."""
        return len(self._distinct())

    def _distinct(self) -> Floats:
        made: Floats = np.empty((0, 1))
        return np.unique(np.concatenate(self.lags), axis=0) if self.lags else made

    def summary(self, subject: Subject) -> Asked:
        """Return what was asked in numbers and words."""
        kept = [one for one in self.places if len(one)]
        if not kept:
            return Asked(positions=0, pairs=0, every=False, special=(), lag=0.0)
        at = np.unique(np.concatenate(kept), axis=0)
        at = at[(at.reshape(len(at), -1) <= subject.reach).all(axis=1)]
        every = subject.whole and len(at) == (int(last_of(subject)) + 1) ** subject.axes
        lags = self._distinct()
        return Asked(
            positions=len(at),
            pairs=self.pairs,
            every=every,
            special=tuple(_words(subject, at)),
            axes=subject.axes,
            lag=subject.lags,
            lags=len(lags),
            farthest=float(np.abs(lags).max(initial=0.0)),
            rows=self.rows,
            random_positions=None if every else self.free_places,
            random_lags=min(self.free_lags) if self.free_lags else None,
        )


def _words(subject: Subject, at: Floats) -> Iterator[str]:
    """Name the places of note that are among positions."""
    rows = {tuple(row) for row in at.reshape(len(at), subject.axes).tolist()}
    last = last_of(subject)

    def has(*values: float) -> bool:
        return all((value,) * subject.axes in rows for value in values)

    if has(0.0):
        yield "0" if subject.axes == 1 else "the origin"
    if subject.axes == 1 and has(1.0):
        yield "1"
    if subject.axes == 1 and has(*special(last)):
        yield "powers of two and their neighbours"
    if subject.axes > 1 and all(_alone(at, axis) for axis in range(subject.axes)):
        yield "points of each axis alone"
    if has(last):
        yield f"the last ({last:g})" if subject.axes == 1 else "the far corner"


def _alone(at: Floats, axis: int) -> bool:
    """Whether some places lie on one axis, away from the origin."""
    rest = np.delete(at, axis, axis=1)
    return bool(((at[:, axis] > 0.0) & (rest == 0.0).all(axis=1)).any())


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked(Result):
    """What a certificate rests on: how many positions and pairs were asked, and which.

    `every`: all integer positions up to the reach. `lag`: the longest at which logits are finite,
    or the reach. `lags`: at how many the laws of the lag (group, rank) were compared, up to the
    `farthest`; on several axes a lag is a vector. `rows`: the most queries, or keys, of one call.
    `random_positions` and `random_lags` are uniform and independent, the lags of each sign; None
    where all were asked, or no lag was. Positions below 0 are never asked.
    """

    positions: int
    pairs: int
    every: bool
    special: tuple[str, ...]
    lag: float
    axes: int = 1
    lags: int = 0
    farthest: float = 0.0
    rows: int = 0
    negative: bool = False
    random_positions: int | None = None
    random_lags: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with the probability of missing a fault in a share of places."""
        known = {"positions": self.random_positions, "lags": self.random_lags}
        missed = {name: missed_by(count) for name, count in known.items() if count}
        return {**super().to_dict(), "missed": {"share": SHARE, **missed} if missed else None}

    def text(self, until: str, reach: float) -> str:
        """Return it as a line of text."""
        pairs = f"{self.pairs:,} pairs{self._lags()}; none below 0, {self.rows:,} rows at once"
        if self.every:
            return f"asked: all {self.positions:,} positions, in {pairs}"
        where = f"up to {until} {reach:g}" + (" on each axis" if self.axes > 1 else "")
        rest = (
            "at random, off every line, or along axes" if self.axes > 1 else "at random or in steps"
        )
        named = ", ".join([*self.special, f"the others {rest}"])
        return f"asked: {self.positions:,} positions {where} ({named}), in {pairs}"

    def bounds(self) -> str:
        """Return what may be missed as a line of text, or nothing where all was asked."""
        known = {"positions": self.random_positions, "lags": self.random_lags}
        said = [
            f"in {SHARE:.0%} of {name} with probability below {rounded_up(missed_by(count)):g}"
            for name, count in known.items()
            if count
        ]
        if not said:
            return ""
        return f"may be missed: a fault {', '.join(said)}, and one at a single point or lag"

    def _lags(self) -> str:
        """Say at how many lags the laws of the lag were compared."""
        if not self.lags:
            return ""
        return f"; laws of the lag at {self.lags:,} lags up to {self.farthest:g}"


def missed_by(count: int, share: float = SHARE) -> float:
    """Return the probability that independent places all miss a fault of a share.

    >>> round(missed_by(512), 4)
    0.0058
    """
    return float((1.0 - share) ** count)


def rounded_up(value: float) -> float:
    """Return a number with one digit that is no smaller.

    >>> rounded_up(1.2e-8)
    2e-08
    """
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{min(math.ceil(value / power) * power, 1.0):.0e}")
