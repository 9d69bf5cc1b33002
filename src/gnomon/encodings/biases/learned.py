"""Biases that a small network makes of the lag: FIRE, and networks of the lag itself.

    h_1 = f(x W_1 + b_1),  ...,  y = h W + b,   x (..., inputs),  y (..., heads).

Weights and biases start uniform in (-1/sqrt(n), 1/sqrt(n)), n the inputs of the layer: the default
of torch.nn.Linear, which the published codes of [li2024] and x-transformers leave as it is.

*fire* [li2024]: the network reads the lag after both it and the query's position are squashed,

    bias_h(i, j) = f_h( g(|i - j|) / (g(max(i, L)) + e) ),   g(x) = ln(1 + |c| x),

with f a network of one hidden layer of `hidden` units with ReLU, and one output per head. The
quotient lies in [0, 1] for every key before its query, however long the text is, so the network is
never asked outside of what it was trained on: *progressive interpolation*. Up to the threshold
L = |multiplier| x `threshold` all queries share one scale, and the bias there depends on the lag
alone; past it the query's own position divides, so a common shift of all positions changes logits.
Learned: c, the multiplier of the threshold, and the network.

*mlp*: bias_h(i, j) = f_h(x), x = i - j or sign(i - j) ln(1 + |i - j|) on every axis, f a network of
`depth` hidden layers of `hidden` units. It depends on the lag alone, knows before from after, and
is defined at every lag, so a model can be asked at sizes it never saw: *dynamic position bias* of
pictures [wang2022], with lags on two axes; the logarithm brings far lags nearer to those that were
trained on [liu2022].

T5's bias: one learned number per head for each bucket of lags; buckets widen with the lag.

    bias_h(i, j) = table[bucket(i - j), h]

With c buckets (half of all for each direction, where both are seen) the first e = c // 2 lags have
one each; lag n from there on has bucket

    e + floor( (c - e) ln(n / e) / ln(L / e) ),  at most c - 1,

so that all lags from L = `largest_lag` on share the last [raffel2020 sec. 2.1]. Keys after their
query have the second half of the buckets; in one direction, they have bucket 0 and are masked.

The floor is found without a logarithm: bucket e + b begins at the least whole n with
n^(c-e) e^b >= L^b e^(c-e), an inequality of whole numbers. No rounding can move a bound, as it can
where ln(n / e) is computed in float32 and the quotient should be whole. A lag that is no whole
number belongs to the bucket of the whole lag below it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.starting import freeze_given, normal_rows, spread
from gnomon.encodings.tables import given_table
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import hidden, lags_between, moved_axis, or_nan, take
from gnomon.numeric.elementwise import silu
from gnomon.numeric.limbs import Limbs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.numeric.arrays import Array, Coordinates, Namespace


_WEIGHTS = ("weights_in", "biases_in", "weights_out", "biases_out")


def _squash(x: Array, rate: Array, *, xp: Namespace) -> Array:
    """Return ln(1 + |c| x)."""
    return xp.log1p(xp.abs(rate) * x)


def _as_floats(coordinates: Coordinates, *, xp: Namespace) -> Array:
    """Return coordinates as floats; limbs are added up, rounded once."""
    if isinstance(coordinates, Limbs):
        return xp.astype(coordinates.whole, xp.float32) + coordinates.fraction
    return coordinates


def quotients(
    queries: Coordinates,
    keys: Coordinates,
    rate: Array,
    threshold: Array,
    *,
    epsilon: float,
    xp: Namespace,
) -> Array:
    """Return g(|i - j|) / (g(max(i, L)) + e), what the network reads: shape (..., n, m)."""
    lags = xp.abs(lags_between(queries, keys, xp=xp)[..., 0])
    at = _as_floats(queries, xp=xp)[..., 0]
    longest = xp.where(at > threshold, at, threshold)
    scale = _squash(longest, rate, xp=xp) + epsilon
    return _squash(lags, rate, xp=xp) / scale[..., None]


@catalogued(
    Card(
        name="fire",
        family="bias",
        kind=("bias",),
        formula="bias_h(i, j) = f_h(g(|i - j|) / g(max(i, L))), g(x) = ln(1 + |c| x), f a network",
        source="li2024",
        level=in_words("L6"),
        relative=False,
        learnable=True,
        extrapolation="the authors claim better generalisation to longer texts than trained on",
        reading=(
            "positions count from 0, and keys after their query have |i - j|, as in the public "
            "copies of the authors' code, whose e = 1e-6 in the denominator is kept; the formula "
            "of the paper has i - j, for keys before their query. A position may be any number; "
            "below L it does not divide"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "the formula with a network of PyTorch",
                "agreement/test_network_biases.py",
                "test_fire_is_its_formula_with_a_network_of_torch",
            ),
            (
                "the interval [0, 1] that the network reads",
                "encodings/test_encoding_fire.py",
                "test_keys_before_their_query_are_read_between_0_and_1",
            ),
        ),
    ),
    examples=({"heads": 2, "hidden": 8, "threshold": 4.5, "rate": 2.0, "seed": 5},),
    shown={"heads": 8},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Fire(Encoding):
    """Biases of `heads` heads from a network of `hidden` units, relative to the query's position.

    `rate` is c; the threshold L is `threshold` times the learned `multiplier`. Without weights the
    network starts from those of the seed.
    """

    kinds: ClassVar[tuple[str, ...]] = ("bias",)
    on_grids: ClassVar[bool] = False
    heads: int
    hidden: int = 32
    threshold: float = 512.0
    epsilon: float = 1e-6
    seed: int = 0
    rate: Any = 0.1
    multiplier: Any = 1.0
    weights_in: Any = field(default=None, repr=False)
    biases_in: Any = field(default=None, repr=False)
    weights_out: Any = field(default=None, repr=False)
    biases_out: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("fire", self.axes)
        checks.whole("heads", self.heads, least=1)
        checks.whole("hidden", self.hidden, least=1)
        checks.real("threshold", self.threshold, above=0.0)
        checks.real("epsilon", self.epsilon, above=0.0)
        checks.whole("seed", self.seed, least=0)
        for name in ("rate", "multiplier"):
            given = checks.array(name, getattr(self, name))
            value = given.item() if given.ndim == 0 else given.tolist()
            checks.real(name, value)
            object.__setattr__(self, name, float(value))
        shapes = ((1, self.hidden), (self.hidden,), (self.hidden, self.heads), (self.heads,))
        for place, (name, shape) in enumerate(zip(_WEIGHTS, shapes, strict=True)):
            inputs = 1 if place < 2 else self.hidden
            settle(self, name, shape, seed=self.seed, place=place, inputs=inputs)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return c, the multiplier of the threshold, and the weights of the network."""
        return {name: np.asarray(getattr(self, name), dtype=np.float64) for name in self.learnable}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name all numbers."""
        return ("rate", "multiplier", *_WEIGHTS)

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the biases, shape (..., heads, queries, keys)."""
        threshold = xp.abs(numbers["multiplier"]) * self.threshold
        read = quotients(queries, keys, numbers["rate"], threshold, epsilon=self.epsilon, xp=xp)
        layer = _affine(read[..., None], numbers["weights_in"], numbers["biases_in"], xp=xp)
        made = _affine(_relu(layer, xp=xp), numbers["weights_out"], numbers["biases_out"], xp=xp)
        return moved_axis(made, -1, -3, xp=xp)


