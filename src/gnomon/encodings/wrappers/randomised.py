"""Randomised positions: a short sequence stands at places drawn from a far longer one.

    i -> places[i],  places = a sorted sample, without repetition, of 0 ... largest - 1,

and any other encoding acts at these places [ruoss2023 sec. 3]. A model that was trained so has seen
every place up to `largest`, though no sequence of that length. The order of positions is kept, lags
are not, so nothing is shift invariant in i. Training draws anew for every batch:

    at = encoding.draw(length, rng)

and `at.places` are positions that a layer of the inner encoding takes as they are.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import array_api_compat
import numpy as np

from gnomon.encodings.additive.random import stream
from gnomon.encodings.additive.taking import row_numbers, seen_whole, take
from gnomon.encodings.base import Numbers
from gnomon.encodings.border import constant
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.positions import as_coordinates, namespace_of
from gnomon.encodings.wrappers.inner import inner_encoding, inner_parameters
from gnomon.encodings.wrappers.moving import Moving
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import device_beside
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

CARD = Card(
    name="randomised",
    family="wrapper",
    kind=("transform",),
    formula="the inner encoding at places[i], a sorted sample of 0 ... largest - 1",
    source="ruoss2023",
    level=in_words("L6"),
    relative=False,
    extrapolation="the authors claim that models generalise to lengths up to largest",
    proofs=proved(
        ORACLE,
        (
            "the inner encoding at the drawn places",
            "encodings/test_encoding_randomised.py",
            "test_it_is_the_inner_encoding_at_the_drawn_places",
        ),
        (
            "the uniform law of sorted samples",
            "encodings/test_encoding_randomised.py",
            "test_drawn_places_have_the_mean_of_order_statistics",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Randomised(Moving):
    """The encoding `inner` at `length` places drawn by `seed` among the first `largest`.

    >>> inner = {"name": "rope", "dimension": 8}
    >>> Randomised(inner=inner, largest=100, length=4).places
    array([38, 47, 51, 67])
    """

    on_grids: ClassVar[bool] = False
    whole_only: ClassVar[bool] = True
    inner: Any
    largest: int
    length: int
    seed: int = 0

    def __post_init__(self) -> None:
        checks.one_axis("randomised", self.axes)
        object.__setattr__(self, "inner", inner_encoding(self.inner))
        checks.one_axis(self.inner.name, self.inner.axes)
        checks.whole("largest", self.largest, least=1)
        checks.whole("length", self.length, least=1)
        checks.whole("seed", self.seed, least=0)
        if self.length > self.largest:
            raise EncodingError(
                f"length is {self.length} and largest is {self.largest}; pass a largest that has "
                "a place for every position."
            )
        if self.inner.in_order:
            raise EncodingError(
                f"inner is {self.inner.name!r}, which counts tokens in their order and sees no "
                "places; pass an encoding of positions."
            )
        for name in ("kinds", "mixes_heads", "on_values", "reads_tokens"):
            object.__setattr__(self, name, getattr(self.inner, name))

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Return where the positions 0 ... length - 1 stand, increasing.

        Every place draws a 64-bit word of the seed's stream, no two the same; the least are chosen.
        """
        words = stream(int(self.seed) % 2**64, self.largest)
        places = np.sort(np.argpartition(words, self.length - 1)[: self.length])
        places.flags.writeable = False  # they are kept, and are the definition
        return places

    def draw(self, length: int, rng: np.random.Generator) -> Self:
        """Return the encoding with fresh places for a sequence of `length`."""
        return dataclasses.replace(self, length=length, seed=int(rng.integers(2**63)))

    @property
    def card(self) -> Card:
        """Return the card, with what the inner encoding is."""
        inner = self.inner.card
        return dataclasses.replace(
            CARD,
            kind=inner.kind,
            formula=f"{inner.formula}; at places[i], a sorted sample of 0 ... largest - 1",
            learnable=inner.learnable,
            causal_only=inner.causal_only,
            cacheable=inner.cacheable,
            frameworks=inner.frameworks,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as plain values, those of the inner encoding by its name."""
        return {**super().parameters, "inner": inner_parameters(self.inner)}

    @property
    def dimension(self) -> int:
        """Return the dimension of the inner encoding."""
        return int(self.inner.dimension)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return how many positions have a place."""
        return (self.length,)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the numbers of the inner encoding, and the places."""
        return {**self.inner.numbers, "places": self.places}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name what the inner encoding learns."""
        return tuple(self.inner.learnable)

    def with_numbers(self, **numbers: Any) -> Self:
        """Return the same places with other learnable numbers of the inner encoding."""
        return dataclasses.replace(self, inner=self.inner.with_numbers(**numbers))

    def placed(self, coordinates: Coordinates, places: Array, *, xp: Namespace) -> Coordinates:
        """Return the places of coordinates (..., 1); without one: refused, or NaN where unseen."""
        whole = seen_whole(coordinates, what="randomised positions")
        if whole is not None and ((whole < 0) | (whole >= self.length)).any():
            outside = whole[(whole < 0) | (whole >= self.length)].flat[0]
            raise EncodingError(
                f"Position {outside} has no place among the {self.length} drawn ones; draw more, "
                "with a larger length."
            )
        rows, there = row_numbers(coordinates, (self.length,), xp=xp)
        found = take(places, rows, xp=xp)[..., None]
        if isinstance(coordinates, Limbs):
            lost = xp.where(there, 0.0, xp.nan)[..., None]
            return Limbs(whole=found, fraction=xp.astype(lost, xp.float32))
        return xp.where(there[..., None], xp.astype(found, xp.float64), xp.nan)

    def moved(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Coordinates:
        """Return the places of coordinates (..., 1)."""
        return self.placed(coordinates, numbers["places"], xp=xp)

    @property
    def softmax_scale(self) -> float | None:
        """Return the scale of the inner encoding."""
        own: float | None = self.inner.softmax_scale
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
        """Return the logits of the inner encoding at the places."""
        at_q, at_k = (None if at is None else self._at(at) for at in (positions_q, positions_k))
        given: dict[str, Any] = {"scale": scale, "tokens": tokens, "numbers": numbers}
        made: Array = self.inner.scores(q, k, at_q, at_k, **given)
        return made

    def _at(self, positions: Array) -> Array:
        """Return the places of positions, in the library that the positions are of."""
        xp, coordinates = namespace_of(positions), as_coordinates(positions, 1)
        known = array_api_compat.is_array_api_obj(positions) and xp is not np
        device = device_beside(positions, xp=xp) if known else None
        at = self.placed(coordinates, constant("places", self.places, device, xp=xp), xp=xp)
        return at if isinstance(at, Limbs) else at[..., 0]
