"""Sinusoidal vectors: every pair of coordinates is a clock hand of its own speed.

    p_i[2k] = sin(i w_k),  p_i[2k+1] = cos(i w_k),  w_k = base^(-2k/d),  k = 0 ... d/2 - 1.

Every row has norm sqrt(d/2), and |p_i - p_j|^2 = 4 sum_k sin^2(w_k (i-j)/2) depends on the lag
alone, although the encoding, being added to content, is not relative in the logit.
On several axes each axis has an equal share of the dimension, in order.

Source: [vaswani2017 sec. 3.5].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import circular_distances, geometric_frequencies, phases
from gnomon.numeric import checks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

CARD = Card(
    name="sinusoidal",
    family="additive",
    kind=("vectors",),
    formula="p_i[2k] = sin(i w_k), p_i[2k+1] = cos(i w_k), w_k = base^(-2k/d)",
    source="vaswani2017",
    level=in_words("L6"),
    relative=False,
    extrapolation="the authors suppose longer lengths may work; [press2021] found they do not",
    proofs=proved(
        ORACLE,
        (
            "the formula in Python floats",
            "encodings/test_encoding_sinusoidal.py",
            "test_sinusoidal_vectors_equal_their_formula",
        ),
        (
            "positional-encodings, on one to three axes",
            "agreement/test_additive_peers.py",
            "test_sinusoids_on_several_axes_equal_those_of_positional_encodings",
        ),
        (
            "transformers, DistilBERT and Marian",
            "agreement/test_additive_peers.py",
            "test_sinusoids_equal_those_of_distilbert_and_in_halves_those_of_marian",
        ),
    ),
)


def sinusoidal_vectors(coordinates: Coordinates, frequencies: Array, *, xp: Namespace) -> Array:
    """Return (sin, cos) of every phase, pair after pair: shape (..., 2 pairs)."""
    angles = phases(coordinates, frequencies, xp=xp)
    pairs = xp.stack([xp.sin(angles), xp.cos(angles)], axis=-1)
    return xp.reshape(pairs, (*angles.shape[:-1], 2 * angles.shape[-1]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Sinusoidal(Encoding):
    """The sinusoid of `dimension` coordinates with wavelengths from 2 pi to about 2 pi base.

    >>> Sinusoidal(dimension=4).vectors([0])
    array([[0., 1., 0., 1.]])
    """

    kinds: ClassVar[tuple[str, ...]] = ("vectors",)
    dimension: int
    base: float = 10000.0

    def __post_init__(self) -> None:
        checks.whole("axes", self.axes, least=1)
        checks.whole(
            "dimension", self.dimension, least=2, multiple_of=2 * self.axes, why="two per axis"
        )
        checks.real("base", self.base, above=0.0)

    @property
    def card(self) -> Card:
        """Return the card of sinusoidal vectors."""
        return CARD

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, shape (dimension/2, axes)."""
        return geometric_frequencies(self.dimension, float(self.base), self.axes)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the frequencies."""
        return {"frequencies": self.frequencies}

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return (sin, cos) of every phase, pair after pair."""
        return sinusoidal_vectors(coordinates, numbers["frequencies"], xp=xp)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return 2 sqrt(sum_k sin^2(w_k t/2)): kernel and vectors give the same distances."""
        del lift, probe
        return circular_distances(self.frequencies)
