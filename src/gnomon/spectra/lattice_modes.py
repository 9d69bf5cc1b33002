r"""Rotary encodings and sinusoids of several axes: cosines of the lag, and their eigenvalues.

    T_xy = sum_k w_k cos <b_k, x - y>,   x, y all places of n_1 x n_2 x ...

is E W E^T with columns cos <b_k, x> and sin <b_k, x> at places counted from the middle, which are
orthogonal to one another (even against odd), so that the Gram matrix of E is two matrices

    (D(b_k - b_l) +- D(b_k + b_l)) / 2,   D(v) = prod_a sin(n_a v_a / 2) / sin(v_a / 2):

those of one axis (`gnomon.spectra.modes`) with a product of Dirichlet's kernels. m frequencies
cost O(m^3), however many places there are. Turns are those of [su2021] on each axis, in any basis.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.encodings import ComRope, Decaying, Encoding, Nope, RopePlusPlus, Rotating, Sinusoidal
from gnomon.numeric.reals import reals
from gnomon.spectra.modes import dirichlet, weighed

Floats = NDArray[np.float64]
_SAME = 1e-12
"""Frequencies that differ by less are one mode."""


def lattice_modes(encoding: Encoding, head: int | None) -> tuple[Floats, Floats] | None:
    """Return frequencies (modes, axes) and weights, or None where cosines are not all there is."""
    if isinstance(encoding, Nope):
        return np.zeros((1, encoding.axes)), np.ones(1)
    if isinstance(encoding, Sinusoidal):
        waves = np.asarray(encoding.frequencies, dtype=np.float64)
        return waves, np.ones(len(waves))
    turns = isinstance(encoding, (Rotating, ComRope))
    if not turns or isinstance(encoding, (Decaying, RopePlusPlus)):
        return None
    return _turning(encoding, head)


def _turning(encoding: Any, head: int | None) -> tuple[Floats, Floats]:
    """Return 2/d for every pair, and 1/d for every coordinate that stands still."""
    waves = np.asarray(encoding.frequencies, dtype=np.float64)
    waves = waves.reshape(-1, *waves.shape[-2:])
    waves = waves if head is None else waves[head % len(waves)][None]
    d, heads = encoding.dimension, len(waves)
    factor = float(getattr(encoding, "attention_factor", 1.0)) ** 2
    still = d - 2 * waves.shape[1]
    flat = waves.reshape(-1, waves.shape[-1])
    weights = np.full(len(flat), 2.0 * factor / (d * heads))
    if not still:
        return flat, weights
    return np.vstack([flat, np.zeros((1, flat.shape[1]))]), np.append(weights, still / d)


def cosine_kernel(frequencies: Floats, weights: Floats, shape: tuple[int, ...]) -> Floats:
    """Return sum_k w_k cos <b_k, t> at lags -(n-1) ... n-1 of every axis: products of turns.

    >>> cosine_kernel(np.array([[0.0, np.pi]]), np.ones(1), (2, 2)).round(12)[1]
    array([-1.,  1., -1.])
    """
    made = np.asarray(weights, dtype=np.complex128)[:, None]
    for axis, size in enumerate(shape[:-1]):
        turns = np.exp(1j * frequencies[:, axis, None] * np.arange(1 - size, size))
        made = (made[:, :, None] * turns[:, None]).reshape(len(made), -1)
    last = np.exp(1j * frequencies[:, -1, None] * np.arange(1 - shape[-1], shape[-1]))
    values = (made.T @ last).real
    return np.asarray(values.reshape([2 * size - 1 for size in shape]))


def lattice_eigenvalues(frequencies: Any, weights: Any, shape: tuple[int, ...]) -> Floats:
    """Return the eigenvalues that are not zero by the count of modes, the largest first.

    Frequencies (modes, axes) are in radians from place to place; weights are not below 0.

    >>> lattice_eigenvalues([[0.0, 0.0], [0.0, np.pi / 2]], [0.5, 0.5], (2, 4)).round(12)
    array([4., 2., 2.])
    """
    b, w = _merged(reals(frequencies, "frequencies"), reals(weights, "weights"))
    apart, beside = (
        math.prod(dirichlet(one[..., axis], size) for axis, size in enumerate(shape))
        for one in (b[:, None] - b, b[:, None] + b)
    )
    cosines = 0.5 * np.asarray(apart + beside)
    sines = 0.5 * np.asarray(apart - beside)
    turns = b.any(axis=1)  # what stands still has no sine
    values = np.concatenate([weighed(cosines, w), weighed(sines[np.ix_(turns, turns)], w[turns])])
    return np.asarray(np.sort(values)[::-1][: math.prod(shape)])


def _merged(frequencies: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return modes of equal frequency as one; whole places see frequencies modulo 2 pi."""
    turned = np.remainder(frequencies + math.pi, 2.0 * math.pi) - math.pi
    b = np.where(np.abs(frequencies) <= math.pi, frequencies, turned)
    # cos <b, t> is that of -b: the first axis that turns decides the sign
    first = np.take_along_axis(b, np.argmax(b != 0.0, axis=1)[:, None], axis=1)
    b = np.where(first < 0.0, -b, b)
    _, kept, of_mode = np.unique(
        np.round(b / _SAME), axis=0, return_index=True, return_inverse=True
    )
    return b[kept], np.bincount(of_mode.ravel(), weights).astype(np.float64)
