"""A bias from a network that reads the lag itself, or its logarithm.

    bias_h(i, j) = f_h(x),   x = i - j,  or  sign(i - j) ln(1 + |i - j|)  on every axis,

f a network of `depth` hidden layers of `hidden` units, with one output per head. It depends on the
lag alone, knows before from after, and is defined at every lag, so a model can be asked at sizes it
never saw: *dynamic position bias* of pictures [wang2022], with lags on two axes;
the logarithm brings far lags nearer to those that were trained on [liu2022].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.biases.layers import affine, settle
from gnomon.encodings.border import lags_between, moved_axis
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.numeric import checks
from gnomon.numeric.elementwise import silu

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

CARD = Card(
    name="mlp-bias",
    family="bias",
    kind=("bias",),
    formula="bias_h(i, j) = f_h(i - j), or of sign(i - j) ln(1 + |i - j|), f a network",
    source="wang2022",
    level=in_words("L5"),
    relative=True,
    learnable=True,
    extrapolation="no claim for texts; made for pictures of varying size",
    reading=(
        "hidden layers end in x / (1 + e^-x) and have no normalisation, as in x-transformers by "
        "default; the authors' code (github.com/cheerss/CrossFormer at 7952010) has layer "
        "normalisation and max(x, 0). The lag is query minus key"
    ),
    proofs=proved(
        ORACLE,
        (
            "x-transformers",
            "agreement/test_network_biases.py",
            "test_mlp_bias_equals_that_of_x_transformers",
        ),
    ),
)
FIRST = ("weights_in", "biases_in")
HIDDEN = ("weights", "biases")
LAST = ("weights_out", "biases_out")


def signed_log(lags: Array, *, xp: Namespace) -> Array:
    """Return sign(x) ln(1 + |x|), with a slope of 1 at 0."""
    return xp.where(lags < 0.0, -xp.log1p(xp.abs(lags)), xp.log1p(xp.abs(lags)))


@dataclass(frozen=True, kw_only=True, eq=False)
class MlpBias(Encoding):
    """Biases of `heads` heads from a network of `depth` hidden layers of `hidden` units.

    With `logarithmic` the network reads the logarithm of the lag, with its sign. Without weights
    it starts from those of the seed. `weights` and `biases` are those between hidden layers, one
    after another: (depth - 1, hidden, hidden) and (depth - 1, hidden).
    """

    kinds: ClassVar[tuple[str, ...]] = ("bias",)
    mixes_axes: ClassVar[bool] = True
    heads: int
    hidden: int = 32
    depth: int = 2
    logarithmic: bool = False
    seed: int = 0
    weights_in: Any = field(default=None, repr=False)
    biases_in: Any = field(default=None, repr=False)
    weights: Any = field(default=None, repr=False)
    biases: Any = field(default=None, repr=False)
    weights_out: Any = field(default=None, repr=False)
    biases_out: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.whole("axes", self.axes, least=1)
        checks.whole("heads", self.heads, least=1)
        checks.whole("hidden", self.hidden, least=1)
        checks.whole("depth", self.depth, least=1)
        checks.whole("seed", self.seed, least=0)
        for place, (name, shape) in enumerate(self._shapes().items()):
            inputs = self.axes if name in FIRST else self.hidden
            settle(self, name, shape, seed=self.seed, place=place, inputs=inputs)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every number, by name."""
        between, width = self.depth - 1, self.hidden
        shapes: tuple[tuple[int, ...], ...] = (
            (self.axes, width),
            (width,),
            (between, width, width),
            (between, width),
            (width, self.heads),
            (self.heads,),
        )
        return dict(zip((*FIRST, *HIDDEN, *LAST), shapes, strict=True))

    @property
    def card(self) -> Card:
        """Return the card of a bias from a network."""
        return CARD

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the weights of the network."""
        return {name: np.asarray(getattr(self, name)) for name in self.learnable}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name all numbers; with one hidden layer there are none between hidden layers."""
        return (*FIRST, *(HIDDEN if self.depth > 1 else ()), *LAST)

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the biases, shape (..., heads, queries, keys)."""
        lags = lags_between(queries, keys, xp=xp)
        read = signed_log(lags, xp=xp) if self.logarithmic else lags
        layer = affine(read, numbers["weights_in"], numbers["biases_in"], xp=xp)
        for place in range(self.depth - 1):
            weights, biases = numbers["weights"][place, ...], numbers["biases"][place, ...]
            layer = affine(silu(layer, xp=xp), weights, biases, xp=xp)
        made = affine(silu(layer, xp=xp), numbers["weights_out"], numbers["biases_out"], xp=xp)
        return moved_axis(made, -1, -3, xp=xp)
