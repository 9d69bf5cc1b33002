r"""What is certified: a function that gives logits at positions, and how it may be asked.

    logits(q, k, t, s) -> (..., n, m)      q (n, d), k (m, d), positions t (n,) or (n, axes), s (m,)

Whatever is to be certified is brought into this form: a pair of maps of queries and keys, one map
for both, or logits themselves. Leading axes are heads, all certified together. A function is asked
twice with the same arguments first, then with an odd number of calls between, and its first
question of all again when everything was asked: one that does not answer alike can not be
certified.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import GnomonError, GroupError
from gnomon.groups.places import Ledger

Floats = NDArray[np.float64]
Logits = Callable[..., Any]
Map = Callable[[Floats, Floats], Any]
"""(vectors (n, d), positions (n,)) -> vectors (n, e)."""

Coder = Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]
"""(queries (n, d), keys (n, d), positions (n,)) of new tokens -> both encoded."""

ENDLESS = 4095.0
SHORT = 8.0
"""Positions below which the first question of all is asked."""
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class First:
    """A question that may be asked again, and the answer that it had."""

    ask: Callable[[], Floats]
    answer: Floats


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A function of logits, with what must be known to ask it.

    Of a causal one only keys up to their query are looked at. `reach` is the largest position that
    it is asked for; 4095 or more stands for no end, and some laws then look further. `in_order`:
    the tokens between a key and its query count, keys are given in their order, and queries are the
    last of them. One that reads tokens beside queries and keys has the `width` of these, and takes
    them as its last argument, (m, width). `timed`: its positions are the times of a clock
    (`gnomon.groups.clocks`). `rounding` is that of the type it computes in, whatever it is given;
    where that is narrow, `farthest` is the position near which it is looked at. `coder` begins a
    text: what it returns gives encoded queries and keys of the tokens that come, call by call, as
    a cache keeps them. `span` is the longest lag at which logits are finite, where a window ends
    (`gnomon.groups.windows`), and what is below `floor` is taken for a mask, as -inf is. `asked`
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

    def __call__(
        self, q: Floats, k: Floats, t: Floats, s: Floats, tokens: Floats | None = None
    ) -> Floats:
        """Return the logits as float64, or say what is wrong with them."""
        return self.of(q, k, t, s, *(() if tokens is None else (tokens,)))

    def of(self, q: Any, k: Any, *rest: Any) -> Floats:
        """Return the logits of vectors in any type, as float64."""
        found = _asked(self.name, self.logits, q, k, *rest)
        if found.shape[-2:] != (len(q), len(k)):
            raise GroupError(
                f"{self.name} gave an array of shape {found.shape} for {len(q)} queries and "
                f"{len(k)} keys; it must give logits of shape (..., {len(q)}, {len(k)})."
            )
        if np.isnan(found).any():
            raise self._is_nan(max(float(np.max(at)) for at in rest[:2]))
        if self.floor is not None:
            found = np.where(found <= self.floor, -np.inf, found)
        self.asked.note(found, *rest[:2])
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

    def begun(self) -> Subject:
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

    def _is_nan(self, farthest: float) -> GroupError:
        advice = "; pass the largest position at which it gives numbers as its reach."
        if farthest > self.reach:
            advice = (
                f", beyond the reach of {self.reach:g}, where laws look since a reach of "
                f"{ENDLESS:g} or more stands for no end; pass a reach below {ENDLESS:g}, or "
                "whole=True, and nothing beyond it is asked."
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

        They lie on one line: laws are asked at those of `gnomon.groups.places`.
        """
        span = self.reach if reach is None else reach
        at = span * np.asarray(shares, dtype=np.float64)
        if self.axes > 1:
            ways = np.linspace(1.0, 0.3, self.axes)
            at = at[:, None] * ways
        return np.floor(at) if self.whole else at


def along(subject: Subject, axis: int) -> Subject:
    """Return a subject of several axes on one of them, where the others stand at 0."""
    if subject.axes == 1:
        return subject

    def placed(at: Floats) -> Floats:
        made = np.zeros((len(at), subject.axes))
        made[:, axis] = at
        return made

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Floats:
        return subject.of(q, k, placed(t), placed(s))

    return replace(subject, axes=1, logits=logits, coder=None, shown=None, asked=Ledger())


def on_line(subject: Subject, way: Floats) -> Subject:
    """Return a subject of several axes on a line along a way, -1 to 1 on each, from a corner.

    Where the way falls positions come down from the reach.
    """
    corner = np.where(way < 0.0, np.floor(subject.reach), 0.0)

    def placed(at: Floats) -> Floats:
        return np.asarray(corner + at[:, None] * way)

    def logits(q: Floats, k: Floats, t: Floats, s: Floats) -> Floats:
        return subject.of(q, k, placed(t), placed(s))

    return replace(subject, axes=1, logits=logits, coder=None, shown=None, asked=Ledger())


def rounding_of(found: Any) -> float:
    """Return the rounding of the type of an array or tensor; whole numbers are exact."""
    name = str(getattr(found, "dtype", "float64")).rpartition(".")[-1]
    return {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}.get(name, EPSILON)


def _array(found: Any) -> NDArray[Any]:
    """Return what a library calls an array as one of NumPy, which has no bfloat16 of its own."""
    if hasattr(found, "detach"):
        found = found.detach().cpu()
        found = found.float() if rounding_of(found) == 2.0**-7 else found
    if np.ma.is_masked(found):
        raise TypeError("it gave masked entries")
    made = np.asarray(found)
    return made.astype(np.float32) if str(made.dtype) == "bfloat16" else made


def _real(found: NDArray[Any]) -> Floats:
    if found.dtype.kind not in "biuf":
        raise TypeError(f"it gave {found.dtype}")
    return found.astype(np.float64)


def _asked(name: str, function: Callable[..., Any], *given: Any) -> Floats:
    """Return what a user's function gives as float64, or say in a sentence why there is nothing."""
    try:
        with np.errstate(all="ignore"):  # what overflows is seen in the result
            found = function(*given)
            if inspect.iscoroutine(found):
                found.close()  # or Python complains that nobody awaited it
                raise TypeError("it gave a coroutine")  # noqa: TRY301 - said below, as all else
            return _real(_array(found))
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
) -> Subject:
    """Return the subject of two maps, or of one that serves queries and keys."""
    keys = encode_q if encode_k is None else encode_k

    sides = ((encode_q, "queries"), (keys, "keys"))

    def encoded(q: Floats, k: Floats, t: Floats, s: Floats) -> tuple[Floats, Floats]:
        made = []
        for (encode, side), x, at in zip(sides, (q, k), (t, s), strict=True):
            made.append(_asked(name, encode, x, at))
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
        left, right = encoded(q, k, t, s)
        return left @ np.swapaxes(right, -1, -2)

    def shown(q: Floats, k: Floats, t: Floats, s: Floats) -> float:
        return max(rounding_of(encode_q(q, t)), rounding_of(keys(k, s)))

    def coder() -> Coder:
        return lambda q, k, at: encoded(q, k, at, at)

    about = {"coder": coder, "shown": shown, "one_side": encode_q, **about}
    return Subject(name=name, dimension=dimension, logits=logits, **about)
