"""Llama-3 scaling: long wavelengths are stretched, short ones kept, with a smooth passage.

With wavelength v_k = 2 pi / w_k and trained length L0,

    v_k > L0 / low_freq_factor:    w'_k = w_k / s
    v_k < L0 / high_freq_factor:   w'_k = w_k
    between:                       w'_k = (1 - t) w_k / s + t w_k,
                                   t = (L0 / v_k - low) / (high - low).

Sources: [grattafiori2024 sec. 3] for the models; the formula is that of the code released with
them, as [wolf2020] has it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gnomon.encodings.card import ORACLE, proved
from gnomon.encodings.frequencies import ladder
from gnomon.encodings.rotary.scaling.unscaled import Scaling
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Namespace


@dataclass(frozen=True, kw_only=True)
class Llama3(Scaling):
    """Frequencies by their wavelength: divided by `factor`, kept, or between the two.

    >>> import numpy as np
    >>> scaling = Llama3(factor=8, low_freq_factor=1, high_freq_factor=4, original_length=32)
    >>> scaling.frequencies(4, 100.0, xp=np, dtype=np.float64)
    array([1.    , 0.0125])
    """

    name: ClassVar[str] = "llama3"
    about: ClassVar[dict[str, Any]] = {
        "name": "rope-llama3",
        "formula": "w'_k = w_k / s for wavelengths above L0 / low, w_k below L0 / high, linear in "
        "L0 / wavelength between",
        "source": "grattafiori2024",
        "extrapolation": "its authors claim 128k tokens after long-context training",
        "proofs": proved(
            ORACLE,
            (
                "transformers, rope type llama3",
                "agreement/test_transformers_frequencies.py",
                "test_frequencies_are_within_the_float32_rounding_of_transformers",
            ),
            (
                "transformers, rope type llama3, in float32",
                "agreement/test_transformers_frequencies.py",
                "test_frequencies_in_torch_float32_have_the_bits_of_transformers",
            ),
        ),
    }
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
