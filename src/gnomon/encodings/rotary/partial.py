"""Rotary encodings of a part of every head: MLA's decoupled coordinates, and the fast pairs alone.

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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.encodings.arrays import namespace_of
from gnomon.encodings.card import ORACLE, Card, catalogued, in_words, proved
from gnomon.encodings.rotary.rope import Rope, Rotating, Scaled, with_scaling
from gnomon.encodings.rotary.scaling import UNSCALED, Scaling, Yarn, magnitude
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Namespace

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
        proofs=proved(
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
    def first(self) -> int:
        """Return the first coordinate that is turned: content stands before."""
        return self.content_dimension

    @property
    def softmax_scale(self) -> float:
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
        proofs=proved(
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
