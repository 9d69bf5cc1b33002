"""Layers without an encoding between layers with one: a schedule over the depth of a model.

    layer l (from 0):  encoded, where (l + 1) mod every != 0,  else q and k pass as they are.

Under a causal mask a layer without an encoding sees order all the same [haviv2022], and has no
frequency that a longer context could carry beyond what was trained; encoded layers keep order
nearby [yang2025]. SmolLM3 and Llama 4 leave out every fourth.

Llama 4 also sharpens the queries of layers without an encoding as positions grow:

    q_i -> q_i (1 + s ln(1 + floor((i + 1) / L))),  s = 0.1, L = 8192,

here `temperature` s and `temperature_length` L, after the scaled softmax of [nakanishi2025]. It
depends on the position and not on the lag, so such a layer is not shift invariant (L6). Before
position 0 the factor is 1. Keys are not touched, so a cache stays right.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.positions import beside_heads
from gnomon.encodings.wrappers.inner import inner_encoding, inner_parameters
from gnomon.errors import EncodingError
from gnomon.groups import Block, Generator
from gnomon.numeric import checks
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace
    from gnomon.groups import Commuting

AGREEMENT = "agreement/test_transformers_layers.py"
CARD = Card(
    name="rope-nope-layers",
    family="rotary",
    kind=("transform",),
    formula="layer l encoded where (l + 1) mod every != 0, else q~ = q (1 + s ln(1 + (i+1) div L))",
    source="yang2025",
    level=in_words("L0"),
    relative=True,
    extrapolation="longer contexts than trained on, by its authors",
    proofs=proved(
        ORACLE,
        ("transformers' SmolLM3", AGREEMENT, "test_the_schedule_is_that_of_smollm3"),
        ("transformers' Llama 4", AGREEMENT, "test_the_schedule_is_that_of_llama_4"),
        ("transformers' Llama 4", AGREEMENT, "test_layers_turn_or_sharpen_as_llama_4_attention"),
    ),
)


def sharpening(coordinates: Coordinates, strength: float, length: int, *, xp: Namespace) -> Array:
    """Return 1 + s ln(1 + floor((i + 1) / L)) for coordinates (..., 1), exact in its floor."""
    if isinstance(coordinates, Limbs):  # whole numbers decide; a fraction below 0 lowers them
        floor = coordinates.whole + xp.astype(xp.floor(coordinates.fraction), xp.int32)
        next_step = floor % length == length - 1  # floor + 1 may leave int32
        steps = xp.astype(floor // length, xp.float32) + xp.astype(next_step, xp.float32)
    else:
        steps = xp.floor((coordinates + 1.0) / length)
    steps = xp.where(steps > 0, steps, xp.zeros_like(steps))
    return 1.0 + strength * xp.log1p(steps)


@dataclass(frozen=True, kw_only=True, eq=False)
class Interleaved(Encoding):
    """One layer of a model that leaves out the encoding `inner` in every so many layers.

    `inner` is an encoding that transforms queries and keys, or {"name": ..., parameters}.

    >>> model = Interleaved(inner={"name": "rope", "dimension": 8}, every=4)
    >>> [model.at_layer(layer).encoded for layer in range(5)]
    [True, True, True, False, True]
    """

    kinds: ClassVar[tuple[str, ...]] = ("transform",)
    on_grids: ClassVar[bool] = False
    mixes_axes: ClassVar[bool] = True  # because `inner` may
    axes: int = field(default=1, init=False)
    inner: Encoding | Mapping[str, Any]
    every: int = 4
    layer: int = 0
    temperature: float = 0.0
    temperature_length: int = 8192

    def __post_init__(self) -> None:
        checks.whole("every", self.every, least=1)
        checks.whole("layer", self.layer, least=0)
        checks.real("temperature", self.temperature, least=0.0)
        checks.whole("temperature_length", self.temperature_length, least=1)
        inside = inner_encoding(self.inner)
        if inside.kinds != ("transform",):
            raise EncodingError(
                f"inner is {inside.name!r}, which offers {' and '.join(inside.kinds)}; pass an "
                "encoding that transforms queries and keys, such as rope."
            )
        if self.temperature and inside.axes > 1:
            raise EncodingError(
                f"temperature is {self.temperature:g} and inner has {inside.axes} axes; pass "
                "temperature=0, or positions on one axis."
            )
        object.__setattr__(self, "inner", inside)
        object.__setattr__(self, "axes", inside.axes)

    @property
    def inside(self) -> Encoding:
        """Return the encoding of the encoded layers."""
        return inner_encoding(self.inner)

    @property
    def dimension(self) -> int:
        """Return the dimension of a head."""
        return int(getattr(self.inside, "dimension", 0))

    @property
    def encoded(self) -> bool:
        """Say whether this layer has the encoding."""
        return (self.layer + 1) % self.every != 0

    def at_layer(self, layer: int) -> Self:
        """Return the same schedule at another layer, counted from 0."""
        return dataclasses.replace(self, layer=layer)

    @property
    def card(self) -> Card:
        """Return the card of this layer: with a temperature, not shift invariant."""
        if self.encoded:
            return dataclasses.replace(CARD, **self._said_by_inner())
        if not self.temperature:
            return CARD
        return dataclasses.replace(CARD, level=in_words("L6"), relative=False)

    def _said_by_inner(self) -> dict[str, Any]:
        """Return what the card of the inner encoding decides for an encoded layer."""
        names = ("level", "relative", "learnable", "causal_only", "cacheable", "frameworks")
        return {name: getattr(self.inside.card, name) for name in names}

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as plain values, those of the inner encoding nested."""
        shown = {name: value for name, value in super().parameters.items() if name != "axes"}
        return {**shown, "inner": inner_parameters(self.inside)}

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the numbers of the inner encoding, where this layer has it."""
        return self.inside.numbers if self.encoded else {}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name what the inner encoding learns, where this layer has it."""
        return self.inside.learnable if self.encoded else ()

    def with_numbers(self, **numbers: Any) -> Self:
        """Return the same layer with other values of its inner encoding's learnable numbers."""
        if not self.encoded:
            return super().with_numbers(**numbers)
        return dataclasses.replace(self, inner=self.inside.with_numbers(**numbers))

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name the lifts of the inner encoding, or kernel alone where there is none."""
        return self.inside.lifts if self.encoded else ("kernel",)

    def turned(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors as the inner encoding turns them, as they are, or queries sharpened."""
        if self.encoded:
            return self.inside.turned(x, coordinates, numbers, side=side, xp=xp)
        self._check_dimension(x, side)
        if not self.temperature or side == "k":
            return x
        places = beside_heads(coordinates, x)
        factor = sharpening(places, self.temperature, self.temperature_length, xp=xp)
        wide = xp.result_type(x.dtype, xp.float32)
        return xp.astype(xp.astype(x, wide) * xp.astype(factor, wide), x.dtype)

    @property
    def softmax_scale(self) -> float | None:
        """Return the scale of the inner encoding."""
        own: float | None = self.inside.softmax_scale
        return own

    def scores(
        self,
        q: Array,
        k: Array,
        positions_q: Array,
        positions_k: Array | None = None,
        *,
        scale: float = 1.0,
        tokens: Array | None = None,
        numbers: Numbers | None = None,
    ) -> Array:
        """Return the logits of this layer; an inner encoding may have a way of its own to them."""
        given: dict[str, Any] = {"scale": scale, "tokens": tokens, "numbers": numbers}
        if self.encoded:
            return self.inside.scores(q, k, positions_q, positions_k, **given)
        return super().scores(q, k, positions_q, positions_k, **given)

    def generator(self, head: int = 0) -> Generator | Commuting:
        """Return that of the inner encoding, or nothing but zeros where this layer has none."""
        if self.encoded:
            return self.inside.generator(head)
        if self.temperature or not self.dimension:
            return super().generator(head)
        return Generator([Block()] * self.dimension)

    def _check_dimension(self, x: Array, name: str) -> None:
        """Refuse what the encoded layers of the same model would refuse."""
        if self.dimension and (x.ndim == 0 or x.shape[-1] != self.dimension):
            raise EncodingError(
                f"{name} has shape {tuple(x.shape)}, but the layers of this model have vectors of "
                f"dimension {self.dimension}; pass an array of shape (..., positions, "
                f"{self.dimension})."
            )

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the distances of the inner encoding, or 0 at every lag without it."""
        if self.encoded:
            return self.inside.lag_distances(lift, probe)
        return lambda lags: np.zeros(lags.shape[:-1])
