"""Rotary encoding: queries and keys are turned by an angle proportional to their position.

    q~ = R_i q,  k~ = R_j k,  R_i turns pair k by i w_k,  w_k = base^(-2k/d),

so q~.k~ = q^T R_(j-i) k depends on the lag alone, and norms are kept. A pair is two neighbouring
coordinates (2k, 2k+1), layout *interleaved*, or (k, k + d/2), layout *half*. The two differ by a
fixed permutation of coordinates; mixing them is the classic mistake when models are ported.

Kernel of the positional part, for content with unit pairs: k_ij = sum_k cos(w_k (i-j)), which
gives exactly the distances of the sinusoid with the same frequencies.

Source: [su2021 sec. 3.2-3.3].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import array_api_compat
import numpy as np

from gnomon.encodings import checks
from gnomon.encodings.base import Encoding, LagDistances
from gnomon.encodings.card import Card, in_words
from gnomon.encodings.frequencies import circular_distances, geometric_frequencies, phases
from gnomon.encodings.positions import Array, Namespace, as_coordinates, namespace_of
from gnomon.errors import EncodingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LAYOUTS = ("interleaved", "half")
CARD = Card(
    name="rope",
    family="rotary",
    kind=("transform",),
    formula="q~ = R_i q, k~ = R_j k, R_i turns pair k by i w_k, w_k = base^(-2k/d)",
    source="su2021",
    level=in_words("L0"),
    relative=True,
    verified_against=("complex multiplication",),
)


def rotate_interleaved(x: Array, cosine: Array, sine: Array, *, xp: Namespace) -> Array:
    """Turn the pairs (2k, 2k+1) of x (..., d) by angles with these cosines and sines."""
    first, second = x[..., 0::2], x[..., 1::2]
    turned = xp.stack([first * cosine - second * sine, first * sine + second * cosine], axis=-1)
    return xp.reshape(turned, (*turned.shape[:-2], x.shape[-1]))


def rotate_half(x: Array, cosine: Array, sine: Array, *, xp: Namespace) -> Array:
    """Turn the pairs (k, k + d/2) of x (..., d) by angles with these cosines and sines."""
    pairs = x.shape[-1] // 2
    first, second = x[..., :pairs], x[..., pairs:]
    return xp.concat([first * cosine - second * sine, first * sine + second * cosine], axis=-1)


def half_from_interleaved(dimension: int) -> NDArray[np.int64]:
    """Return the permutation p for which x[..., p] has in layout *half* what x has interleaved.

    >>> half_from_interleaved(4)
    array([0, 2, 1, 3])
    """
    return np.concatenate([np.arange(0, dimension, 2), np.arange(1, dimension, 2)])


@dataclass(frozen=True, kw_only=True, eq=False)
class Rotary(Encoding):
    """Rotary encoding of heads with `dimension` coordinates."""

    kinds: ClassVar[tuple[str, ...]] = ("transform",)
    dimension: int
    base: float = 10000.0
    layout: str = "interleaved"

    def __post_init__(self) -> None:
        checks.whole("axes", self.axes, least=1)
        checks.whole(
            "dimension", self.dimension, least=2, multiple_of=2 * self.axes, why="two per axis"
        )
        checks.real("base", self.base, above=0.0)
        checks.one_of("layout", self.layout, LAYOUTS)

    @property
    def card(self) -> Card:
        """Return the card of rotary encoding."""
        return CARD

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel (unit pairs) and probe (a given content vector)."""
        return ("kernel", "probe")

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, shape (dimension/2, axes)."""
        return geometric_frequencies(self.dimension, float(self.base), self.axes)

    def transform(
        self, q: Array, k: Array, positions_q: Array, positions_k: Array | None = None
    ) -> tuple[Array, Array]:
        """Return queries and keys (..., n, dimension), each turned to its position."""
        keys_at = positions_q if positions_k is None else positions_k
        return self._turned(q, positions_q, "q"), self._turned(k, keys_at, "k")

    def _turned(self, x: Array, positions: Array, name: str) -> Array:
        xp = namespace_of(x)
        x = x if array_api_compat.is_array_api_obj(x) else xp.asarray(x, dtype=xp.float64)
        if x.ndim == 0 or x.shape[-1] != self.dimension:
            raise EncodingError(
                f"{name} has shape {tuple(x.shape)}, but this encoding turns vectors of dimension "
                f"{self.dimension}; pass an array of shape (..., positions, {self.dimension})."
            )
        if not xp.isdtype(x.dtype, "real floating"):
            raise EncodingError(f"{name} holds {x.dtype}; pass real numbers (floats).")
        coordinates = as_coordinates(positions, self.axes, like=x)
        frequencies = xp.asarray(self.frequencies, device=coordinates.device)
        angles = phases(coordinates, frequencies, xp=xp)
        wide = xp.result_type(x.dtype, xp.float32)  # half precision is turned in float32, cast last
        cosine, sine = xp.astype(xp.cos(angles), wide), xp.astype(xp.sin(angles), wide)
        rotate = rotate_interleaved if self.layout == "interleaved" else rotate_half
        return xp.astype(rotate(xp.astype(x, wide), cosine, sine, xp=xp), x.dtype)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return 2 sqrt(sum_k e_k sin^2(w_k t/2)), e_k = 1 or the pair energies of the probe."""
        if lift != "probe" or probe is None:
            return circular_distances(self.frequencies)
        paired = probe[half_from_interleaved(self.dimension)] if self._interleaved else probe
        return circular_distances(self.frequencies, np.sum(paired.reshape(2, -1) ** 2, axis=0))

    @property
    def _interleaved(self) -> bool:
        return self.layout == "interleaved"
