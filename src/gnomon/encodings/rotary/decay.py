r"""Turning and decay: pair k of a logit is multiplied by e^(a_k (i - j)), a_k <= 0, keys before i.

    q~ = e^(a (i - r)) R_i q,   k~ = e^(a (r - j)) R_j k,
    q~.k~ = sum_k e^(a_k (i - j)) q_k.R_(j-i) k_k

A decaying group e^(tX), X = a_k I + w_k J on pair k: the same map for both sides would be wrong,
since X is not skew; keys get the inverse transpose. Only keys up to their query make sense: the
factor of later ones grows without bound, and they are masked.

The *reference* r cancels in the logit, and keys that stay in a cache need one r for all. But with
r = 0 the factor of a key grows as e^(|a| j): xPos of dimension 8 leaves float32 at position 35,000
and float16 at 3,400. So `transform` refuses, in words, positions whose factors leave the type of q
and k, and `scores` chooses a reference for each block of queries and keys, where both factors are
at most 1 (`decay_scores`): it is right at every position.

Distances. k(t) = sum_k e^(a_k |t|) cos(w_k t), the causal half mirrored, for content of unit pairs:
D(t)^2 = 2 sum_k (1 - e^(a|t|)) + e^(a|t|) 2 sin^2(w t / 2); no term is negative, nothing cancels.

Sources: [sun2022 sec. 3.2], [sun2023 sec. 2.1].
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gnomon.encodings import checks
from gnomon.encodings.additive.taking import seen
from gnomon.encodings.base import LagDistances, Numbers
from gnomon.encodings.positions import as_coordinates, beside_heads
from gnomon.encodings.referred import Referred
from gnomon.encodings.rotary.base import Rotating
from gnomon.encodings.rotary.decay_scores import Side, causal_scores
from gnomon.encodings.rotary.factors import check_factors, exponents, since
from gnomon.encodings.rotary.turning import turn
from gnomon.encodings.scoring import scaled
from gnomon.errors import EncodingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

_CHUNK = 2**20
"""Lags times pairs that are held at a time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Decaying(Referred, Rotating):
    """Base of rotary encodings whose pairs decay with the lag."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.real("reference", self.reference)

    @property
    @abstractmethod
    def rates(self) -> NDArray[np.float64]:
        """Return the decay per position, <= 0, of each pair, (pairs,) or (heads, pairs)."""

    @property
    def steepness(self) -> float:
        """Return the largest decay per position: it decides how far one reference point serves."""
        return float(np.max(np.abs(self.rates)))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the frequencies and the rates."""
        return {"frequencies": self.frequencies, "rates": self.rates}

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
        """Return queries or keys, turned, and scaled as seen from a reference.

        Factors that grow must fit the type of x. Those that vanish are 0, which is right where the
        other side does not grow: for a reference between keys and queries.
        """
        checks.one_of("side", side, ("q", "k"))
        self._check_heads(x, side, numbers)
        beside = beside_heads(coordinates, x)
        steps = since(beside, reference, xp=xp)
        zero = xp.zeros_like(steps)
        growing = xp.minimum(steps, zero) if side == "q" else xp.maximum(steps, zero)
        check_factors(growing, numbers["rates"], x, name=self.name, xp=xp)
        factor = xp.exp(exponents(steps if side == "q" else -steps, numbers["rates"]))
        cosine, sine = self.tables(beside, numbers, xp=xp)
        return turn(x, factor * cosine, factor * sine, layout=self.layout, xp=xp)

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
        logits = causal_scores(queries, keys, numbers["rates"], layout=self.layout, xp=xp)
        return xp.astype(scaled(logits, scale), xp.result_type(q.dtype, k.dtype))

    def _side(
        self, x: Array, positions: Array, numbers: Numbers, *, name: str, xp: Namespace
    ) -> Side:
        """Return vectors turned but not scaled, in float32 or better, with where they stand."""
        self._check_heads(x, name, numbers)
        beside = beside_heads(as_coordinates(positions, 1, like=x), x)
        wide = xp.astype(x, xp.result_type(x.dtype, xp.float32))
        cosine, sine = self.tables(beside, numbers, xp=xp)
        made = turn(wide, cosine, sine, layout=self.layout, xp=xp)
        return Side(vectors=made, coordinates=beside, places=seen(beside))

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
        check_factors(
            since(coordinates, reference, xp=xp), numbers["rates"], x, name=self.name, xp=xp
        )

    def _check_heads(self, x: Array, side: str, numbers: Numbers) -> None:
        self.check_vectors(x, side, numbers["frequencies"])
        shape = numbers["rates"].shape
        if len(shape) == 2 and (x.ndim < 3 or x.shape[-3] != shape[0]):
            raise EncodingError(
                f"{side} has shape {tuple(x.shape)}, but this encoding has rates for {shape[0]} "
                f"heads; pass an array of shape (..., {shape[0]}, positions, {self.dimension})."
            )

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the distances of the kernel, the mean over heads where they differ."""
        del lift, probe
        rates = np.atleast_2d(self.rates)
        frequencies = np.broadcast_to(self.frequencies[:, 0], rates.shape).reshape(-1)
        heads, flat = len(rates), rates.reshape(-1)

        def distances(lags: NDArray[np.float64]) -> NDArray[np.float64]:
            sizes = np.abs(lags[..., 0]).reshape(-1)
            step = max(1, _CHUNK // len(flat))
            parts = [
                _squares(sizes[start : start + step, None], flat, frequencies)
                for start in range(0, len(sizes), step)
            ]
            return np.sqrt(np.concatenate(parts) / heads).reshape(lags.shape[:-1])

        return distances


def _squares(
    lags: NDArray[np.float64], rates: NDArray[np.float64], frequencies: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return 2 sum_k (1 - e^(a t)) + e^(a t) 2 sin^2(w t / 2) for lags t >= 0 (n, 1)."""
    power = lags * rates
    turned = np.exp(power) * 2.0 * np.square(np.sin(0.5 * lags * frequencies))
    squares: NDArray[np.float64] = 2.0 * np.sum(turned - np.expm1(power), axis=-1)
    return squares
