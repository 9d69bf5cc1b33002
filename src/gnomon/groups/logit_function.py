r"""What is certified: a function that gives logits at positions, and how it may be asked.

    logits(q, k, t, s) -> (..., n, m)      q (n, d), k (m, d), positions t (n,) or (n, axes), s (m,)

Whatever is to be certified is brought into this form: a pair of maps of queries and keys, one map
for both, or logits themselves. Leading axes are heads, all certified together. A function is asked
twice with the same arguments first, then with an odd number of calls between, and its first
question of all again when everything was asked: one that does not answer alike cannot be
certified.

Clocks: an encoding that is a group in tau(t) and not in t, certified modulo tau.

    f(q, k, t, s) = q^T exp((tau_t - tau_s) X) k,   tau rising

Laws are asked in clock time: a position is where the clock shows the time that is asked for, found
by halving the interval between the positions around it [brent1973 ch. 3]. Learned clocks, sums of
what tokens add, and a logarithm of the position are of this kind: level L3 with its clock, L6
without.

What rounding leaves to be seen: the type of a function, the tolerance and reach of its laws.

Vectors may be rounded in the type that a function computes in, eps for each; phases must be held in
float32 at least, which leaves eps32 w t at position t for a frequency w of 1 [goldberg1991]:

    tolerance = 4 eps + 4 eps32 t        float64: 1e-9

so that phases of bfloat16, whose error is 2^16 times as large, do not pass for rounding. A residual
is a share of the largest logit, and a tolerance above 0.05 would certify anything: the reach is cut
back to where it is below.

The type is that of what is returned, or coarser: vectors that are exact in a narrow type, changed
by less than its rounding, give the same logits where they pass through it; so do positions.

Windows: at which lags logits are finite at all.

Attention over a window, in chunks, or beside a sink gives -inf for pairs that it leaves out, and
some code a number such as -1e9 or -1e4 instead, beside which every other logit looks like rounding.
Laws are judged where logits are finite, so that it must be known where that is. A few queries are
asked with keys at special and at random lags, and the first lag that is masked is found by
bisection [brent1973 ch. 3]. A window is finite up to one lag and masked beyond; of anything else,
such as chunks, only the lags below the first masked one are safe, and the law of shifts sees the
rest.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import GnomonError, GroupError
from gnomon.groups.generator import Floats
from gnomon.groups.names import round_up
from gnomon.numeric.checks import reals
from gnomon.results import Result

Logits = Callable[..., Any]
Map = Callable[[Floats, Floats], Any]
"""(vectors (n, d), positions (n,)) -> vectors (n, e)."""
Coder = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]
"""(queries (n, d), keys (n, d), positions (n,)) of new tokens -> both encoded."""
ENDLESS = 4095.0
SHORT = 8.0
"""Positions below which the first question of all is asked."""
EPSILON = float(np.finfo(np.float64).eps)
Clock = Callable[[Floats], Any]
HALVINGS = 80
"""A position is then right to its last digit."""
TOLERANCE = 1e-9
LARGEST_TOLERANCE = 0.05
"""Largest tolerance that still tells a law from its opposite."""
SINGLE = float(np.finfo(np.float32).eps)
NARROW_TYPES = {2.0**-7: "bfloat16", 2.0**-10: "float16", 2.0**-23: "float32"}
"""Narrow types by their rounding."""
VECTORS = PHASES = 4.0
SURELY_MASKED, LIKELY_MASKED = -5e8, -5e3
"""Values below the first that no vector changes are a mask; below the second if they are alike."""
ALIKE, STEPS = 1e-2, 3
"""By how much values of a mask of that size differ, and at how many lags they are met at least."""
LEAST_SPAN = 8.0
"""Shortest span on which laws of the lag are tested."""
WINDOW_LAGS, ROUNDS = 32, 6
Bools = NDArray[np.bool_]
SHARE = 0.01
"""Share of positions, or of lags, for which the probability of missing a fault is stated."""


@dataclass(frozen=True)
class First:
    """A question that may be asked again, and the answer that it had."""

    ask: Callable[[], Floats]
    answer: Floats


@dataclass
class Ledger:
    """What was asked: positions at which some logit was finite, and how many pairs."""

    places: list[Floats] = field(default_factory=list)
    pairs: int = 0
    lags: list[Floats] = field(default_factory=list)
    """Lags (n, axes) at which what a group, or a finite rank, makes was compared."""
    rows: int = 0
    """Most queries, or keys, of one call."""
    sizes: tuple[float, ...] = ()
    """By how much vectors were longer than those of most questions, where f is to be linear."""
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

    def distinct_lags(self) -> Floats:
        """Return the lags (n, axes) at which one law was compared, each once."""
        made: Floats = np.empty((0, 1))
        return np.unique(np.concatenate(self.lags), axis=0) if self.lags else made

    def summary(self, subject: LogitFunction) -> Asked:
        """Return what was asked in numbers and words."""
        kept = [one for one in self.places if len(one)]
        if not kept:
            return Asked(positions=0, pairs=0, every=False, special=(), lag=0.0)
        at = np.unique(np.concatenate(kept), axis=0)
        at = at[(at.reshape(len(at), -1) <= subject.reach).all(axis=1)]
        every = subject.whole and len(at) == (int(last_of(subject)) + 1) ** subject.axes
        lags = self.distinct_lags()
        return Asked(
            positions=len(at),
            pairs=self.pairs,
            every=every,
            special=tuple(_names_of(subject, at)),
            axes=subject.axes,
            lag=subject.lags,
            lags=len(lags),
            farthest=float(np.abs(lags).max(initial=0.0)),
            rows=self.rows,
            sizes=self.sizes,
            random_positions=None if every else self.free_places,
            random_lags=min(self.free_lags) if self.free_lags else None,
        )


@dataclass(frozen=True, kw_only=True)
class LogitFunction:
    """A function of logits, with what must be known to ask it.

    Of a causal one only keys up to their query are looked at. `reach` is the largest position that
    it is asked for; 4095 or more stands for no end, and some laws then look further. `in_order`:
    the tokens between a key and its query count, keys are given in their order, and queries are the
    last of them. One that reads tokens beside queries and keys has the `width` of these, and takes
    them as its last argument, (m, width). `timed`: its positions are the times of a clock
    (`modulo`). `rounding` is that of the type it computes in, whatever it is given;
    where that is narrow, `farthest` is the position near which it is looked at. `coder` begins a
    text: what it returns gives encoded queries and keys of the tokens that come, call by call, as
    a cache keeps them. `span` is the longest lag at which logits are finite, where a window ends
    (`find_window`), and what is below `floor` is taken for a mask, as -inf is. `asked`
    keeps what was asked.
    """

    name: str
    dimension: int
    logits: Logits
    causal: bool = False
    axes: int = 1
    whole: bool = False
    reach: float = 4096.0
    in_order: bool = False
    width: int | None = None
    timed: bool = False
    rounding: float = EPSILON
    farthest: float | None = None
    coder: Callable[[], Coder] | None = None
    shown: Callable[..., float] | None = None
    """The rounding of the type that is returned for queries, keys and positions."""
    warnings: tuple[str, ...] = ()
    span: float | None = None
    floor: float | None = None
    looked: bool = False
    """Whether a window was looked for."""
    one_side: Callable[[Floats, Floats], Any] | None = None
    """The map of queries by itself, where there is one: (vectors (n, d), positions) -> vectors."""
    first: First | None = field(default=None, compare=False, repr=False)
    """The first question of all, near 0, with its answer."""
    asked: Ledger = field(default_factory=Ledger, compare=False, repr=False)

    @property
    def lags(self) -> float:
        """Return the longest lag that laws are asked at."""
        return self.reach if self.span is None else self.span

    @property
    def narrow(self) -> bool:
        """Whether it computes in a type below float64."""
        return self.rounding > EPSILON

    @property
    def ends(self) -> bool:
        """Whether nothing may be asked beyond the reach."""
        return self.whole or self.timed or self.reach < ENDLESS

    def __call__(self, q: Any, k: Any, t: Any, s: Any, tokens: Any = None) -> Floats:
        """Return the logits of vectors in any type as float64, or say what is wrong with them."""
        found = _call(self.name, self.logits, q, k, t, s, *(() if tokens is None else (tokens,)))
        if found.shape[-2:] != (len(q), len(k)):
            raise GroupError(
                f"{self.name} gave an array of shape {found.shape} for {len(q)} queries and "
                f"{len(k)} keys; it must give logits of shape (..., {len(q)}, {len(k)})."
            )
        if np.isnan(found).any():
            raise self._is_nan(found, t, s)
        if self.floor is not None:
            found = np.where(found <= self.floor, -np.inf, found)
        self.asked.note(found, t, s)
        return found

    def check(self, rng: np.random.Generator) -> None:
        """Refuse a function that answers the same question in two ways, or changes the question."""
        q, k = rng.normal(size=(2, 3, self.dimension))
        late, early = (
            self.places(np.array(shares)) for shares in ((0.7, 0.8, 1.0), (0.0, 0.2, 0.5))
        )
        late, early = (late, late) if self.in_order else (late, early)
        tokens = None if self.width is None else rng.normal(size=(3, self.width))
        asked = [x for x in (q, k, late, early, tokens) if x is not None]
        before = [x.copy() for x in asked]
        first = self(q, k, late, early, tokens)
        if not all(map(np.array_equal, asked, before)):
            raise GroupError(
                f"{self.name} writes into the vectors or positions that it is given; let it make "
                "arrays of its own."
            )
        second = self(q, k, late, early, tokens)
        if not np.array_equal(first, second):
            raise GroupError(
                f"{self.name} gives other logits when it is asked again; fix its seed, or switch "
                "off what is random in it."
            )
        if self.one_side is None:
            return
        self.one_side(q, late)  # now as many calls are between as make an odd number
        if not np.array_equal(first, self(q, k, late, early, tokens)):
            raise self._depends()

    def begun(self) -> LogitFunction:
        """Return a subject that knows its first answer: at short positions, before any long one."""
        if self.first is not None:
            return self
        rng = np.random.default_rng(0)
        q, k = rng.normal(size=(2, 3, self.dimension))
        late, early = (
            self.places(np.array(places) / SHORT, reach=min(SHORT, self.reach))
            for places in ((3.0, 4.0, 5.0), (0.0, 1.0, 2.0))
        )
        read = () if self.width is None else (rng.normal(size=(3, self.width)),)
        given = (q, k, late, late if self.in_order else early, *read)
        try:
            return replace(self, first=First(lambda: self(*given), self(*given)))
        except GroupError:  # what is wrong with all its answers is said of the questions of laws
            return self

    def check_again(self, tolerance: float) -> None:
        """Refuse a function that answers its first question in another way after all others."""
        if self.first is None:
            return
        before, after = self.first.answer, self.first.ask()
        seen = np.isfinite(before)
        size = float(np.abs(before[seen]).max(initial=0.0))
        moved = float(np.abs(after[seen] - before[seen]).max(initial=0.0))
        if not np.array_equal(seen, np.isfinite(after)) or not moved <= tolerance * size:
            raise self._depends()

    def _is_nan(self, found: Floats, t: Any, s: Any) -> GroupError:
        late, early = (np.max(reals(at, "t").reshape(len(at), -1), axis=1) for at in (t, s))
        farther = np.maximum(late[:, None], early[None])
        missing = np.isnan(found.reshape(-1, *found.shape[-2:])).any(axis=0)
        farthest, first = float(farther.max()), float(farther[missing].min())
        advice = "; pass the largest position at which it gives numbers as its reach."
        if farthest > self.reach:
            advice = (
                f", beyond the reach of {self.reach:g}, where laws look since a reach of "
                f"{ENDLESS:g} or more stands for no end; pass a reach below {ENDLESS:g}, or "
                "whole=True, and nothing beyond it is asked."
            )
        elif (farther[~missing] > first).any():
            row, column = np.argwhere(missing & (farther == first))[0]
            pair = (
                f"a query at {np.asarray(t)[row]:g} and a key at {np.asarray(s)[column]:g}"
                if (self.axes == 1)
                else f"positions up to {first:g}"
            )
            return GroupError(
                f"{self.name} gives NaN for {pair}, and numbers farther on; mend what it does "
                "there, or give -inf where it masks."
            )
        return GroupError(f"{self.name} gives NaN at positions up to {farthest:g}{advice}")

    def _depends(self) -> GroupError:
        return GroupError(
            f"{self.name} gives other logits to the same question after other calls, so that they "
            "depend on what was asked before; pass one that keeps nothing between calls, such as "
            "frequencies that grew with a length, a cache or a counter."
        )

    def places(self, shares: Floats, *, reach: float | None = None) -> Floats:
        """Return positions at shares (n,) in [0, 1] of the reach, on every axis in its own way.

        They lie on one line: laws are asked at those of `gnomon.groups.laws`.
        """
        span = self.reach if reach is None else reach
        at = span * np.asarray(shares, dtype=np.float64)
        if self.axes > 1:
            ways = np.linspace(1.0, 0.3, self.axes)
            at = at[:, None] * ways
        return np.floor(at) if self.whole else at


def along(subject: LogitFunction, axis: int) -> LogitFunction:
    """Return a subject of several axes on one of them, where the others stand at 0."""
    if subject.axes == 1:
        return subject

    def place(at: Floats) -> Floats:
        made = np.zeros((len(at), subject.axes))
        made[:, axis] = at
        return made

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Floats:
        return subject(q, k, place(t), place(s))

    return replace(subject, axes=1, logits=logits, coder=None, shown=None, asked=Ledger())


def on_line(subject: LogitFunction, way: Floats) -> LogitFunction:
    """Return a subject of several axes on a line along a way, -1 to 1 on each, from a corner.

    Where the way falls positions come down from the reach.
    """
    corner = np.where(way < 0.0, np.floor(subject.reach), 0.0)

    def place(at: Floats) -> Floats:
        return np.asarray(corner + at[:, None] * way)

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Floats:
        return subject(q, k, place(t), place(s))

    return replace(subject, axes=1, logits=logits, coder=None, shown=None, asked=Ledger())


def rounding_of_type(found: Any) -> float:
    """Return the rounding of the type of an array or tensor; whole numbers are exact."""
    name = str(getattr(found, "dtype", "float64")).rpartition(".")[-1]
    return {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}.get(name, EPSILON)


def _to_float64(found: Any) -> Floats:
    """Return what a library calls an array as float64; NumPy has no bfloat16 of its own."""
    if hasattr(found, "detach"):
        found = found.detach().cpu()
        found = found.float() if rounding_of_type(found) == 2.0**-7 else found
    if np.ma.is_masked(found):
        raise TypeError("it gave masked entries")
    made = np.asarray(found)
    made = made.astype(np.float32) if str(made.dtype) == "bfloat16" else made
    if made.dtype.kind not in "biuf":
        raise TypeError(f"it gave {made.dtype}")
    return made.astype(np.float64)


def _call(name: str, function: Callable[..., Any], *given: Any) -> Floats:
    """Return what a user's function gives as float64, or say in a sentence why there is nothing."""
    try:
        with np.errstate(all="ignore"):  # what overflows is seen in the result
            found = function(*given)
            if inspect.iscoroutine(found):
                found.close()  # or Python complains that nobody awaited it
                raise TypeError("it gave a coroutine")  # noqa: TRY301 - said below, as all else
            return _to_float64(found)
    except GnomonError:
        raise
    except Exception as error:  # whatever a user's function raises becomes one sentence
        shapes = ", ".join(str(np.shape(x)) for x in given)
        reason = " ".join(str(error).split()) or "no reason given"
        raise GroupError(
            f"{name} gives no real numbers for arrays of shapes {shapes} "
            f"({type(error).__name__}: {reason}); pass a function that does."
        ) from error


