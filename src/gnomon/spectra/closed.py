r"""Closed forms: the modes of encodings whose kernel is a sum of exponential polynomials.

    turns (rotary, in any basis)        (2/d) m^2 sum_k cos b_k t + (rest/d) m^2 or 1
    damped turns (xPos, RetNet, Jordan) (2/d) sum_k e^(a_k t) cos b_k t
    boosts in their light cone          (1/d) sum_k e^(a_k t)
    linear biases (ALiBi, half-lives)   -m |t|
    Sandwich                            g sum_k cos b_k t
    sinusoid                            sum_k cos b_k t

d is the dimension of a head, m what multiplies queries and keys while they turn. For heads with
numbers of their own the mean over heads is taken, which is a sum of modes again. By blocks:
[puranik2026]; [press2021 sec. 3] for the slopes, [chi2023] for Sandwich.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings.additive.sinusoidal import Sinusoidal
from gnomon.encodings.base import Encoding
from gnomon.encodings.biases.alibi import Alibi
from gnomon.encodings.biases.sandwich import Sandwich
from gnomon.encodings.biases.time import DecayTime
from gnomon.encodings.generators.dense import Dense
from gnomon.encodings.generators.hyperbolic import Hyperbolic
from gnomon.encodings.generators.jordan import Jordan
from gnomon.encodings.nope import Nope
from gnomon.encodings.rotary.base import Rotating
from gnomon.encodings.rotary.decay import Decaying
from gnomon.encodings.rotary.plus import RopePlusPlus
from gnomon.spectra.modes import Modes, joined, modes

Floats = NDArray[np.float64]


def modes_of(encoding: Encoding, head: int | None) -> Modes | None:
    """Return the modes of a kernel, or None where there is no closed form."""
    if isinstance(encoding, Nope):
        return modes(np.ones(1))
    if isinstance(encoding, RopePlusPlus):
        return None  # imaginary heads have an odd kernel
    for kind, read in _READERS:
        if isinstance(encoding, kind):
            return read(encoding, head)
    return None


def _chosen(values: Any, head: int | None, ndim: int) -> Floats:
    """Return numbers (heads, ...) of one head, or of all, with heads first."""
    array = np.asarray(values, dtype=np.float64)
    array = array[None] if array.ndim < ndim else array
    return array if head is None else array[head % len(array)][None]


def _turning(encoding: Any, head: int | None) -> Modes | None:
    if encoding.frequencies is None:
        return None  # matrices of several axes that do not commute
    waves = _chosen(encoding.frequencies, head, 3)[..., 0]
    d, factor = encoding.dimension, float(getattr(encoding, "attention_factor", 1.0)) ** 2
    turned = modes(np.full(waves.shape, 2.0 * factor / (d * len(waves))), waves)
    still = d - 2 * waves.shape[1]
    return joined(turned, modes(np.full(1, still / d))) if still else turned


def _damped(encoding: Any, head: int | None) -> Modes:
    rates = _chosen(encoding.rates, head, 2)
    waves = _chosen(np.asarray(encoding.frequencies)[..., 0], head, 2)
    order = getattr(encoding, "order", 1)
    heads = max(len(rates), len(waves))
    weight = 2.0 * order / (encoding.dimension * heads)
    weights, waves, rates = np.broadcast_arrays(np.full((heads, 1), weight), waves, rates)
    return modes(weights, waves, rates)


def _boosted(encoding: Any, head: int | None) -> Modes:
    rates = _chosen(encoding.rates, head, 2)
    return modes(np.full(rates.shape, 1.0 / rates.size), 0.0, rates)


def _linear(encoding: Any, head: int | None) -> Modes | None:
    if getattr(encoding, "slopes_after", None) is not None:
        return None  # two slopes: the mean of both sides is taken of the bias itself
    slopes = _chosen(encoding.slopes, head, 1)
    return modes(np.array([-slopes.mean()]), powers=1)


def _sandwich(encoding: Any, head: int | None) -> Modes:
    gain = float(_chosen(encoding.gains, head, 1).mean())
    waves = encoding.frequencies[:, 0]
    return modes(np.full(len(waves), gain), waves)


def _sinusoid(encoding: Any, head: int | None) -> Modes:
    del head
    waves = encoding.frequencies[:, 0]
    return modes(np.ones(len(waves)), waves)


_READERS: tuple[tuple[type[Encoding], Any], ...] = (
    (Jordan, _damped),
    (Hyperbolic, _boosted),
    (Decaying, _damped),
    (Rotating, _turning),
    (Dense, _turning),
    (Alibi, _linear),
    (DecayTime, _linear),
    (Sandwich, _sandwich),
    (Sinusoidal, _sinusoid),
)
