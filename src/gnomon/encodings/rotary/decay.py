r"""Turning and decay: pair k of a logit is multiplied by e^(a_k (i - j)), a_k <= 0, keys before i.

    q~ = e^(a (i - r)) R_i q,   k~ = e^(a (r - j)) R_j k,
    q~.k~ = sum_k e^(a_k (i - j)) q_k.R_(j-i) k_k

A decaying group e^(tX), X = a_k I + w_k J on pair k: the same map for both sides would be wrong,
since X is not skew; keys get the inverse transpose. Only keys up to their query make sense: the
factor of later ones grows without bound, and they are masked. With the reference r = 0 the factor
of a key grows as e^(|a| j): xPos of dimension 8 leaves float32 at position 35,000 and float16 at
3,400 (`gnomon.encodings.referred` says what is done then).

Sources: [sun2022 sec. 3.2], [sun2023 sec. 2.1].
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.base import LagDistances, Numbers
from gnomon.encodings.frequencies import fading_distances
from gnomon.encodings.generated import of_head, of_turns, pair_columns
from gnomon.encodings.referred import Referred, of_heads, of_pairs
from gnomon.encodings.rotary.rope import Rotating, turn
from gnomon.errors import EncodingError
from gnomon.groups import block_weighed, faded
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace
    from gnomon.groups import Commuting, Generator


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

    @property
    def scales(self) -> bool:
        """Whether nothing can cancel: apart from turns, coordinates are only scaled."""
        return True

    def isometric(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors turned to their positions."""
        del side
        cosine, sine = self.tables(coordinates, numbers, xp=xp)
        return turn(x, cosine, sine, layout=self.layout, xp=xp)

    def carried(
        self, x: Array, steps: Array, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return every pair times its decay; keys times the inverse."""
        rates = of_heads(spread(numbers["rates"], layout=self.layout, xp=xp), xp=xp)
        return x * xp.astype(faded(_signed(steps, side), rates, xp=xp), x.dtype)

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
        """Return vectors after both parts, the decay multiplied into the tables: one pass."""
        factor = faded(_signed(steps, side), of_heads(numbers["rates"], xp=xp), xp=xp)
        cosine, sine = self.tables(beside, numbers, xp=xp)
        return turn(x, factor * cosine, factor * sine, layout=self.layout, xp=xp)

    def weighed(self, q: Array, k: Array, ages: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the sum over pairs of e^(a_k (i - j)) q_k.k_k, pair after pair."""
        total: Any = 0.0
        pairs = self.dimension // 2
        for pair in range(pairs):
            even = self.layout == "interleaved"
            places = slice(2 * pair, 2 * pair + 2) if even else slice(pair, None, pairs)
            weight = faded(ages, of_pairs(numbers["rates"], pair), xp=xp)
            total = total + block_weighed(q[..., places], k[..., places], [weight], width=2, xp=xp)
        return total

    def exponent(self, furthest: float, numbers: Numbers) -> float:
        """Return the largest rate times the distance."""
        return float(np.max(np.abs(numbers["rates"]))) * furthest

    def generator(self, head: int = 0) -> Generator | Commuting:
        """Return the turns of a head with their decays, in its layout."""
        columns = pair_columns(self.dimension, layout=self.layout, first=0, rotated=self.rotated)
        rates = of_head(self.rates, head, 1)
        return of_turns(of_head(self.frequencies, head, 2), columns, rates)

    def check_side(self, x: Array, side: str, numbers: Numbers) -> None:
        """Refuse vectors of another dimension or number of heads."""
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
        turns = np.broadcast_to(self.frequencies[:, 0], rates.shape).reshape(-1)
        return fading_distances(rates.reshape(-1), turns, np.full(rates.size, 1.0 / len(rates)))


def spread(rates: Array, *, layout: str, xp: Namespace) -> Array:
    """Return the rate of every coordinate, (..., d), from those of pairs."""
    if layout == "half":
        return xp.concat([rates, rates], axis=-1)
    return xp.reshape(xp.stack([rates, rates], axis=-1), (*rates.shape[:-1], -1))


def _signed(steps: Array, side: str) -> Array:
    return steps if side == "q" else -steps