def of_maps(
    encode_q: Map, encode_k: Map | None, *, dimension: int, name: str = "the pair", **about: Any
) -> LogitFunction:
    """Return the subject of two maps, or of one that serves queries and keys."""
    keys = encode_q if encode_k is None else encode_k

    sides = ((encode_q, "queries"), (keys, "keys"))

    def encode(q: Floats, k: Floats, t: Floats, s: Floats) -> tuple[Floats, Floats]:
        made = []
        for (encode, side), x, at in zip(sides, (q, k), (t, s), strict=True):
            made.append(_call(name, encode, x, at))
            if made[-1].ndim < 2 or made[-1].shape[-2] != len(x):
                raise GroupError(
                    f"{name} made {made[-1].shape} of {side} of shape {x.shape}; a map must give "
                    "one vector for each."
                )
        if made[0].shape[-1] != made[1].shape[-1]:
            raise GroupError(
                f"{name} makes queries of dimension {made[0].shape[-1]} and keys of dimension "
                f"{made[1].shape[-1]}; both must be the same."
            )
        return made[0], made[1]

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Any:
        left, right = encode(q, k, t, s)
        return left @ np.swapaxes(right, -1, -2)

    def shown(q: Floats, k: Floats, t: Floats, s: Floats) -> float:
        return max(rounding_of_type(encode_q(q, t)), rounding_of_type(keys(k, s)))

    def coder() -> Coder:
        return lambda q, k, at: encode(q, k, at, at)

    about = {"coder": coder, "shown": shown, "one_side": encode_q, **about}
    return LogitFunction(name=name, dimension=dimension, logits=logits, **about)


