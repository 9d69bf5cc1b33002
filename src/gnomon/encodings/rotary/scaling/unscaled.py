"""What a scaling is, and the one that changes nothing: w_k = base^(-2k/r).

A scaling is a frozen value. `frequencies` is written over the array API, in the order of operations
that transformers uses, with the type of its numbers as an argument: NumPy in float64 gives the
exact ladder, PyTorch in float32 gives the very bits that models of transformers were trained with.

Source: [su2021 sec. 3.3].
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gnomon.encodings.frequencies import ladder
from gnomon.results import plain

if TYPE_CHECKING:
    from typing import Self

    from gnomon.encodings.positions import Array, Namespace


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """Base of all scalings: the plain ladder, no factor, the same at every length."""

    name: ClassVar[str] = "unscaled"
    about: ClassVar[dict[str, Any]] = {}
    """What the card of a scaled encoding says instead of the plain one's words."""

    def check(self, rotated: int, base: float) -> None:
        """Refuse a scaling that does not fit `rotated` coordinates; all fit the plain one."""
        del rotated, base

    def frequencies(self, rotated: int, base: float, *, xp: Namespace, dtype: Any) -> Array:
        """Return the rotated/2 frequencies, fastest first."""
        return ladder(rotated, base, xp=xp, dtype=dtype)

    @property
    def attention_factor(self) -> float:
        """Return what cosines and sines are multiplied by."""
        return 1.0

    def at_length(self, length: int) -> Self:
        """Return the scaling as it is for a context of `length`; most do not follow it."""
        del length
        return self

    @property
    def reach(self) -> int | None:
        """Return the length up to which nothing depends on that of the sequence; None: any."""
        return None

    def on_card(self) -> dict[str, Any]:
        """Return what the card of a scaled encoding says instead of the plain one's words."""
        return dict(self.about)

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the name and the parameters as plain values."""
        fields = {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}
        return {"name": self.name, **fields}


@dataclass(frozen=True, kw_only=True)
class Unscaled(Scaling):
    """The frequencies as they are."""


UNSCALED = Unscaled()
