"""How positions lie: whether keys up to a query are the first ones, and lags one profile.

Keys and queries that are equally spaced with one step have lags start + step (i - j): a bias that
depends on the lag alone is then a profile of n + m - 1 numbers. Where positions increase and the
queries are a run of the keys, or both are equally spaced, key j is no later than query i exactly
when j <= ahead + i: a triangle, whatever the positions are.

Values are looked at only where that costs no wait and breaks no graph; counted positions are known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.numeric.arrays import concrete_or_none
from gnomon.torch.attending.asked import Asked

_CLOSE = 1e-9
"""Part of a step by which equally spaced positions may err: what float64 leaves of real ones."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What is known of the positions of a call."""

    seen: bool
    """Whether positions are known."""
    step: float | None = None
    """The step of equally spaced positions; None where they are not."""
    start: float = 0.0
    """The lag of the first query and the first key; a symbol where the length is left open."""
    ahead: int | None = None
    """Key j is no later than query i when j <= ahead + i; None where no such number is."""


def layout_of(asked: Asked) -> Layout:
    """Return how the positions of a call lie."""
    _, _, n, m = asked.sizes
    if asked.encoding.in_order or asked.encoding.axes > 1:
        return Layout(seen=True, ahead=m - n)  # the order of tokens decides which is later
    if asked.counted:
        return Layout(seen=True, step=1.0, start=m - n, ahead=m - n)
    keys = concrete_or_none(asked.at_k)
    queries = keys if asked.at_q is asked.at_k else concrete_or_none(asked.at_q)
    if keys is None or queries is None:
        return Layout(seen=False)
    if keys.ndim != 2 or min(n, m) == 0:
        return Layout(seen=True)
    return _of_values(queries[:, 0], keys[:, 0])


def _of_values(queries: Any, keys: Any) -> Layout:
    start = float(queries[0] - keys[0])
    step = _step(queries, keys)
    if step is not None:
        return Layout(seen=True, step=step, start=start, ahead=math.floor(start / step + _CLOSE))
    first = int(np.searchsorted(keys, queries[0]))
    run = keys[first : first + len(queries)]
    rising = bool((np.diff(keys) > 0).all())
    aligned = rising and np.array_equal(run, queries)
    return Layout(seen=True, start=start, ahead=first if aligned else None)


def _step(queries: Any, keys: Any) -> float | None:
    """Return the one step of both sides, 1 where neither has two positions."""
    longer = queries if len(queries) > len(keys) else keys
    if len(longer) < 2:
        return 1.0
    step = float(longer[-1] - longer[0]) / (len(longer) - 1)
    if step <= 0:
        return None
    for side in (queries, keys):
        if np.abs(side - side[0] - step * np.arange(len(side))).max() > _CLOSE * step:
            return None
    return step