def special(last: float) -> Floats:
    """Return 0 to 3, powers of two and their neighbours, and the last three whole positions.

    >>> special(20.0).astype(int).tolist()
    [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 19, 20]
    """
    powers = 2.0 ** np.arange(2, max(3, math.floor(math.log2(max(last, 4.0))) + 1))
    near = np.concatenate([powers - 1.0, powers, powers + 1.0])
    made = np.concatenate([np.arange(4.0), near, last - np.arange(3.0)])
    return np.unique(made[(made >= 0.0) & (made <= last)])


def last_of(subject: LogitFunction) -> float:
    """Return the last position."""
    return math.floor(subject.reach) if subject.whole else subject.reach


def as_positions(subject: LogitFunction, at: Floats) -> Floats:
    """Return coordinates (n, axes) as the subject takes them."""
    at = np.floor(at) if subject.whole else at
    return at[:, 0] if subject.axes == 1 else at


def modulo(subject: LogitFunction, clock: Clock) -> LogitFunction:
    """Return the subject in the time of a clock, which must rise with the position."""
    if subject.axes > 1 or subject.whole:
        raise GroupError("A clock needs real positions on one axis; pass a subject of that kind.")
    ends = np.array([0.0, subject.reach])
    shown = _shown(clock, ends)

    def to_positions(times: Floats) -> Floats:
        return position_at(clock, shown[0] + times, subject.reach)

    def logits(q: Floats, k: Floats, t: Floats, s: Floats, *tokens: Floats) -> Any:
        return subject.logits(q, k, to_positions(t), to_positions(s), *tokens)

    return replace(
        subject,
        name=f"{subject.name}, modulo its clock",
        logits=logits,
        coder=None if subject.coder is None else _in_time(subject.coder, to_positions),
        reach=float(shown[1] - shown[0]),
        timed=True,
    )


