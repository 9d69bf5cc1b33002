"""Groups that fade: queries by exp(tX)^T, keys by exp(-sX), keys before their query.

    q~ = exp((t - r) X)^T q,   k~ = exp((r - s) X) k,   q~.k~ = q^T exp((t - s) X) k

X is not skew, so the same map for both sides would be wrong: the logit would depend on t + s, too.
No eigenvalue of X has a real part above 0: exp(tX) does not grow but as a power of t for t >= 0,
and grows without bound for t < 0, so keys after their query are masked.

The *reference* r cancels in the logit. Keys that stay in a cache need one r for all, and their
factors grow with s - r: `transform` refuses, in words, positions at which they leave the type of q
and k. `scores` chooses r for each block of queries and keys (`gnomon.groups.causal`): right at
every position. Sources: [sun2022 sec. 3.2] for a decay.

A factor fits a type when it and its inverse are normal numbers, with room for vectors whose entries
reach 16: exponents up to min(ln(largest / 16), -ln(smallest normal)), 85.9 in float32 and bfloat16,
8.3 in float16, 706.6 in float64. Where positions can not be seen nothing is checked, and what
leaves the type is infinite, which the loss shows at once.

A subclass splits its group in an isometric part, which turns both sides and needs no reference, and
the rest, which is carried.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.arrays import (
    as_coordinates,
    beside_heads,
    check_dimension,
    check_lists,
    check_own_heads,
    float_array,
    key_positions,
    numbers_in,
    reconciled,
)
from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.scoring import scaled
from gnomon.errors import EncodingError
from gnomon.groups import Side, causal_logits
from gnomon.numeric import checks
from gnomon.numeric.arrays import concrete_or_none, since

if TYPE_CHECKING:
    from gnomon.encodings.arrays import Array, Coordinates, Namespace

_ROOM = 16.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Referred(Encoding):
    """Base of transforms whose factors depend on a reference, the logits of which do not."""

    on_grids: ClassVar[bool] = False
    reference: float = 0.0
    """The position at which nothing acts; it cancels in logits."""

    @property
    @abstractmethod
    def steepness(self) -> float:
        """Return the largest decay per position: it decides how far one reference serves."""

    @property
    def scales(self) -> bool:
        """Whether the part that is carried only scales coordinates: then nothing can cancel."""
        return False

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel alone: a vector carried along a decay has no length of its own."""
        return ("kernel",)

    @abstractmethod
    def isometric(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return what the isometric part of the group does to x at its position."""

    @abstractmethod
    def carried(
        self, x: Array, steps: Array, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return what the rest does at steps t (..., n, 1): exp(tX)^T x ("q"), exp(-tX) x ("k")."""

    @abstractmethod
    def weighed(self, q: Array, k: Array, ages: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return all q^T exp(tX) k of that rest at ages t >= 0 (..., n, m)."""

    @abstractmethod
    def exponent(self, furthest: float, numbers: Numbers) -> float:
        """Return a bound of ln |exp(tX)| for |t| up to `furthest`, from numbers that are seen."""

    @abstractmethod
    def check_side(self, x: Array, side: str, numbers: Numbers) -> None:
        """Refuse vectors of another dimension or number of heads."""

    def finished(self, x: Array, *, xp: Namespace) -> Array:
        """Return carried vectors in the coordinates they came in; logits do not need it."""
        del xp
        return x

    def transform(
        self,
        q: Array,
        k: Array,
        positions_q: Array,
        positions_k: Array | None = None,
        *,
        reference: float | None = None,
    ) -> tuple[Array, Array]:
        """Return queries and keys as seen from a `reference`; as declared, unless given.

        Refused where a factor would leave the type of q or k: pass a reference near the positions,
        or ask for `scores`.
        """
        xp = reconciled(q, k)
        origin = self.reference if reference is None else reference
        checks.real("reference", origin)
        left, right = float_array(q, "q", xp=xp), float_array(k, "k", xp=xp)
        keys_at = key_positions(left, right, positions_q, positions_k)
        made = []
        for values, positions, side in ((left, positions_q, "q"), (right, keys_at, "k")):
            at = as_coordinates(positions, 1, like=values)
            numbers = numbers_in(self, values, xp=xp)
            self.check_reach(values, at, numbers, origin, xp=xp)
            made.append(self.referred(values, at, numbers, side=side, reference=origin, xp=xp))
        return made[0], made[1]

    def turned(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return queries or keys as seen from the declared reference."""
        self.check_reach(x, coordinates, numbers, self.reference, xp=xp)
        return self.referred(x, coordinates, numbers, side=side, reference=self.reference, xp=xp)

    def referred(
        self,
        x: Array,
        coordinates: Coordinates,
        numbers: Numbers,
        *,
        side: str,
        reference: float,
        xp: Namespace,
    ) -> Array:
        """Return queries or keys as seen from a reference; q.k of one reference is the logit.

        Factors that grow must fit the type of x. Those that vanish are 0, which is right where the
        other side does not grow: for a reference between keys and queries.
        """
        checks.one_of("side", side, ("q", "k"))
        self.check_side(x, side, numbers)
        beside = beside_heads(coordinates, x)
        steps = since(beside, reference, xp=xp)
        zero = xp.zeros_like(steps)
        growing = xp.minimum(steps, zero) if side == "q" else xp.maximum(steps, zero)
        self._check_steps(growing, numbers, x, xp=xp)
        return self.placed(x, beside, steps, numbers, side=side, xp=xp)

    def placed(
        self,
        x: Array,
        beside: Coordinates,
        steps: Array,
        numbers: Numbers,
        *,
        side: str,
        xp: Namespace,
    ) -> Array:
        """Return vectors after both parts of the group, in their own type."""
        wide = xp.astype(x, xp.result_type(x.dtype, xp.float32))
        still = self.isometric(wide, beside, numbers, side=side, xp=xp)
        made = self.carried(still, steps, numbers, side=side, xp=xp)
        return xp.astype(self.finished(made, xp=xp), x.dtype)

    def logits(
        self,
        q: Array,
        k: Array,
        positions_q: Array,
        positions_k: Array,
        numbers: Numbers,
        *,
        scale: float,
        xp: Namespace,
    ) -> Array:
        """Return the logits, -inf on keys after their query, without overflow at any position."""
        for x, name in ((q, "q"), (k, "k")):
            self.check_side(x, name, numbers)
        at_q = beside_heads(as_coordinates(positions_q, 1, like=q), q)
        at_k = beside_heads(as_coordinates(positions_k, 1, like=k), k)
        check_lists(at_q, at_k)
        at_q, at_k = self.centred(at_q, at_k)
        queries = self._side(q, at_q, numbers, name="q", xp=xp)
        keys = self._side(k, at_k, numbers, name="k", xp=xp)
        logits = causal_logits(
            queries,
            keys,
            carry=lambda x, t, side: self.carried(x, t, numbers, side=side, xp=xp),
            weigh=lambda x, y, ages: self.weighed(x, y, ages, numbers, xp=xp),
            steepness=self._slope(numbers) if self.scales else np.inf,
            xp=xp,
        )
        return xp.astype(scaled(logits, scale), xp.result_type(q.dtype, k.dtype))

    def _side(
        self, x: Array, beside: Coordinates, numbers: Numbers, *, name: str, xp: Namespace
    ) -> Side:
        """Return vectors in float32 or better after the isometric part, with where they stand."""
        wide = xp.astype(x, xp.result_type(x.dtype, xp.float32))
        made = self.isometric(wide, beside, numbers, side=name, xp=xp)
        return Side(vectors=made, coordinates=beside, places=concrete_or_none(beside))

    def check_reach(
        self,
        x: Array,
        coordinates: Coordinates,
        numbers: Numbers,
        reference: float,
        *,
        xp: Namespace,
    ) -> None:
        """Refuse positions too far from one reference for all: factors that vanish, too."""
        self._check_steps(since(coordinates, reference, xp=xp), numbers, x, xp=xp)

    def _slope(self, numbers: Numbers) -> float:
        """Return the largest decay of numbers that are seen, else infinity."""
        known = _known(numbers)
        return np.inf if known is None else self.exponent(1.0, known)

    def _check_steps(self, steps: Array, numbers: Numbers, x: Array, *, xp: Namespace) -> None:
        """Refuse positions at which the type of x does not hold the factors of a key."""
        where = concrete_or_none(steps)  # first: compiled code goes no further
        if where is None or where.size == 0:
            return
        known = _known(numbers)
        if known is None:
            return
        reached = self.exponent(float(np.max(np.abs(where))), known)
        most = _limit(x.dtype, xp=xp)
        if reached > most:
            raise EncodingError(
                f"The factors of {self.name!r} reach e^{reached:.4g} at these positions, and "
                f"{x.dtype} holds e^{most:.3g}; pass a reference near the positions, or use "
                "scores, which chooses one for each block."
            )


def _limit(dtype: Any, *, xp: Namespace) -> float:
    """Return the largest exponent whose factor, and its inverse, a type holds."""
    about = xp.finfo(dtype)
    return min(math.log(float(about.max) / _ROOM), -math.log(float(about.smallest_normal)))


def _known(numbers: Numbers) -> Numbers | None:
    """Return numbers as NumPy's, or None where one of them can not be seen."""
    known = {
        name: concrete_or_none(getattr(held, "radians", held)) for name, held in numbers.items()
    }
    return None if any(held is None for held in known.values()) else known


def of_heads(values: Array, *, xp: Namespace) -> Array:
    """Return numbers (k,) as they are, those of heads (heads, k) with an axis for positions."""
    return values if values.ndim == 1 else xp.expand_dims(values, axis=-2)


def of_pairs(values: Array, place: int) -> Array:
    """Return number `place` of (k,), or of heads (heads, k) beside the pairs (n, m)."""
    return values[place] if values.ndim == 1 else values[:, place][:, None, None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Carrying(Referred):
    """Base of fading groups that are no turns of plain pairs: a subclass has its formulas."""

    kinds: ClassVar[tuple[str, ...]] = ("transform",)
    dimension: int
    heads: int | None = None
    """Heads with numbers of their own; None: one set serves all."""

    def __post_init__(self) -> None:
        checks.one_axis(self.name, self.axes)
        checks.real("reference", self.reference)
        if self.heads is not None:
            checks.whole("heads", self.heads, least=1)

    def check_side(self, x: Array, side: str, numbers: Numbers) -> None:
        """Refuse vectors that are not of this head dimension, or of another number of heads."""
        del numbers
        check_dimension(x, side, self.dimension, does="carries")
        check_own_heads(x, side, self.heads, has="numbers")
