"""Linear scaling, also called position interpolation: every frequency is divided by one factor.

    w'_k = w_k / s,  s = the factor by which the context grows,

which is the same as dividing positions by s, so that s times as many of them fall into the range
that was trained.

Source: [chen2023 sec. 2.3].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gnomon.encodings.card import ORACLE, proved
from gnomon.encodings.frequencies import ladder
from gnomon.encodings.rotary.scaling.unscaled import Scaling
from gnomon.numeric import checks

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Namespace


@dataclass(frozen=True, kw_only=True)
class Linear(Scaling):
    """Frequencies divided by `factor`.

    >>> import numpy as np
    >>> Linear(factor=4.0).frequencies(4, 100.0, xp=np, dtype=np.float64)
    array([0.25 , 0.025])
    """

    name: ClassVar[str] = "linear"
    about: ClassVar[dict[str, Any]] = {
        "name": "rope-linear",
        "formula": "w'_k = w_k / s",
        "source": "chen2023",
        "extrapolation": "its authors claim s times the trained length after a short fine-tuning",
        "proofs": proved(
            ORACLE,
            (
                "transformers, rope type linear",
                "agreement/test_transformers_frequencies.py",
                "test_frequencies_are_within_the_float32_rounding_of_transformers",
            ),
            (
                "transformers, rope type linear, in float32",
                "agreement/test_transformers_frequencies.py",
                "test_frequencies_in_torch_float32_have_the_bits_of_transformers",
            ),
        ),
    }
    factor: float

    def __post_init__(self) -> None:
        checks.real("factor", self.factor, above=0.0)

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return base^(-2k/r) / s."""
        return ladder(rotated, base, xp=xp, dtype=dtype) / self.factor
