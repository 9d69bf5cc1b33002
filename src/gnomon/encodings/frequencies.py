r"""Frequencies: their ladders, scalings for long contexts, phases, distances and generators.

A set of frequencies is a matrix W of shape (pairs, axes): the phase of pair k at position x is
<W_k, x>, in radians. On one axis they are geometric, w_k = base^(-2k/d), k = 0 ... d/2 - 1
[vaswani2017 sec. 3.5]; on several axes each axis has its own equal share of the pairs.

Two points on unit circles that are a phase p apart are 2 |sin(p/2)| apart, so pairs with energy
e_k at lag t have distance D(t)^2 = 4 sum_k e_k sin^2(<W_k, t>/2). Pairs that decay by a_k <= 0 have
the kernel k(t) = sum_k e_k e^(a_k |t|) cos(w_k t), the causal half mirrored [sun2022 sec. 3.2], and

    D(t)^2 = 2 (k(0) - k(t)) = 2 sum_k e_k ((1 - e^(a_k |t|)) + e^(a_k |t|) 2 sin^2(w_k t / 2)).

No term is negative, so short lags suffer no cancellation, unlike 2 - 2 cos.

*The generator* of an encoding is its group in blocks, X with logit = q^T exp((t - s) X) k.

A rotary encoding turns pair (a, b) of both sides by wt, and so its logits by w(s - t): X = -w J on
the pair, which is a block of frequency |w| in the basis (e_a, -sign(w) e_b). Coordinates that do
not turn are zero blocks [puranik2026]. A factor that multiplies queries and keys is no part of it.

*Scalings* change the frequencies for contexts longer than the trained one.

The plain ladder of r rotated coordinates is w_k = b^(-2k/r) [su2021 sec. 3.3]; a context grows by
the factor s, from the trained length T to the present length L.

    linear     w'_k = w_k / s, also called position interpolation [chen2023 sec. 2.3]
    ntk        b' = b s^(r/(r-2)): the first pair is as it was, the last slower by exactly s
               [bloc972023, a public note; restated in peng2024 sec. 3.1]
    dynamic    b' = b (s L/T - (s - 1))^(r/(r-2)) for L > T, b up to T
               [emozilla2023, a public note; restated in peng2024 sec. 3.3]
    yarn       w'_k = (w_k / s) ramp_k + w_k (1 - ramp_k): slow pairs are interpolated, fast ones
               left alone [peng2024 sec. 3.2-3.4]
    longrope   w'_k = w_k / lambda_k, one searched list of factors up to T and one for longer
               contexts [ding2024 sec. 3]
    llama3     by the wavelength v_k = 2 pi / w_k: w_k / s above T / low, w_k below T / high, and
               (1 - t) w_k / s + t w_k between, t = (T / v_k - low) / (high - low)
               [grattafiori2024 sec. 3; the formula is that of the released code]

YaRN's ramp. A pair that makes rho turns within T has the (real) index c(rho) = r ln(T / (2 pi
rho)) / (2 ln b). The ramp runs from low = floor c(beta_fast) to high = ceil c(beta_slow), not below
0 and not above r - 1, and without `truncate` nothing is rounded: ramp_k = clip((k - low) / (high -
low), 0, 1).

Attention factors multiply cosines and sines, so that logits get their square: 0.1 ln s + 1 for
YaRN, or m(s, mscale) / m(s, mscale_all_dim) with m(s, a) = 0.1 a ln s + 1 in models of DeepSeek's
kind; sqrt(1 + ln s / ln T) for LongRoPE, as Phi-3 has it. These, the clamps, the names and the
order of operations are those of transformers [wolf2020].

A scaling is a frozen value. `frequencies` is written over the array API with the type of its
numbers as an argument: NumPy in float64 gives the exact ladder, PyTorch in float32 the very bits
that models of transformers were trained with. Dynamic NTK and LongRoPE follow the length of the
sequence: within one length they are groups as any rotary encoding is, and keys that were turned at
another length no longer fit, so the length is part of the value. A scaling written down is a
mapping with its name and its parameters, as `Scaling.parameters` gives it; `scaling(**written)`
gives the value back.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings.card import (
    ORACLE,
    Card,
    Entry,
    Parameters,
    Proof,
    catalogued,
    in_words,
    proofs_of,
)
from gnomon.errors import EncodingError, nearest
from gnomon.groups import Block, Commuting, Generator
from gnomon.numeric import checks
from gnomon.numeric.checks import reals
from gnomon.numeric.learned_limbs import learned_phases
from gnomon.numeric.limbs import Limbs, Turns, limb_phases
from gnomon.results import plain

if TYPE_CHECKING:
    from typing import Self

    from gnomon.encodings.base import LagDistances
    from gnomon.encodings.rotary.rope import Rope
    from gnomon.numeric.arrays import Array, Coordinates, Namespace


Floats = NDArray[np.float64]
_CHUNK = 2**21
"""Phases held at a time: 16 MiB of float64."""


def ladder(dimension: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
    """Return base^(-2k/d), k = 0 ... d/2 - 1, computed as 1 / base^(2k/d) in the given type."""
    return 1.0 / (base ** (xp.astype(xp.arange(0, dimension, 2), dtype) / dimension))


def on_axes(frequencies: Array, axes: int, *, xp: Namespace = np) -> Array:
    """Return the matrix (axes * pairs, axes) in which each axis has these frequencies, in order."""
    none = xp.zeros_like(frequencies)
    columns = [xp.concat([none] * a + [frequencies] + [none] * (axes - 1 - a)) for a in range(axes)]
    return xp.stack(columns, axis=-1)


def geometric_frequencies(dimension: int, base: float, axes: int = 1) -> Floats:
    """Return the (dimension/2, axes) frequencies, each axis with its own geometric ladder.

    >>> geometric_frequencies(4, 100.0)
    array([[1. ],
           [0.1]])
    """
    return on_axes(ladder(dimension // axes, base, xp=np, dtype=np.float64), axes)


def phases(coordinates: Coordinates, frequencies: Array, *, xp: Namespace) -> Array:
    """Return <W_k, x> for coordinates (..., n, axes): shape (..., n, pairs).

    Frequencies of single heads, (heads, pairs, axes), give (..., heads, n, pairs). Where there is
    no float64 coordinates come in limbs, and phases are right modulo 2 pi (`gnomon.numeric.limbs`).
    """
    if isinstance(coordinates, Limbs):
        if isinstance(frequencies, Turns):
            return limb_phases(coordinates, frequencies, xp=xp)
        return learned_phases(coordinates, frequencies, xp=xp)
    if frequencies.ndim == 2 and frequencies.shape[-1] == 1:
        return coordinates * frequencies[:, 0]
    wide = xp.astype(frequencies, coordinates.dtype)
    return xp.matmul(coordinates, xp.matrix_transpose(wide))


def circular_distances(frequencies: Floats, energies: Floats | None = None) -> LagDistances:
    """Return the function from lags (..., axes) to 2 sqrt(sum_k e_k sin^2(<W_k, t>/2))."""
    weights = np.ones(len(frequencies)) if energies is None else energies

    def distances(lags: Floats) -> Floats:
        flat = lags.reshape(-1, lags.shape[-1])
        if _is_ladder(flat):
            squares = ladder_sine_squares(len(flat), flat[1, 0], frequencies[:, 0], weights)
        else:
            squares = _sine_squares(flat, frequencies, weights)
        return (2.0 * np.sqrt(squares)).reshape(lags.shape[:-1])

    return distances


def _is_ladder(lags: Floats) -> bool:
    """Say whether lags are 0, s, 2s, ... on one axis, and enough of them to pay."""
    if lags.shape[1] != 1 or len(lags) < 64:
        return False
    return bool(np.array_equal(lags[:, 0], lags[1, 0] * np.arange(len(lags))))


def ladder_sine_squares(count: int, step: float, frequencies: Floats, weights: Floats) -> Floats:
    """Return sum_k e_k sin^2(w_k t / 2) for t = 0, s, ..., (count-1) s.

    Writing t = B a + b with B near sqrt(count) and the sine of a sum,
    sin^2(x+y) = sin^2 x cos^2 y + cos^2 x sin^2 y + 2 sin x cos x sin y cos y, so that
    2 sqrt(count) sines per frequency and one matrix product do what `count` sines would.
    """
    width = int(np.ceil(np.sqrt(count)))
    half = 0.5 * frequencies * step
    coarse = np.multiply.outer(width * np.arange(width, dtype=np.float64), half)
    fine = np.multiply.outer(np.arange(width, dtype=np.float64), half)
    left, right = _quadratic(coarse), _quadratic(fine)[[1, 0, 2]]
    left = left * weights
    left[2] *= 2.0
    total = np.einsum("tak,tbk->ab", left, right)  # too small for BLAS threads to pay
    squares: Floats = np.maximum(total.reshape(-1)[:count], 0.0)
    return squares


def _quadratic(angles: Floats) -> Floats:
    sine, cosine = np.sin(angles), np.cos(angles)
    return np.stack([sine * sine, cosine * cosine, sine * cosine])


def _sine_squares(lags: Floats, frequencies: Floats, weights: Floats) -> Floats:
    squares = np.empty(len(lags))
    step = max(1, _CHUNK // max(1, len(frequencies)))
    for start in range(0, len(lags), step):
        halves = 0.5 * (lags[start : start + step] @ frequencies.T)
        squares[start : start + step] = np.square(np.sin(halves)) @ weights
    return squares


_RATES_CHUNK = 2**20
"""Lags times rates that are held at a time."""


def decay_distances(rates: Floats, frequencies: Floats, weights: Floats) -> LagDistances:
    """Return the distances at lags (..., 1) for flat arrays of rates, frequencies and weights e."""

    def distances(lags: Floats) -> Floats:
        sizes = np.abs(lags[..., 0]).reshape(-1)
        squares = np.empty(len(sizes))
        step = max(1, _RATES_CHUNK // len(rates))
        for start in range(0, len(sizes), step):
            t = sizes[start : start + step, None]
            turned = np.exp(t * rates) * 2.0 * np.square(np.sin(0.5 * t * frequencies))
            squares[start : start + step] = 2.0 * (turned - np.expm1(t * rates)) @ weights
        found: Floats = np.sqrt(squares).reshape(lags.shape[:-1])
        return found

    return distances


def of_head(values: Any, head: int, plain: int) -> Floats:
    """Return the numbers of one head: `plain` axes are those of numbers that serve all heads."""
    array = reals(values, "values")
    if array.ndim == plain:
        return array
    checks.whole("head", head, least=0)
    if head >= len(array):
        raise EncodingError(f"There is no head {head} of {len(array)}; pass 0 to {len(array) - 1}.")
    return np.asarray(array[head])


def of_turns(
    frequencies: Floats, pairs: Floats, rates: Floats | None = None
) -> Generator | Commuting:
    """Return the generator of turns in given planes: one for one axis, commuting ones for several.

    Frequencies (pairs, axes); `pairs` (d, 2 pairs + rest) has the two vectors of every plane as
    columns side by side, then what does not turn; rates (pairs,) where they decay.
    """
    decays = np.zeros(len(frequencies)) if rates is None else rates
    made = [_axis(column, decays, pairs) for column in frequencies.T]
    return made[0] if len(made) == 1 else Commuting(made)


def _axis(frequencies: Floats, rates: Floats, pairs: Floats) -> Generator:
    blocks: list[Block] = []
    basis = pairs.copy()
    for place, (turn, decay) in enumerate(zip(frequencies, rates, strict=True)):
        if turn == 0.0:
            blocks += [Block(decay=decay), Block(decay=decay)]
        else:
            blocks.append(Block(decay=decay, frequency=abs(turn)))
            basis[:, 2 * place + 1] *= -np.sign(turn)
    blocks += [Block()] * (basis.shape[1] - 2 * len(frequencies))
    return Generator(blocks, basis)


def of_columns(blocks: Iterable[Block], columns: Floats) -> Generator:
    """Return blocks in a basis, without one where it is the identity."""
    plain = np.array_equal(columns, np.eye(len(columns)))
    return Generator(blocks, None if plain else columns)


def pair_columns(dimension: int, *, layout: str, first: int, rotated: int) -> Floats:
    """Return unit vectors as columns: both of every pair side by side, then the rest.

    >>> pair_columns(4, layout="half", first=0, rotated=4).argmax(axis=0)
    array([0, 2, 1, 3])
    """
    places = np.arange(first, first + rotated)
    pairs = places if layout == "interleaved" else places.reshape(2, -1).T.reshape(-1)
    rest = np.setdiff1d(np.arange(dimension), places)
    return np.eye(dimension)[:, np.concatenate([pairs, rest])]


def of_skew(matrices: Floats) -> Generator | Commuting:
    """Return the generators of skew matrices (axes, d, d) whose exponentials turn both sides."""
    made = [_skew(-one) for one in matrices]
    return made[0] if len(made) == 1 else Commuting(made)


def _skew(matrix: Floats) -> Generator:
    """Return a skew matrix in planes that it turns: its real Schur form is block-diagonal."""
    from scipy.linalg import schur

    form, basis = schur(matrix, output="real")
    blocks: list[Block] = []
    place, size = 0, len(form)
    while place < size:
        turn = form[place + 1, place] if place + 1 < size else 0.0
        if abs(turn) > np.finfo(np.float64).eps * size * max(1.0, float(np.abs(form).max())):
            blocks.append(Block(frequency=abs(float(turn))))
            basis[:, place + 1] *= np.sign(turn)
            place += 2
        else:
            blocks.append(Block())
            place += 1
    return Generator(blocks, basis)


def skew_of(raw: Array, *, xp: Namespace) -> Array:
    """Return the skew matrix of the numbers above the diagonal: U - U^T."""
    upper: Any = xp.triu(raw, k=1)
    return upper - xp.matrix_transpose(upper)


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """Base of all scalings: the plain ladder, no factor, the same at every length."""

    name: ClassVar[str] = "unscaled"
    attention_factor: ClassVar[float] = 1.0
    """What cosines and sines are multiplied by."""
    has_fixed_length: ClassVar[bool] = False
    """Whether frequencies follow a length of the sequence that is stated."""
    reach: ClassVar[int | None] = None
    """The length up to which nothing depends on that of the sequence; None: any."""
    entry: ClassVar[Entry | None] = None
    """What the catalogue knows of rotary encoding with this scaling."""

    def check(self, rotated: int, base: float) -> None:
        """Refuse a scaling that does not fit `rotated` coordinates; all fit the plain one."""
        del rotated, base

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return the rotated/2 frequencies, fastest first."""
        return ladder(rotated, base, xp=xp, dtype=dtype)

    def at_length(self, length: int) -> Self:
        """Return the scaling as it is for a context of `length`; most do not follow it."""
        del length
        return self

    @property
    def card(self) -> Card | None:
        """Return the card of rotary encoding with this scaling; None: that of the plain one."""
        return None if self.entry is None else self.entry.card

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the name and the parameters as plain values."""
        fields = {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}
        return {"name": self.name, **fields}


@dataclass(frozen=True, kw_only=True)
class Unscaled(Scaling):
    """The frequencies as they are."""


UNSCALED = Unscaled()


@dataclass(frozen=True, kw_only=True)
class _GrowingBase(Scaling):
    """Base of scalings by a larger base, b' = b growth^(r/(r-2))."""

    def check(self, rotated: int, base: float) -> None:
        """Refuse a head in which one pair turns alone: r / (r - 2) has no value there."""
        del base
        if rotated <= 2:
            raise EncodingError(
                f"{rotated} coordinates turn on each axis, and the base of NTK scaling grows by "
                "the power r / (r - 2); pass a dimension and fraction with which at least 4 turn."
            )

    @staticmethod
    def _ladder(growth: Any, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return b'^(-2k/r)."""
        return ladder(rotated, base * growth ** (rotated / (rotated - 2)), xp=xp, dtype=dtype)


@dataclass(frozen=True, kw_only=True)
class _FollowsLength(Scaling):
    """Base of scalings that depend on the length of the sequence beyond the trained one."""

    if TYPE_CHECKING:
        original_length: int
        length: int | None = None

    @property
    def long(self) -> bool:
        """Whether the sequence is longer than the trained length."""
        return self.length is not None and self.length > self.original_length

    @property
    def has_fixed_length(self) -> bool:  # type: ignore[override]
        """Whether the length of the sequence is stated."""
        return self.length is not None

    @property
    def reach(self) -> int | None:  # type: ignore[override]
        """Return the trained length, where no length of the sequence is fixed."""
        return self.original_length if self.length is None else None

    def at_length(self, length: int) -> Self:
        """Return the scaling of a sequence of `length`."""
        return dataclasses.replace(self, length=length)

    def _check_lengths(self, least: int) -> None:
        checks.whole("original_length", self.original_length, least=least)
        if self.length is not None:
            checks.whole("length", self.length, least=1)


def _scales_rope(card: Card, **declared: Any) -> Callable[[type[Scaling]], type[Scaling]]:
    """Declare a scaling as an encoding: the rotary one, its parameters those of both."""

    def declare(kind: type[Scaling]) -> type[Scaling]:
        given = {"maker": partial(_make_rope, kind), "read_parameters": partial(_parameters, kind)}
        return catalogued(card, **given, **declared)(kind)  # type: ignore[arg-type]

    return declare


def _make_rope(kind: type[Scaling], **parameters: Any) -> Rope:
    """Return the rotary encoding, its scaling made of the parameters that it has."""
    from gnomon.encodings.rotary.rope import Rope  # which is scaled by what stands here

    own = {field.name for field in dataclasses.fields(kind)} & set(parameters)
    rest = {name: value for name, value in parameters.items() if name not in own}
    return Rope(scaling=kind(**{name: parameters[name] for name in own}), **rest)


def _parameters(kind: type[Scaling]) -> Parameters:
    """Return the parameters of `Rope`, without its scaling, and then those of a scaling."""
    from gnomon.encodings.rotary.rope import Rope

    both = {**inspect.signature(Rope).parameters, **inspect.signature(kind).parameters}
    return {name: one for name, one in both.items() if name != "scaling"}


def _as_in_transformers(kind: str) -> tuple[Proof, ...]:
    """Return the proofs of a scaling that transformers has, too."""
    file = "agreement/test_transformers_frequencies.py"
    return proofs_of(
        ORACLE,
        (
            f"transformers, rope type {kind}",
            file,
            "test_frequencies_are_within_the_float32_rounding_of_transformers",
        ),
        (
            f"transformers, rope type {kind}, in float32",
            file,
            "test_frequencies_in_torch_float32_have_the_bits_of_transformers",
        ),
    )


@_scales_rope(
    Card(
        name="rope-linear",
        family="rotary",
        kind=("transform",),
        level=in_words("L0"),
        relative=True,
        formula="w'_k = w_k / s",
        source="chen2023",
        extrapolation="its authors claim s times the trained length after a short fine-tuning",
        proofs=_as_in_transformers("linear"),
    ),
    examples=({"dimension": 8, "factor": 4.0},),
)
@dataclass(frozen=True, kw_only=True)
class Linear(Scaling):
    """Frequencies divided by `factor`.

    >>> import numpy as np
    >>> Linear(factor=4.0).frequencies(4, 100.0, xp=np, dtype=np.float64)
    array([0.25 , 0.025])
    """

    name: ClassVar[str] = "linear"
    factor: float

    def __post_init__(self) -> None:
        checks.real("factor", self.factor, above=0.0)

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return base^(-2k/r) / s."""
        return ladder(rotated, base, xp=xp, dtype=dtype) / self.factor


@_scales_rope(
    Card(
        name="rope-ntk",
        family="rotary",
        kind=("transform",),
        level=in_words("L0"),
        relative=True,
        formula="w'_k = b'^(-2k/r), b' = b s^(r/(r-2))",
        source="bloc972023",
        extrapolation="its author claims s times the trained length without fine-tuning",
        proofs=proofs_of(
            ORACLE,
            (
                "rotary-embedding-torch, theta_rescale_factor",
                "agreement/test_scalings_of_other_libraries.py",
                "test_ntk_aware_frequencies_equal_rotary_embedding_torch",
            ),
            (
                "the slowest pair is slower by the factor, the fastest is as it was",
                "encodings/test_encoding_scaling.py",
                "test_ntk_keeps_the_fastest_pair_and_slows_the_slowest_by_its_factor",
            ),
        ),
    ),
    examples=({"dimension": 8, "factor": 4.0, "layout": "half"},),
)
@dataclass(frozen=True, kw_only=True)
class NtkAware(_GrowingBase):
    """The base multiplied by factor^(r/(r-2)), r the coordinates that turn.

    >>> import numpy as np
    >>> NtkAware(factor=4.0).frequencies(4, 100.0, xp=np, dtype=np.float64)
    array([1.   , 0.025])
    """

    name: ClassVar[str] = "ntk"
    factor: float

    def __post_init__(self) -> None:
        checks.real("factor", self.factor, above=0.0)

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return b'^(-2k/r)."""
        return self._ladder(self.factor, rotated, base, xp=xp, dtype=dtype)


@_scales_rope(
    Card(
        name="rope-dynamic",
        family="rotary",
        kind=("transform",),
        level=in_words("L0"),
        relative=True,
        formula="w'_k = b'^(-2k/r), b' = b (s L/T - (s - 1))^(r/(r-2)) for L > T",
        source="emozilla2023",
        cacheable=False,
        extrapolation="its author claims lengths beyond the trained one without fine-tuning",
        proofs=proofs_of(
            ORACLE,
            (
                "transformers, rope type dynamic",
                "agreement/test_transformers_frequencies.py",
                "test_frequencies_are_within_the_float32_rounding_of_transformers",
            ),
            (
                "a running rotary module of transformers, in float32",
                "agreement/test_transformers_modules.py",
                "test_a_growing_dynamic_model_has_our_bits_at_each_length",
            ),
        ),
    ),
    examples=(
        {"dimension": 8, "factor": 2.0, "original_length": 64, "length": 200},
        {"dimension": 8, "factor": 2.0, "original_length": 64},
    ),
    shown={"original_length": 2048, "length": 8192},
)
@dataclass(frozen=True, kw_only=True)
class DynamicNtk(_GrowingBase, _FollowsLength):
    """The base as it is at `length`; without a length, that of `original_length`.

    >>> import numpy as np
    >>> scaling = DynamicNtk(factor=2.0, original_length=100, length=250)
    >>> scaling.frequencies(4, 100.0, xp=np, dtype=np.float64)
    array([1.   , 0.025])
    """

    name: ClassVar[str] = "dynamic"
    factor: float
    original_length: int
    length: int | None = None

    def __post_init__(self) -> None:
        checks.real("factor", self.factor, above=0.0)
        self._check_lengths(1)

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return b'^(-2k/r)."""
        if not self.long:
            return ladder(rotated, base, xp=xp, dtype=dtype)
        # In a narrow type the base is computed in that type, step by step: a running model of
        # transformers does so, since it reads the length off a tensor of positions.
        length = xp.asarray(self.length, dtype=dtype)
        growth = self.factor * length / self.original_length - (self.factor - 1)
        return self._ladder(growth, rotated, base, xp=xp, dtype=dtype)


_STEP = 0.001
"""Width of the ramp where its two ends fall together, as transformers has it."""


def magnitude(factor: float, weight: float = 1.0) -> float:
    """Return m = 0.1 weight ln(factor) + 1, and 1 for factors up to 1.

    >>> magnitude(1.0)
    1.0
    """
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0


@_scales_rope(
    Card(
        name="rope-yarn",
        family="rotary",
        kind=("transform",),
        level=in_words("L0"),
        relative=True,
        formula="w'_k = (w_k / s) ramp_k + w_k (1 - ramp_k), ramp from c(32) to c(1) turns "
        "within T; q~ and k~ times 0.1 ln s + 1",
        source="peng2024",
        extrapolation="its authors claim s times the trained length after a short fine-tuning",
        proofs=_as_in_transformers("yarn"),
    ),
    examples=(
        {"dimension": 16, "factor": 4.0, "original_length": 512},
        {
            "dimension": 16,
            "layout": "half",
            "factor": 8.0,
            "original_length": 512,
            "truncate": False,
            "mscale": 0.7,
            "mscale_all_dim": 1.0,
        },
    ),
    shown={"original_length": 4096},
)
@dataclass(frozen=True, kw_only=True)
class Yarn(Scaling):
    """Frequencies between w_k and w_k / factor by the turns they make within `original_length`.

    `attention` overrides the attention factor that follows from `factor`, or from `mscale` and
    `mscale_all_dim` where both are given and not 0.

    >>> round(Yarn(factor=4.0, original_length=4096).attention_factor, 4)
    1.1386
    """

    name: ClassVar[str] = "yarn"
    factor: float
    original_length: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    mscale: float | None = None
    mscale_all_dim: float | None = None
    attention: float | None = None

    def __post_init__(self) -> None:
        for name in ("factor", "beta_fast", "beta_slow"):
            checks.real(name, getattr(self, name), above=0.0)
        checks.whole("original_length", self.original_length, least=1)
        if not isinstance(self.truncate, bool):
            raise EncodingError(f"truncate is {self.truncate!r}; pass True or False.")
        if self.beta_fast < self.beta_slow:
            raise EncodingError(
                f"beta_fast is {self.beta_fast:g} and beta_slow {self.beta_slow:g}; pass a "
                "beta_fast from beta_slow on: pairs with more turns than that are left alone."
            )
        if self.attention is not None:
            checks.real("attention", self.attention, above=0.0)
        self._check_magnitudes()

    def _check_magnitudes(self) -> None:
        for name in ("mscale", "mscale_all_dim"):
            if getattr(self, name) is not None:
                checks.real(name, getattr(self, name), least=0.0)
        if self.mscale and not self.mscale_all_dim:
            raise EncodingError(
                f"mscale is {self.mscale:g} and would be ignored, since mscale_all_dim is "
                f"{self.mscale_all_dim}; pass both or neither."
            )

    def check(self, rotated: int, base: float) -> None:
        """Refuse a base whose ladder does not fall."""
        del rotated
        if base <= 1.0:
            raise EncodingError(
                f"base is {base:g}, and YaRN counts turns along a ladder that falls; pass a base "
                "above 1."
            )

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return the blend of w_k / s and w_k, in the order of operations of transformers."""
        wavelengths = base ** (xp.astype(xp.arange(0, rotated, 2), dtype) / rotated)
        kept, slowed = 1.0 / wavelengths, 1.0 / (self.factor * wavelengths)
        share = 1.0 - self.ramp(rotated, base, xp=xp, dtype=dtype)
        return slowed * (1.0 - share) + kept * share

    def ramp(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return how far each pair is interpolated: 0 for fast ones, 1 for slow ones."""
        low = self._index(self.beta_fast, rotated, base)
        high = self._index(self.beta_slow, rotated, base)
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, rotated - 1)
        width = high - low if high != low else (high + _STEP) - low
        pairs = xp.astype(xp.arange(rotated // 2), dtype)
        return xp.clip((pairs - low) / width, 0.0, 1.0)

    def _index(self, turns: float, rotated: int, base: float) -> float:
        """Return c(turns), the index of a pair with that many turns within the trained length."""
        within = math.log(self.original_length / (turns * 2 * math.pi))
        return (rotated * within) / (2 * math.log(base))

    @property
    def attention_factor(self) -> float:  # type: ignore[override]
        """Return the factor of cosines and sines."""
        if self.attention is not None:
            return float(self.attention)
        if self.mscale and self.mscale_all_dim:
            return magnitude(self.factor, self.mscale) / magnitude(self.factor, self.mscale_all_dim)
        return magnitude(self.factor)


@_scales_rope(
    Card(
        name="rope-longrope",
        family="rotary",
        kind=("transform",),
        level=in_words("L0"),
        relative=True,
        formula="w'_k = 1 / (lambda_k b^(2k/r)), lambda short up to T, then long; q~ and k~ "
        "times sqrt(1 + ln s / ln T)",
        source="ding2024",
        cacheable=False,
        extrapolation="its authors claim 2,048k tokens with searched factors and fine-tuning",
        proofs=_as_in_transformers("longrope"),
    ),
    examples=tuple(
        {
            "dimension": 8,
            "short_factor": (1.0, 1.05, 1.1, 1.2),
            "long_factor": (1.0, 1.5, 3.0, 6.0),
            "original_length": 64,
            "factor": 4.0,
            "length": length,
        }
        for length in (None, 200)
    ),
    shown={"dimension": 8},
)
@dataclass(frozen=True, kw_only=True)
class LongRope(_FollowsLength):
    """Frequencies divided by a list of factors, chosen by `length`; without one, the short list.

    `factor` is the growth of the context, and gives the attention factor; `attention` overrides
    it. Without both, the attention factor is 1.

    >>> import numpy as np
    >>> scaling = LongRope(short_factor=(1.0, 1.0), long_factor=(1.0, 4.0), original_length=100)
    >>> scaling.at_length(200).frequencies(4, 100.0, xp=np, dtype=np.float64)
    array([1.   , 0.025])
    """

    name: ClassVar[str] = "longrope"
    short_factor: Sequence[float]
    long_factor: Sequence[float]
    original_length: int
    factor: float | None = None
    attention: float | None = None
    length: int | None = None

    def __post_init__(self) -> None:
        for name in ("short_factor", "long_factor"):
            object.__setattr__(self, name, _factors(name, getattr(self, name)))
        for name in ("factor", "attention"):
            if getattr(self, name) is not None:
                checks.real(name, getattr(self, name), above=0.0)
        self._check_lengths(2)  # from 2 on: the logarithm of the trained length divides

    def check(self, rotated: int, base: float) -> None:
        """Refuse lists that do not hold one factor for each pair."""
        del base
        for name in ("short_factor", "long_factor"):
            count = len(getattr(self, name))
            if count != rotated // 2:
                raise EncodingError(
                    f"{name} holds {count} factors, but {rotated // 2} pairs turn; pass one factor "
                    "for each pair."
                )

    @property
    def in_use(self) -> Sequence[float]:
        """Return the list that the length chooses."""
        return self.long_factor if self.long else self.short_factor

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return 1 / (lambda_k b^(2k/r))."""
        factors = xp.asarray(self.in_use, dtype=dtype)
        powers = xp.astype(xp.arange(0, rotated, 2), dtype) / rotated
        return 1.0 / (factors * base**powers)

    @property
    def attention_factor(self) -> float:  # type: ignore[override]
        """Return the factor of cosines and sines."""
        if self.attention is not None:
            return float(self.attention)
        if self.factor is None or self.factor <= 1.0:
            return 1.0
        return math.sqrt(1 + math.log(self.factor) / math.log(self.original_length))


def _factors(name: str, values: Any) -> tuple[float, ...]:
    """Return a list of factors as a tuple, so that the scaling stays a value."""
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        raise EncodingError(f"{name} is {values!r}; pass a list of factors, one for each pair.")
    for index, value in enumerate(listed):
        checks.real(f"{name}[{index}]", value, above=0.0)
    return tuple(listed)


@_scales_rope(
    Card(
        name="rope-llama3",
        family="rotary",
        kind=("transform",),
        level=in_words("L0"),
        relative=True,
        formula="w'_k = w_k / s for wavelengths above T / low, w_k below T / high, linear in "
        "T / wavelength between",
        source="grattafiori2024",
        extrapolation="its authors claim 128k tokens after long-context training",
        proofs=_as_in_transformers("llama3"),
    ),
    examples=(
        {
            "dimension": 16,
            "base": 500000.0,
            "layout": "half",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_length": 256,
        },
    ),
    shown={"base": 500000.0, "original_length": 8192},
)
@dataclass(frozen=True, kw_only=True)
class Llama3(Scaling):
    """Frequencies by their wavelength: divided by `factor`, kept, or between the two.

    >>> import numpy as np
    >>> scaling = Llama3(factor=8, low_freq_factor=1, high_freq_factor=4, original_length=32)
    >>> scaling.frequencies(4, 100.0, xp=np, dtype=np.float64)
    array([1.    , 0.0125])
    """

    name: ClassVar[str] = "llama3"
    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_length: int

    def __post_init__(self) -> None:
        for name in ("factor", "low_freq_factor", "high_freq_factor"):
            checks.real(name, getattr(self, name), above=0.0)
        checks.whole("original_length", self.original_length, least=1)
        if self.high_freq_factor < self.low_freq_factor:
            raise EncodingError(
                f"low_freq_factor is {self.low_freq_factor:g} and high_freq_factor "
                f"{self.high_freq_factor:g}; pass a high_freq_factor from low_freq_factor on."
            )

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return each frequency by its wavelength, in the order of operations of transformers."""
        low, high, length = self.low_freq_factor, self.high_freq_factor, self.original_length
        kept = ladder(rotated, base, xp=xp, dtype=dtype)
        wavelengths = 2 * math.pi / kept
        slow, fast = wavelengths > length / low, wavelengths < length / high
        outer = xp.where(slow, kept / self.factor, kept)
        if low == high:  # no band between, as in Llama 4 Scout
            return outer
        share = (length / wavelengths - low) / (high - low)
        passage = (1 - share) * outer / self.factor + share * outer
        return xp.where(slow | fast, outer, passage)


KNOWN: Mapping[str, type[Scaling]] = MappingProxyType(
    {kind.name: kind for kind in (Unscaled, Linear, NtkAware, DynamicNtk, Yarn, LongRope, Llama3)}
)


def scaling(name: str, **parameters: Any) -> Scaling:
    """Return the scaling of that name.

    >>> scaling("linear", factor=4.0)
    Linear(factor=4.0)
    """
    if name not in KNOWN:
        raise EncodingError(f"There is no scaling {name!r}: {nearest(str(name), KNOWN)}.")
    kind = KNOWN[name]
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for parameter in parameters:
        if parameter not in fields:
            raise EncodingError(
                f"The scaling {name!r} has no parameter {parameter!r}: "
                f"{nearest(parameter, fields)}."
            )
    for parameter, field in fields.items():
        if field.default is dataclasses.MISSING and parameter not in parameters:
            raise EncodingError(f"The scaling {name!r} needs {parameter}; pass {parameter}=... .")
    return kind(**parameters)


def as_scaling(written: Any) -> Scaling:
    """Return a scaling given as a value or as a mapping with its name and parameters."""
    if isinstance(written, Scaling):
        return written
    if not isinstance(written, Mapping) or "name" not in written:
        raise EncodingError(
            f"scaling is {written!r}; pass a value such as Yarn(...) of "
            "gnomon.encodings.frequencies, or a mapping with its name and parameters."
        )
    return scaling(**written)