def _in_time(begin: Callable[[], Coder], to_positions: Callable[[Floats], Floats]) -> Any:
    """Return the coder of a subject, asked in the time of a clock."""

    def begun() -> Coder:
        code = begin()
        return lambda q, k, at: code(q, k, to_positions(at))

    return begun


def _shown(clock: Clock, at: Floats) -> Floats:
    """Return what a clock shows, or refuse one that does not rise."""
    fine = np.linspace(at[0], at[-1], 257)
    times = np.asarray(clock(fine), dtype=np.float64)
    if times.shape != fine.shape or not np.isfinite(times).all():
        raise GroupError("The clock does not give one finite time for each position.")
    if (np.diff(times) <= 0.0).any():
        first = fine[int(np.argmax(np.diff(times) <= 0.0))]
        raise GroupError(f"The clock does not rise after position {first:g}; pass one that rises.")
    return np.asarray(clock(at), dtype=np.float64)


def position_at(clock: Clock, times: Floats, reach: float) -> Floats:
    """Return the positions in [0, reach] at which a rising clock shows these times."""
    low, high = np.zeros_like(times), np.full_like(times, reach)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        later = np.asarray(clock(middle), dtype=np.float64) > times
        low, high = np.where(later, low, middle), np.where(later, middle, high)
    return 0.5 * (low + high)


