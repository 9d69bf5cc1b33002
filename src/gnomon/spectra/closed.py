r"""Closed forms: the modes of encodings whose kernel is a sum of exponential polynomials.

    turns (rotary, in any basis)        (2/d) m^2 sum_k cos b_k t + (rest/d) m^2 or 1
    damped turns (xPos, RetNet, Jordan) (2/d) sum_k e^(a_k t) cos b_k t
    boosts in their light cone          (1/d) sum_k e^(a_k t)
    blocks of any generator             (1/d) sum_k m_k e^(a_k t) cos b_k t, m_k = order (or twice)
    RoPE++                              the mean of cos over real heads, of sin over imaginary ones
    linear biases (ALiBi, half-lives)   -m |t|, and -(m + m')/2 |t| of two slopes
    Sandwich                            g sum_k cos b_k t
    sinusoid                            sum_k cos b_k t
    Transformer-XL                      s ((x + u).x + sum_k B_k cos b_k t + A_k sin b_k t)
    PoPE                                s sum_c softplus(x_c)^2 cos(b_c t - s_c)

d is the dimension of a head, m what multiplies queries and keys while they turn. For heads with
numbers of their own the mean over heads is taken, which is a sum of modes again; x is the vector
that a rule on content is asked with, (A, B) = W^T (x + v), s = d^(-1/2). Sines, and the difference
of two slopes, are the odd part, which eigenvalues leave out. By blocks: [puranik2026]; [press2021
sec. 3] for the slopes, [chi2023] for Sandwich, [dai2019 sec. 3.3], [gopalakrishnan2025 sec. 3].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import (
    Alibi,
    Decaying,
    DecayTime,
    Dense,
    Encoding,
    Given,
    Hyperbolic,
    Jordan,
    Nope,
    Pope,
    RopePlusPlus,
    Rotating,
    Sandwich,
    Sinusoidal,
    TransformerXL,
)
from gnomon.numeric.activations import softplus
from gnomon.numeric.reals import reals
from gnomon.spectra.content import drawn_vector
from gnomon.spectra.line import Line
from gnomon.spectra.modes import Modes, joined, modes

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Closed:
    """A kernel in closed form: modes for its even part, and its odd part by lag if it has one."""

    even: Modes
    odd: Callable[[Floats], Floats] | None = None


def closed_form(encoding: Encoding, head: int | None) -> Closed | None:
    """Return the closed form of a kernel, or None where there is none."""
    if isinstance(encoding, Nope):
        return Closed(modes(np.ones(1)))
    inside = encoding.inner if isinstance(encoding, Line) else encoding
    for kind, read in _READERS:
        if isinstance(inside, kind):
            found = read(encoding, head)
            return Closed(found) if isinstance(found, Modes) else found
    return None


def _chosen(values: Any, head: int | None, ndim: int) -> Floats:
    """Return numbers (heads, ...) of one head, or of all, with heads first."""
    array = reals(values, "values")
    array = array[None] if array.ndim < ndim else array
    return array if head is None else array[head % len(array)][None]


def _turning(encoding: Any, head: int | None) -> Modes:
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


def _blocks(encoding: Any, head: int | None) -> Modes:
    """Return the trace of exp(tX) / d, which has the same value in every basis."""
    del head
    blocks = encoding.blocks
    weights = np.array([block.dimension for block in blocks]) / encoding.dimension
    waves, rates = ([getattr(b, name) for b in blocks] for name in ("frequency", "decay"))
    return modes(weights, np.array(waves), np.array(rates))


def _imaginary(encoding: Any, head: int | None) -> Closed:
    """Return cosines of real heads and sines of imaginary ones, by their share of heads."""
    share = float(_chosen(encoding.imaginary, head, 1).mean())
    waves, d = encoding.frequencies[:, 0], encoding.dimension
    size = 2.0 * float(encoding.attention_factor) ** 2 / d
    turned = modes(np.full(len(waves), (1.0 - share) * size), waves)
    still = modes(np.full(1, 1.0 - 2.0 * len(waves) / d))
    odd = _sines(np.full(len(waves), share * size), waves)
    return Closed(joined(turned, still), odd if share else None)


def _linear(encoding: Any, head: int | None) -> Closed:
    step = encoding.step if isinstance(encoding, Line) else 1.0
    before = step * float(_chosen(encoding.slopes, head, 1).mean())
    given = getattr(encoding, "slopes_after", None)
    after = before if given is None else float(_chosen(given, head, 1).mean())
    even = modes(np.array([-0.5 * (before + after)]), powers=1)
    return Closed(even, None if after == before else lambda t: -0.5 * (before - after) * t)


def _lag_sinusoid(encoding: Any, head: int | None) -> Closed:
    """Return the logits of one vector x at all places in Transformer-XL."""
    x, numbers = drawn_vector(encoding.dimension), encoding.numbers
    u, v, w = (
        _chosen(numbers[name], head, ndim)
        for name, ndim in zip(encoding.learnable, (2, 2, 3), strict=True)
    )
    seen = np.einsum("hd,hdp->hp", x + v, w).mean(axis=0) * len(x) ** -0.5
    met = float((x + u).mean(axis=0) @ x) * len(x) ** -0.5
    waves = numbers["frequencies"][:, 0]
    sines, cosines = seen[: len(waves)], seen[len(waves) :]
    return Closed(joined(modes(cosines, waves), modes(np.array([met]))), _sines(sines, waves))


def _polar(encoding: Any, head: int | None) -> Closed:
    """Return the logits of one vector at all places in PoPE."""
    x = drawn_vector(encoding.dimension)
    sizes = softplus(x, xp=np) ** 2 * len(x) ** -0.5
    shifts = np.clip(_chosen(encoding.numbers["shifts"], head, 2), -2.0 * np.pi, 0.0)
    waves = encoding.frequencies[:, 0]
    even = modes(sizes * np.cos(shifts).mean(axis=0), waves)
    sines = sizes * np.sin(shifts).mean(axis=0)
    return Closed(even, _sines(sines, waves) if sines.any() else None)


def _sines(weights: Floats, waves: Floats) -> Callable[[Floats], Floats]:
    """Return sum_k w_k sin(b_k t) as a function of lags."""

    def at(lags: Floats) -> Floats:
        return sum(
            (w * np.sin(b * lags) for w, b in zip(weights, waves, strict=True)),
            start=np.zeros(len(lags)),
        )

    return at


def _sandwich(encoding: Any, head: int | None) -> Modes:
    gain = float(_chosen(encoding.gains, head, 1).mean())
    waves = encoding.frequencies[:, 0]
    return modes(np.full(len(waves), gain), waves)


def _sinusoid(encoding: Any, head: int | None) -> Modes:
    del head
    waves = encoding.frequencies[:, 0]
    return modes(np.ones(len(waves)), waves)


_READERS: tuple[tuple[type[Encoding], Any], ...] = (
    (RopePlusPlus, _imaginary),
    (Pope, _polar),
    (TransformerXL, _lag_sinusoid),
    (Given, _blocks),
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
