"""Biases that are kernels of the lag: KERPLE's learned penalties, and Sandwich's sum of cosines.

KERPLE: penalties that grow with the logarithm, or with a power, of the lag; both are learned.

    kerple-log     bias_h(i, j) = -s_h ln(1 + r_h |i - j|),   s_h, r_h > 0,
    kerple-power   bias_h(i, j) = -s_h |i - j|^(p_h),         s_h > 0, 0 < p_h <= 2.

Within these bounds both are conditionally positive definite functions of the lag, so some constant,
which softmax does not see, makes them kernels [chi2022], and the squared distances of the
kernel lift, twice the mean penalty, are never negative. Outside of them that is lost, so training
must not leave them. The authors clamp every parameter to at least 0.01, and p to at most 2, before
each use. Here the formula *folds* what was learned: |x| takes the place of x, and a p past 2 is
reflected to 4 - p. Within the bounds that is x itself, and unlike under a clamp in the formula, no
parameter is caught outside of them, where it would have no gradient.

Training starts from s uniform in (0, 2), r in (0, 1); of the power, p in (0, 2), s in (0, 1), all
at least 0.01: ParallelKerpleLog and ParallelKerplePower of github.com/chijames/KERPLE at 25be3d7.

Sandwich: the inner product of two sinusoidal vectors, kept as a bias and nothing else of them.

    bias_h(i, j) = p_i.p_j / c_h = (1/c_h) sum_k cos((i - j) w_k),   w_k = base^(-2k/D),

k = 0 ... D/2 - 1, c_h = 8 (h + 1) / H for head h = 0 ... H - 1. Of (q + p_i).(k + p_j) it is the
one term that depends on the lag alone. It falls off roughly with the logarithm of the lag, as
learned biases do, and has nothing to learn [chi2023].

It has rank D: the vectors themselves, divided by c_h on one side, appended to queries and keys give
it without any n x n array (`bias_factors`). It is computed that way: O(n D) sines in place of
O(n^2 D), and phases that are right at every position, in limbs too.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.additive import sinusoidal_vectors
from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.frequencies import circular_distances, geometric_frequencies
from gnomon.encodings.starting import spread
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import check_lists, lags_between

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from gnomon.numeric.arrays import Array, Coordinates, Namespace

_LEAST = 0.01
"""The authors' lower bound of every parameter."""
_LARGEST_EXPONENT = 2.0
_PEER = "encodings/test_encoding_kerple.py"
_READING = (
    "what is learned is folded into its bounds, |x| for x{top}, where the authors clamp it to 0.01 "
    "or more{clamp}: within the bounds both are the same. |i - j| on both sides of the query, as "
    "the paper defines it; their code is causal and never sees the other side"
)


def _log_bias(lags: Array, scale: Array, rate: Array, *, xp: Namespace) -> Array:
    """Return -s ln(1 + r lag) for lags (..., n, m) from 0 on: shape (..., heads, n, m)."""
    lags = xp.expand_dims(lags, axis=-3)
    return -scale[:, None, None] * xp.log1p(rate[:, None, None] * lags)


def _power_bias(lags: Array, scale: Array, exponent: Array, *, xp: Namespace) -> Array:
    """Return -s lag^p for lags (..., n, m) from 0 on: shape (..., heads, n, m)."""
    lags = xp.expand_dims(lags, axis=-3)
    here = lags == 0.0  # the logarithm of 0, in the slope of the exponent, is not wanted
    powers = xp.pow(xp.where(here, 1.0, lags), exponent[:, None, None])
    return -scale[:, None, None] * xp.where(here, 0.0, powers)


def _fold(x: Array, *, most: float | None = None, xp: Namespace) -> Array:
    """Return |x|; with an upper bound, what is past it reflected, and 0 from twice the bound on.

    >>> _fold(np.array([-0.5, 1.5, 2.5, 9.0]), most=2.0, xp=np)
    array([0.5, 1.5, 1.5, 0. ])
    """
    size = xp.abs(x)
    if most is None:
        return size
    back = xp.where(size > 2.0 * most, xp.zeros_like(size), 2.0 * most - size)
    return xp.where(size > most, back, size)


def _of_heads(name: str, values: Any, heads: int, *, most: float | None) -> tuple[float, ...]:
    """Return one number from 0 on for each head; a single one serves all."""
    given = checks.array(name, values)
    usable = given.dtype.kind in "iuf" and given.shape in ((), (heads,))
    sizes = given.astype(np.float64) if usable else given
    top = checks.LARGEST if most is None else most
    if not usable or not (np.isfinite(sizes) & (sizes >= 0) & (sizes <= top)).all():
        bounds = "from 0 on" if most is None else f"from 0 to {most:g}"
        raise EncodingError(
            f"{name} is {given.tolist()!r}; pass one number {bounds}, or one for each of the "
            f"{heads} heads."
        )
    return tuple(np.broadcast_to(given.astype(np.float64), heads).tolist())