def tolerance_of(subject: LogitFunction) -> float:
    """Return the residual that rounding alone may leave."""
    if not subject.narrow:
        return TOLERANCE
    return min(LARGEST_TOLERANCE, VECTORS * subject.rounding + PHASES * SINGLE * subject.reach)


def check_tolerance(tolerance: Any) -> float:
    """Return a tolerance for laws, or refuse one that nothing or everything meets."""
    usual = isinstance(tolerance, int | float | np.number) and not isinstance(tolerance, bool)
    if not usual or not 1e-15 <= float(tolerance) <= LARGEST_TOLERANCE:
        raise GroupError(
            f"tolerance is {tolerance!r}; pass a share of the largest logit between 1e-15 and "
            f"{LARGEST_TOLERANCE:g}."
        )
    return float(tolerance)


def detect_rounding(subject: LogitFunction, *, cut: bool = True) -> LogitFunction:
    """Return a function with the rounding that it shows, its reach cut to what that leaves."""
    subject = subject.begun()
    given = _exact(subject)
    base = subject(*given)
    if not base.any():
        raise GroupError(
            f"{subject.name} gives 0 for every query and key, so there is nothing positional in "
            "it; pass a map that keeps what vectors hold."
        )
    subject = find_window(subject)
    if subject.span is not None:
        given = _exact(subject)
        base = subject(*given)
    returned = subject.shown or (lambda *given: rounding_of_type(subject.logits(*given)))
    seen = max(subject.rounding, returned(*given), _of_vectors(subject, base, given))
    if not subject.whole:
        seen = max(seen, _of_positions(subject, base, given))
    made = replace(subject, rounding=seen, warnings=(*subject.warnings, *_still(subject, base)))
    return _within(made) if cut else made


