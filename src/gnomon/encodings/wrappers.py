"""Encodings around another one: in which layers it acts, at which time, and at which places.

What the inner encoding does stays its own. It is given as it is, or as its name with parameters.

*layers*: layer l (from 0) is encoded where (l + 1) mod every != 0, else q and k pass as they are.
Under a causal mask a layer without an encoding sees order all the same [haviv2022], and has no
frequency that a longer context could carry beyond what was trained; encoded layers keep order
nearby [yang2025]. SmolLM3 and Llama 4 leave out every fourth. Llama 4 also sharpens the queries of
layers without an encoding as positions grow:

    q_i -> q_i (1 + s ln(1 + floor((i + 1) / L))),  s = 0.1, L = 8192,

here `temperature` s and `temperature_length` L, after the scaled softmax of [nakanishi2025]. It
depends on the position and not on the lag, so such a layer is not shift invariant (L6). Before
position 0 the factor is 1. Keys are not touched, so a cache stays right.

*clock*: a learned clock, any relative encoding f in a time tau that rises with the position.

    logit = f(tau_t - tau_s),   tau straight between knots k_0 < ... < k_m,   tau(k_0) = 0,
    slope after knot i:  c + (1 - c) (1 + p_i / 2)^2,   c = 2^-12;

tau goes on straight before the first knot and after the last. The *paces* p_i are learned. Whatever
they are tau rises, and where they are 0, as they are at the start, tau is x - k_0 and the encoding
is the inner one: the origin does not matter to what is relative. Rising splines of degree one are
the simplest of [ramsay1988]; the slope is a polynomial in p, so that it can be computed exactly
where there is no float64 (`numeric.learned_limbs`). A group acts in tau, A(tau_t - tau_s), so it is
one modulo its clock (level L3), as gates of attention are that learn how far to advance time
[puranik2026]. In x itself no lag decides. The first knot is subtracted first, so that seconds since
1970 stay exact.

*randomised* [ruoss2023 sec. 3]: a short sequence stands at places drawn from a far longer one.

    i -> places[i],  places = a sorted sample, without repetition, of 0 ... largest - 1.

A model that was trained so has seen every place up to `largest`, though no sequence of that length.
The order of positions is kept, lags are not, so nothing is shift invariant in i. Training draws
anew for every batch: `at = encoding.draw(length, rng)`, and `at.places` are positions that a layer
of the inner encoding takes as they are.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import array_api_compat
import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.starting import given, learned, stream
from gnomon.errors import EncodingError
from gnomon.groups import Block, Generator
from gnomon.numeric import checks
from gnomon.numeric.arrays import (
    as_coordinates,
    beside_heads,
    common_namespace,
    constant,
    device_beside,
    float_array,
    key_positions,
    namespace_of,
    row_numbers,
    seen_whole,
    take,
)
from gnomon.numeric.checks import reals
from gnomon.numeric.learned_limbs import broken_line, excess, warped
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from gnomon.groups import Commuting
    from gnomon.numeric.arrays import Array, Coordinates, Namespace

_AGREEMENT = "agreement/test_transformers_layers.py"


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


@catalogued(
    Card(
        name="rope-nope-layers",
        family="rotary",
        kind=("transform",),
        formula=(
            "layer l encoded where (l + 1) mod every != 0, else q~ = q (1 + s ln(1 + (i+1) div L))"
        ),
        source="yang2025",
        level=in_words("L0"),
        relative=True,
        extrapolation="longer contexts than trained on, by its authors",
        proofs=proofs_of(
            ORACLE,
            ("transformers' SmolLM3", _AGREEMENT, "test_the_schedule_is_that_of_smollm3"),
            ("transformers' Llama 4", _AGREEMENT, "test_the_schedule_is_that_of_llama_4"),
            (
                "transformers' Llama 4",
                _AGREEMENT,
                "test_layers_turn_or_sharpen_as_llama_4_attention",
            ),
        ),
    ),
    examples=(
        {"inner": {"name": "rope", "dimension": 8}},
        {"inner": {"name": "rope", "dimension": 8}, "layer": 3},
        {
            "inner": {"name": "rope", "dimension": 8},
            "layer": 1,
            "every": 2,
            "temperature": 0.1,
            "temperature_length": 4,
        },
    ),
    shown={"inner": {"name": "rope", "dimension": 64}},
)
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
    differs_by_layer: ClassVar[bool] = True
    wraps: ClassVar[bool] = True
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
    def head_count(self) -> int | None:
        """Return how many heads the inner encoding treats differently."""
        return self.inside.head_count

    @property
    def query_width(self) -> int:
        """Return how many coordinates a query of the inner encoding has."""
        return self.inside.query_width

    @property
    def dimension(self) -> int:
        """Return the dimension of a head."""
        return self.inside.query_width

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
            return dataclasses.replace(self.own_card, **self._said_by_inner())
        if not self.temperature:
            return self.own_card
        return dataclasses.replace(self.own_card, level=in_words("L6"), relative=False)

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

    def apply(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors as the inner encoding turns them, as they are, or queries sharpened."""
        if self.encoded:
            return self.inside.apply(x, coordinates, numbers, side=side, xp=xp)
        self._check_dimension(x, side)
        if not self.temperature or side == "k":
            return x
        places = beside_heads(coordinates, x)
        factor = sharpening(places, self.temperature, self.temperature_length, xp=xp)
        wide = xp.result_type(x.dtype, xp.float32)
        return xp.astype(xp.astype(x, wide) * xp.astype(factor, wide), x.dtype)

    @property
    def softmax_scale(self) -> float | None:  # type: ignore[override]
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Moving(Encoding):
    """Base of wrappers that move positions."""

    on_grids: ClassVar[bool] = False
    wraps: ClassVar[bool] = True
    inner: Any

    def __post_init__(self) -> None:
        checks.one_axis(self.own_card.name, self.axes)
        object.__setattr__(self, "inner", inner_encoding(self.inner))
        for name in ("kinds", "mixes_heads", "on_values", "reads_tokens"):
            object.__setattr__(self, name, getattr(self.inner, name))

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as plain values, those of the inner encoding by its name."""
        return {**super().parameters, "inner": inner_parameters(self.inner)}

    @property
    def dimension(self) -> int:
        """Return the dimension of the inner encoding."""
        return int(self.inner.dimension)

    @property
    def softmax_scale(self) -> float | None:  # type: ignore[override]
        """Return the scale of the inner encoding."""
        own: float | None = self.inner.softmax_scale
        return own

    @property
    def inside(self) -> Encoding:
        """Return the encoding at the places."""
        return self.inner

    @property
    def head_count(self) -> int | None:
        """Return how many heads the inner encoding treats differently."""
        return self.inner.head_count

    @property
    def query_width(self) -> int:
        """Return how many coordinates a query of the inner encoding has."""
        return self.inner.query_width

    @abstractmethod
    def move(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Coordinates:
        """Return where coordinates (..., 1) come to stand."""

    def vectors_at(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the inner vectors there."""
        return self.inner.vectors_at(self.move(coordinates, numbers, xp=xp), numbers, xp=xp)

    def apply(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return queries or keys as the inner encoding turns them there."""
        at = self.move(coordinates, numbers, xp=xp)
        return self.inner.apply(x, at, numbers, side=side, xp=xp)

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the inner bias between these places."""
        at_q, at_k = (self.move(at, numbers, xp=xp) for at in (queries, keys))
        return self.inner.bias_between(at_q, at_k, numbers, xp=xp)

    def value_terms(
        self,
        weights: Array,
        queries: Coordinates,
        keys: Coordinates,
        numbers: Numbers,
        *,
        xp: Namespace,
    ) -> Array | None:
        """Return what the inner encoding adds to values there."""
        at_q, at_k = (self.move(at, numbers, xp=xp) for at in (queries, keys))
        return self.inner.value_terms(weights, at_q, at_k, numbers, xp=xp)


_TESTS = "encodings/test_encoding_clock.py"
_GROUPS = ("L0", "L1")


@catalogued(
    Card(
        name="clock",
        family="wrapper",
        kind=("transform",),
        formula="f(tau_t - tau_s), f the inner encoding, tau rising and straight between knots",
        source="puranik2026",
        level=in_words("L3"),
        relative=False,
        learnable=True,
        reading=(
            "the post lets gates advance the time of a group; here the clock is a function of the "
            "position, a rising spline of degree one whose slopes are learned, starting as the "
            "identity"
        ),
        proofs=proofs_of(
            ORACLE,
            ("the inner encoding", _TESTS, "test_without_paces_it_is_the_inner_encoding"),
            ("NumPy's interpolation", _TESTS, "test_the_clock_is_the_interpolation_of_its_knots"),
            (
                "60 digits at timestamps, in all libraries",
                _TESTS,
                "test_timestamps_keep_their_digits",
            ),
            ("a planted warp", _TESTS, "test_training_finds_a_planted_clock"),
        ),
    ),
    examples=(
        {
            "inner": {"name": "rope", "dimension": 8},
            "knots": (0.0, 10.0, 40.0, 900.0),
            "paces": (0.5, -0.25, 0.125),
        },
        {
            "inner": {"name": "decay-time", "half_lives": (8.0, 64.0)},
            "knots": (3.5, 30.0, 700.0),
            "paces": (0.75, -0.5),
        },
    ),
    shown={
        "inner": {"name": "rope", "dimension": 64},
        "knots": (0.0, 8.0, 16.0, 32.0, 64.0),
        "paces": (0.0, -0.6, -1.0, -1.3),
    },
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Clock(Moving):
    """The relative encoding `inner` in a time with `knots`, whose slopes are learned as `paces`.

    >>> made = Clock(inner={"name": "alibi", "slopes": (1.0,)}, knots=(0, 2, 4), paces=(0, 2))
    >>> made.clock([1.0, 2.0, 3.0]).round(2)
    array([1., 2., 6.])
    """

    knots: tuple[float, ...]
    paces: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_inner()
        object.__setattr__(self, "knots", _check_rising(self.knots))
        shape = (len(self.knots) - 1,)
        object.__setattr__(self, "paces", learned("paces", self.paces, 0.0, shape))

    def _check_inner(self) -> None:
        """Refuse an encoding that does not see a difference of times."""
        inner = self.inner
        checks.one_axis(inner.name, inner.axes)
        wrong = ""
        if not inner.card.relative or inner.name == "nope":
            wrong = "does not depend on lags"
        elif inner.in_order:
            wrong = "counts tokens in their order and sees no times"
        elif inner.whole_only:
            wrong = "knows whole positions only"
        elif "paces" in inner.numbers:
            wrong = "has paces of its own"
        if wrong:
            raise EncodingError(
                f"inner is {inner.name!r}, which {wrong}; pass a relative encoding of real "
                "positions, such as rope or alibi."
            )

    @property
    def card(self) -> Card:
        """Return the card, with what the inner encoding is."""
        inner = self.inner.card
        level = "L3" if inner.level.partition(" ")[0] in _GROUPS else "L6"
        return dataclasses.replace(
            self.own_card,
            kind=inner.kind,
            formula=f"{inner.formula}; in tau, which rises and is straight between knots",
            level=in_words(level),
            causal_only=inner.causal_only,
            cacheable=inner.cacheable,
            frameworks=inner.frameworks,
            onnx=inner.onnx,
        )

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the numbers of the inner encoding, and the paces."""
        return {**self.inner.numbers, "paces": np.asarray(self.paces)}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name what the inner encoding learns, and the paces."""
        return (*self.inner.learnable, "paces")

    def with_numbers(self, **numbers: Any) -> Self:
        """Return the same knots with other paces, and other learned numbers inside."""
        paces = numbers.pop("paces", self.paces)
        inner = self.inner.with_numbers(**numbers) if numbers else self.inner
        return dataclasses.replace(self, inner=inner, paces=paces)

    def clock(self, positions: ArrayLike) -> NDArray[np.float64]:
        """Return the time that the clock shows at positions, in float64."""
        at = reals(positions, "positions")
        return np.asarray(warped(at, self.knots, np.asarray(self.paces), xp=np))

    @property
    def slopes(self) -> NDArray[np.float64]:
        """Return how fast the clock runs between knots."""
        return 1.0 + excess(np.asarray(self.paces))

    def inverse(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return the positions at which the clock shows these times, in float64.

        >>> made = Clock(inner={"name": "alibi", "heads": 2}, knots=(1.7e9, 1.8e9), paces=(1.0,))
        >>> made.inverse(made.clock([1.75e9]))
        array([1.75e+09])
        """
        shown = tuple(self.clock(self.knots).tolist())
        at = reals(times, "times")
        return np.asarray(broken_line(at, shown, 1.0 / self.slopes - 1.0, xp=np)) + self.knots[0]

    def shown(self, coordinates: Coordinates, paces: Array, *, xp: Namespace) -> Coordinates:
        """Return the time at coordinates (..., 1), in limbs where these are."""
        dtype = xp.float32 if isinstance(coordinates, Limbs) else coordinates.dtype
        return warped(coordinates, self.knots, xp.astype(paces, dtype), xp=xp)

    def move(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Coordinates:
        """Return the time at coordinates (..., 1)."""
        return self.shown(coordinates, numbers["paces"], xp=xp)

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
        """Return the logits of the inner encoding in the time of the clock."""
        xp = common_namespace(q, k)
        left, right = float_array(q, "q", xp=xp), float_array(k, "k", xp=xp)
        keys_at = key_positions(left, right, positions_q, positions_k)
        held = self.numbers_in(left, xp=xp) if numbers is None else numbers
        times = []
        for positions, like in ((positions_q, left), (keys_at, right)):
            at = self.shown(as_coordinates(positions, 1, like=like), held["paces"], xp=xp)
            times.append(at if isinstance(at, Limbs) else at[..., 0])
        asked: dict[str, Any] = {"scale": scale, "tokens": tokens, "numbers": held}
        made: Array = self.inner.scores(left, right, *times, **asked)
        return made


def _check_rising(knots: Any) -> tuple[float, ...]:
    """Return knots as numbers that rise, or say why they are none."""
    values = given("knots", knots, np.shape(knots))
    if values.ndim != 1 or values.size < 2 or not (np.diff(values) > 0.0).all():
        raise EncodingError(
            f"knots are {values.tolist()}; pass two positions or more, each above the one before."
        )
    return tuple(values.tolist())


@catalogued(
    Card(
        name="randomised",
        family="wrapper",
        kind=("transform",),
        formula="the inner encoding at places[i], a sorted sample of 0 ... largest - 1",
        source="ruoss2023",
        level=in_words("L6"),
        relative=False,
        extrapolation="the authors claim that models generalise to lengths up to largest",
        proofs=proofs_of(
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
    ),
    examples=(
        {"inner": {"name": "rope", "dimension": 8}, "largest": 2048, "length": 64},
        {"inner": {"name": "sinusoidal", "dimension": 8}, "largest": 2048, "length": 64},
        {"inner": {"name": "alibi", "heads": 2}, "largest": 2048, "length": 64},
    ),
    shown={"inner": {"name": "rope", "dimension": 64}},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Randomised(Moving):
    """The encoding `inner` at `length` places drawn by `seed` among the first `largest`.

    >>> inner = {"name": "rope", "dimension": 8}
    >>> Randomised(inner=inner, largest=100, length=4).places
    array([38, 47, 51, 67])
    """

    whole_only: ClassVar[bool] = True
    largest: int
    length: int
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
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
            self.own_card,
            kind=inner.kind,
            formula=f"{inner.formula}; at places[i], a sorted sample of 0 ... largest - 1",
            learnable=inner.learnable,
            causal_only=inner.causal_only,
            cacheable=inner.cacheable,
            frameworks=inner.frameworks,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Return how many positions have a place."""
        return (self.length,)

    @property
    def row_shape(self) -> tuple[int, ...]:
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

    def place(self, coordinates: Coordinates, places: Array, *, xp: Namespace) -> Coordinates:
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

    def move(self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace) -> Coordinates:
        """Return the places of coordinates (..., 1)."""
        return self.place(coordinates, numbers["places"], xp=xp)

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
        at = self.place(coordinates, constant("places", self.places, device, xp=xp), xp=xp)
        return at if isinstance(at, Limbs) else at[..., 0]


def inner_encoding(inner: Any) -> Encoding:
    """Return the encoding that a wrapper was given, made from {"name": ..., parameters} if need be.

    >>> inner_encoding({"name": "rope", "dimension": 8}).card.name
    'rope'
    """
    if isinstance(inner, Encoding):
        return inner
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        raise EncodingError(
            f"inner is {inner!r}; pass an encoding, or its parameters with its name, such as "
            '{"name": "rope", "dimension": 64}.'
        )
    from gnomon.encodings.registry import encoding  # which loads wrappers by name: not before

    parameters = {key: value for key, value in inner.items() if key != "name"}
    return encoding(inner["name"], **parameters)


def inner_parameters(encoding: Encoding) -> dict[str, Any]:
    """Return an encoding as plain values from which `inner_encoding` makes it again.

    The name is that of the entry of its class: a card may have a narrower one.
    """
    entry = encoding.own_entry
    return {"name": encoding.name if entry is None else entry.card.name, **encoding.parameters}
