"""NTK-aware scaling: the base grows, so that fast pairs keep their speed and slow ones give way.

    b' = b s^(r/(r-2)),   w'_k = b'^(-2k/r) = w_k s^(-2k/(r-2)).

The first pair (k = 0) is as it was; the last one (k = r/2 - 1) is slower by exactly s.

Source: [bloc972023], a public note; restated in [peng2024 sec. 3.1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gnomon.encodings.card import ORACLE, proved
from gnomon.encodings.frequencies import ladder
from gnomon.encodings.rotary.scaling.unscaled import Scaling
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from gnomon.encodings.positions import Array, Namespace


def check_exponent(rotated: int) -> None:
    """Refuse a head in which one pair turns alone: r / (r - 2) has no value there."""
    if rotated <= 2:
        raise EncodingError(
            f"{rotated} coordinates turn on each axis, and the base of NTK scaling grows by the "
            "power r / (r - 2); pass a dimension and fraction with which at least 4 turn."
        )


@dataclass(frozen=True, kw_only=True)
class NtkAware(Scaling):
    """The base multiplied by factor^(r/(r-2)), r the coordinates that turn.

    >>> import numpy as np
    >>> NtkAware(factor=4.0).frequencies(4, 100.0, xp=np, dtype=np.float64)
    array([1.   , 0.025])
    """

    name: ClassVar[str] = "ntk"
    about: ClassVar[dict[str, Any]] = {
        "name": "rope-ntk",
        "formula": "w'_k = b'^(-2k/r), b' = b s^(r/(r-2))",
        "source": "bloc972023",
        "extrapolation": "its author claims s times the trained length without fine-tuning",
        "proofs": proved(
            ORACLE,
            (
                "rotary-embedding-torch, theta_rescale_factor",
                "agreement/test_scalings_of_other_libraries.py",
                "test_ntk_aware_frequencies_equal_rotary_embedding_torch",
            ),
            (
                "the slowest pair is slower by the factor, the fastest is as it was",
                "encodings/test_encoding_scaling.py",
                "test_ntk_keeps_the_fastest_pair_and_slows_the_slowest_by_its_factor",
            ),
        ),
    }
    factor: float

    def __post_init__(self) -> None:
        checks.real("factor", self.factor, above=0.0)

    def check(self, rotated: int, base: float) -> None:
        """Refuse a head in which one pair turns alone."""
        del base
        check_exponent(rotated)

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return b'^(-2k/r)."""
        grown = base * self.factor ** (rotated / (rotated - 2))
        return ladder(rotated, grown, xp=xp, dtype=dtype)
