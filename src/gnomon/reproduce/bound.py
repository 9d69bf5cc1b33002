"""The least raw stress that distances can have against any corpus whatever.

A chord distance h lies in [0, sqrt 2]. Over all h in that box,

    inf  sum (D - h)^2 / sum h^2

is a fractional program. Its parametric form [dinkelbach1967] separates by pairs: for a ratio t < 1
the best h is min(D / (1 - t), sqrt 2), and for t >= 1 it is sqrt 2; the ratio of that h is the
next t, and the sequence falls to the infimum. Where all D exceed sqrt 2 the answer is h = sqrt 2
throughout, which a corpus whose positions share no token has: then the bound is attained.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.diagnostics import condensed

LARGEST_CHORD = float(np.sqrt(2.0))
_ROUNDS = 200


def least_raw_stress(distances: NDArray[np.float64]) -> float:
    """Return the infimum of raw stress over all h in [0, sqrt 2], to 1e-12 of itself.

    >>> round(least_raw_stress(np.array([[0.0, 3.0], [3.0, 0.0]])), 6)  # (3 - sqrt 2)^2 / 2
    1.257359
    """
    made = condensed(distances)
    ratio = _ratio(made, np.minimum(made, LARGEST_CHORD))
    for _ in range(_ROUNDS):
        nearest = made / (1.0 - ratio) if ratio < 1.0 else np.inf
        found = _ratio(made, np.minimum(nearest, LARGEST_CHORD))
        if not found < ratio * (1.0 - 1e-12):
            break
        ratio = found
    return ratio


def smallest(distances: NDArray[np.float64]) -> float:
    """Return the smallest distance between two different positions."""
    return float(condensed(distances).min())


def _ratio(made: NDArray[np.float64], wanted: NDArray[np.float64] | float) -> float:
    target = np.broadcast_to(wanted, made.shape)
    gap = made - target
    squares = float(target @ target)
    return float(gap @ gap) / squares if squares > 0.0 else 1.0
