r"""The ends of a bounded symbol: its least and its largest value, between any grid of angles.

A mode of decay a at the frequency b makes a peak at x = b as narrow as |a|, 1e-5 and less for the
slow pairs of xPos: no even grid meets it. In u with x = b + |a| sinh u every mode is smooth on the
scale of 1, near its peak and far from it, so steps of 1/4 in the u of every
mode, all of them together with an even grid, leave nothing unseen. The best places are then cut
finer between their neighbours, 16 times a pass, until the value is exact to rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.spectra.modes import Modes

Floats = NDArray[np.float64]
POINTS = 513
"""Even angles from 0 to pi."""
STEP = 0.25
CANDIDATES = 16
"""Local extremes that are looked at closely."""
PASSES = 6
_CUTS = np.linspace(0.0, 1.0, 33)


def nodes(modes: Modes, step: float = STEP) -> Floats:
    """Return angles from 0 to pi, dense where the symbol of decaying modes changes."""
    even = np.linspace(0.0, np.pi, POINTS)
    decays = modes.rates < 0.0
    if not decays.any():
        return even
    places = np.stack([modes.frequencies[decays], -modes.rates[decays]], axis=1)
    places = np.unique(places, axis=0)
    reach = np.arcsinh(np.pi / places[:, 1].min())
    steps = np.sinh(np.arange(-np.ceil(reach / step), np.ceil(reach / step) + 1) * step)
    around = (places[:, :1] + places[:, 1:] * steps).ravel()
    inside = around[(around > 0.0) & (around < np.pi)]
    return np.unique(np.concatenate([even, places[:, 0], inside]))


def symbol_ends(modes: Modes) -> tuple[float, float]:
    """Return the least and the largest value of a bounded symbol.

    >>> from gnomon.spectra.modes import modes
    >>> low, high = symbol_ends(modes(np.ones(1), 0.0, np.log(0.5)))  # (1 - r) / (1 + r), inverse
    >>> round(low, 12), round(high, 12)
    (0.333333333333, 3.0)
    """
    angles = nodes(modes)
    values = modes.symbol(angles)
    return -_top(modes, angles, values, -1.0), _top(modes, angles, values, 1.0)


def _top(modes: Modes, angles: Floats, values: Floats, sign: float) -> float:
    """Return the largest value of the symbol, or of its negative, at and between the angles."""
    heights = sign * values
    beside = np.pad(heights, 1, constant_values=-np.inf)
    peaks = np.flatnonzero((heights >= beside[:-2]) & (heights >= beside[2:]))
    peaks = peaks[np.argsort(heights[peaks])[::-1][:CANDIDATES]]
    left = angles[np.maximum(peaks - 1, 0)]
    right = angles[np.minimum(peaks + 1, len(angles) - 1)]
    rows, best = np.arange(len(peaks)), heights[peaks]
    for _ in range(PASSES):
        x = left[:, None] + (right - left)[:, None] * _CUTS
        found = sign * modes.symbol(x)
        place = np.argmax(found, axis=1)
        best = np.maximum(best, found[rows, place])
        left = x[rows, np.maximum(place - 1, 0)]
        right = x[rows, np.minimum(place + 1, len(_CUTS) - 1)]
    return float(best.max())