def _exact(subject: LogitFunction) -> tuple[Floats, Floats, Floats, Floats]:
    """Return queries, keys and positions that are exact in all types, at lags that are seen."""
    rng = np.random.default_rng(0)
    q, k = np.round(8.0 * rng.normal(size=(2, 4, subject.dimension))) / 8.0
    late, early = (
        subject.places(np.array(shares), reach=subject.lags).astype(np.float32).astype(np.float64)
        for shares in ((0.6, 0.7, 0.8, 0.9), (0.0, 0.1, 0.3, 0.4))
    )
    return q, k, late, early


def _of_vectors(subject: LogitFunction, base: Floats, asked: tuple[Floats, ...]) -> float:
    """Return the coarsest rounding that queries pass through."""
    q, *rest = asked
    for rounding in NARROW_TYPES:
        less, more = (subject((1.0 + part * rounding) * q, *rest) for part in (1 / 8, 8.0))
        if np.array_equal(less, base) and not np.array_equal(more, base):
            return rounding
    return EPSILON


def _of_positions(subject: LogitFunction, base: Floats, asked: tuple[Floats, ...]) -> float:
    """Return the rounding of float32 where positions of queries pass through it."""
    q, k, late, early = asked
    shown = np.isfinite(base)  # what a window masks stays masked
    less, half, more = (
        subject(q, k, (1.0 + part) * late, early)[shown] - base[shown]
        for part in (2.0**-30, 2.0**-21, 2.0**-20)
    )
    if not shown.any():
        return EPSILON
    moved = float(np.abs(more).max())
    slow = moved * 2.0**-10 <= 1e-12 * float(np.abs(base[shown]).max())  # float64 would not show it
    jumps = float(np.abs(more - 2.0 * half).max()) > 0.25 * moved  # tables that are coarser
    return EPSILON if less.any() or slow or jumps else SINGLE


def _still(subject: LogitFunction, base: Floats) -> tuple[str, ...]:
    """Warn of what does not depend on positions at all, at lags near or far."""
    if subject.lags < LEAST_SPAN:
        return ()
    rng = np.random.default_rng(0)
    q, k = np.round(8.0 * rng.normal(size=(2, 4, subject.dimension))) / 8.0
    near = 0.5 + np.array([0.0, 1.0, 3.0, 20.0]) / max(subject.lags, 40.0)
    both = (near, np.array([0.5, 0.5, 0.25, 0.0]))
    places = [subject.places(at, reach=subject.lags) for at in both]
    if not np.array_equal(subject(q, k, *places), base):
        return ()
    return ("positions change no logit: there is nothing positional in it.",)


def _within(subject: LogitFunction) -> LogitFunction:
    """Return a subject whose tolerance is small enough to mean something."""
    if not subject.narrow:
        return subject
    left = LARGEST_TOLERANCE - VECTORS * subject.rounding
    if left <= 0.0:
        raise GroupError(
            f"{subject.name} computes in a type that rounds to {subject.rounding:.2g}, so that no "
            "law can be told from its opposite; pass it in float32."
        )
    said = list(subject.warnings)
    name = NARROW_TYPES.get(subject.rounding, f"a type that rounds to {subject.rounding:.1e}")
    if subject.rounding > SINGLE:
        said.append(
            f"it computes in {name}, so that what is below {VECTORS * subject.rounding:.1g} of the "
            "largest logit is not seen; pass it in float32 or float64 to see more."
        )
    farthest = float(np.floor(left / (PHASES * SINGLE)))
    if subject.reach > farthest:
        said.append(
            f"laws are looked at up to position {farthest:g} of {subject.reach:g}: further away "
            f"the rounding of {name} hides them."
        )
    span = None if subject.span is None else min(subject.span, farthest)
    return replace(subject, reach=min(subject.reach, farthest), span=span, warnings=tuple(said))


@dataclass(frozen=True)
class _Pairs:
    """Lags (n, axes) of queries and keys that were asked, and which of them are masked."""

    lags: Floats
    masked: Bools

    @property
    def sizes(self) -> Floats:
        return np.abs(self.lags).max(axis=1)

    @property
    def ahead(self) -> Bools:
        """Return which keys come after their query on some axis."""
        return np.asarray((self.lags < 0.0).any(axis=1))


