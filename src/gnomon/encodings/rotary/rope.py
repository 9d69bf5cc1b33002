"""Rotary encoding: pairs of coordinates turned by an angle that grows with the position.

    q~ = R_i q,  k~ = R_j k,  R_i: (a, b) -> (a cos p - b sin p, a sin p + b cos p),  p = <W_k, i>

for pair k, with W the matrix of frequencies (pairs, axes), in radians per position; per head
(heads, pairs, axes) where heads have their own. q~.k~ = q^T R_(j-i) k depends on the lag alone,
since turns commute: one group on one axis, commuting groups on several [su2021 sec. 3.2-3.4].
Coordinates outside of the rotated part pass unchanged [su2021 sec. 3.4.2]. Vectors of half
precision are turned in float32 and cast last: tables in half precision err by far more than that.

Frequencies of `Rope` are geometric: w_k = base^(-2k/r), k = 0 ... r/2 - 1, r the coordinates per
axis that are turned, of a head's `dimension` the first `fraction` [su2021 sec. 3.4]. On several
axes each has an equal share of them, in order, with a ladder of its own (*axial*). A *scaling* is a
value that changes the ladder, and perhaps the length of q and k
(`gnomon.encodings.frequencies`); where it follows the length of the context, keys that were
cached at another length are wrong, whatever the family [peng2024]. `rope-yarn` and the like take
the parameters of both side by side.

Layout *interleaved* pairs (2k, 2k+1), layout *half* pairs (k, k + r/2) of r rotated coordinates.
They differ by a fixed permutation of coordinates, applied alike to queries and keys, so logits do
not change when both are permuted; mixing layouts breaks relativity and nothing says so. Interleaved
is the layout of [su2021] and of GPT-J, half that of GPT-NeoX and of Llama as transformers keeps it.

Kernel of the positional part, for content with unit pairs: k_ij = sum_k cos <W_k, i-j>, which gives
the distances of the sinusoid with the same frequencies. Coordinates that are not turned add a
constant to the kernel, and nothing to distances.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import array_api_compat
import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, Row, catalogued, in_words, proofs_of
from gnomon.encodings.frequencies import (
    UNSCALED,
    Scaling,
    as_scaling,
    circular_distances,
    of_head,
    of_turns,
    on_axes,
    pair_columns,
    phases,
)
from gnomon.errors import EncodingError
from gnomon.groups import rotate_pairs
from gnomon.numeric import checks
from gnomon.numeric.arrays import (
    beside_heads,
    check_dimension,
    check_own_heads,
    concrete_or_none,
    device_beside,
    namespace_of,
)

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from gnomon.groups import Commuting, Generator
    from gnomon.numeric.arrays import Array, Coordinates, Namespace

LAYOUTS = ("interleaved", "half")
_AGREEMENT = "agreement/test_transformers_rotated.py"


@dataclass(frozen=True, kw_only=True, eq=False)
class Rotating(Encoding):
    """Base of rotary encodings of heads with `dimension` coordinates."""

    kinds: ClassVar[tuple[str, ...]] = ("transform",)
    first: ClassVar[int] = 0
    """The first coordinate that is turned."""
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
    def turns_by_tables(self) -> bool:  # type: ignore[override]
        """Whether cosines and sines are all that is needed of positions: `apply` is this one."""
        return type(self).apply is Rotating.apply

    @property
    def turns_by_frequencies(self) -> bool:  # type: ignore[override]
        """Whether phases are fixed frequencies times positions: `tables` are those of a ladder."""
        plain = type(self).tables in (Rotating.tables, Scaled.tables) and not self.learnable
        return plain and self.turns_by_tables and self.frequencies.ndim == 2

    @property
    def attention_factor(self) -> float:
        """Return what queries and keys are multiplied by while they are turned."""
        return 1.0

    @property
    def rotated(self) -> int:
        """Return the number of coordinates that are turned; the rest passes unchanged."""
        return 2 * int(self.frequencies.shape[-2])

    @property
    def pairs_by_axis(self) -> tuple[int, ...] | None:
        """Return how many pairs turn by each axis, where pairs are dealt to axes."""
        return None

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel (unit pairs), where lags decide it, and probe (a given content vector)."""
        return ("probe",) if self.lag_distances("kernel") is None else ("kernel", "probe")

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

    def apply(
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
        """Refuse vectors that are not of this head dimension, or of another number of heads."""
        check_dimension(x, name, self.dimension, does="turns")
        shape = getattr(frequencies, "radians", frequencies).shape
        if len(shape) == 3:
            check_own_heads(x, name, shape[0], has="frequencies")

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Scaled(Rotating):
    """Base of rotary encodings with a field `scaling`, each where it wants it among its own."""

    if TYPE_CHECKING:
        scaling: Scaling

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, shape (pairs, axes)."""
        return np.asarray(self.frequencies_in(xp=np, dtype=np.float64))

    @abstractmethod
    def frequencies_in(self, *, xp: Namespace, dtype: Any) -> Array:
        """Return the frequencies computed in a library and type as transformers does it."""

    @property
    def attention_factor(self) -> float:
        """Return what the scaling multiplies cosines and sines by."""
        return self.scaling.attention_factor

    def tables(
        self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> tuple[Array, Array]:
        """Return cosines and sines; refuse positions whose frequencies no stated length decides."""
        if self.scaling.reach is not None:
            self._check_reach(coordinates)
        factor = self.scaling.attention_factor
        return tables(coordinates, numbers["frequencies"], factor=factor, xp=xp)

    def centre(self, at_q: Coordinates, at_k: Coordinates) -> tuple[Coordinates, Coordinates]:
        """Return coordinates counted from their middle, after a look at where they were."""
        self._check_reach(at_q)
        self._check_reach(at_k)
        return super().centre(at_q, at_k)

    def _check_reach(self, coordinates: Coordinates) -> None:
        """Refuse positions whose frequencies depend on a length that is not stated."""
        reach = self.scaling.reach
        places = None if reach is None else concrete_or_none(coordinates)
        if places is not None and places.size and places.max() >= reach:
            raise EncodingError(
                f"Position {places.max():g} is beyond the trained length {reach}, after which the "
                f"scaling {self.scaling.name!r} follows the length of the sequence; fix it: "
                "encoding.at_length(...), or from_config(..., length=...)."
            )

    @property
    def known_length(self) -> int | None:  # type: ignore[override]
        """Return the length up to which the scaling does not depend on that of the sequence."""
        return self.scaling.reach

    @property
    def has_fixed_length(self) -> bool:  # type: ignore[override]
        """Whether the length that the scaling follows is stated."""
        return self.scaling.has_fixed_length

    def at_length(self, length: int) -> Self:
        """Return the encoding as it is for a context of `length`, where the scaling follows it."""
        return dataclasses.replace(self, scaling=self.scaling.at_length(length))

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as plain values, the scaling with its own."""
        return {**super().parameters, "scaling": self.scaling.parameters}


def with_scaling(card: Card, scaling: Scaling) -> Card:
    """Return the card of a family with a scaling in it: what that claims of lengths is claimed."""
    said = scaling.card
    if said is None:
        return card
    formula = f"{card.formula}; w_k scaled: {scaling.name}"
    claims = {"cacheable": said.cacheable, "extrapolation": said.extrapolation}
    return dataclasses.replace(card, formula=formula, **claims)  # type: ignore[arg-type]


@catalogued(
    Card(
        name="rope",
        family="rotary",
        kind=("transform",),
        formula="q~ = R_i q, k~ = R_j k, R_i turns pair k by i w_k, w_k = base^(-2k/d)",
        source="su2021",
        level=in_words("L0"),
        relative=True,
        extrapolation="no claim of the authors beyond the trained length",
        proofs=proofs_of(
            ORACLE,
            (
                "complex multiplication",
                "encodings/test_encoding_rotary.py",
                "test_rotation_equals_multiplication_by_complex_numbers",
            ),
            ("transformers' Llama", _AGREEMENT, "test_llama_turns_as_layout_half"),
            (
                "transformers' GPT-J",
                _AGREEMENT,
                "test_gpt_j_turns_the_first_coordinates_as_layout_interleaved",
            ),
            (
                "transformers' GPT-NeoX",
                _AGREEMENT,
                "test_gpt_neox_turns_a_fraction_as_layout_half",
            ),
            (
                "rotary-embedding-torch",
                "agreement/test_rotary_libraries.py",
                "test_axes_turn_as_rotary_embedding_torch",
            ),
            (
                "x-transformers",
                "agreement/test_rotary_libraries.py",
                "test_custom_positions_turn_as_x_transformers",
            ),
            (
                "ONNX's reference evaluator",
                "agreement/test_onnx_rotary.py",
                "test_vectors_turn_as_the_reference_evaluator_of_onnx",
            ),
        ),
    ),
    examples=(
        {"dimension": 8},
        {"dimension": 8, "layout": "half", "fraction": 0.5, "base": 500000.0},
        {"dimension": 8, "axes": 2},
    ),
    surveyed=(Row(lifts=("kernel", "probe")),),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Rope(Scaled):
    """Rotary encoding of heads with `dimension` coordinates, of which the first `fraction` turn.

    >>> Rope(dimension=8, fraction=0.5).frequencies
    array([[1.  ],
           [0.01]])
    """

    base: float = 10000.0
    fraction: float = 1.0
    scaling: Scaling = UNSCALED

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.real("base", self.base, above=0.0)
        share = check_share(self.dimension, self.fraction, self.axes)
        if not isinstance(self.scaling, Scaling):
            object.__setattr__(self, "scaling", as_scaling(self.scaling))
        self.scaling.check(share, float(self.base))

    @property
    def card(self) -> Card:
        """Return the card of rotary encoding, with what the scaling says of itself."""
        return self.scaling.card or self.own_card

    def frequencies_in(self, *, xp: Namespace, dtype: Any) -> Array:
        """Return the frequencies computed in a library and type as transformers does it."""
        share = int(self.dimension * self.fraction) // self.axes
        ladder = self.scaling.frequencies(share, float(self.base), xp=xp, dtype=dtype)
        return ladder[:, None] if self.axes == 1 else on_axes(ladder, self.axes, xp=xp)


def tables(
    coordinates: Coordinates, frequencies: Array, *, factor: float = 1.0, xp: Namespace
) -> tuple[Array, Array]:
    """Return the cosine and sine of every phase, times `factor`: shapes (..., n, pairs)."""
    angles = phases(coordinates, frequencies, xp=xp)
    cosine, sine = xp.cos(angles), xp.sin(angles)
    return (cosine, sine) if factor == 1.0 else (cosine * factor, sine * factor)


def _turn_interleaved(x: Array, cosine: Array, sine: Array, *, dtype: Any, xp: Namespace) -> Array:
    """Turn the pairs (2k, 2k+1) of x (..., 2 pairs) by angles with these cosines and sines."""
    first, second = x[..., 0::2], x[..., 1::2]
    turned = xp.stack(rotate_pairs(first, second, cosine, sine, dtype=dtype, xp=xp), axis=-1)
    return xp.reshape(turned, (*turned.shape[:-2], x.shape[-1]))


def _turn_half(x: Array, cosine: Array, sine: Array, *, dtype: Any, xp: Namespace) -> Array:
    """Turn the pairs (k, k + pairs) of x (..., 2 pairs) by angles with these cosines and sines."""
    pairs = x.shape[-1] // 2
    first, second = x[..., :pairs], x[..., pairs:]
    return xp.concat(rotate_pairs(first, second, cosine, sine, dtype=dtype, xp=xp), axis=-1)


TURN = {"interleaved": _turn_interleaved, "half": _turn_half}


def turn(
    x: Array, cosine: Array, sine: Array, *, layout: str, first: int = 0, xp: Namespace
) -> Array:
    """Return x (..., n, d) with the coordinates from `first` on turned, two for each cosine."""
    last = first + 2 * cosine.shape[-1]
    wide = xp.result_type(x.dtype, xp.float32)
    part = x[..., first:last]
    cosine, sine = xp.astype(cosine, wide), xp.astype(sine, wide)
    turned = TURN[layout](xp.astype(part, wide), cosine, sine, dtype=x.dtype, xp=xp)
    if first == 0 and last == x.shape[-1]:
        return turned
    return xp.concat([x[..., :first], turned, x[..., last:]], axis=-1)


def half_from_interleaved(rotated: int) -> NDArray[np.int64]:
    """Return the permutation p for which x[..., p] has in layout *half* what x has interleaved.

    >>> half_from_interleaved(4)
    array([0, 2, 1, 3])
    """
    return np.concatenate([np.arange(0, rotated, 2), np.arange(1, rotated, 2)])


def reordering(dimension: int, *, to: str, rotated: int | None = None, first: int = 0) -> Any:
    """Return the permutation of a head's coordinates that brings the other layout into `to`.

    The `rotated` coordinates from `first` on are moved; the rest stays where it is.

    >>> reordering(6, to="interleaved", rotated=4)
    array([0, 2, 1, 3, 4, 5])
    """
    checks.one_of("to", to, LAYOUTS)
    count = dimension - first if rotated is None else rotated
    checks.whole("rotated", count, least=0, multiple_of=2, why="they turn in pairs")
    if first + count > dimension:
        raise EncodingError(
            f"A head of dimension {dimension} has no {count} coordinates from {first} on; "
            "pass rotated and first that fit."
        )
    order = half_from_interleaved(count)
    order = order if to == "half" else np.argsort(order)
    whole = np.arange(dimension)
    whole[first : first + count] = first + order
    return whole


def convert_vectors(x: Array, *, to: str, rotated: int | None = None, first: int = 0) -> Array:
    """Return queries or keys (..., dimension) of the other layout in layout `to`.

    >>> convert_vectors(np.array([10, 11, 20, 21]), to="half")
    array([10, 20, 11, 21])
    """
    x = _array(x, "The vectors")
    xp = namespace_of(x)
    order = reordering(x.shape[-1], to=to, rotated=rotated, first=first)
    return xp.take(x, xp.asarray(order, device=device_beside(x, xp=xp)), axis=-1)


def convert_weights(
    weight: Array, *, heads: int, to: str, rotated: int | None = None, first: int = 0
) -> Array:
    """Return the weight (heads * dimension, ...) or bias of a q or k projection in layout `to`.

    Rows are the outputs of the projection, as in `nn.Linear.weight`. `heads` is the number of heads
    of that projection: the key heads where there are fewer. Where only a part of a head turns
    (partial rotary encoding, MLA), pass `rotated` and `first` of the encoding: all of it is moved
    otherwise.
    """
    checks.whole("heads", heads, least=1)
    weight = _array(weight, "The weight")
    rows = weight.shape[0]
    if rows % heads:
        raise EncodingError(
            f"A weight with {rows} rows has no {heads} heads of equal size; pass the number of "
            "heads of this projection (of the keys, where they have fewer)."
        )
    dimension = rows // heads
    order = reordering(dimension, to=to, rotated=rotated, first=first)
    every = (np.arange(heads)[:, None] * dimension + order).reshape(-1)
    xp = namespace_of(weight)
    return xp.take(weight, xp.asarray(every, device=device_beside(weight, xp=xp)), axis=0)


def _array(x: Array, what: str) -> Array:
    """Return an array as it is, and a list as NumPy's; refuse what has no axis to permute."""
    values = x if array_api_compat.is_array_api_obj(x) else np.asarray(x)
    if values.ndim == 0 or (isinstance(values, np.ndarray) and values.dtype.kind in "OSU"):
        raise EncodingError(
            f"{what} cannot be converted: this is {type(x).__name__}; pass an array of numbers "
            "with at least one axis, such as the weight of a projection."
        )
    return values


def check_share(dimension: int, fraction: float, axes: int) -> int:
    """Return how many coordinates of a head turn with each axis, or say which numbers do not fit.

    >>> check_share(64, 0.5, 2)
    16
    """
    checks.real("fraction", fraction, above=0.0)
    if fraction > 1.0:
        raise EncodingError(f"fraction is {fraction:g}; pass a number above 0, up to 1.")
    turned = int(dimension * fraction)
    if turned == 0 or turned % (2 * axes):
        name = "dimension" if fraction == 1.0 else "fraction"
        raise EncodingError(
            f"dimension is {dimension} and {turned} of its coordinates turn; pass a {name} with "
            f"which a multiple of {2 * axes} turn, two per axis."
        )
    return turned // axes
