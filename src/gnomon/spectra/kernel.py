r"""The kernel of an encoding: the positional part of its logit, by the lag from key to query.

* transform, q^T A(t) k: c(t) = tr A(t) / d, the mean logit of one vector at both places over all
  directions of that vector, per unit of its length: 1 at lag 0, if nothing is scaled. A turn gives
  cos bt, a coordinate that is not turned 1, a damped block e^(at) cos bt. Powers of the lag in a
  Jordan block stand off the diagonal, so the trace has none of them.
* bias: the bias itself.
* vectors: p_i.p_j, where that depends on the lag alone, as for the sinusoid.
* a rule on content that sees lags: the logit of one vector at all places, which decides it.

One head may be named; otherwise it is the mean over heads. The matrix of a kernel is symmetric: of
an encoding that is causal only the half of keys before their query is mirrored, of others c(t) and
c(-t) are averaged, and `asymmetry` = |c(t) - c(-t)| / (2 |c|), norms over all lags t = -(n-1) ...
n-1, says what that leaves out: 0 of an even kernel, 1 of an odd one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnomon.results import Result
from gnomon.spectra.modes import Modes

Floats = NDArray[np.float64]
_ROUNDING = 1e-12
"""An odd part below this is none: logits were computed in float64."""
LagValues = Callable[[int], tuple[Floats, Floats]]
"""From n to the values at lags 0 ... n-1, and at lags 0 ... -(n-1)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Kernel(Result):
    """The positional part of a logit by lag: modes in closed form, or a function of the length."""

    name: str
    kind: str
    """transform, bias, vectors or content."""
    head: int | None
    """The head it belongs to; None: all of them, their mean."""
    modes: Modes | None
    """Its symmetric part in closed form."""
    lag_values: LagValues
    causal: bool
    """Whether only keys before their query count, and their half is mirrored."""
    note: str
    grows: bool | None = None
    """Whether it is known to grow without bound; None where nothing is known."""
    odd: Callable[[Floats], Floats] | None = None
    """Beside modes: its odd part by lag; None where there is none."""

    def column(self, length: int) -> Floats:
        """Return the symmetric part at lags 0 ... n-1: the first column of the matrix."""
        if self.modes is not None:
            return self.modes.at(np.arange(length, dtype=np.float64))
        before, after = self.lag_values(length)
        return before if self.causal else 0.5 * (before + after)

    def asymmetry(self, length: int) -> float:
        """Return |c(t) - c(-t)| / (2 |c|) over lags -(n-1) ... n-1: 0 ... 1; 0 where rounding is.

        Causal kernels are mirrored, so they have none.
        """
        if self.causal or (self.modes is not None and self.odd is None):
            return 0.0
        even, odd = self._parts(length)
        rest = 2.0 * float(np.sum(odd**2))  # it is 0 at lag 0
        whole = float(even[0] ** 2 + 2.0 * np.sum(even[1:] ** 2)) + rest
        share = float(np.sqrt(rest / whole)) if whole > 0.0 else 0.0
        return share if share > _ROUNDING else 0.0

    def _parts(self, length: int) -> tuple[Floats, Floats]:
        """Return the even and the odd part at lags 0 ... n-1."""
        if self.modes is not None and self.odd is not None:
            lags = np.arange(length, dtype=np.float64)
            return self.modes.at(lags), self.odd(lags)
        before, after = self.lag_values(length)
        return 0.5 * (before + after), 0.5 * (before - after)