_FIRST = ("weights_in", "biases_in")
_HIDDEN = ("weights", "biases")
_LAST = ("weights_out", "biases_out")


def _log_with_sign(lags: Array, *, xp: Namespace) -> Array:
    """Return sign(x) ln(1 + |x|), with a slope of 1 at 0."""
    return xp.where(lags < 0.0, -xp.log1p(xp.abs(lags)), xp.log1p(xp.abs(lags)))


@catalogued(
    Card(
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
            "hidden layers end in x / (1 + e^-x) and have no normalisation, as in x-transformers "
            "by default; the authors' code (github.com/cheerss/CrossFormer at 7952010) has layer "
            "normalisation and max(x, 0). The lag is query minus key"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "x-transformers",
                "agreement/test_network_biases.py",
                "test_mlp_bias_equals_that_of_x_transformers",
            ),
        ),
    ),
    examples=(
        {"heads": 2, "hidden": 6, "logarithmic": True, "seed": 1},
        {"heads": 2, "hidden": 8, "depth": 1, "axes": 2, "seed": 4},
    ),
    shown={"heads": 8, "logarithmic": True},
)
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
            inputs = self.axes if name in _FIRST else self.hidden
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
        return dict(zip((*_FIRST, *_HIDDEN, *_LAST), shapes, strict=True))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the weights of the network."""
        return {name: np.asarray(getattr(self, name)) for name in self.learnable}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name all numbers; with one hidden layer there are none between hidden layers."""
        return (*_FIRST, *(_HIDDEN if self.depth > 1 else ()), *_LAST)

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the biases, shape (..., heads, queries, keys)."""
        lags = lags_between(queries, keys, xp=xp)
        read = _log_with_sign(lags, xp=xp) if self.logarithmic else lags
        layer = _affine(read, numbers["weights_in"], numbers["biases_in"], xp=xp)
        for place in range(self.depth - 1):
            weights, biases = numbers["weights"][place, ...], numbers["biases"][place, ...]
            layer = _affine(silu(layer, xp=xp), weights, biases, xp=xp)
        made = _affine(silu(layer, xp=xp), numbers["weights_out"], numbers["biases_out"], xp=xp)
        return moved_axis(made, -1, -3, xp=xp)


def _affine(x: Array, weights: Array, biases: Array, *, xp: Namespace) -> Array:
    """Return x W + b in the wider type of both: inputs are float64 where there is."""
    dtype = xp.result_type(x.dtype, weights.dtype)
    product = xp.matmul(xp.astype(x, dtype), xp.astype(weights, dtype))
    return product + xp.astype(biases, dtype)


def _relu(x: Array, *, xp: Namespace) -> Array:
    """Return what is positive of x; NaN stays NaN."""
    return xp.where(x < 0.0, xp.zeros_like(x), x)


def settle(
    encoding: Encoding, name: str, shape: tuple[int, ...], *, seed: int, place: int, inputs: int
) -> None:
    """Keep the numbers that a field was given, read-only, or those that training starts from."""
    if getattr(encoding, name) is None:
        start = spread(place, shape, seed) * inputs**-0.5
        object.__setattr__(encoding, name, start)
    freeze_given(encoding, name, shape)


def bucket_bounds(buckets: int, largest_lag: int) -> tuple[int, ...]:
    """Return the least lag of every bucket of one direction.

    >>> bucket_bounds(8, 32)
    (0, 1, 2, 3, 4, 7, 12, 20)
    """
    exact = buckets // 2
    wide = buckets - exact
    bounds = (_bound(step, exact, wide, largest_lag) for step in range(1, wide))
    return (*range(exact + 1), *bounds)


def _bound(step: int, exact: int, wide: int, largest_lag: int) -> int:
    """Return the least whole n with (n / e)^w >= (L / e)^b, by bisection in whole numbers."""
    low, high = exact, largest_lag
    while low < high:
        middle = (low + high) // 2
        if middle**wide * exact**step >= largest_lag**step * exact**wide:
            high = middle
        else:
            low = middle + 1
    return low


def _lag_buckets(lags: Array, bounds: Array, *, exact: int, after: int, xp: Namespace) -> Array:
    """Return the bucket of every lag i - j, from the bounds of those that hold several lags.

    Keys after their query have the buckets from `after` on; with `after` 0 there is one direction,
    and such keys count as lag 0. Bounds are compared one by one, which every exporter knows.
    """
    sizes = xp.abs(lags) if after else xp.where(lags > 0, lags, xp.zeros_like(lags))
    kind = xp.int64 if lags.dtype == xp.float64 else xp.int32
    found = xp.astype(xp.floor(xp.clip(sizes, 0, exact)), kind)
    for place in range(bounds.shape[0]):
        found = found + xp.astype(sizes >= bounds[place], kind)
    return found + after * xp.astype(lags < 0, kind) if after else found


@catalogued(
    Card(
        name="t5",
        family="bias",
        kind=("bias",),
        formula="bias_h(i, j) = table[bucket(i - j), h], buckets widen geometrically with the lag",
        source="raffel2020",
        level=in_words("L5"),
        relative=True,
        learnable=True,
        extrapolation="all lags from largest_lag on share one bucket; the authors claim no more",
        proofs=proofs_of(
            ORACLE,
            (
                "transformers, T5 and MPNet",
                "agreement/test_transformers_biases.py",
                "test_buckets_equal_those_of_transformers_for_every_lag",
            ),
            (
                "x-transformers",
                "agreement/test_transformers_biases.py",
                "test_t5_bias_equals_that_of_x_transformers",
            ),
        ),
    ),
    examples=(
        {"heads": 2},
        {"heads": 3, "buckets": 8, "largest_lag": 20, "bidirectional": False, "seed": 1},
    ),
    shown={"heads": 8},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class T5(Encoding):
    """Biases by bucket for `heads` heads; `table` (buckets, heads) is what was learned.

    Without a table it starts from N(0, sigma^2); sigma is that of the smallest published model,
    512^(-1/2), as transformers starts it.
    """

    kinds: ClassVar[tuple[str, ...]] = ("bias",)
    on_grids: ClassVar[bool] = False
    heads: int
    buckets: int = 32
    largest_lag: int = 128
    bidirectional: bool = True
    sigma: float = 512**-0.5
    seed: int = 0
    table: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("t5", self.axes)
        checks.whole("heads", self.heads, least=1)
        sides = 2 if self.bidirectional else 1
        why = "half for each direction" if self.bidirectional else ""
        checks.whole("buckets", self.buckets, least=2 * sides, multiple_of=sides, why=why)
        checks.whole("largest_lag", self.largest_lag, least=1)
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)
        if self.largest_lag <= self.buckets // sides // 2:
            raise EncodingError(
                f"largest_lag is {self.largest_lag}, but the first {self.buckets // sides // 2} "
                "lags have a bucket each; pass a larger largest_lag, or fewer buckets."
            )
        if self.table is not None:
            shape = (self.buckets, self.heads)
            object.__setattr__(self, "table", given_table(self.table, shape, "table"))

    @property
    def card(self) -> Card:
        """Return the card; in one direction keys after their query must be masked."""
        return (
            self.own_card
            if self.bidirectional
            else dataclasses.replace(self.own_card, causal_only=True)
        )

    @property
    def bounds(self) -> tuple[int, ...]:
        """Return the least lags of the buckets of one direction: 0, 1, 2, ..."""
        return bucket_bounds(self.buckets // (2 if self.bidirectional else 1), self.largest_lag)

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        if self.table is not None:
            return np.asarray(self.table)
        rows = np.arange(self.buckets)[:, None]
        table = self.sigma * normal_rows(rows, self.heads, int(self.seed) % 2**64)
        table.flags.writeable = False  # it is kept, and is the definition
        return table

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the table (buckets, heads), and the bounds past the buckets of one lag each."""
        bounds = self.bounds
        wide = np.asarray(bounds[len(bounds) // 2 + 1 :], dtype=np.float64)
        return {"table": self._table, "bounds": wide}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the table."""
        return ("table",)

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the biases, shape (..., heads, queries, keys)."""
        lags = lags_between(queries, keys, xp=xp)[..., 0]
        after = self.buckets // 2 if self.bidirectional else 0
        exact = (after or self.buckets) // 2
        found = _lag_buckets(lags, numbers["bounds"], exact=exact, after=after, xp=xp)
        entries = take(numbers["table"], found, xp=xp)
        if not isinstance(lags, np.ndarray) and hidden(lags):  # NaN would have a bucket
            entries = or_nan(entries, lags == lags, xp=xp)  # noqa: PLR0124 - false for NaN alone
        return moved_axis(entries, -1, -3, xp=xp)
