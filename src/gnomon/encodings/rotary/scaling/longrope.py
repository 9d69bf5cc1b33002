"""LongRoPE: every pair has its own factor, found by search, one list for short and one for long.

    w'_k = 1 / (lambda_k b^(2k/r)),   lambda = short_factor up to the trained length L0, else
                                      long_factor,

and cosines and sines are multiplied by sqrt(1 + ln s / ln L0), s the factor by which the context
grew; the same for both lists.

The choice of the list depends on the length of the sequence, which is therefore part of the value;
keys that were turned while the sequence was short do not fit when it has become long.

Sources: [ding2024 sec. 3]; the attention factor is that of Phi-3 as [wolf2020] has it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gnomon.encodings.card import ORACLE, proved
from gnomon.encodings.rotary.scaling.unscaled import Scaling
from gnomon.errors import EncodingError
from gnomon.numeric import checks

if TYPE_CHECKING:
    from typing import Self

    from gnomon.encodings.positions import Array, Namespace


@dataclass(frozen=True, kw_only=True)
class LongRope(Scaling):
    """Frequencies divided by a list of factors, chosen by `length`; without one, the short list.

    `factor` is the growth of the context, and gives the attention factor; `attention` overrides
    it. Without both, the attention factor is 1.

    >>> import numpy as np
    >>> scaling = LongRope(short_factor=(1.0, 1.0), long_factor=(1.0, 4.0), original_length=100)
    >>> scaling.at_length(200).frequencies(4, 100.0, xp=np, dtype=np.float64)
    array([1.   , 0.025])
    """

    name: ClassVar[str] = "longrope"
    about: ClassVar[dict[str, Any]] = {
        "name": "rope-longrope",
        "formula": "w'_k = 1 / (lambda_k b^(2k/r)), lambda short up to L0, then long; q~ and k~ "
        "times sqrt(1 + ln s / ln L0)",
        "source": "ding2024",
        "cacheable": False,
        "extrapolation": "its authors claim 2,048k tokens with searched factors and fine-tuning",
        "proofs": proved(
            ORACLE,
            (
                "transformers, rope type longrope",
                "agreement/test_transformers_frequencies.py",
                "test_frequencies_are_within_the_float32_rounding_of_transformers",
            ),
            (
                "transformers, rope type longrope, in float32",
                "agreement/test_transformers_frequencies.py",
                "test_frequencies_in_torch_float32_have_the_bits_of_transformers",
            ),
        ),
    }
    short_factor: Sequence[float]
    long_factor: Sequence[float]
    original_length: int
    factor: float | None = None
    attention: float | None = None
    length: int | None = None

    def __post_init__(self) -> None:
        for name in ("short_factor", "long_factor"):
            object.__setattr__(self, name, _factors(name, getattr(self, name)))
        # From 2 on: the logarithm of the trained length divides.
        checks.whole("original_length", self.original_length, least=2)
        for name in ("factor", "attention"):
            if getattr(self, name) is not None:
                checks.real(name, getattr(self, name), above=0.0)
        if self.length is not None:
            checks.whole("length", self.length, least=1)

    def check(self, rotated: int, base: float) -> None:
        """Refuse lists that do not hold one factor for each pair."""
        del base
        for name in ("short_factor", "long_factor"):
            count = len(getattr(self, name))
            if count != rotated // 2:
                raise EncodingError(
                    f"{name} holds {count} factors, but {rotated // 2} pairs turn; pass one factor "
                    "for each pair."
                )

    @property
    def in_use(self) -> Sequence[float]:
        """Return the list that the length chooses."""
        long = self.length is not None and self.length > self.original_length
        return self.long_factor if long else self.short_factor

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return 1 / (lambda_k b^(2k/r))."""
        factors = xp.asarray(self.in_use, dtype=dtype)
        powers = xp.astype(xp.arange(0, rotated, 2), dtype) / rotated
        return 1.0 / (factors * base**powers)

    @property
    def attention_factor(self) -> float:
        """Return the factor of cosines and sines."""
        if self.attention is not None:
            return float(self.attention)
        if self.factor is None or self.factor <= 1.0:
            return 1.0
        return math.sqrt(1 + math.log(self.factor) / math.log(self.original_length))

    @property
    def reach(self) -> int | None:
        """Return the trained length, where no length of the sequence is fixed."""
        return self.original_length if self.length is None else None

    def at_length(self, length: int) -> Self:
        """Return the scaling of a sequence of `length`."""
        return dataclasses.replace(self, length=length)


def _factors(name: str, values: Any) -> tuple[float, ...]:
    """Return a list of factors as a tuple, so that the scaling stays a value."""
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        raise EncodingError(f"{name} is {values!r}; pass a list of factors, one for each pair.")
    for index, value in enumerate(listed):
        checks.real(f"{name}[{index}]", value, above=0.0)
    return tuple(listed)