def find_window(subject: LogitFunction, *, seed: int = 0) -> LogitFunction:
    """Return a subject with the span of its lags, and a warning where it is not the reach."""
    if subject.looked or subject.in_order:
        return subject
    rng = np.random.default_rng(seed)
    subject, pairs = _look(replace(subject, looked=True), rng)
    if not pairs.masked.any():
        return subject
    if pairs.masked.all():
        raise GroupError(
            f"{subject.name} gives -inf for every pair that was asked, so there is nothing to "
            "certify; pass logits before they are masked."
        )
    ahead = pairs.ahead
    if not subject.causal and ahead.any() and pairs.masked[ahead].all():
        said = "keys after their query are masked, so that laws are of keys up to it."
        subject = replace(subject, causal=True, warnings=(*subject.warnings, said))
        pairs = _Pairs(pairs.lags[~ahead], pairs.masked[~ahead])
    if not pairs.masked.any():
        return subject
    first = float(pairs.sizes[pairs.masked].min())
    span = _bisect(subject, pairs, first)
    beyond = _beyond(span, ahead=_is_ahead(pairs, first))
    regular = bool((pairs.sizes[~pairs.masked] <= first).all())
    said = (
        f"logits are -inf at lags above {span:.6g}, as in a window: laws are judged where they are "
        "finite, and nothing is said beyond."
        if regular
        else f"logits are -inf at some lags {beyond} and finite at longer ones: laws are judged "
        "where they are finite, and those of the lag up to there."
    )
    return replace(subject, span=span, warnings=(*subject.warnings, said))


def _look(subject: LogitFunction, rng: np.random.Generator) -> tuple[LogitFunction, _Pairs]:
    """Ask a few queries with keys at many lags, and find what stands for a mask."""
    last = last_of(subject)
    ways = rng.uniform(0.0, 0.5, size=(4, subject.axes)) + np.array([[0.0], [0.5], [0.5], [0.0]])
    queries = last * ways
    queries[0], queries[3] = last, min(8.0, last)  # a prefix may be seen from both sides
    queries = np.floor(queries) if subject.whole else queries
    lags, masked = [], []
    for at in queries:
        keys = _keys(subject, rng, at, last)
        found = _ask(subject, rng, at, keys)
        if (found <= LIKELY_MASKED).any() and subject.floor is None:
            subject = _with_floor(subject, found, _ask(subject, rng, at, keys))
            found = np.where(found <= (subject.floor or -np.inf), -np.inf, found)
        lags.append(at - keys)
        masked.append(np.isneginf(found).any(axis=0))
    return subject, _Pairs(np.concatenate(lags), np.concatenate(masked))


def _keys(subject: LogitFunction, rng: np.random.Generator, at: Floats, last: float) -> Floats:
    """Return keys (n, axes) at special and random lags of a query, on axes and off them."""
    known = np.concatenate([special(last), rng.uniform(0.0, last, size=WINDOW_LAGS)])
    ways = np.eye(subject.axes)
    if subject.axes > 1:
        ways = np.concatenate([ways, rng.uniform(-1.0, 1.0, size=(4, subject.axes))])
    lags = (known[:, None, None] * ways).reshape(-1, subject.axes)
    keys = np.concatenate([at - lags] if subject.causal else [at - lags, at + lags])
    keys = np.floor(keys) if subject.whole else keys
    inside = ((keys >= 0.0) & (keys <= last)).all(axis=1)
    if subject.causal:
        inside &= (keys <= at).all(axis=1)
    return np.unique(keys[inside], axis=0)


def _ask(subject: LogitFunction, rng: np.random.Generator, at: Floats, keys: Floats) -> Floats:
    """Return the logits (heads, keys) of one query."""
    q, k = rng.normal(size=(2, 1, subject.dimension))
    found = subject(
        q,
        np.repeat(k, len(keys), axis=0),
        as_positions(subject, at[None]),
        as_positions(subject, keys),
    )
    return found.reshape(-1, len(keys))


def _with_floor(subject: LogitFunction, found: Floats, other: Floats) -> LogitFunction:
    """Return a subject that takes for a mask what is far below 0 whatever the vectors are."""
    held = np.isfinite(found) & np.isfinite(other) & (found <= _mask_value(found))
    found, other = found[held], other[held]
    steady = np.abs(found - other) <= 1e-3 * np.abs(found)
    if not steady.any():
        return subject
    value = float(found[steady].max())
    said = f"logits of about {value:.2g} are taken for a mask."
    return replace(subject, floor=0.5 * value, warnings=(*subject.warnings, said))


def _mask_value(found: Floats) -> float:
    """Return the value up to which logits may be a mask.

    A number such as -1e4 is one where it is the same at several lags, and nothing lies between it
    and half of it: a bias that falls with the lag passes all values on its way.
    """
    known = found[np.isfinite(found) & (found <= LIKELY_MASKED)]
    if not len(known) or (known <= SURELY_MASKED).any():
        return SURELY_MASKED
    lowest = float(known.min())
    alike = known <= (1.0 - ALIKE) * lowest
    between = (found > (1.0 - ALIKE) * lowest) & (found <= 0.5 * lowest)
    return LIKELY_MASKED if alike.sum() >= STEPS and not between.any() else SURELY_MASKED


