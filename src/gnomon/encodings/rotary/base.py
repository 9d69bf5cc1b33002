"""What all rotary encodings share: frequencies decide everything, the rest is one formula.

    q~ = R_i q,  k~ = R_j k,  R_i turns pair k by <W_k, i>,

with W the matrix of frequencies (pairs, axes), in radians per position; per head (heads, pairs,
axes) where heads have their own. q~.k~ = q^T R_(j-i) k depends on the lag alone, since turns
commute: one group on one axis, commuting groups on several [su2021 sec. 3.2-3.4].

Kernel of the positional part, for content with unit pairs: k_ij = sum_k cos <W_k, i-j>, which gives
the distances of the sinusoid with the same frequencies. Coordinates that are not turned add a
constant to the kernel, and nothing to distances.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.frequencies import circular_distances
from gnomon.encodings.generated import of_head, of_turns, pair_columns
from gnomon.encodings.positions import beside_heads
from gnomon.encodings.rotary.layouts import LAYOUTS, half_from_interleaved
from gnomon.encodings.rotary.turning import tables, turn
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace
    from gnomon.groups import Commuting, Generator


@dataclass(frozen=True, kw_only=True, eq=False)
class Rotating(Encoding):
    """Base of rotary encodings of heads with `dimension` coordinates."""

    kinds: ClassVar[tuple[str, ...]] = ("transform",)
    dimension: int
    layout: str = "interleaved"

    def __post_init__(self) -> None:
        checks.whole("axes", self.axes, least=1)
        checks.whole("dimension", self.dimension, least=2)
        checks.one_of("layout", self.layout, LAYOUTS)

    @property
    @abstractmethod
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, (pairs, axes) or (heads, pairs, axes)."""

    def frequencies_in(self, *, xp: Namespace, dtype: Any) -> Array:
        """Return the frequencies in another library and type: by default, the same ones rounded.

        Where transformers has the encoding, they are computed in its order of operations instead:
        PyTorch in float32 then gives the very bits that its models are trained with.
        """
        return xp.astype(xp.asarray(np.array(self.frequencies)), dtype)

    @property
    def attention_factor(self) -> float:
        """Return what queries and keys are multiplied by while they are turned."""
        return 1.0

    @property
    def rotated(self) -> int:
        """Return the number of coordinates that are turned; the rest passes unchanged."""
        return 2 * int(self.frequencies.shape[-2])

    @property
    def first(self) -> int:
        """Return the first coordinate that is turned."""
        return 0

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel (unit pairs) and probe (a given content vector)."""
        return ("kernel", "probe")

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the frequencies."""
        return {"frequencies": self.frequencies}

    def tables(
        self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> tuple[Array, Array]:
        """Return cosines and sines (..., n, pairs) of all phases, with the attention factor."""
        frequencies = numbers["frequencies"]
        return tables(coordinates, frequencies, factor=self.attention_factor, xp=xp)

    def turned(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors (..., n, dimension), each turned to its position."""
        self.check_vectors(x, side, numbers["frequencies"])
        cosine, sine = self.tables(beside_heads(coordinates, x), numbers, xp=xp)
        return turn(x, cosine, sine, layout=self.layout, first=self.first, xp=xp)

    def generator(self, head: int = 0) -> Generator | Commuting:
        """Return the turns of a head, in its layout; where it is a group."""
        if not self.card.level.startswith("L0"):
            return super().generator(head)
        columns = pair_columns(
            self.dimension, layout=self.layout, first=self.first, rotated=self.rotated
        )
        return of_turns(of_head(self.frequencies, head, 2), columns)

    def check_vectors(self, x: Array, name: str, frequencies: Any) -> None:
        """Refuse vectors that are not of this head dimension, or of another number of heads.

        Shapes alone are looked at, so that a compiler that follows this finds no NumPy in it.
        """
        if x.ndim == 0 or x.shape[-1] != self.dimension:
            raise EncodingError(
                f"{name} has shape {tuple(x.shape)}, but this encoding turns vectors of dimension "
                f"{self.dimension}; pass an array of shape (..., positions, {self.dimension})."
            )
        shape = getattr(frequencies, "radians", frequencies).shape
        heads = shape[0] if len(shape) == 3 else None
        if heads is not None and (x.ndim < 3 or x.shape[-3] != heads):
            raise EncodingError(
                f"{name} has shape {tuple(x.shape)}, but this encoding has frequencies for {heads} "
                f"heads; pass an array of shape (..., {heads}, positions, {self.dimension})."
            )

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return 2 m sqrt(sum_k e_k sin^2(<W_k, t>/2)), e_k = 1 or the pair energies of the probe.

        m multiplies queries and keys while they are turned (`attention_factor`).
        """
        frequencies = self.frequencies
        heads = len(frequencies) if frequencies.ndim == 3 else 1
        energies = self._energies(probe if lift == "probe" else None, heads)
        flat = frequencies.reshape(-1, self.axes)  # the kernel is the mean over heads
        return circular_distances(flat, energies * self.attention_factor**2 / heads)

    def _energies(self, probe: NDArray[np.float64] | None, heads: int) -> NDArray[np.float64]:
        """Return the energy of each pair of the probe, once for every head."""
        pairs = self.rotated // 2
        if probe is None:
            return np.ones(heads * pairs)
        part = probe[self.first : self.first + self.rotated]
        part = part[half_from_interleaved(self.rotated)] if self.layout == "interleaved" else part
        return np.tile(np.sum(part.reshape(2, -1) ** 2, axis=0), heads)
