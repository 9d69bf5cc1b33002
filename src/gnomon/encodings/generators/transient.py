r"""Groups that are no turns: queries by exp(tX)^T, keys by exp(-sX), keys before their query.

    q~ = exp((t - r) X)^T q,   k~ = exp((r - s) X) k,   q~.k~ = q^T exp((t - s) X) k

X is not skew, so the same map for both sides would be wrong: the logit would depend on t + s, too.
All eigenvalues of X have real parts below 0: exp(tX) is bounded for t >= 0 and grows without bound
for t < 0, so keys after their query are masked.

The *reference* r cancels in the logit. Keys that stay in a cache need one r for all, and their
factors grow with s - r: `transform` refuses, in words, positions at which they leave the type of q
and k. `scores` chooses r for each block of queries and keys, between both: every factor is then
bounded, and no term of the logit cancels another. Blocks on the diagonal, and positions that can
not be seen, are summed by their lags themselves [sun2022 sec. 3.2 for a decay alone].
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import checks
from gnomon.encodings.additive.taking import seen
from gnomon.encodings.base import LagDistances, Numbers
from gnomon.encodings.border import (
    lags_between,
)
from gnomon.encodings.positions import as_coordinates, beside_heads
from gnomon.encodings.referred import Referred
from gnomon.encodings.rotary.decay_scores import Side, by_blocks
from gnomon.encodings.rotary.factors import limit, since
from gnomon.encodings.scoring import scaled
from gnomon.errors import EncodingError

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Coordinates, Namespace

Floats = NDArray[np.float64]
_CHUNK = 2**20
"""Lags times channels that are held at a time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Transient(Referred):
    """Base of groups whose action fades: a subclass has its formulas."""

    kinds: ClassVar[tuple[str, ...]] = ("transform",)
    dimension: int
    heads: int | None = None
    """Heads with numbers of their own; None: one set serves all."""

    def __post_init__(self) -> None:
        checks.one_axis(self.name, self.axes)
        checks.real("reference", self.reference)
        if self.heads is not None:
            checks.whole("heads", self.heads, least=1)

    @abstractmethod
    def bounded(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return what the isometric part of the group does to x at its position, on both sides."""

    def finished(self, x: Array, *, xp: Namespace) -> Array:
        """Return carried vectors in the coordinates they came in; logits do not need it."""
        del xp
        return x

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
        """Return queries or keys as seen from a reference; q.k of one reference is the logit."""
        checks.one_of("side", side, ("q", "k"))
        self.check_vectors(x, side)
        beside = beside_heads(coordinates, x)
        steps = since(beside, reference, xp=xp)
        zero = xp.zeros_like(steps)
        growing = xp.minimum(steps, zero) if side == "q" else xp.maximum(steps, zero)
        self._check_steps(growing, numbers, x, xp=xp)  # what vanishes before a reference is 0
        wide = xp.astype(x, xp.result_type(x.dtype, xp.float32))
        still = self.bounded(wide, beside, numbers, xp=xp)
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
        queries = self._side(q, positions_q, numbers, name="q", xp=xp)
        keys = self._side(k, positions_k, numbers, name="k", xp=xp)

        def apart(one: Side, other: Side, reference: float) -> Array:
            sides = []
            for side, name in ((one, "q"), (other, "k")):
                steps = since(side.coordinates, reference, xp=xp)
                sides.append(self.carried(side.vectors, steps, numbers, side=name, xp=xp))
            return xp.matmul(sides[0], xp.matrix_transpose(sides[1]))

        def near(one: Side, other: Side) -> Array:
            lags = lags_between(one.coordinates, other.coordinates, xp=xp)[..., 0]
            ages = xp.where(lags > 0, lags, xp.zeros_like(lags))
            logits = self.weighed(one.vectors, other.vectors, ages, numbers, xp=xp)
            return xp.where(lags < 0, -xp.inf, logits)

        logits = by_blocks(queries, keys, apart=apart, near=near, xp=xp)
        return xp.astype(scaled(logits, scale), xp.result_type(q.dtype, k.dtype))

    def _side(
        self, x: Array, positions: Array, numbers: Numbers, *, name: str, xp: Namespace
    ) -> Side:
        """Return vectors in float32 or better after the isometric part, with where they stand."""
        self.check_vectors(x, name)
        beside = beside_heads(as_coordinates(positions, 1, like=x), x)
        wide = xp.astype(x, xp.result_type(x.dtype, xp.float32))
        made = self.bounded(wide, beside, numbers, xp=xp)
        return Side(vectors=made, coordinates=beside, places=seen(beside))

    def check_vectors(self, x: Array, name: str) -> None:
        """Refuse vectors that are not of this head dimension, or of another number of heads."""
        if x.ndim == 0 or x.shape[-1] != self.dimension:
            raise EncodingError(
                f"{name} has shape {tuple(x.shape)}, but this encoding carries vectors of "
                f"dimension {self.dimension}; pass an array of shape "
                f"(..., positions, {self.dimension})."
            )
        if self.heads is not None and (x.ndim < 3 or x.shape[-3] != self.heads):
            raise EncodingError(
                f"{name} has shape {tuple(x.shape)}, but this encoding has numbers for "
                f"{self.heads} heads; pass an array of shape "
                f"(..., {self.heads}, positions, {self.dimension})."
            )

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

    def _check_steps(self, steps: Array, numbers: Numbers, x: Array, *, xp: Namespace) -> None:
        """Refuse positions at which the type of x does not hold the factors of a key."""
        where = seen(steps)  # first: compiled code goes no further
        if where is None or where.size == 0:
            return
        known = {name: seen(getattr(held, "radians", held)) for name, held in numbers.items()}
        if any(held is None for held in known.values()):
            return
        reached = self.exponent(float(np.max(np.abs(where))), known)
        most = limit(x.dtype, xp=xp)
        if reached > most:
            raise EncodingError(
                f"The factors of {self.name!r} reach e^{reached:.4g} at these positions, and "
                f"{x.dtype} holds e^{most:.3g}; pass a reference near the positions, or use "
                "scores, which chooses one for each block."
            )


def of_heads(values: Array, *, xp: Namespace) -> Array:
    """Return numbers (k,) as they are, those of heads (heads, k) with an axis for positions."""
    return values if values.ndim == 1 else xp.expand_dims(values, axis=-2)


def fading_distances(rates: Floats, frequencies: Floats, weights: Floats) -> LagDistances:
    """Return the distances of the kernel sum_k e_k e^(a_k |t|) cos(w_k t), flat arrays.

    D(t)^2 = 2 sum_k e_k ((1 - e^(a|t|)) + e^(a|t|) 2 sin^2(w t / 2)): no term is negative.
    """

    def distances(lags: Floats) -> Floats:
        sizes = np.abs(lags[..., 0]).reshape(-1)
        squares = np.empty(len(sizes))
        step = max(1, _CHUNK // len(rates))
        for start in range(0, len(sizes), step):
            t = sizes[start : start + step, None]
            turned = np.exp(t * rates) * 2.0 * np.square(np.sin(0.5 * t * frequencies))
            squares[start : start + step] = 2.0 * (turned - np.expm1(t * rates)) @ weights
        found: Floats = np.sqrt(squares).reshape(lags.shape[:-1])
        return found

    return distances
