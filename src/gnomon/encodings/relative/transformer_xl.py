"""Transformer-XL: queries meet keys and a sinusoid of the lag, each with a learned constant.

    logit(i, j) = scale [ (q_i + u) . k_j + (q_i + v) . W r_(i-j) ],
    r_t = (sin w_1 t, ..., sin w_p t, cos w_1 t, ..., cos w_p t),  w_k = base^(-(k-1)/p),

u, v (heads, d) and W (heads, d, 2p) learned, 2p the dimension of the model [dai2019 sec. 3.3].

The sinusoid of a lag comes apart at its two ends. With s = W^T (q_i + v) = (a, b),

    s . r_(i-j) = (a sin wi + b cos wi) . cos wj + (b sin wi - a cos wi) . sin wj,

so the second term is a product of 2p further coordinates of the query with 2p of the key: the
published shift of a table of lags is not needed, no vector of a pair is made, and positions may be
any real numbers, packed or cached. Extra coordinates are turned, nothing else: a group acts on the
augmented vectors. Memory is O((n + m) 2p + n m) for each head.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import geometric_frequencies, phases
from gnomon.encodings.relative.tables import (
    SIGMA,
    check_vectors,
    normal_numbers,
)
from gnomon.encodings.scoring import scaled
from gnomon.encodings.starting import kept, settled
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

PURPOSES = {"content_bias": 3, "position_bias": 4, "projection": 5}
"""Keep the starts of u, v and W apart."""
CARD = Card(
    name="transformer-xl",
    family="relative",
    kind=("content",),
    formula="logit = scale [(q_i + u).k_j + (q_i + v).W r_(i-j)], r the sinusoid of the lag",
    source="dai2019",
    level=in_words("L1"),
    relative=True,
    learnable=True,
    extrapolation="attention longer at evaluation than in training, by its authors",
    reading="sines stand before cosines in r, as in the published code; sines of keys after their "
    "query are those of negative lags, as in XLNet",
    proofs=proved(
        ORACLE,
        (
            "transformers, XLNet",
            "agreement/test_transformers_relative.py",
            "test_transformer_xl_scores_are_those_of_xlnet",
        ),
        (
            "transformers, Wav2Vec2-Conformer",
            "agreement/test_transformers_relative.py",
            "test_transformer_xl_scores_are_those_of_wav2vec2_conformer",
        ),
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class TransformerXL(Encoding):
    """Sinusoids of lags with `model_dimension` coordinates; by default heads times dimension.

    Learned: `content_bias` u and `position_bias` v (heads, dimension), `projection` W (heads,
    dimension, model_dimension).
    """

    kinds: ClassVar[tuple[str, ...]] = ("content",)
    on_grids: ClassVar[bool] = False
    dimension: int
    heads: int
    model_dimension: int | None = None
    base: float = 10000.0
    sigma: float = SIGMA
    seed: int = 0
    content_bias: Any = field(default=None, repr=False)
    position_bias: Any = field(default=None, repr=False)
    projection: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        checks.one_axis("transformer-xl", self.axes)
        checks.whole("dimension", self.dimension, least=1)
        checks.whole("heads", self.heads, least=1)
        why = "a sine and a cosine for each frequency"
        checks.whole("model_dimension", self._sinusoid, least=2, multiple_of=2, why=why)
        checks.real("base", self.base, above=0.0)
        checks.real("sigma", self.sigma, least=0.0)
        checks.whole("seed", self.seed, least=0)
        for name, shape in self._shapes.items():
            kept(self, name, shape)

    @property
    def card(self) -> Card:
        """Return the card of Transformer-XL's logits."""
        return CARD

    @property
    def _sinusoid(self) -> int:
        """Return the number of coordinates of the sinusoid."""
        known = self.model_dimension
        return self.heads * self.dimension if known is None else known

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        each = (self.heads, self.dimension)
        return {
            "content_bias": each,
            "position_bias": each,
            "projection": (*each, self._sinusoid),
        }

    @cached_property
    def _learned(self) -> dict[str, NDArray[np.float64]]:
        return settled(self, normal_numbers(self, self._shapes, PURPOSES))

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return u, v and W, and the frequencies of the sinusoid."""
        frequencies = geometric_frequencies(self._sinusoid, float(self.base))
        return {**self._learned, "frequencies": frequencies}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name u, v and W."""
        return ("content_bias", "position_bias", "projection")

    def content_scores(
        self,
        q: Array,
        k: Array,
        queries: Coordinates,
        keys: Coordinates,
        numbers: Numbers,
        *,
        scale: float,
        tokens: Array,
        xp: Namespace,
    ) -> Array:
        """Return the logits (..., heads, n, m)."""
        del tokens
        check_vectors(q, "q", dimension=self.dimension, heads=self.heads)
        check_vectors(k, "k", dimension=self.dimension, heads=self.heads)
        u, v, w = (xp.astype(numbers[name], q.dtype) for name in self.learnable)
        met = xp.matmul(q + u[:, None, :], xp.matrix_transpose(k))
        seen = xp.matmul(q + v[:, None, :], w)
        frequencies = numbers["frequencies"]
        left = turned_query(seen, phases(queries, frequencies, xp=xp), xp=xp)
        at_k = phases(keys, frequencies, xp=xp)
        right = xp.astype(xp.concat([xp.cos(at_k), xp.sin(at_k)], axis=-1), q.dtype)
        return scaled(met + xp.matmul(left, xp.matrix_transpose(right)), scale)


def turned_query(seen: Array, angles: Array, *, xp: Namespace) -> Array:
    """Return (a sin wi + b cos wi, b sin wi - a cos wi) for (a, b) (..., n, 2p), angles wi.

    In float32 or better, and rounded once to the type of the query.
    """
    pairs = seen.shape[-1] // 2
    wide = xp.result_type(seen.dtype, xp.float32)
    sine, cosine = (xp.astype(part(angles), wide) for part in (xp.sin, xp.cos))
    a, b = (xp.astype(part, wide) for part in (seen[..., :pairs], seen[..., pairs:]))
    made = xp.concat([a * sine + b * cosine, b * sine - a * cosine], axis=-1)
    return xp.astype(made, seen.dtype)
