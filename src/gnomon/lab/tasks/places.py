"""Random places in rows of different lengths, all rows at once."""

from __future__ import annotations

import numpy as np

from gnomon.lab.tasks.base import Bools, Ints, Rng


def shuffled_slots(rng: Rng, mask: Bools) -> Ints:
    """Return for every row its slots in random order, those outside the mask last.

    >>> shuffled_slots(np.random.default_rng(0), np.array([[True, True, False]])).tolist()[0][2]
    2
    """
    keys = np.where(mask, rng.random(mask.shape), 2.0)
    return np.argsort(keys, axis=1, kind="stable")


def whole_below(rng: Rng, bounds: Ints) -> Ints:
    """Return for every bound k a uniform whole number of 0..k-1."""
    return rng.integers(0, bounds)


def put(tokens: Ints, slots: Ints, values: Ints) -> Ints:
    """Return tokens with `values` at `slots`, both (rows, k)."""
    changed = tokens.copy()
    np.put_along_axis(changed, slots, values, axis=1)
    return changed


def column(values: Ints) -> Ints:
    """Return (rows,) as (rows, 1)."""
    return values[:, None]