def _draw_starts(seed: int, heads: int, place: int, most: float) -> NDArray[np.float64]:
    """Return what a parameter starts from: uniform below `most`, at least the authors' bound."""
    uniform = 0.5 * (1.0 + spread(place, (heads,), seed))
    return np.maximum(most * uniform, _LEAST)


@dataclass(frozen=True, kw_only=True, eq=False)
class Kerple(Encoding):
    """Base of both: `scale` is one number, or one for each head, or drawn by the seed."""

    kinds: ClassVar[tuple[str, ...]] = ("bias",)
    on_grids: ClassVar[bool] = False
    title: ClassVar[str]
    starts: ClassVar[dict[str, float]]
    """Where the draws of each parameter end."""
    bounds: ClassVar[dict[str, float]] = {}
    """Upper bounds, where there are any."""
    heads: int
    seed: int = 0
    scale: Any = None

    def __post_init__(self) -> None:
        checks.one_axis(self.title, self.axes)
        checks.whole("heads", self.heads, least=1)
        checks.whole("seed", self.seed, least=0)
        for place, (name, most) in enumerate(self.starts.items()):
            given = getattr(self, name)
            given = _draw_starts(self.seed, self.heads, place, most) if given is None else given
            made = _of_heads(name, given, self.heads, most=self.bounds.get(name))
            object.__setattr__(self, name, made)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the parameters, one number for each head."""
        return {name: np.array(getattr(self, name)) for name in self.starts}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name all numbers."""
        return tuple(self.starts)

    def with_numbers(self, **numbers: Any) -> Self:
        """Return the same encoding with other numbers, as training left them: they are folded."""
        within = {
            name: _fold(checks.array(name, values), most=self.bounds.get(name), xp=np)
            if name in self.starts
            else values
            for name, values in numbers.items()
        }
        return super().with_numbers(**within)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return sqrt(2 x the mean penalty at a lag)."""
        del lift, probe

        def distances(lags: NDArray[np.float64]) -> NDArray[np.float64]:
            steps = np.abs(lags[..., 0]).reshape(1, -1)
            penalty = -self._between(steps, self.numbers, xp=np).mean(axis=0)
            return np.sqrt(2.0 * penalty).reshape(lags.shape[:-1])

        return distances

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the biases, shape (..., heads, queries, keys)."""
        lags = xp.abs(lags_between(queries, keys, xp=xp)[..., 0])
        return self._between(lags, numbers, xp=xp)

    @abstractmethod
    def _between(self, lags: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        """Return the biases at lags (..., n, m) from 0 on."""


@catalogued(
    Card(
        name="kerple-log",
        family="bias",
        kind=("bias",),
        formula="bias_h(i, j) = -s_h ln(1 + r_h |i - j|), s_h and r_h > 0 learned",
        source="chi2022",
        level=in_words("L5"),
        relative=True,
        learnable=True,
        extrapolation="the authors claim excellent extrapolation to longer texts on three corpora",
        reading=_READING.format(top="", clamp=""),
        proofs=proofs_of(
            ORACLE,
            ("the authors' clamp and formula", _PEER, "test_the_log_is_that_of_the_authors"),
            ("a kernel: no negative eigenvalue", _PEER, "test_penalties_are_negative_definite"),
        ),
    ),
    examples=({"heads": 2}, {"heads": 3, "scale": (0.5, 2.0, 1.0), "rate": 0.1}),
    shown={"heads": 8},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class KerpleLog(Kerple):
    """Logarithmic penalties of `heads` heads.

    >>> KerpleLog(heads=1, scale=2.0, rate=1.0).bias([0], [0, 1]).round(4)
    array([[[-0.    , -1.3863]]])
    """

    title: ClassVar[str] = "kerple-log"
    starts: ClassVar[dict[str, float]] = {"scale": 2.0, "rate": 1.0}
    rate: Any = None

    def _between(self, lags: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        scale, rate = (_fold(numbers[name], xp=xp) for name in ("scale", "rate"))
        return _log_bias(lags, scale, rate, xp=xp)


@catalogued(
    Card(
        name="kerple-power",
        family="bias",
        kind=("bias",),
        formula="bias_h(i, j) = -s_h |i - j|^p_h, s_h > 0 and 0 < p_h <= 2 learned",
        source="chi2022",
        level=in_words("L5"),
        relative=True,
        learnable=True,
        extrapolation="the authors single out the logarithmic variant; no claim for this one",
        reading=_READING.format(
            top=" and 4 - x for an exponent past 2", clamp=", an exponent to 2 or less"
        ),
        proofs=proofs_of(
            ORACLE,
            ("the authors' clamp and formula", _PEER, "test_the_power_is_that_of_the_authors"),
            ("symmetric ALiBi", _PEER, "test_the_first_power_is_symmetric_alibi"),
            ("a kernel: no negative eigenvalue", _PEER, "test_penalties_are_negative_definite"),
        ),
    ),
    examples=({"heads": 2}, {"heads": 3, "scale": 0.01, "exponent": (0.5, 1.0, 1.5)}),
    shown={"heads": 8},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class KerplePower(Kerple):
    """Penalties of `heads` heads that grow with the power `exponent` of the lag, at most 2.

    >>> KerplePower(heads=1, scale=0.5, exponent=1.0).bias([0], [0, 4])
    array([[[-0., -2.]]])
    """

    title: ClassVar[str] = "kerple-power"
    starts: ClassVar[dict[str, float]] = {"scale": 1.0, "exponent": _LARGEST_EXPONENT}
    bounds: ClassVar[dict[str, float]] = {"exponent": _LARGEST_EXPONENT}
    exponent: Any = None

    def _between(self, lags: Array, numbers: Numbers, *, xp: Namespace) -> Array:
        exponent = _fold(numbers["exponent"], most=_LARGEST_EXPONENT, xp=xp)
        return _power_bias(lags, _fold(numbers["scale"], xp=xp), exponent, xp=xp)


_TESTS = "encodings/test_encoding_sandwich.py"


@catalogued(
    Card(
        name="sandwich",
        family="bias",
        kind=("bias",),
        formula="bias_h(i, j) = (H / 8(h+1)) sum_k cos((i - j) w_k), w_k = base^(-2k/D)",
        source="chi2023",
        level=in_words("L1"),
        relative=True,
        extrapolation="the authors claim that it uses texts longer than those trained on",
        reading=(
            "the ladder starts at w_0 = 1, as that of the sinusoid does. NVIDIA NeMo's copy, which"
            " has the same c_h, starts at k = 1 and subtracts D/2 from the sum, a constant that "
            "softmax does not see. Added as it is, not scaled with q.k; both sides of the query "
            "alike"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "inner products of the sinusoid",
                _TESTS,
                "test_a_head_is_the_gram_matrix_of_the_sinusoid",
            ),
            (
                "the sum of cosines at every lag",
                _TESTS,
                "test_a_head_is_the_sum_of_cosines_over_its_c",
            ),
            ("its rank", _TESTS, "test_factors_of_the_stated_rank_give_the_bias"),
        ),
    ),
    examples=({"heads": 3, "vector_dimension": 8},),
    shown={"heads": 8},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Sandwich(Encoding):
    """Biases of `heads` heads from a sinusoid of `vector_dimension` coordinates."""

    kinds: ClassVar[tuple[str, ...]] = ("bias",)
    on_grids: ClassVar[bool] = False
    heads: int
    vector_dimension: int = 128
    base: float = 10000.0

    def __post_init__(self) -> None:
        checks.one_axis("sandwich", self.axes)
        checks.whole("heads", self.heads, least=1)
        checks.whole(
            "vector_dimension", self.vector_dimension, least=2, multiple_of=2, why="two per pair"
        )
        checks.real("base", self.base, above=0.0)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, shape (pairs, 1)."""
        return geometric_frequencies(self.vector_dimension, float(self.base))

    @property
    def gains(self) -> NDArray[np.float64]:
        """Return 1/c_h for every head: the first has the largest.

        >>> Sandwich(heads=4).gains
        array([0.5       , 0.25      , 0.16666667, 0.125     ])
        """
        return self.heads / (8.0 * np.arange(1, self.heads + 1))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the frequencies, and what the sum is multiplied by in each head."""
        return {"frequencies": self.frequencies, "gains": self.gains}

    @property
    def bias_rank(self) -> int:  # type: ignore[override]
        """Return how many coordinates beside those of q and k give the bias."""
        return self.vector_dimension

    def bias_factors(
        self,
        coordinates: Coordinates,
        numbers: Numbers,
        *,
        side: str,
        reference: float = 0.0,
        xp: Namespace,
    ) -> Array:
        """Return coordinates (..., heads, n, rank) to append to q or k, whose product is the bias.

        No reference is needed: sines do not grow.
        """
        del reference
        checks.one_of("side", side, ("q", "k"))
        vectors = sinusoidal_vectors(coordinates, numbers["frequencies"], xp=xp)
        gains = numbers["gains"][:, None, None]
        return xp.expand_dims(vectors, axis=-3) * (gains if side == "q" else xp.ones_like(gains))

    def bias_between(
        self, queries: Coordinates, keys: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> Array:
        """Return the biases, shape (..., heads, queries, keys): one product serves all heads."""
        check_lists(queries, keys)
        left = sinusoidal_vectors(queries, numbers["frequencies"], xp=xp)
        right = sinusoidal_vectors(keys, numbers["frequencies"], xp=xp)
        products = xp.matmul(left, xp.matrix_transpose(right))
        return numbers["gains"][:, None, None] * xp.expand_dims(products, axis=-3)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the sinusoid's distances times the root of the mean gain."""
        del lift, probe
        energies = np.full(self.vector_dimension // 2, self.gains.mean())
        return circular_distances(self.frequencies, energies)
