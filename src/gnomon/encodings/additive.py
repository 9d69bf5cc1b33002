"""Vectors that are functions of the position, added to embeddings: sinusoids and lines.

*sinusoidal* [vaswani2017 sec. 3.5]: every pair of coordinates is a clock hand of its own speed.

    p_i[2k] = sin(i w_k),  p_i[2k+1] = cos(i w_k),  w_k = base^(-2k/d),  k = 0 ... d/2 - 1.

Every row has norm sqrt(d/2), and |p_i - p_j|^2 = 4 sum_k sin^2(w_k (i-j)/2) depends on the lag
alone, although the encoding, being added to content, is not relative in the logit. On several axes
each axis has an equal share of the dimension, in order.

*ctlpe*: p(t) = a (t - origin) / unit + b, a and b learned vectors, linear in continuous time
[kim2024]. It is defined at every time, at uneven steps too; equal steps of time are equal steps of
the vector, and farther times are farther apart. The logit of two such vectors grows with both
times, so it is not relative. `origin` and `unit` bring times to a size that a network reads:
seconds since 1970 would swamp every embedding. The origin is subtracted first, in float64 or in
limbs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.biases.learned import settle
from gnomon.encodings.card import ORACLE, Card, Row, catalogued, in_words, proofs_of
from gnomon.encodings.frequencies import circular_distances, geometric_frequencies, phases
from gnomon.encodings.positions import unit_of
from gnomon.numeric import checks
from gnomon.numeric.arrays import since

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.numeric.arrays import Array, Coordinates, Namespace


def sinusoidal_vectors(coordinates: Coordinates, frequencies: Array, *, xp: Namespace) -> Array:
    """Return (sin, cos) of every phase, pair after pair: shape (..., 2 pairs)."""
    angles = phases(coordinates, frequencies, xp=xp)
    pairs = xp.stack([xp.sin(angles), xp.cos(angles)], axis=-1)
    return xp.reshape(pairs, (*angles.shape[:-1], 2 * angles.shape[-1]))


@catalogued(
    Card(
        name="sinusoidal",
        family="additive",
        kind=("vectors",),
        formula="p_i[2k] = sin(i w_k), p_i[2k+1] = cos(i w_k), w_k = base^(-2k/d)",
        source="vaswani2017",
        level=in_words("L6"),
        relative=False,
        extrapolation="the authors suppose longer lengths may work; [press2021] found they do not",
        proofs=proofs_of(
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
    ),
    examples=({"dimension": 8}, {"dimension": 8, "axes": 2}, {"dimension": 12, "axes": 3}),
    surveyed=(Row(),),
)
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


_TESTS = "encodings/test_encoding_times.py"


@catalogued(
    Card(
        name="ctlpe",
        family="additive",
        kind=("vectors",),
        formula="p(t) = a (t - origin) / unit + b, a and b learned vectors",
        source="kim2024",
        level=in_words("L6"),
        relative=False,
        learnable=True,
        extrapolation="the authors claim irregular times; no claim past the times trained on",
        reading=(
            "the authors' public code (github.com/rooknpown/CTLPE at 841c516) has their neural "
            "differential equation and no linear function, so the start is that of "
            "torch.nn.Linear, and origin and unit, which only rescale a and b, are ours"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "torch.nn.Linear",
                "agreement/test_network_biases.py",
                "test_ctlpe_is_a_linear_layer_of_torch_on_times",
            ),
            ("equal steps of time", _TESTS, "test_equal_times_apart_are_equal_vectors_apart"),
        ),
    ),
    examples=({"dimension": 8, "unit": 60.0, "origin": 30.5},),
    shown={"unit": 64.0},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Ctlpe(Encoding):
    """Linear vectors of `dimension` coordinates; `slope` and `offset` are what was learned.

    >>> Ctlpe(dimension=2, slope=[1.0, 2.0], offset=[0.0, 1.0], unit="day").vectors([43200])
    array([[0.5, 2. ]])
    """

    kinds: ClassVar[tuple[str, ...]] = ("vectors",)
    on_grids: ClassVar[bool] = False
    dimension: int
    origin: float = 0.0
    unit: Any = 1.0
    seed: int = 0
    slope: Any = field(default=None, repr=False)
    offset: Any = field(default=None, repr=False)
    step: float = field(init=False, repr=False)
    """The unit as a number, which compiled code reads."""

    def __post_init__(self) -> None:
        checks.one_axis("ctlpe", self.axes)
        checks.whole("dimension", self.dimension, least=1)
        checks.real("origin", self.origin)
        object.__setattr__(self, "step", unit_of(self.unit))
        checks.whole("seed", self.seed, least=0)
        for place, name in enumerate(self.learnable):
            settle(self, name, (self.dimension,), seed=self.seed, place=place, inputs=1)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return both vectors."""
        return {name: np.asarray(getattr(self, name)) for name in self.learnable}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name both vectors."""
        return ("slope", "offset")

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return one vector per time, shape (..., dimension)."""
        steps = since(coordinates, float(self.origin), xp=xp) / self.step
        return steps * numbers["slope"] + numbers["offset"]

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return |a| t / unit: the vectors lie on a line, and so does their kernel."""
        del lift, probe
        length = float(np.linalg.norm(self.slope)) / self.step

        def distances(lags: NDArray[np.float64]) -> NDArray[np.float64]:
            return length * np.abs(lags[..., 0])

        return distances