def _bisect(subject: LogitFunction, pairs: _Pairs, first: float) -> float:
    """Return the longest lag below the first that is masked, on one axis to its last digits."""
    ahead = _is_ahead(pairs, first)
    below = pairs.sizes[(pairs.sizes < first) & ~pairs.masked & (pairs.ahead == ahead)]
    low, high = float(below.max(initial=0.0)), first
    if subject.axes > 1:
        return low
    rng = np.random.default_rng(0)
    side = -1.0 if ahead else 1.0
    at = np.array([last_of(subject) if side > 0.0 else 0.0])
    if not np.isneginf(_ask(subject, rng, at, at[None] - side * high)).any():
        return low  # what is masked there is not masked here
    for _ in range(ROUNDS):
        lags = np.unique(as_positions(subject, np.linspace(low, high, 34)[1:-1, None]))
        lags = lags[(lags > low) & (lags < high)]
        if not len(lags):
            break
        masked = np.isneginf(_ask(subject, rng, at, at - side * lags[:, None])).any(axis=0)
        high = float(lags[masked].min(initial=high))
        low = float(lags[~masked & (lags < high)].max(initial=low))
    return low


def _beyond(span: float, *, ahead: bool) -> str:
    """Return which lags are beyond a span, of one sign."""
    return f"below -{span:.6g} (keys after their query)" if ahead else f"above {span:.6g}"


def _is_ahead(pairs: _Pairs, first: float) -> bool:
    """Say whether the first lags that are masked are those of keys after their query alone."""
    return bool(pairs.ahead[pairs.masked & (pairs.sizes == first)].all())


def _names_of(subject: LogitFunction, at: Floats) -> Iterator[str]:
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
    `sizes`: linearity was asked of vectors of about 1 in each coordinate, times these.
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
    sizes: tuple[float, ...] = ()
    negative: bool = False
    random_positions: int | None = None
    random_lags: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with the probability of missing a fault in a share of places."""
        known = {"positions": self.random_positions, "lags": self.random_lags}
        missed = {name: miss_probability(count) for name, count in known.items() if count}
        return {**super().to_dict(), "missed": {"share": SHARE, **missed} if missed else None}

    def text(self, until: str, reach: float) -> str:
        """Return it as a line of text."""
        pairs = f"{self.pairs:,} pairs{self._lags()}; none below 0, {self.rows:,} rows at once"
        if self.sizes:
            pairs += f"; linearity at vectors times {_in_a_row(self.sizes)}"
        if self.every:
            return f"asked: all {self.positions:,} positions, in {pairs}"
        where = f"up to {until} {reach:g}" + (" on each axis" if self.axes > 1 else "")
        rest = (
            "at random, off every line, or along axes" if self.axes > 1 else "at random or in steps"
        )
        named = ", ".join([*self.special, f"the others {rest}"])
        return f"asked: {self.positions:,} positions {where} ({named}), in {pairs}"

    def bounds(self) -> str:
        """Return what may be missed as a line of text, or nothing where all was asked.

        Pairs of positions have no bound: where all positions were asked, not all pairs were.
        """
        known = {"positions": self.random_positions, "lags": self.random_lags}
        said = [
            f"in {SHARE:.0%} of {name} with probability below {round_up(miss_probability(count)):g}"
            for name, count in known.items()
            if count
        ]
        if not said:
            return "may be missed: a fault of single pairs of a query's and a key's position"
        return f"may be missed: a fault {', '.join(said)}, and one at a single point, lag or pair"

    def _lags(self) -> str:
        """Say at how many lags the laws of the lag were compared."""
        if not self.lags:
            return ""
        return f"; laws of the lag at {self.lags:,} lags up to {self.farthest:g}"


def _in_a_row(numbers: tuple[float, ...]) -> str:
    """Return numbers in words.

    >>> _in_a_row((0.001, 1.0, 1000.0))
    '0.001, 1 and 1000'
    """
    *most, last = (f"{one:.4g}" for one in numbers)
    return f"{', '.join(most)} and {last}"


def miss_probability(count: int, share: float = SHARE) -> float:
    """Return the probability that independent places all miss a fault of a share.

    >>> round(miss_probability(512), 4)
    0.0058
    """
    return float((1.0 - share) ** count)
