"""Rotary encoding with geometric frequencies: whole or partial, on any axes, scaled or not.

    w_k = base^(-2k/r),  k = 0 ... r/2 - 1,  r = the coordinates that are turned (per axis),

of the `dimension` coordinates of a head the first `fraction` [su2021 sec. 3.4]. On several axes
each axis has an equal share of them, in order, with a ladder of its own (*axial*).
A *scaling* is a value that changes the ladder, and perhaps the length of q and k, for contexts
longer than the trained one: `gnomon.encodings.rotary.scaling`. It may be written as a mapping with
its name and parameters, too.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnomon.encodings.card import ORACLE, Card, in_words, proved
from gnomon.encodings.frequencies import on_axes
from gnomon.encodings.rotary.scaled import Scaled
from gnomon.encodings.rotary.scaling.unscaled import UNSCALED, Scaling
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Namespace

AGREEMENT = "agreement/test_transformers_rotated.py"
CARD = Card(
    name="rope",
    family="rotary",
    kind=("transform",),
    formula="q~ = R_i q, k~ = R_j k, R_i turns pair k by i w_k, w_k = base^(-2k/d)",
    source="su2021",
    level=in_words("L0"),
    relative=True,
    extrapolation="no claim of the authors beyond the trained length",
    proofs=proved(
        ORACLE,
        (
            "complex multiplication",
            "encodings/test_encoding_rotary.py",
            "test_rotation_equals_multiplication_by_complex_numbers",
        ),
        ("transformers' Llama", AGREEMENT, "test_llama_turns_as_layout_half"),
        (
            "transformers' GPT-J",
            AGREEMENT,
            "test_gpt_j_turns_the_first_coordinates_as_layout_interleaved",
        ),
        (
            "transformers' GPT-NeoX",
            AGREEMENT,
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
        checks.real("fraction", self.fraction, above=0.0)
        if self.fraction > 1.0:
            raise EncodingError(f"fraction is {self.fraction:g}; pass a number above 0, up to 1.")
        if not isinstance(self.scaling, Scaling):
            from gnomon.encodings.rotary.scaling.known import as_scaling

            object.__setattr__(self, "scaling", as_scaling(self.scaling))
        turned, name = self._turned_count, "dimension" if self.fraction == 1.0 else "fraction"
        if turned < 2 * self.axes or turned % (2 * self.axes):
            raise EncodingError(
                f"dimension is {self.dimension} and {turned} of its coordinates turn; pass a "
                f"{name} with which a multiple of {2 * self.axes} turn, two per axis."
            )
        self.scaling.check(turned // self.axes, float(self.base))

    @property
    def _turned_count(self) -> int:
        return int(self.dimension * self.fraction)

    @property
    def card(self) -> Card:
        """Return the card of rotary encoding, with what the scaling says of itself."""
        return dataclasses.replace(CARD, **self.scaling.on_card())

    def frequencies_in(self, *, xp: Namespace, dtype: Any) -> Array:
        """Return the frequencies computed in a library and type as transformers does it."""
        share = self._turned_count // self.axes
        ladder = self.scaling.frequencies(share, float(self.base), xp=xp, dtype=dtype)
        return on_axes(ladder, self.axes, xp=xp)
