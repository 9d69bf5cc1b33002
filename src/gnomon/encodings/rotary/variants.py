"""Other things to do with a phase: imaginary parts, series of frequencies, and polar coordinates.

RoPE++ [liu2025]: half of the heads score by the imaginary part of the product that rotary encoding
makes. With pairs as complex numbers, q = q_0 + i q_1, rotary encoding turns by e^(i w t) and takes

    real(i, j) = Re sum_k q_k k_k^* e^(i w_k (i - j)),

and the imaginary part of the same sum is lost. Here it is the logit of a second head of the same
query: since Im z = Re(-i z), its query is turned by 90 degrees less, as in the authors' code
(OpenMOSS/rope_pp, 91ba335),

    imaginary(i, j) = Im sum_k q_k k_k^* e^(i w_k (i - j)) = (R_i q').(R_j k),

q' having (b, -a) where q has the pair (a, b). For content of unit pairs the real part is sum_k
cos(w_k t), largest at lag 0; the imaginary part is sum_k sin(w_k t), which is 0 there. Keys are
those of rotary encoding: one cache serves both. The symmetric part of a sine is 0, so the kernel is
half of that of rotary encoding, the mean over both kinds of heads.

FoPE [hua2025]: every pair turns by a series of all well-trained frequencies; others do not turn.

    c_m(i) = sum_l C_lm cos(w_l i),   s_m(i) = sum_l S_lm sin(w_l i),   w_l >= 2 pi / length,
    (a, b) -> (a c_m - b s_m, a s_m + b c_m),

for pair m of each of the K frequencies of the ladder that complete a turn within the trained
length; a slower one is set to zero, so its pair passes unchanged. C and S, (heads, K, K), start
near the identity, where this is rotary encoding: each has normal noise added. Two series in one
product bring cos(w_l i) cos(w_n j) with l != n: logits depend on the positions themselves, and not
on the lag alone, as soon as C or S has an entry beside the diagonal. The size of a vector changes
with its position, too: sqrt(c_m^2 + s_m^2) is no constant. Read beside it: the authors' code
(TsinghuaC3I/Fourier-Position-Embedding, bd94b20), where C and S are fixed unless asked for, and
vLLM's (151a2c7), which loads learned ones.

PoPE: a coordinate says how much, its position alone says where: polar coordinates.

    q~ = softplus(q_c) (cos, sin)(w_c i),   k~ = softplus(k_c) (cos, sin)(w_c j + s_hc),
    w_c = base^(-c/d),  c = 0 ... d - 1

so that q~.k~ = sum_c softplus(q_c) softplus(k_c) cos(w_c (i - j) - s_hc): content cannot turn a
pair, as it does in rotary encoding [gopalakrishnan2025 sec. 3]. All of d coordinates have a pair of
their own, so vectors double: (..., 2 d), first all cosines, then all sines. The shift s_hc is
learned, kept within -2 pi ... 0, and starts from 0, with which the authors extrapolate best, or
uniform. The map is fixed, not linear; after it the group of rotary encoding acts.

Rotary encodings of a part of every head: MLA's decoupled coordinates, and the fast pairs alone.

MLA [deepseek2024 sec. 2.1.3], the decoupled part of multi-head latent attention:

    q = [q_c ; R_i q_r],  k = [k_c ; R_j k_r],  q.k = q_c.k_c + q_r^T R_(j-i) k_r.

The first `content_dimension` coordinates of a head come from the compressed latent and are not
turned, so the latent alone can be cached and its up-projection absorbed into the query's. The rest
turn; their key k_r is one for all heads, and is cached turned. Defaults are those of DeepSeek-V2
and V3: 128 + 64. With YaRN the logits of all coordinates are multiplied by m^2, m = 0.1
`mscale_all_dim` ln s + 1, for a factor s > 1, by way of the softmax scale m^2 / sqrt(dimension),
and cosines and sines by the ratio of the two m's. Weights of the published models are interleaved.
transformers returns what it has turned from interleaved vectors in layout *half*; logits are the
same.

Proportional [barbero2025 sec. 6]: the ladder of the whole head, of which only the fast share turns,

    w_k = base^(-2k/d) / s  for k < n = int(fraction d / 2),   w_k = 0  from there on,

d the dimension of the head and s a factor, 1 by default. Partial rotary encoding (`Rope` with a
fraction) spreads the whole range of frequencies over fewer pairs; here the slowest pairs of the
full range stand still instead, and carry content alone. All d coordinates belong to pairs, so in
layout *half* coordinate k is paired with k + d/2. The factor and the order of operations are those
of [wolf2020].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, LagDistances, Numbers
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proofs_of
from gnomon.encodings.content.base import check_heads
from gnomon.encodings.frequencies import (
    UNSCALED,
    Scaling,
    Yarn,
    circular_distances,
    geometric_frequencies,
    magnitude,
    phases,
)
from gnomon.encodings.rotary.rope import Rope, Rotating, Scaled, tables, turn, with_scaling
from gnomon.encodings.starting import freeze_given, learned, lock, spread
from gnomon.errors import EncodingError
from gnomon.numeric import checks
from gnomon.numeric.arrays import beside_heads, check_own_heads, namespace_of, within
from gnomon.numeric.elementwise import softplus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.numeric.arrays import Array, Coordinates, Namespace


_ARRANGEMENTS = ("interleaved", "chunked")


@catalogued(
    Card(
        name="rope-plus-plus",
        family="rotary",
        kind=("transform",),
        formula=(
            "real heads: Re sum_k q_k k_k^* e^(i w_k (i-j)); imaginary heads: Im of the same sum, "
            "q turned by 90 degrees less"
        ),
        source="liu2025",
        level=in_words("L0"),
        relative=True,
        extrapolation="better than rotary encoding past the trained length, by its authors",
        reading="the imaginary part has the sign of the authors' code: sum_k sin(w_k t) for unit "
        "pairs. Heads are those of attention: give each query to two of them, a real and an "
        "imaginary one, since an imaginary head with queries of its own is a real one. Coordinates"
        " that do not turn pass unchanged in both",
        proofs=proofs_of(
            ORACLE,
            (
                "the imaginary part of complex products",
                "encodings/test_encoding_plus.py",
                "test_heads_score_by_real_and_imaginary_parts_of_complex_products",
            ),
            (
                "rotary encoding with queries turned by hand",
                "encodings/test_encoding_plus.py",
                "test_an_imaginary_head_is_a_real_one_whose_queries_were_turned_before",
            ),
        ),
    ),
    examples=(
        {"dimension": 8, "heads": 2},
        {
            "dimension": 8,
            "heads": 4,
            "arrangement": "chunked",
            "layout": "half",
            "fraction": 0.5,
            "scaling": {"name": "linear", "factor": 4.0},
        },
    ),
    shown={"heads": 2},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class RopePlusPlus(Rope):
    """Rotary encoding whose odd heads (*interleaved*), or later half (*chunked*), are imaginary.

    >>> RopePlusPlus(dimension=4, heads=4).imaginary
    array([0, 1, 0, 1])
    """

    heads: int
    arrangement: str = "interleaved"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("heads", self.heads, least=2, multiple_of=2, why="each query has two heads")
        checks.one_of("arrangement", self.arrangement, _ARRANGEMENTS)

    @property
    def card(self) -> Card:
        """Return the card of RoPE++, with what the scaling says of itself."""
        return with_scaling(self.own_card, self.scaling)

    @property
    def imaginary(self) -> NDArray[np.int64]:
        """Return 1 for each head that scores by the imaginary part, else 0."""
        head = np.arange(self.heads)
        return head % 2 if self.arrangement == "interleaved" else head // (self.heads // 2)

    @property
    def numbers(self) -> dict[str, NDArray[Any]]:
        """Return the frequencies, and which heads are imaginary."""
        return {"frequencies": self.frequencies, "imaginary": self.imaginary}

    def apply(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return keys turned to their positions, queries of imaginary heads by 90 degrees less."""
        if side == "k":
            return super().apply(x, coordinates, numbers, side=side, xp=xp)
        self.check_vectors(x, side, numbers["frequencies"])
        if x.ndim < 3 or x.shape[-3] != self.heads:
            raise EncodingError(
                f"{side} has shape {tuple(x.shape)}, but this encoding has {self.heads // 2} real "
                f"and as many imaginary of {self.heads} heads; pass an array of shape (..., "
                f"{self.heads}, positions, {self.dimension})."
            )
        cosine, sine = self.tables(beside_heads(coordinates, x), numbers, xp=xp)
        less = numbers["imaginary"][:, None, None] == 1
        # cos(p - 90) = sin p, sin(p - 90) = -cos p: exact, unlike a sum of angles
        cosine, sine = xp.where(less, sine, cosine), xp.where(less, -cosine, sine)
        return turn(x, cosine, sine, layout=self.layout, first=self.first, xp=xp)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return the distances of half the kernel of rotary encoding; a probe is only turned."""
        if lift == "probe":
            return super().lag_distances(lift, probe)
        return circular_distances(
            self.frequencies, np.full(self.rotated // 2, 0.5 * self.attention_factor**2)
        )


_PURPOSE = 29
"""Keeps this stream apart from others of the same seed."""


def _start_coefficients(
    count: int, heads: int, *, gain: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return C and S, (heads, count, count): the identity and noise, as the published code has it.

    Its spread is Xavier's, gain sqrt(2 / (inputs + outputs)), which PyTorch reads off the shape of
    a tensor with three axes as (count count, heads count).
    """
    fans = count * count + heads * count if heads > 1 else 2 * count
    stream = np.random.default_rng([seed, _PURPOSE])
    noise = stream.normal(scale=gain * math.sqrt(2.0 / fans), size=(2, heads, count, count))
    cosines, sines = np.eye(count) + noise
    return cosines, sines


