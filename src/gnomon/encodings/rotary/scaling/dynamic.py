"""Dynamic NTK scaling: the base follows the length of the sequence at hand.

    b' = b (s L/L0 - (s - 1))^(r/(r-2))  for L > L0,   b' = b  up to L0,

L the present length, L0 the trained one, s the factor, r the coordinates that turn.

Within one length it is a group as any rotary encoding is. When the sequence grows, frequencies
change, and keys that were turned before no longer fit: a cache needs keys that are not turned yet,
or a length that is fixed beforehand. The length is therefore part of the value.

In narrow types the base is computed in that type, step by step: a running model of transformers
does so, since it reads the length off a tensor of positions.

Source: [emozilla2023], a public note; restated in [peng2024 sec. 3.3].
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gnomon.encodings.card import ORACLE, proved
from gnomon.encodings.frequencies import ladder
from gnomon.encodings.rotary.scaling.ntk import check_exponent
from gnomon.encodings.rotary.scaling.unscaled import Scaling
from gnomon.numeric import checks

if TYPE_CHECKING:
    from typing import Self

    from gnomon.encodings.positions import Array, Namespace


@dataclass(frozen=True, kw_only=True)
class DynamicNtk(Scaling):
    """The base as it is at `length`; without a length, that of `original_length`.

    >>> import numpy as np
    >>> scaling = DynamicNtk(factor=2.0, original_length=100, length=250)
    >>> scaling.frequencies(4, 100.0, xp=np, dtype=np.float64)
    array([1.   , 0.025])
    """

    name: ClassVar[str] = "dynamic"
    about: ClassVar[dict[str, Any]] = {
        "name": "rope-dynamic",
        "formula": "w'_k = b'^(-2k/r), b' = b (s L/L0 - (s - 1))^(r/(r-2)) for L > L0",
        "source": "emozilla2023",
        "cacheable": False,
        "extrapolation": "its author claims lengths beyond the trained one without fine-tuning",
        "proofs": proved(
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
    }
    factor: float
    original_length: int
    length: int | None = None

    def __post_init__(self) -> None:
        checks.real("factor", self.factor, above=0.0)
        checks.whole("original_length", self.original_length, least=1)
        if self.length is not None:
            checks.whole("length", self.length, least=1)

    def check(self, rotated: int, base: float) -> None:
        """Refuse a head in which one pair turns alone."""
        del base
        check_exponent(rotated)

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return b'^(-2k/r)."""
        if self.length is None or self.length <= self.original_length:
            return ladder(rotated, base, xp=xp, dtype=dtype)
        length = xp.asarray(self.length, dtype=dtype)
        growth = self.factor * length / self.original_length - (self.factor - 1)
        grown = base * growth ** (rotated / (rotated - 2))
        return ladder(rotated, grown, xp=xp, dtype=dtype)

    @property
    def reach(self) -> int | None:
        """Return the trained length, where no length of the sequence is fixed."""
        return self.original_length if self.length is None else None

    def at_length(self, length: int) -> Self:
        """Return the scaling of a sequence of `length`."""
        return dataclasses.replace(self, length=length)
