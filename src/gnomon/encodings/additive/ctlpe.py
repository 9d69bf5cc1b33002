"""Continuous-time linear vectors: a learned linear function of the time, added to embeddings.

    p(t) = a (t - origin) / unit + b,   a and b learned vectors [kim2024].

It is defined at every time, at uneven steps too; equal steps of time are equal steps of the vector,
and farther times are farther apart. The logit of two such vectors grows with both times, so it is
not relative. `origin` and `unit` bring times to a size that a network reads: seconds since 1970
would swamp every embedding. The origin is subtracted first, in float64 or in limbs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.biases.layers import settle
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.times import unit_of
from gnomon.numeric import checks
from gnomon.numeric.arrays import since

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

TESTS = "encodings/test_encoding_times.py"
CARD = Card(
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
        "differential equation and no linear function, so the start is that of torch.nn.Linear, "
        "and origin and unit, which only rescale a and b, are ours"
    ),
    proofs=proved(
        ORACLE,
        (
            "torch.nn.Linear",
            "agreement/test_network_biases.py",
            "test_ctlpe_is_a_linear_layer_of_torch_on_times",
        ),
        ("equal steps of time", TESTS, "test_equal_times_apart_are_equal_vectors_apart"),
    ),
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
    def card(self) -> Card:
        """Return the card of linear vectors."""
        return CARD

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
