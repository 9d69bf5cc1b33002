r"""The largest stable learning rate, by trying.

A run of losses L_1 ... L_K *diverged* where a loss is not finite, or where its last tenth
has a larger mean than its first loss. `largest_stable_rate` brackets the border between rates that
are stable and rates that are not: it doubles (or halves) from a starting rate until the answer
changes, then bisects the logarithm of the rate.

    on a quadratic with top eigenvalue h gradient descent is stable below 2 / h exactly

The border of a real run is not sharp and depends on its length, its optimiser and its seed, so the
answer comes with its bracket.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from gnomon.errors import LabError
from gnomon.numeric.checks import reals
from gnomon.results import Result


@dataclass(frozen=True, kw_only=True, eq=False)
class StableRate(Result):
    """The bracket of the border: `rate` was stable, `unstable` was not (None: none was found)."""

    rate: float | None
    unstable: float | None
    runs: int
    reason: str | None = None


def diverged(losses: Any) -> bool:
    """Say whether a run of losses diverged.

    >>> diverged([2.0, 1.0, 0.5]), diverged([2.0, 30.0, 400.0])
    (False, True)
    """
    values = reals(losses, "losses")
    if not values.size:
        raise LabError("a run without losses has neither converged nor diverged; pass its losses.")
    last = values[-max(1, len(values) // 10) :]
    return not np.isfinite(values).all() or bool(last.mean() > values[0])


def largest_stable_rate(
    losses: Callable[[float], Any],
    *,
    start: float = 1e-2,
    ratio: float = 1.1,
    most: int = 40,
) -> StableRate:
    """Return the largest stable rate of `losses(rate)`, bracketed within `ratio`.

    >>> found = largest_stable_rate(lambda rate: [abs(1.0 - rate) ** k for k in range(50)])
    >>> found.rate <= 2.0 <= found.unstable
    True
    """
    if not start > 0.0 or not ratio > 1.0:
        raise LabError(
            f"start is {start} and ratio is {ratio}; start must be positive and ratio above 1."
        )
    stable: float | None = None
    unstable: float | None = None
    rate = start
    for run in range(1, most + 1):
        if diverged(losses(rate)):
            unstable = rate
        else:
            stable = rate
        if stable is not None and unstable is not None:
            if unstable / stable <= ratio:
                return StableRate(rate=stable, unstable=unstable, runs=run)
            rate = sqrt(stable * unstable)
        else:
            rate = rate * 2.0 if unstable is None else rate / 2.0
    reason = f"the border was not bracketed within a ratio of {ratio} in {most} runs"
    return StableRate(rate=stable, unstable=unstable, runs=most, reason=reason)
