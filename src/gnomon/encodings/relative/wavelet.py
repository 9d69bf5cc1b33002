"""Wavelets of the lag: Shaw's form with fixed vectors, one Ricker wavelet for each coordinate.

    logit(i, j) = scale q_i . (k_j + p_(i-j)),   p_t[c] = psi((t - b_c) / a_c),
    psi(x) = (1 - x^2) e^(-x^2 / 2),

with a = 2^0, 2^1, ..., 2^(S-1) and b = 0, 1, ..., d/S - 1, every scale with every shift: coordinate
c has scale number c // (d/S) and shift c mod d/S [oka2025]. Nothing is learned, and the
lag is any real number.

A wavelet has no finite rank in (i, j), so coordinates are added one by one: O(n m) memory, no
vector of a pair. Where positions can be seen and are whole, every lag is computed once and rows are
picked (`relative.lags`): one product with a table of as many rows as there are lags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gnomon.encodings.base import Encoding, Numbers
from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.relative.lags import clipped, picked, signed_lags, whole_span
from gnomon.encodings.relative.tables import check_vectors
from gnomon.encodings.scoring import scaled
from gnomon.numeric import checks
from gnomon.numeric.arrays import device_beside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.positions import Array, Coordinates, Namespace

CARD = Card(
    name="wavelet",
    family="relative",
    kind=("content",),
    formula="logit = scale q_i.(k_j + p_(i-j)), p_t[c] = (1 - x^2) e^(-x^2/2), x = (t - b_c)/a_c",
    source="oka2025",
    level=in_words("L5"),
    relative=True,
    extrapolation="positions past the trained length, without a limit on attention, by its authors",
    reading="the lag is i - j, query minus key, so that shifts lie among keys before their query; "
    "every wavelet has height 1 (no factor 1/sqrt a), since the projection of queries stands "
    "before it; scales are 2^0 ... 2^(S-1), each with shifts 0 ... d/S - 1, S = 8 unless given; no "
    "code of the authors is known, so none was compared",
    proofs=proved(
        ORACLE,
        (
            "the second derivative of a Gaussian, by SciPy",
            "encodings/test_encoding_wavelet.py",
            "test_wavelets_are_second_derivatives_of_gaussians",
        ),
    ),
)


def ricker(x: Array, *, xp: Namespace) -> Array:
    """Return (1 - x^2) e^(-x^2/2): minus the second derivative of the Gaussian e^(-x^2/2)."""
    square = x * x
    return (1.0 - square) * xp.exp(-0.5 * square)


@dataclass(frozen=True, kw_only=True, eq=False)
class Wavelet(Encoding):
    """Ricker wavelets of `scales` scales; `dimension` is a multiple of their number."""

    kinds: ClassVar[tuple[str, ...]] = ("content",)
    on_grids: ClassVar[bool] = False
    dimension: int
    scales: int = 8

    def __post_init__(self) -> None:
        checks.one_axis("wavelet", self.axes)
        checks.whole("scales", self.scales, least=1)
        why = "every scale with as many shifts"
        checks.whole("dimension", self.dimension, least=1, multiple_of=self.scales, why=why)

    @property
    def card(self) -> Card:
        """Return the card of wavelets of the lag."""
        return CARD

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the scale and the shift of every coordinate."""
        shifts = self.dimension // self.scales
        scale, shift = np.divmod(np.arange(self.dimension), shifts)
        return {"scale": np.exp2(scale), "shift": shift.astype(np.float64)}

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
        """Return the logits (..., n, m)."""
        del tokens
        check_vectors(q, "q", dimension=self.dimension)
        check_vectors(k, "k", dimension=self.dimension)
        lags = signed_lags(queries, keys, xp=xp)
        content, span = xp.matmul(q, xp.matrix_transpose(k)), whole_span(queries, keys)
        if span is None:
            return scaled(_one_by_one(q, lags, content, numbers, xp=xp), scale)
        known = xp.arange(span[0], span[1] + 1, dtype=lags.dtype, device=device_beside(q, xp=xp))
        table = ricker((known[:, None] - numbers["shift"]) / numbers["scale"], xp=xp)
        by_lag = xp.matmul(q, xp.matrix_transpose(xp.astype(table, q.dtype)))
        return scaled(content + picked(by_lag, clipped(lags, *span, xp=xp), xp=xp), scale)


def _one_by_one(q: Array, lags: Array, logits: Array, numbers: Numbers, *, xp: Namespace) -> Array:
    """Return logits with the wavelet of every coordinate added in turn."""
    for c in range(q.shape[-1]):
        wave = ricker((lags - numbers["shift"][c]) / numbers["scale"][c], xp=xp)
        logits = logits + q[..., c, None] * xp.astype(wave, q.dtype)
    return logits
