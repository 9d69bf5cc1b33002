r"""Circulant-STRING: generators C_a - C_a^T with C_a circulant, one for each axis.

    q~ = exp(sum_a i_a L_a) q,  k~ = exp(sum_a j_a L_a) k,   L_a = C_a - C_a^T  [schenck2025 sec. 3]

All circulant matrices have one basis, that of Fourier, so they commute and the encoding is exactly
relative. On the orthonormal pairs sqrt(2/d) (cos(2 pi k n / d), sin(2 pi k n / d)),
k = 1 ... ceil(d/2) - 1, L_a turns by w_ka = 2 sum_n c_an sin(2 pi k n / d) for C_a with first
column c_a; what is left of the basis, one or two coordinates, stands still. So the encoding is
rotary encoding in a fixed basis, with frequencies that are a linear, orthogonal function of c_a up
to a scale: those are what is learned here (`frequencies_of_columns` makes them of a given c).
A product with the basis is d^2 operations for a vector; at the dimensions of heads that is faster
than the d log d of a Fourier transform.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.generators.based import Based
from gnomon.encodings.rotary.rope import reordering
from gnomon.encodings.starting import learned, of_each_head
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.encodings.arrays import Array, Namespace
    from gnomon.encodings.base import Numbers

CARD = Card(
    name="string-circulant",
    family="generator",
    kind=("transform",),
    formula="q~ = exp(sum_a i_a L_a) q, k~ = exp(sum_a j_a L_a) k, L_a = C_a - C_a^T circulant",
    source="schenck2025",
    level=in_words("L0"),
    relative=True,
    learnable=True,
    extrapolation="no claim",
    reading="Learned are the frequencies of the Fourier pairs, an orthogonal function of the "
    "entries of C up to scale, which start as the ladder of rotary encoding, dealt to the axes in "
    "turn. Vectors stay in the Fourier basis, which cancels in logits.",
    proofs=proved(
        ORACLE,
        (
            "scipy.linalg.expm of circulant matrices",
            "encodings/test_encoding_string.py",
            "test_logits_are_those_of_the_exponential_of_circulant_matrices",
        ),
    ),
)


def fourier_basis(dimension: int, layout: str = "interleaved") -> NDArray[np.float64]:
    """Return the orthonormal real Fourier basis as columns: pairs k = 1, 2, ..., then what stands.

    >>> fourier_basis(3)[:, 2].round(4).tolist()
    [0.5774, 0.5774, 0.5774]
    """
    places = np.arange(dimension)
    columns = []
    for k in range(1, (dimension + 1) // 2):
        angles = 2.0 * np.pi * ((k * places) % dimension) / dimension
        columns += [np.sqrt(2.0 / dimension) * part for part in (np.cos(angles), np.sin(angles))]
    rotated = len(columns)
    columns.append(np.full(dimension, dimension**-0.5))
    if dimension % 2 == 0:
        columns.append((1.0 - 2.0 * (places % 2)) * dimension**-0.5)
    basis = np.stack(columns, axis=-1)
    return (
        basis
        if layout == "interleaved"
        else basis[:, reordering(dimension, to="half", rotated=rotated)]
    )


def frequencies_of_columns(columns: Any) -> NDArray[np.float64]:
    """Return the frequencies (..., pairs, axes) of circulant first columns (..., axes, d).

    >>> frequencies_of_columns([[0.0, 0.5, 0.0]]).round(4).tolist()
    [[0.866]]
    """
    values = checks.array("columns", columns).astype(np.float64)
    if values.ndim < 2 or values.shape[-1] < 3:
        raise EncodingError(
            f"columns has shape {values.shape}; pass the first column of a matrix for every axis, "
            "(axes, d) with d from 3 on."
        )
    size = values.shape[-1]
    pairs, places = np.arange(1, (size + 1) // 2), np.arange(size)
    sines = np.sin(2.0 * np.pi * ((pairs[:, None] * places) % size) / size)
    return np.swapaxes(2.0 * values @ sines.T, -1, -2)


@dataclass(frozen=True, kw_only=True, eq=False)
class CirculantString(Based):
    """Rotary encoding in the basis of Fourier, with learned frequencies on any axes."""

    mixes_axes: ClassVar[bool] = True
    heads: int | None = None
    base: float = 10000.0
    frequencies: Any = field(default=None, repr=False)
    """Radians per position (pairs, axes), or (heads, pairs, axes); without them a ladder."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("dimension", self.dimension, least=3)
        if self.heads is not None:
            checks.whole("heads", self.heads, least=1)
        checks.real("base", self.base, above=0.0)
        pairs = (self.dimension - 1) // 2
        ladder = np.zeros((pairs, self.axes))
        for pair in range(pairs):
            rung = 2.0 * self.axes * (pair // self.axes) / self.dimension
            ladder[pair, pair % self.axes] = float(self.base) ** -rung
        shape = of_each_head(self.heads, pairs, self.axes)
        made = learned("frequencies", self.frequencies, ladder, shape)
        object.__setattr__(self, "frequencies", made)

    @property
    def card(self) -> Card:
        """Return the card of Circulant-STRING."""
        return CARD

    @property
    def numbers(self) -> dict[str, NDArray[np.float64]]:
        """Return the learned frequencies and the basis."""
        basis = fourier_basis(self.dimension, self.layout)
        return {"frequencies": np.array(self.frequencies), "basis": basis}

    @property
    def learnable(self) -> tuple[str, ...]:
        """Name the frequencies."""
        return ("frequencies",)

    def basis_in(self, numbers: Numbers, like: Array, *, xp: Namespace) -> Array:
        """Return the basis of Fourier."""
        return xp.astype(numbers["basis"], like.dtype)
