"""YaRN: slow pairs are interpolated, fast ones are left alone, and a ramp lies between.

A pair that makes rho turns within the trained length L0 has the (real) index
c(rho) = r ln(L0 / (2 pi rho)) / (2 ln b). The ramp runs from low = floor c(beta_fast) to
high = ceil c(beta_slow), not below 0 and not above r - 1; without `truncate` nothing is rounded:

    ramp_k = clip((k - low) / (high - low), 0, 1),
    w'_k   = (w_k / s) ramp_k + w_k (1 - ramp_k).

Cosines and sines are multiplied by an attention factor, m(s) = 0.1 ln s + 1, so that logits get its
square; models of DeepSeek's kind use m(s, mscale) / m(s, mscale_all_dim), m(s, a) = 0.1 a ln s + 1.

Sources: [peng2024 sec. 3.2-3.4]; the ratio of magnitudes and the clamps are those of [wolf2020].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gnomon.encodings.card import ORACLE, proved
from gnomon.encodings.rotary.scaling.unscaled import Scaling
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Namespace

_STEP = 0.001
"""Width of the ramp where its two ends fall together, as transformers has it."""


def magnitude(factor: float, weight: float = 1.0) -> float:
    """Return m = 0.1 weight ln(factor) + 1, and 1 for factors up to 1.

    >>> magnitude(1.0)
    1.0
    """
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0


@dataclass(frozen=True, kw_only=True)
class Yarn(Scaling):
    """Frequencies between w_k and w_k / factor by the turns they make within `original_length`.

    `attention` overrides the attention factor that follows from `factor`, or from `mscale` and
    `mscale_all_dim` where both are given and not 0.

    >>> round(Yarn(factor=4.0, original_length=4096).attention_factor, 4)
    1.1386
    """

    name: ClassVar[str] = "yarn"
    about: ClassVar[dict[str, Any]] = {
        "name": "rope-yarn",
        "formula": "w'_k = (w_k / s) ramp_k + w_k (1 - ramp_k), ramp from c(32) to c(1) turns "
        "within L0; q~ and k~ times 0.1 ln s + 1",
        "source": "peng2024",
        "extrapolation": "its authors claim s times the trained length after a short fine-tuning",
        "proofs": proved(
            ORACLE,
            (
                "transformers, rope type yarn",
                "agreement/test_transformers_frequencies.py",
                "test_frequencies_are_within_the_float32_rounding_of_transformers",
            ),
            (
                "transformers, rope type yarn, in float32",
                "agreement/test_transformers_frequencies.py",
                "test_frequencies_in_torch_float32_have_the_bits_of_transformers",
            ),
        ),
    }
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
    def attention_factor(self) -> float:
        """Return the factor of cosines and sines."""
        if self.attention is not None:
            return float(self.attention)
        if self.mscale and self.mscale_all_dim:
            return magnitude(self.factor, self.mscale) / magnitude(self.factor, self.mscale_all_dim)
        return magnitude(self.factor)