@catalogued(
    Card(
        name="fope",
        family="rotary",
        kind=("transform",),
        formula="pair m: (a, b) -> (a c_m - b s_m, a s_m + b c_m), c_m = sum_l C_lm cos(w_l i), "
        "s_m = sum_l S_lm sin(w_l i), w_l >= 2 pi / length; other pairs pass",
        source="hua2025",
        level=in_words("L6"),
        relative=False,
        learnable=True,
        extrapolation="longer texts than trained on, by its authors",
        reading=(
            "a frequency set to zero has cosine 1 and sine 0, so its pair passes, as in vLLM; the "
            "authors' code fills both with 1, which doubles that part of the logit. As many pairs "
            "as frequencies have a series, as in vLLM; the authors' code has at most d/4"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "rotary encoding, where C and S are the identity",
                "encodings/test_encoding_fope.py",
                "test_coefficients_of_the_identity_give_rotary_encoding",
            ),
            (
                "sums over frequencies, written out",
                "encodings/test_encoding_fope.py",
                "test_pairs_turn_by_the_series_written_out",
            ),
        ),
    ),
    examples=(
        {"dimension": 8, "length": 512, "gain": 1.0},
        {"dimension": 16, "length": 64, "heads": 2, "gain": 1.0, "layout": "half", "seed": 3},
    ),
    shown={"length": 2048},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Fope(Rotating):
    """Rotary encoding by series; `length` is the trained one, one head's series may serve all.

    >>> Fope(dimension=8, length=128).frequencies
    array([[1. ],
           [0.1]])
    """

    on_grids: ClassVar[bool] = False
    length: int
    heads: int = 1
    base: float = 10000.0
    gain: float = 0.3
    seed: int = 0
    cosines: Any = field(default=None, repr=False)
    """Coefficients (heads, K, K), from frequency to pair; without them the starting ones."""
    sines: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_axis("fope", self.axes)
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why="they turn in pairs")
        checks.whole("length", self.length, least=1)
        checks.whole("heads", self.heads, least=1)
        checks.whole("seed", self.seed, least=0)
        checks.real("base", self.base, above=0.0)
        checks.real("gain", self.gain, least=0.0)
        count = len(self.frequencies)
        if count == 0:
            raise EncodingError(
                f"length is {self.length}, within which no frequency completes a turn; pass a "
                "length of 7 or more."
            )
        start = _start_coefficients(count, self.heads, gain=float(self.gain), seed=self.seed)
        for name, values in zip(("cosines", "sines"), start, strict=True):
            made = learned(name, getattr(self, name), values, values.shape)
            object.__setattr__(self, name, made)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies that complete a turn within the length, shape (K, 1)."""
        every = geometric_frequencies(self.dimension, float(self.base))
        return every[every[:, 0] >= 2.0 * np.pi / self.length]

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name probe alone: there is no kernel that depends on the lag."""
        return ("probe",)

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the frequencies, and copies of the coefficients of cosines and sines."""
        return {
            "frequencies": self.frequencies,
            "cosines": np.array(self.cosines),
            "sines": np.array(self.sines),
        }

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the coefficients."""
        return ("cosines", "sines")

    def tables(
        self, coordinates: Coordinates, numbers: Numbers, *, xp: Namespace
    ) -> tuple[Array, Array]:
        """Return the series of every pair (..., heads, n, d/2); without heads where all share."""
        made = []
        waves = tables(coordinates, numbers["frequencies"], xp=xp)
        for name, values, fill in zip(("cosines", "sines"), waves, (1.0, 0.0), strict=True):
            by = numbers[name][0] if self.heads == 1 else numbers[name]
            series = xp.matmul(values, xp.astype(by, values.dtype))
            missing = self.dimension // 2 - series.shape[-1]
            rest = xp.zeros_like(series[..., :1]) + fill
            rest = xp.broadcast_to(rest, (*series.shape[:-1], missing))
            made.append(xp.concat([series, rest], axis=-1))
        return made[0], made[1]

    def apply(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors (..., n, dimension), each turned by the series at its position."""
        self.check_vectors(x, side, numbers["frequencies"])
        check_own_heads(x, side, self.heads if self.heads > 1 else None, has="series")
        cosine, sine = self.tables(beside_heads(coordinates, x), numbers, xp=xp)
        return turn(x, cosine, sine, layout=self.layout, xp=xp)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return None: distances depend on the positions themselves."""
        del lift, probe
        return None


_STARTS = ("zero", "uniform")


@catalogued(
    Card(
        name="pope",
        family="rotary",
        kind=("transform",),
        formula="sum_c softplus(q_c) softplus(k_c) cos(w_c (i-j) - s_hc), w_c = base^(-c/d)",
        source="gopalakrishnan2025",
        level=in_words("L2"),
        relative=True,
        learnable=True,
        extrapolation="the authors claim strong length extrapolation without training for it",
        reading=(
            "cosines come first and sines after, as in x-transformers; another order is the same "
            "permutation of both sides"
        ),
        proofs=proofs_of(
            ORACLE,
            (
                "x-transformers",
                "agreement/test_content_peers.py",
                "test_polar_vectors_equal_those_of_x_transformers",
            ),
            (
                "complex multiplication",
                "encodings/test_encoding_pope.py",
                "test_logits_are_real_parts_of_products_of_polar_numbers",
            ),
        ),
    ),
    examples=({"dimension": 8, "heads": 2, "start": "uniform"},),
    shown={"heads": 8},
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Pope(Encoding):
    """Polar coordinates for `heads` heads of `dimension`; `shifts` (heads, dimension) are learned.

    >>> Pope(dimension=2, heads=1, base=100.0).frequencies
    array([[1. ],
           [0.1]])
    """

    kinds: ClassVar[tuple[str, ...]] = ("transform",)
    on_grids: ClassVar[bool] = False
    dimension: int
    heads: int
    base: float = 10000.0
    start: str = "zero"
    seed: int = 0
    shifts: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("pope", self.axes)
        checks.whole("dimension", self.dimension, least=1)
        checks.whole("heads", self.heads, least=1)
        checks.real("base", self.base, above=0.0)
        checks.one_of("start", self.start, _STARTS)
        checks.whole("seed", self.seed, least=0)
        freeze_given(self, "shifts", (self.heads, self.dimension))

    @property
    def lifts(self) -> tuple[str, ...]:
        """Name kernel (magnitudes 1) and probe (a given content vector)."""
        return ("kernel", "probe")

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies (dimension, 1): one for every coordinate."""
        steps = np.arange(self.dimension, dtype=np.float64) / self.dimension
        return (1.0 / float(self.base) ** steps)[:, None]

    @cached_property
    def _shifts(self) -> NDArray[np.float64]:
        if self.shifts is not None:
            return np.asarray(self.shifts)
        shape = (self.heads, self.dimension)
        zero = self.start == "zero"
        return lock(np.zeros(shape) if zero else np.pi * (spread(0, shape, self.seed) - 1.0))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the frequencies and the shifts of keys."""
        return {"frequencies": self.frequencies, "shifts": self._shifts}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the shifts."""
        return ("shifts",)

    def apply(
        self, x: Array, coordinates: Coordinates, numbers: Numbers, *, side: str, xp: Namespace
    ) -> Array:
        """Return vectors (..., heads, n, 2 dimension): magnitudes at the angles of positions."""
        check_heads(x, self.heads, self.dimension, side)
        angles = phases(beside_heads(coordinates, x), numbers["frequencies"], xp=xp)
        if side == "k":
            shifts = within(xp.astype(numbers["shifts"], angles.dtype), -2.0 * np.pi, 0.0, xp=xp)
            angles = angles + (shifts[:, None, :] if x.ndim > 2 else shifts)
        wide = xp.result_type(x.dtype, xp.float32)
        size = softplus(xp.astype(x, wide), xp=xp)
        cosine, sine = xp.astype(xp.cos(angles), wide), xp.astype(xp.sin(angles), wide)
        return xp.astype(xp.concat([size * cosine, size * sine], axis=-1), x.dtype)

    def lag_distances(
        self, lift: str, probe: NDArray[np.float64] | None = None
    ) -> LagDistances | None:
        """Return 2 sqrt(sum_c a_c^2 sin^2(w_c t/2)), a_c = 1 or the softplus of the probe."""
        if lift != "probe" or probe is None:
            return circular_distances(self.frequencies)
        return circular_distances(self.frequencies, softplus(probe, xp=np) ** 2)


_AGREEMENT = "agreement/test_transformers_mla.py"


@catalogued(
    Card(
        name="mla",
        family="rotary",
        kind=("transform",),
        formula="q = [q_c; R_i q_r], k = [k_c; R_j k_r], k_r one for all heads, R as in rope",
        source="deepseek2024",
        level=in_words("L0"),
        relative=True,
        extrapolation="no claim without a scaling; with YaRN to 128K, by its authors",
        proofs=proofs_of(
            ORACLE,
            (
                "transformers' DeepSeek-V3 attention",
                _AGREEMENT,
                "test_scores_equal_those_of_deepseek_v3_attention",
            ),
            (
                "transformers' DeepSeek-V3 softmax scale",
                _AGREEMENT,
                "test_the_softmax_scale_is_that_of_deepseek_v3",
            ),
        ),
    ),
    examples=(
        {"dimension": 12, "content_dimension": 8},
        {"dimension": 8, "content_dimension": 4, "layout": "half", "base": 500.0},
    ),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Mla(Scaled):
    """Rotary encoding of the last coordinates of a head, after `content_dimension` others.

    >>> mla = Mla()
    >>> mla.first, mla.rotated, round(mla.softmax_scale * 192**0.5, 6)
    (128, 64, 1.0)
    """

    dimension: int = 192
    content_dimension: int = 128
    base: float = 10000.0
    scaling: Scaling = UNSCALED

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("content_dimension", self.content_dimension, least=0)
        turned = self.dimension - self.content_dimension
        if self.axes != 1:
            raise EncodingError(f"axes is {self.axes}; pass 1: this encoding has one axis.")
        if turned < 2 or turned % 2:
            raise EncodingError(
                f"dimension is {self.dimension} and content_dimension {self.content_dimension}; "
                "pass a content_dimension that leaves an even number of coordinates to turn."
            )
        object.__setattr__(self, "scaling", self.decoupled.scaling)

    @property
    def decoupled(self) -> Rope:
        """Return the rotary encoding of the decoupled part alone, as the shared key needs it."""
        return Rope(
            dimension=self.dimension - self.content_dimension,
            layout=self.layout,
            base=self.base,
            scaling=self.scaling,
        )

    @property
    def card(self) -> Card:
        """Return the card of decoupled rotary encoding, with what the scaling says of itself."""
        return with_scaling(self.own_card, self.scaling)

    def frequencies_in(self, *, xp: Namespace, dtype: Any) -> Array:
        """Return the frequencies computed in a library and type as transformers does it."""
        return self.decoupled.frequencies_in(xp=xp, dtype=dtype)

    @property
    def first(self) -> int:  # type: ignore[override]  # a constant of other rotary encodings
        """Return the first coordinate that is turned: content stands before."""
        return self.content_dimension

    @property
    def softmax_scale(self) -> float:  # type: ignore[override]
        """Return what logits are multiplied by before the softmax: m^2 / sqrt(dimension)."""
        scaling = self.scaling
        if not isinstance(scaling, Yarn) or not scaling.mscale_all_dim:
            return float(self.dimension**-0.5)
        return float(self.dimension**-0.5 * magnitude(scaling.factor, scaling.mscale_all_dim) ** 2)

    def joined(self, content: Array, shared: Array) -> Array:
        """Return keys (..., heads, n, dimension) of content and of one decoupled key for all heads.

        `content` has shape (..., heads, n, content_dimension), `shared` (..., n, rest) or
        (..., 1, n, rest), turned or not.
        """
        xp = namespace_of(content)
        rest = shared if shared.ndim == content.ndim else shared[..., None, :, :]
        if rest.ndim != content.ndim or (content.shape[-1], rest.shape[-1]) != self._parts:
            raise EncodingError(
                f"content has shape {tuple(content.shape)} and shared {tuple(shared.shape)}; pass "
                f"(..., heads, n, {self._parts[0]}) and (..., n, {self._parts[1]})."
            )
        rest = xp.broadcast_to(rest, (*content.shape[:-1], rest.shape[-1]))
        return xp.concat([content, xp.astype(rest, content.dtype)], axis=-1)

    @property
    def _parts(self) -> tuple[int, int]:
        return self.content_dimension, self.dimension - self.content_dimension


@catalogued(
    Card(
        name="rope-proportional",
        family="rotary",
        kind=("transform",),
        formula="R_i turns pair k by i w_k, w_k = base^(-2k/d) / s for k < fraction d/2, else 0",
        source="barbero2025",
        level=in_words("L0"),
        relative=True,
        extrapolation="its authors claim that still pairs keep content robust at long lags",
        proofs=proofs_of(
            ORACLE,
            (
                "transformers' Gemma 4",
                "agreement/test_transformers_rotated.py",
                "test_gemma_turns_proportionally_in_full_layers_and_plainly_in_local_ones",
            ),
            (
                "transformers, rope type proportional",
                "agreement/test_transformers_frequencies.py",
                "test_frequencies_are_within_the_float32_rounding_of_transformers",
            ),
            (
                "transformers, rope type proportional, in float32",
                "agreement/test_transformers_frequencies.py",
                "test_frequencies_in_torch_float32_have_the_bits_of_transformers",
            ),
        ),
    ),
    examples=(
        {"dimension": 8, "fraction": 0.5, "layout": "half", "base": 1000000.0},
        {"dimension": 8, "fraction": 0.75, "factor": 2.0},
    ),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class Proportional(Rotating):
    """Rotary encoding of heads with `dimension` coordinates, whose fastest `fraction` pairs turn.

    >>> Proportional(dimension=8, fraction=0.5).frequencies[:, 0]
    array([1. , 0.1, 0. , 0. ])
    """

    base: float = 10000.0
    fraction: float = 0.25
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.axes != 1:
            raise EncodingError(
                f"axes is {self.axes}, and proportional rotary encoding has one axis; use rope "
                "for several."
            )
        checks.whole("dimension", self.dimension, least=2, multiple_of=2, why="they turn in pairs")
        checks.real("base", self.base, above=0.0)
        checks.real("factor", self.factor, above=0.0)
        checks.real("fraction", self.fraction, above=0.0)
        if self.fraction > 1.0 or self.turning == 0:
            raise EncodingError(
                f"fraction is {self.fraction:g}, with which {self.turning} of "
                f"{self.dimension // 2} pairs turn; pass a number up to 1 with which at least one "
                "does."
            )

    @property
    def turning(self) -> int:
        """Return the number of pairs that turn; the rest stands still."""
        return int(self.fraction * self.dimension // 2)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Return the frequencies in radians per position, shape (pairs, 1); still pairs have 0."""
        return np.asarray(self.frequencies_in(xp=np, dtype=np.float64))

    def frequencies_in(self, *, xp: Namespace, dtype: Any) -> Array:
        """Return the frequencies computed in a library and type as transformers does it."""
        powers = xp.astype(xp.arange(0, 2 * self.turning, 2), dtype) / self.dimension
        turning = 1.0 / (float(self.base) ** powers)
        still = xp.zeros(self.dimension // 2 - self.turning, dtype=dtype)
        return xp.concat([turning, still])[:, None] / self.factor
